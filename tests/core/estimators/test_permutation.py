"""Permuted calibration errors, against a plain loop over the same swaps, and how many are affordable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calcli.core.comparing.comparison import evidence, measured_systems
from calcli.core.data import units
from calcli.core.data.units import Units, deal
from calcli.core.estimators.effort import ENOUGH, MOST_WORK, affordable_draws
from calcli.core.estimators.permutation import group_labels
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


def two_systems(binary, rows, seed, weighted=False, clusters=None, draws=12, swaps=2) -> Pair:
    """Return two systems of two classes, of which even the labels differ."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.7
    weights = rng.exponential(size=rows) if weighted else None
    scores = np.round(rng.random(rows), 2), rng.random(rows) ** 0.5
    return paired(binary, scores, (labels, rng.permutation(labels)), weights, clusters, draws, swaps)


def paired(binary, scores, labels, weights=None, clusters=None, draws=12, swaps=2) -> Pair:
    cluster = None if clusters is None else "patient"
    settings = Settings(("brier", "ece:lens=class-1"), draws=draws, seed=swaps, cluster=cluster)
    columns = {} if clusters is None else {"patient": clusters}
    systems = [
        replace(binary(*one, weights), columns=columns)
        for one in zip(scores, (label.astype(int) for label in labels), strict=True)
    ]
    return Pair(*measured_systems(systems, settings), settings)


def swaps_of(pair, units) -> np.ndarray:
    """Return for every permutation which units stay where they are."""
    return np.random.default_rng([pair.settings.seed, 3]).integers(0, 2, size=(pair.settings.draws, units))


def looped(pair, call, kept) -> float:
    """Swap row by row where `kept` is false, and return candidate minus baseline."""
    sides = [one.look("class-1") for one in pair.measured]

    def value(first, second):
        score = np.where(kept, first.score, second.score)
        outcome = np.where(kept, first.outcome, second.outcome)
        problem = ordered_problem(score, outcome, first.weights)
        return call.value(problem.within(*region_ends(call.region)))

    return value(*sides[::-1]) - value(*sides)


def of_class(metric):
    return parse_metric(f"{metric}:lens=class-1")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_swaps_agree_with_a_loop(binary, metric, weighted):
    pair, call = two_systems(binary, 80, seed=1, weighted=weighted), of_class(metric)
    found = call.swapped(pair)
    expected = [looped(pair, call, kept > 0) for kept in swaps_of(pair, 80)]
    assert found.draws == pytest.approx(expected, abs=1e-12)
    assert found.observed == pytest.approx(looped(pair, call, np.ones(80, bool)), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_bins_that_one_system_leaves_empty_agree_with_a_loop(binary, seed):
    rng, rows = np.random.default_rng(seed), 300
    labels, weights = rng.random(rows) < 0.5, rng.uniform(0.1, 3, rows).round(3)
    logits = np.where(labels, 2.5, -2.5) + 1.5 * rng.normal(size=(2, rows))
    scores = 1 / (1 + np.exp(-logits[0])), 0.3 + 0.4 / (1 + np.exp(-logits[1]))
    call = of_class("mce")
    for both in (scores, scores[::-1]):
        pair = paired(binary, both, (labels, labels), weights, draws=50)
        found = call.swapped(pair)
        assert found.observed == pytest.approx(looped(pair, call, np.ones(rows, bool)), abs=1e-12)
        expected = [looped(pair, call, kept > 0) for kept in swaps_of(pair, rows)]
        assert found.draws == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["ece:bins=5", "smooth_ece", "ece:region=0.5..1"])
def test_clusters_change_sides_as_a_whole(binary, metric):
    clusters = np.random.default_rng(3).permutation(np.repeat(["a", "b", "c", "d", "e"], 12))
    pair, call = two_systems(binary, 60, seed=4, clusters=clusters, draws=9), of_class(metric)
    number = np.searchsorted(list("abcde"), clusters)
    expected = [looped(pair, call, kept[number] > 0) for kept in swaps_of(pair, 5)]
    assert call.swapped(pair).draws == pytest.approx(expected, abs=1e-12)


def test_what_few_rows_bring_changes_its_sign(binary):
    """Of rows with other losses than the baseline's, and of no others."""
    labels, scores = np.ones(40, bool), np.full(40, 0.8)
    other = np.append(np.linspace(0.3, 0.6, 4), scores[4:])
    pair = paired(binary, (scores, other), (labels, labels), draws=99)
    found = evidence(parse_metric("brier"), pair).swapped
    change = ((1 - other) ** 2 - (1 - scores) ** 2)[:4] / 40
    assert found.observed == pytest.approx(change.sum(), abs=1e-15)
    assert found.draws == pytest.approx((2 * swaps_of(pair, 4) - 1) @ change, abs=1e-15)


def test_differences_without_rows_do_not_count(binary):
    pair = paired(binary, ([0.2], [0.8]), (np.array([True]),) * 2)
    found = of_class("smooth_ece:region=0.5..1").swapped(pair)
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
def test_many_rows_change_sides_in_deals(binary, metric):
    pair, call = two_systems(binary, 9_000, seed=4, draws=50), of_class(metric)
    found = call.swapped(pair)
    assert found.draws.shape == (50,)
    # steps of the score in place of all its values change the errors a little
    exact = looped(pair, call, np.ones(9_000, bool))
    assert found.observed == pytest.approx(exact, abs=0.002)
    # swapping everything is a permutation too, so that the differences are as often above 0 as below
    assert abs(np.mean(found.draws > 0) - 0.5) < 0.3


def test_unpaired_rows_are_dealt_anew_and_keep_their_number(binary):
    kept = group_labels(200, 30, 50, np.random.default_rng(8), paired=False)
    assert (kept.sum(1) == 30).all()
    assert 0.25 < kept[:, 0].mean() < 0.5
    few, many = (two_systems(binary, rows, seed=6) for rows in (30, 50))
    pair = Pair(few.baseline, many.candidate, few.settings, paired=False)
    sides, call = [one.look("class-1") for one in pair.measured], of_class("ece")
    score, outcome = (np.concatenate([one[column] for one in sides]) for column in (0, 1))

    def value(rows):
        return call.value(ordered_problem(score[rows], outcome[rows]))

    kept = group_labels(12, 30, 50, np.random.default_rng([2, 3]), paired=False) > 0
    assert call.swapped(pair).draws == pytest.approx([value(~one) - value(one) for one in kept], abs=1e-12)


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
