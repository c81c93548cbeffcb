"""What exceeds chance: in bins, in slices, in draws, and among many tests."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom, norm

from calcli.core.data.binning import Bins
from calcli.core.estimators import calibrationerror as consistency
from calcli.core.estimators.calibrationerror import enough_draws, holm, outcome_sums
from calcli.core.estimators.evidence import beyond_chance, gap_p_values, slice_p_value
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.metrics import errors
from calcli.core.evaluating.metrics.cumulative import KolmogorovSmirnov
from calcli.core.evaluating.metrics.errors import null_distributions
from calcli.core.evaluating.metrics.miscalibration import ECE
from calcli.core.problems.problem import ordered_problem


def bins_of(rows: int, score: float, outcome: np.ndarray, weight: float = 1.0) -> Bins:
    ones = np.ones(len(outcome))
    total = rows * weight * ones
    return Bins((rows * ones).astype(int), total, total * score, outcome * weight)


@pytest.mark.parametrize("rows", [1, 3, 20, 1000])
@pytest.mark.parametrize("score", [0.001, 0.3, 0.5, 0.9])
def test_bounds_are_not_below_the_exact_p_values(rows, score):
    hits = np.arange(rows + 1)
    found = gap_p_values(bins_of(rows, score, hits))
    tail = np.where(hits > rows * score, binom.sf(hits - 1, rows, score), binom.cdf(hits, rows, score))
    exact = np.minimum(2 * tail, 1)
    assert np.all(found >= exact * (1 - 1e-9))
    if rows == 1000 and score >= 0.3:
        close = (exact < 0.01) & (exact > 1e-9)
        assert np.all(found[close] < 1.5 * exact[close])


def test_equal_weights_count_as_rows():
    hits = np.arange(11.0)
    weighted = gap_p_values(bins_of(10, 0.4, hits, weight=2.5), heaviest=2.5)
    np.testing.assert_allclose(weighted, gap_p_values(bins_of(10, 0.4, hits)))


def test_calibrated_bins_are_rarely_beyond_chance():
    rng = np.random.default_rng(1)
    score = rng.random((400, 50))
    rows = rng.integers(0, 200, (400, 50))
    hits = rng.binomial(rows, score).astype(float)
    found = [
        beyond_chance(Bins(n, n.astype(float), n * s, h)).any()
        for n, s, h in zip(rows, score, hits, strict=True)
    ]
    assert np.mean(found) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
    assert beyond_chance(bins_of(200, 0.5, np.array([40.0, 100.0]))).tolist() == [True, False]


def test_a_slice_is_compared_by_the_larger_of_two_errors():
    z = norm.ppf(0.975)
    whole = Interval(1 - 0.1 * z, 1 + 0.1 * z, 0.95)
    own = Interval(1.5 - 0.3 * z, 1.5 + 0.1 * z, 0.95)
    assert slice_p_value(1.5, own, 1.0, whole, 0.25) == pytest.approx(2 * norm.sf(0.5 / 0.3))
    assert slice_p_value(1.5, own, 1.0, whole, 0.04) == pytest.approx(2 * norm.sf(0.5 / 0.5))
    low = Interval(0.5 - 0.1 * z, 0.5 + 0.3 * z, 0.95)
    assert slice_p_value(0.5, low, 1.0, whole, 0.25) == pytest.approx(2 * norm.sf(0.5 / 0.3))
    assert math.isnan(slice_p_value(1.5, None, 1.0, whole, 0.25))
    assert math.isnan(slice_p_value(math.inf, own, 1.0, whole, 0.25))


ESTIMATORS = [
    ECE(),
    ECE(norm="2"),
    ECE(norm="max"),
    ECE(binning="equal-mass"),
    KolmogorovSmirnov(),
]


def calibrated(n, rng, weights=None):
    score = rng.beta(2, 1, n)
    return ordered_problem(score, rng.random(n) < score, weights)


def nulls(problem, draws, rng):
    return null_distributions(problem, ESTIMATORS, draws, rng)


def test_cells_have_the_spread_of_rows(monkeypatch):
    rng = np.random.default_rng(1)
    problem = calibrated(5000, rng)
    cuts = problem.cuts("equal-width", 15)
    exact = outcome_sums(problem, [cuts], 3000, rng)[0]
    monkeypatch.setattr(consistency, "DRAWN_ROWS", 1000)
    cells = outcome_sums(problem, [cuts], 3000, rng)[0]
    expected = problem.bins("equal-width", 15).score
    spread = exact.std(0) + 1e-9
    assert (np.abs(cells.mean(0) - expected) < 5 * spread / np.sqrt(3000)).all()
    assert (np.abs(exact.mean(0) - expected) < 5 * spread / np.sqrt(3000)).all()
    assert cells.std(0)[2:] == pytest.approx(exact.std(0)[2:], rel=0.08)


def test_five_percent_of_calibrated_data_are_rejected_at_five_percent():
    rng = np.random.default_rng(2)
    p = np.array([[null.p_value for null in nulls(calibrated(300, rng), 99, rng)] for _ in range(300)])
    rejected = (p <= 0.05).sum(0)
    low, high = stats.binom.ppf([0.0005, 0.9995], 300, 0.05)
    assert ((rejected >= low) & (rejected <= high)).all()


def test_certain_scores_draw_certain_outcomes():
    problem = ordered_problem(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, True, True, True]))
    drawn = outcome_sums(problem, [np.array([0, 2, 4])], 50, np.random.default_rng(0))[0]
    assert (drawn == [0, 2]).all()
    null = null_distributions(problem, [KolmogorovSmirnov()], 99, np.random.default_rng(0))[0]
    assert null.mean == 0
    assert null.p_value == pytest.approx(0.01)


def test_one_draw_has_no_spread():
    null = consistency.compare(0.1, np.array([0.2]))
    assert (null.mean, null.p_value) == (0.2, 1.0)
    assert np.isnan(null.sd)


def test_very_many_bins_are_not_held_for_all_draws_at_once(monkeypatch):
    problem, estimator = calibrated(60, np.random.default_rng(7)), ECE(bins=20_000)
    (expected,) = null_distributions(problem, [estimator], 200, np.random.default_rng(8))
    tracemalloc.start()
    monkeypatch.setattr(errors, "HELD", 40_000)  # of two draws
    (found,) = null_distributions(problem, [estimator], 200, np.random.default_rng(8))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == expected
    assert peak < 10_000_000 < 200 * 20_000 * 8


def rejected_step_by_step(p_values, level):
    """Return the set of hypotheses that Holm's procedure rejects: the smallest first, until one stays."""
    rejected = set()
    for index in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[index] > level / (len(p_values) - len(rejected)):
            break
        rejected.add(index)
    return rejected


@given(st.lists(st.integers(0, 100), max_size=8), st.integers(1, 40))
def test_rejects_what_the_stepwise_procedure_rejects(hundredths, level):
    p_values = [p / 100 for p in hundredths]
    level = level / 100 + 1e-3  # between the products of hundredths, clear of rounding
    adjusted = holm(p_values)
    assert {index for index, p in enumerate(adjusted) if p <= level} == rejected_step_by_step(p_values, level)


@given(st.integers(1, 2000))
def test_the_least_p_value_of_enough_draws_stays_significant(tests):
    p_values = np.ones(tests)
    p_values[0] = 1 / (1 + enough_draws(tests))
    assert holm(p_values)[0] <= 0.025
