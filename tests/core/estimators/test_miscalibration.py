"""Smooth, kernel and debiased calibration errors and MMCE: naive twins, reference values, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import norm

from calcli.core.data.binning import equal_mass_cuts
from calcli.core.evaluating.metrics.miscalibration import (
    MaximumMeanError,
    binned_error,
    concentration,
    debiased_l2,
    debiased_square,
)
from calcli.core.evaluating.metrics.smooth import KernelDensityECE, SmoothECE
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
    found = KernelDensityECE(norm="2").value(problem)
    assert found == pytest.approx(naive_kde_ece(score, outcome, "2"), abs=1e-5)
    assert found > kde_ece(problem)  # never less than the mean
    null = KernelDensityECE(norm="2").null(problem, 99, np.random.default_rng(0))
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


both = pytest.mark.parametrize(
    ("fast", "naive"), [(smooth_ece, naive_smooth_ece), (kde_ece, naive_kde_ece)], ids=["smooth", "kde"]
)


@both
@pytest.mark.parametrize("power", [1, 4])
def test_against_plain_sums_of_kernels(fast, naive, power):
    score, outcome = simulated(100, np.random.default_rng(power), power)
    score[:10] = 1
    assert fast(ordered_problem(score, outcome)) == pytest.approx(naive(score, outcome), abs=2e-6)


@both
def test_many_rows_in_a_cell_of_the_grid(fast, naive):
    rng = np.random.default_rng(1)
    score = 0.15 * rng.random(120) ** 2
    outcome = rng.random(120) < score
    assert fast(ordered_problem(score, outcome)) == pytest.approx(naive(score, outcome), abs=2e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_gaps_of_one_sign_add_up(scores):
    # a reflected kernel loses no mass: the smoothed gaps add up to the mean gap whatever the width
    score = np.array(scores)
    problem = ordered_problem(score, np.zeros(len(score), bool))
    assert smooth_ece(problem) == pytest.approx(score.mean(), abs=1e-5)  # what the grid can tell


def test_sure_and_right_predictions_have_no_smooth_error():
    score = np.repeat([0.0, 1.0], 20)
    assert smooth_ece(ordered_problem(score, score == 1)) == 0


def test_one_score_for_all_rows():
    # the density is a spike as wide as a cell of the grid
    problem = ordered_problem(np.full(10, 0.7), np.arange(10) < 4)
    assert kde_ece(problem) == pytest.approx(0.3, abs=2e-4)
    assert smooth_ece(problem) == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("null", [smooth_ece_null, kde_ece_null])
def test_sure_predictions_that_hold_are_no_larger_than_draws_that_hold(null):
    """All but few draws have the same outcomes, and so the same error."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        score = 1 - np.exp(rng.normal(-9, 3, 50)).clip(1e-12, 1e-3)
        found = null(ordered_problem(score, np.ones(50, bool)), 39, rng)
        assert found.p_value >= 0.5


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


def naive(score, outcome, weights):
    gap = weights * (outcome - score)
    kernel = np.exp(-np.abs(score[:, None] - score) / 0.4)
    return np.sqrt(gap @ kernel @ gap) / weights.sum()


@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_double_sum(digits, weighted):
    rng = np.random.default_rng(0)
    score = np.round(rng.random(200), digits)
    outcome = rng.random(200) < score**2
    weights = rng.exponential(size=200) if weighted else None
    problem = ordered_problem(score, outcome, weights)
    expected = naive(score, outcome, np.ones(200) if weights is None else weights)
    assert MaximumMeanError().value(problem) == pytest.approx(expected, rel=1e-12)
