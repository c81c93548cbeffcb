import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import norm

from calcli.core.estimators import smooth
from calcli.core.estimators.smooth import KernelDensityECE, SmoothECE
from calcli.core.problems.problem import ordered_problem

POINTS = np.linspace(0, 1, 4_001)


def top_label_problem(scores, labels):
    probs = softmax(scores.astype(np.float64), axis=1)
    return ordered_problem(probs.max(1), probs.argmax(1) == labels)


def simulated(rows, rng, power=1.0):
    """Return scores and outcomes of probability score ** power; calibrated for power 1."""
    score = 0.5 + 0.5 * rng.random(rows)
    return score, rng.random(rows) < score**power


smooth_ece, smooth_ece_null = SmoothECE().value, SmoothECE().null
kde_ece, kde_ece_null = KernelDensityECE().value, KernelDensityECE().null


def naive_smooth_ece(score, outcome):
    gap = (score - outcome) / len(score)
    images = np.concatenate([2 * shift + sign * score for shift in (-1, 0, 1) for sign in (1, -1)])

    def excess(width):
        kernel = norm.pdf(POINTS[:, None], images, width)
        return trapezoid(np.abs(kernel @ np.tile(gap, 6)), POINTS) - width

    return brentq(excess, 1e-3, 1, xtol=1e-9)


def naive_kde_ece(score, outcome, norm="1"):
    deviation = 1.06 * score.std() * len(score) ** -0.2
    images = np.concatenate([score, -score, 2 - score])
    relative = (POINTS[:, None] - images) / (3 * deviation)
    kernel = np.where(np.abs(relative) < 1, 35 / 32 * (1 - relative**2) ** 3, 0) / (3 * deviation)
    density = kernel.sum(1) / len(score)
    hits = kernel @ np.tile(outcome, 3) / len(score)
    gap = POINTS * density - hits
    if norm == "1":
        return trapezoid(np.abs(gap), POINTS)
    squares = np.divide(gap**2, density, out=np.zeros_like(gap), where=density > 0)
    return np.sqrt(trapezoid(squares, POINTS))


@pytest.mark.parametrize("power", [1, 4])
def test_root_mean_square_of_the_kernel_gap(power):
    score, outcome = simulated(150, np.random.default_rng(power), power)
    problem = ordered_problem(score, outcome)
    found = KernelDensityECE("2").value(problem)
    assert found == pytest.approx(naive_kde_ece(score, outcome, "2"), abs=1e-5)
    assert found > kde_ece(problem)  # never less than the mean
    null = KernelDensityECE("2").null(problem, 99, np.random.default_rng(0))
    assert null.mean > kde_ece_null(problem, 99, np.random.default_rng(0)).mean


def test_smooth_ece_of_real_predictions(golden, dataset):
    expected = {name: values["smece_top_own"] for name, values in golden.items()}
    found = {name: smooth_ece(top_label_problem(*dataset(name))) for name in golden}
    assert found == pytest.approx(expected, abs=1e-6)


def test_smooth_ece_of_mass_at_one(toys):
    score = np.repeat([1, 0.6], 500)
    outcome = np.repeat([True, True, False], [500, 100, 400])
    expected = toys["smece_mass_at_1"]["smooth_ece"]
    assert smooth_ece(ordered_problem(score, outcome)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("fast", "naive"), [(smooth_ece, naive_smooth_ece), (kde_ece, naive_kde_ece)], ids=["smooth", "kde"]
)
@pytest.mark.parametrize("power", [1, 4])
def test_against_plain_sums_of_kernels(fast, naive, power):
    score, outcome = simulated(100, np.random.default_rng(power), power)
    score[:10] = 1
    assert fast(ordered_problem(score, outcome)) == pytest.approx(naive(score, outcome), abs=2e-6)


@pytest.mark.parametrize(
    ("fast", "naive"), [(smooth_ece, naive_smooth_ece), (kde_ece, naive_kde_ece)], ids=["smooth", "kde"]
)
def test_many_rows_in_a_cell_of_the_grid(fast, naive):
    rng = np.random.default_rng(1)
    score = 0.15 * rng.random(250) ** 2
    outcome = rng.random(250) < score
    assert fast(ordered_problem(score, outcome)) == pytest.approx(naive(score, outcome), abs=2e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_gaps_of_one_sign_add_up(scores):
    # a reflected kernel loses no mass: the smoothed gaps add up to the mean gap whatever the width
    score = np.array(scores)
    problem = ordered_problem(score, np.zeros(len(score), bool))
    assert smooth_ece(problem) == pytest.approx(score.mean(), abs=1e-5)  # what the grid can tell


@pytest.mark.parametrize("score", [1e-05, 3e-7, 0.3])
def test_one_gap_needs_no_search(score, monkeypatch):
    sums, asked = smooth._smoothed_sums, []
    monkeypatch.setattr(smooth, "_smoothed_sums", lambda *given: asked.append(1) or sums(*given))
    assert smooth_ece(ordered_problem(np.array([score]), np.array([False]))) == pytest.approx(score, abs=1e-9)
    assert len(asked) <= 4


def test_only_the_total_weight_of_equal_rows_counts():  # not for KDE-ECE, whose width goes by how many rows
    score, outcome = (np.repeat(column, 2) for column in simulated(100, np.random.default_rng(3)))
    uneven = ordered_problem(score, outcome, np.tile([1.5, 0.5], 100))
    assert smooth_ece(uneven) == pytest.approx(smooth_ece(ordered_problem(score, outcome)), abs=1e-9)


@pytest.mark.parametrize("estimator", [smooth_ece, kde_ece])
def test_a_row_without_weight_is_as_one_that_is_not_there(estimator):
    score, outcome = simulated(80, np.random.default_rng(9))
    kept = np.arange(80) % 4 > 0
    expected = estimator(ordered_problem(score[kept], outcome[kept]))
    assert estimator(ordered_problem(score, outcome, 2.5 * kept)) == pytest.approx(expected, abs=1e-9)


def test_weight_two_equals_the_row_twice():  # not for KDE-ECE either
    score, outcome = simulated(60, np.random.default_rng(4))
    weights = np.repeat([2.0, 1.0], 30)
    twice = np.repeat(np.arange(60), np.repeat([2, 1], 30))
    expected = smooth_ece(ordered_problem(score[twice], outcome[twice]))
    assert smooth_ece(ordered_problem(score, outcome, weights)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("estimator", [smooth_ece, kde_ece])
def test_single_precision(estimator):
    score, outcome = simulated(500, np.random.default_rng(5))
    expected = estimator(ordered_problem(score, outcome))
    assert estimator(ordered_problem(score.astype(np.float32), outcome)) == pytest.approx(expected, abs=1e-5)


def test_sure_and_right_predictions_have_no_smooth_error():
    score = np.repeat([0.0, 1.0], 20)
    assert smooth_ece(ordered_problem(score, score == 1)) == 0


def test_one_score_for_all_rows():
    # the density is a spike as wide as a cell of the grid
    problem = ordered_problem(np.full(10, 0.7), np.arange(10) < 4)
    assert kde_ece(problem) == pytest.approx(0.3, abs=2e-4)
    assert smooth_ece(problem) == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize(
    ("estimator", "null"), [(smooth_ece, smooth_ece_null), (kde_ece, kde_ece_null)], ids=["smooth", "kde"]
)
class TestNull:
    def test_moments_are_those_of_outcomes_drawn_one_by_one(self, estimator, null):
        rng = np.random.default_rng(6)
        score, outcome = simulated(400, rng)
        found = null(ordered_problem(score, outcome), 400, rng)
        draws = [estimator(ordered_problem(score, rng.random(400) < score)) for _ in range(200)]
        error = found.sd * np.sqrt(1 / 400 + 1 / 200)
        assert found.mean == pytest.approx(np.mean(draws), abs=4 * error)
        assert found.sd == pytest.approx(np.std(draws), rel=0.3)

    def test_calibrated_predictions_are_rejected_as_often_as_promised(self, estimator, null):
        rng = np.random.default_rng(7)
        problems = [ordered_problem(*simulated(300, rng)) for _ in range(100)]
        rejected = sum(null(problem, 19, rng).p_value <= 0.05 for problem in problems)
        assert rejected <= 12  # Binomial(100, 0.05) exceeds it once in a thousand

    def test_over_confident_predictions_are_found(self, estimator, null):
        rng = np.random.default_rng(8)
        assert null(ordered_problem(*simulated(2000, rng, power=2)), 199, rng).p_value == 1 / 200


def test_draws_of_the_same_outcomes_are_as_large():
    """Of sure scores that are all right nearly every draw has the outcomes observed, but for rounding."""
    for seed in range(20):
        score = np.sort(1 - 1e-4 * np.random.default_rng(seed).random(200))
        problem = ordered_problem(score, np.ones(200, bool))
        assert kde_ece_null(problem, 39, np.random.default_rng(seed)).p_value > 0.5


@pytest.mark.parametrize("null", [smooth_ece_null, kde_ece_null])
def test_sure_predictions_that_hold_are_no_larger_than_draws_that_hold(null):
    """All but few draws have the same outcomes, and so the same error."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        score = 1 - np.exp(rng.normal(-9, 3, 50)).clip(1e-12, 1e-3)
        found = null(ordered_problem(score, np.ones(50, bool)), 39, rng)
        assert found.p_value >= 0.5
