"""Permuted calibration errors, against a plain loop over the same swaps, and how many are affordable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.comparison import evidence, measured_systems
from calcli.core.data import units
from calcli.core.data.units import Units, deal
from calcli.core.estimators.permutation import (
    ENOUGH,
    MOST_WORK,
    SystemScores,
    affordable_draws,
    group_labels,
    permuted_differences,
)
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.metrics.base import Pair
from calcli.core.language.expressions import parse_metric, region_ends
from calcli.core.language.methods import METHODS
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import ordered_problem

METRICS = [
    "ece", "ece:bins=4:norm=2", "mce", "ks", "ece:binning=equal-mass", "ece:binning=0/0.25/0.5/1",
    "ece:region=0.3..0.8", "ks:region=0.5..1", "mce:region=0.3..0.8:binning=equal-mass:bins=4",
    "smooth_ece", "kde_ece:region=0.3..0.8", "ece_l2:debiased=true", "over_confidence", "ace:region=0.5..1",
]  # fmt: skip


def two_sides(rows: int, seed: int, weighted: bool = False) -> tuple[SystemScores, SystemScores]:
    rng = np.random.default_rng(seed)
    outcome = rng.random(rows) < 0.7
    weights = rng.exponential(size=rows) if weighted else None
    units = Units.of(rows, None)
    first = SystemScores(np.round(rng.random(rows), 2), outcome, units, weights)
    return first, SystemScores(rng.random(rows) ** 0.5, rng.permutation(outcome), units, weights)


def looped(sides, call, kept) -> float:
    """Swap row by row where `kept` is false, and return candidate minus baseline."""
    estimator = call

    def value(first, second):
        score = np.where(kept, first.score, second.score)
        outcome = np.where(kept, first.outcome, second.outcome)
        problem = ordered_problem(score, outcome, first.weights)
        return estimator.value(problem.within(*region_ends(call.region)))

    return value(sides[1], sides[0]) - value(sides[0], sides[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_swaps_agree_with_a_loop(metric, weighted):
    sides = two_sides(80, seed=1, weighted=weighted)
    call = parse_metric(metric)
    swaps = np.random.default_rng(2).integers(0, 2, size=(12, 80))
    within = [side.within(call.region) for side in sides]
    found = permuted_differences(*within, call, 12, np.random.default_rng(2))
    assert found.draws == pytest.approx([looped(sides, call, kept > 0) for kept in swaps], abs=1e-12)
    assert found.observed == pytest.approx(looped(sides, call, np.ones(80, bool)), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_bins_that_one_system_leaves_empty_agree_with_a_loop(seed):
    rng, rows = np.random.default_rng(seed), 300
    outcome, weights = rng.random(rows) < 0.5, rng.uniform(0.1, 3, rows).round(3)
    logits = np.where(outcome, 2.5, -2.5) + 1.5 * rng.normal(size=(2, rows))
    wide, narrow = 1 / (1 + np.exp(-logits[0])), 0.3 + 0.4 / (1 + np.exp(-logits[1]))
    sides = [SystemScores(score, outcome, Units.of(rows), weights) for score in (wide, narrow)]
    call = parse_metric("mce")
    swaps = np.random.default_rng(12).integers(0, 2, size=(50, rows))
    for pair in (sides, sides[::-1]):
        found = permuted_differences(*pair, call, 50, np.random.default_rng(12))
        assert found.observed == pytest.approx(looped(pair, call, np.ones(rows, bool)), abs=1e-12)
        assert found.draws == pytest.approx([looped(pair, call, kept > 0) for kept in swaps], abs=1e-12)


def test_clusters_change_sides_as_a_whole():
    clusters = np.random.default_rng(3).permutation(np.repeat(["a", "b", "c", "d", "e"], 12))
    sides = [replace(side, units=Units.of(60, clusters)) for side in two_sides(60, seed=4)]
    call = parse_metric("ece:bins=5")
    found = permuted_differences(*sides, call, 9, np.random.default_rng(5))
    swaps = np.random.default_rng(5).integers(0, 2, size=(9, 5))
    expected = [looped(sides, call, kept[np.searchsorted(list("abcde"), clusters)] > 0) for kept in swaps]
    assert found.draws == pytest.approx(expected, abs=1e-12)


def test_differences_without_rows_do_not_count():
    rng = np.random.default_rng(6)
    sides = [SystemScores(np.array([score]), np.array([True]), Units.of(1)) for score in (0.2, 0.8)]
    within = [side.within("0.5..1") for side in sides]
    found = permuted_differences(*within, parse_metric("smooth_ece"), 9, rng)
    assert np.isnan(found.observed)
    assert len(found.draws) == 0


def test_class_wise_swaps_agree_with_a_loop(predict):
    rng = np.random.default_rng(3)
    tables = [rng.dirichlet(np.ones(3), 60) for _ in range(2)]
    labels = rng.integers(0, 3, 60)
    call = parse_metric("cw_ece_l2")
    systems = [predict(table, labels) for table in tables]
    settings = Settings(metrics=("cw_ece_l2",), intervals=False, draws=5, seed=4)
    found = evidence(call, Pair(*measured_systems(systems, settings), settings)).swapped

    def value(first, second, kept):
        mixed = np.where(kept[:, None] > 0, first, second)
        settings = Settings(metrics=("cw_ece_l2",), intervals=False, draws=0)
        return evaluate(predict(mixed, labels), settings).estimates["cw_ece_l2"].value

    swaps = np.random.default_rng([4, 3]).integers(0, 2, size=(5, 60))
    expected = [value(tables[1], tables[0], kept) - value(*tables, kept) for kept in swaps]
    assert found.draws == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["ks", "ece:binning=equal-mass"])
def test_many_rows_change_sides_in_deals(metric):
    sides = two_sides(9_000, seed=4)
    estimator = parse_metric(metric)
    found = permuted_differences(*sides, estimator, 50, np.random.default_rng(5))
    assert found.draws.shape == (50,)
    # steps of the score in place of all its values change the errors a little
    exact = looped(sides, parse_metric(metric), np.ones(9_000, bool))
    assert found.observed == pytest.approx(exact, abs=0.002)
    # swapping everything is a permutation too, so that the differences are as often above 0 as below
    assert abs(np.mean(found.draws > 0) - 0.5) < 0.3


def test_unpaired_rows_are_dealt_anew_and_keep_their_number():
    sides = two_sides(30, seed=6)[0], two_sides(50, seed=7)[1]
    kept = group_labels(200, 30, 50, np.random.default_rng(8), paired=False)
    assert (kept.sum(1) == 30).all()
    assert 0.25 < kept[:, 0].mean() < 0.5
    found = permuted_differences(*sides, parse_metric("ece"), 20, np.random.default_rng(9), False)
    assert np.isfinite(found.draws).all()


def test_units_have_the_same_size_in_files_of_different_length():
    (few,) = deal([Units.of(500, None)], 45)
    assert few.number == 500
    long, short = deal([Units.of(1_000_000, None), Units.of(50_000, None)], 45)
    assert 1_000_000 / long.number == pytest.approx(50_000 / short.number, rel=0.01)
    assert long.of_row.max() == long.number - 1 < units.UNIT_LIMIT


def test_equally_miscalibrated_systems_are_rarely_told_apart(predict):
    rng, rejected, call = np.random.default_rng(10), 0, parse_metric("cw_ece")
    settings = Settings(metrics=("cw_ece",), intervals=False, draws=99)
    for _ in range(200):
        truth = rng.dirichlet([0.5, 0.5, 0.5], 150)
        labels = (rng.random((150, 1)) > truth.cumsum(1)).sum(1)
        noisy = [np.exp(1.5 * np.log(truth + 1e-9) + rng.normal(0, 0.5, (150, 3))) for _ in range(2)]
        systems = [predict(table / table.sum(1, keepdims=True), labels) for table in noisy]
        pair = Pair(*measured_systems(systems, settings), settings)
        rejected += evidence(call, pair).p_value() <= 0.05
    # 10 are expected; 20 or more happen once in 500 times
    assert 1 <= rejected <= 20


@pytest.mark.parametrize("draws", [1, 5, 999, 4000])
@pytest.mark.parametrize("tests", [1, 3, 50])
def test_the_work_of_all_tests_is_bounded(draws, tests):
    for effort in np.geomspace(1, 1e12, 200):
        found = affordable_draws(draws, effort, 600, tests)
        assert 0 <= found <= draws
        each = found * effort
        assert each * tests <= ENOUGH or each * min(tests, 3) <= MOST_WORK
        assert not 0 < found < draws // 8


def permutations(systems, metric):
    settings = Settings(metrics=(metric,))
    first, second, *others = measured_systems(systems, settings)
    return evidence(parse_metric(metric), Pair(first, second, settings, tests=1 + len(others))).method


@pytest.mark.parametrize("method", ["temperature", "bbq"])
def test_metrics_that_fit_are_not_tested(predict, method):
    two = [predict([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]] * 4, [1, 0, 0] * 4)] * 2
    assert permutations(two, f"expected_score:recalibrator={method}:training=test") == "untested"
    assert permutations(two, "ece") == "paired-permutation:999"
    assert 124 <= int(permutations(two, "smooth_ece").partition(":")[2]) < 999  # which takes longer


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_fit_costs_more_of_more_rows_and_by_other_scores(name):
    inner = "/calibrator=histogram" if METHODS[name].family == "wrapper" else ""
    method = parse_metric(f"expected_score:recalibrator={name}{inner}").fitted
    assert 0 < method.effort(100, 5) < method.effort(200, 5)
    if "score" in METHODS[name].arguments:
        by_brier = parse_metric(f"expected_score:recalibrator={name}/score=brier").fitted
        assert by_brier.effort(100, 5) == 4 * method.effort(100, 5)
