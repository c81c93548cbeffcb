import numpy as np
import pytest
from scipy.special import softmax

from calcli.core.data.binning import Bins, equal_mass_cuts
from calcli.core.estimators.miscalibration import binned_error, concentration, debiased_l2, debiased_square
from calcli.core.problems.problem import ordered_problem


def debiased(problem, bins=15, function=debiased_square):
    cuts = equal_mass_cuts(problem.score, bins)
    return float(function(problem.binned(cuts), concentration(problem, cuts)))


def test_real_predictions(golden, dataset):
    for name, values in golden.items():
        scores, labels = dataset(name)
        probs = softmax(scores.astype(np.float64), axis=1)
        problem = ordered_problem(probs.max(1), probs.argmax(1) == labels)
        square, root = (debiased(problem, function=function) for function in (debiased_square, debiased_l2))
        assert square == pytest.approx(values["l2_top_em15_debiased_sq"], abs=1e-9), name
        assert root == pytest.approx(values["l2_top_em15_debiased"], abs=1e-9), name


def test_arithmetic():
    # 0.5 with 3 of 4 hits, 1.0 with 1 of 2: (0.25^2 - 0.75 x 0.25 / 3) 4/6 + (0.5^2 - 0.5 x 0.5 / 1) 2/6
    problem = ordered_problem(np.repeat([0.5, 1.0], [4, 2]), np.array([1, 1, 1, 0, 1, 0], bool))
    assert debiased(problem, 2) == pytest.approx(0, abs=1e-15)
    surer = ordered_problem(np.repeat([0.5, 1.0], [4, 2]), np.array([1, 1, 1, 0, 0, 0], bool))
    assert debiased(surer, 2) == pytest.approx(1 / 3)


def test_a_negative_square_has_the_root_zero():
    problem = ordered_problem(np.full(4, 0.5), np.array([1, 1, 0, 0], bool))
    assert debiased(problem, 1) == pytest.approx(-0.25 / 3)
    assert debiased(problem, 1, debiased_l2) == 0


def test_rows_alone_in_their_bin_say_nothing():
    problem = ordered_problem(np.array([0.2, 0.9]), np.array([True, False]))
    assert debiased(problem, 2) == 0
    weights = np.array([3.0, 0.0, 1.0])
    heavy = ordered_problem(np.array([0.2, 0.2, 0.9]), np.array([True, False, False]), weights)
    assert debiased(heavy, 2) == 0


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(0)
    score, outcome = rng.random(90), rng.random(90) < 0.5
    weighted = ordered_problem(score, outcome, np.full(90, 0.3))
    assert debiased(weighted) == pytest.approx(debiased(ordered_problem(score, outcome)), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_zero_on_average_where_predictions_are_calibrated(weighted):
    rng = np.random.default_rng(1)
    plain, corrected = [], []
    for _ in range(1000):
        score = np.repeat(rng.random(10), 20)
        weights = rng.exponential(size=200) if weighted else None
        problem = ordered_problem(score, rng.random(200) < score, weights)
        cuts = equal_mass_cuts(problem.score, 10)
        plain.append(binned_error(problem.binned(cuts), "2") ** 2)
        corrected.append(debiased(problem, 10))
    error = np.std(corrected) / np.sqrt(1000)
    assert abs(np.mean(corrected)) < 3 * error
    assert np.mean(plain) > 10 * error


def test_the_true_squared_error_on_average():
    rng = np.random.default_rng(2)
    score = np.repeat([0.2, 0.5, 0.8], 30)
    found = [debiased(ordered_problem(score, rng.random(90) < score**2), 3) for _ in range(1000)]
    expected = np.mean((score - score**2) ** 2)
    assert np.mean(found) == pytest.approx(expected, abs=3 * np.std(found) / np.sqrt(1000))


def test_many_outcomes_at_once():
    rng = np.random.default_rng(3)
    score = np.sort(rng.random(60))
    problems = [ordered_problem(score, rng.random(60) < score) for _ in range(4)]
    cuts = equal_mass_cuts(score, 5)
    bins = [problem.binned(cuts) for problem in problems]
    outcomes = np.stack([own.outcome for own in bins])
    table = Bins(bins[0].count, bins[0].weight, bins[0].score, outcomes)
    expected = [debiased(problem, 5) for problem in problems]
    assert debiased_square(table, concentration(problems[0], cuts)) == pytest.approx(expected)
