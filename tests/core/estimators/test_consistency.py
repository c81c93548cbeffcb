"""Nulls of calibration errors: against plain simulation, known distributions and the stated error rate."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from calcli.core.estimators import consistency
from calcli.core.estimators.calibrationerror import null_distributions
from calcli.core.estimators.consistency import outcome_sums
from calcli.core.estimators.cumulative import KolmogorovSmirnov
from calcli.core.estimators.miscalibration import BinnedError
from calcli.core.problems.problem import ordered_problem

ESTIMATORS = [
    BinnedError(),
    BinnedError(norm="2"),
    BinnedError(norm="max"),
    BinnedError(binning="equal-mass"),
    KolmogorovSmirnov(),
]


def calibrated(n, rng, weights=None):
    score = rng.beta(2, 1, n)
    return ordered_problem(score, rng.random(n) < score, weights)


def nulls(problem, draws, rng):
    found = [estimator.value(problem) for estimator in ESTIMATORS]
    return null_distributions(problem, ESTIMATORS, found, draws, rng)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_a_plain_loop(weighted):
    rng = np.random.default_rng(0)
    problem = calibrated(400, rng, rng.exponential(size=400) if weighted else None)
    redrawn = []
    for _ in range(600):
        outcome = rng.random(400) < problem.score
        again = ordered_problem(problem.score, outcome, problem.weights)
        redrawn.append([estimator.value(again) for estimator in ESTIMATORS])
    mean, sd = np.mean(redrawn, 0), np.std(redrawn, 0)
    for i, null in enumerate(nulls(problem, 2000, rng)):
        # KS uses its limit, which is a few percent too large on few rows
        tolerance = 0.15 if i == 4 else 0
        assert null.mean == pytest.approx(mean[i], abs=5 * sd[i] / np.sqrt(600), rel=tolerance)
        assert null.sd == pytest.approx(sd[i], rel=0.15)


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


def test_over_confidence_is_found():
    rng = np.random.default_rng(3)
    score = rng.beta(6, 1, 2000)
    problem = ordered_problem(score, rng.random(2000) < score - 0.1)
    found = [null.p_value for null in nulls(problem, 999, rng)]
    del found[2]  # the largest gap of any bin is decided by thin ones
    assert max(found) <= 0.001


def test_over_confidence_is_found_the_more_often_the_larger_and_the_more_rows():
    rng = np.random.default_rng(6)

    def found(excess, rows):
        rejected = []
        for _ in range(60):
            score = rng.beta(6, 1, rows)
            problem = ordered_problem(score, rng.random(rows) < score - excess)
            rejected.append([null.p_value <= 0.05 for null in nulls(problem, 99, rng)])
        return np.mean(rejected, 0)

    by_size = [found(excess, 300) for excess in (0, 0.03, 0.06, 0.12)]
    by_rows = [found(0.04, rows) for rows in (100, 400, 1600)]
    for powers in (by_size, by_rows):
        steps = np.diff(np.delete(powers, 2, axis=1), axis=0)  # not of the largest gap: thin bins decide it
        assert (steps > -0.1).all(), "but for chance"
        assert (steps.sum(0) > 0.5).all()
    assert (np.delete(by_size[-1], 2) > 0.8).all()


def test_certain_scores_draw_certain_outcomes():
    problem = ordered_problem(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, True, True, True]))
    drawn = outcome_sums(problem, [np.array([0, 2, 4])], 50, np.random.default_rng(0))[0]
    assert (drawn == [0, 2]).all()
    null = null_distributions(problem, [KolmogorovSmirnov()], [0.25], 99, np.random.default_rng(0))[0]
    assert null.mean == 0
    assert null.p_value == pytest.approx(0.01)


def test_one_draw_has_no_spread():
    null = consistency.compare(0.1, np.array([0.2]))
    assert (null.mean, null.p_value) == (0.2, 1.0)
    assert np.isnan(null.sd)


def test_very_many_bins_are_not_held_for_all_draws_at_once(monkeypatch):
    problem, estimator = calibrated(60, np.random.default_rng(7)), BinnedError(bins=20_000)
    (expected,) = null_distributions(problem, [estimator], [0.1], 200, np.random.default_rng(8))
    tracemalloc.start()
    monkeypatch.setattr(consistency, "OUTCOMES", 40_000)  # of two draws
    (found,) = null_distributions(problem, [estimator], [0.1], 200, np.random.default_rng(8))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == expected
    assert peak < 10_000_000 < 200 * 20_000 * 8
