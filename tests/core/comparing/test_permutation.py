"""Permuted calibration errors, against a plain loop over the same swaps."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.calibration.estimators import find_estimator
from calcli.core.calibration.lenses import ordered_problem
from calcli.core.comparing import permutation
from calcli.core.comparing.permutation import (
    ClassUnits,
    Side,
    class_wise_statistic,
    permuted_differences,
    swapped_sums,
)
from calcli.core.expressions import parse_metric

METRICS = ["ece", "ece:bins=4:norm=2", "mce", "ks", "ece:binning=equal-mass", "smooth_ece"]


def two_sides(rows: int, seed: int, weighted: bool = False) -> tuple[Side, Side]:
    rng = np.random.default_rng(seed)
    outcome = rng.random(rows) < 0.7
    weights = rng.exponential(size=rows) if weighted else None
    first = Side(np.round(rng.random(rows), 2), outcome, weights)
    return first, Side(rng.random(rows) ** 0.5, rng.permutation(outcome), weights)


def looped(sides, estimator, kept) -> float:
    """Swap row by row where `kept` is false, and return candidate minus baseline."""

    def value(first, second):
        score = np.where(kept, first.score, second.score)
        outcome = np.where(kept, first.outcome, second.outcome)
        return estimator.value(ordered_problem(score, outcome, first.weights))

    return value(sides[1], sides[0]) - value(sides[0], sides[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_swaps_agree_with_a_loop(metric, weighted, monkeypatch):
    sides = two_sides(80, seed=1, weighted=weighted)
    estimator = find_estimator(parse_metric(metric))
    swaps = np.random.default_rng(2).integers(0, 2, size=(12, 80)).astype(float)
    feed = iter(swaps)

    def memberships(draws, baseline, candidate, rng, paired):
        kept = np.stack([next(feed) for _ in range(draws)])
        return np.concatenate([kept, 1 - kept], axis=1)

    monkeypatch.setattr(permutation, "_memberships", memberships)
    found = permuted_differences(*sides, estimator, 12, np.random.default_rng(), True)
    assert found == pytest.approx([looped(sides, estimator, kept > 0) for kept in swaps], abs=1e-12)


def test_class_wise_swaps_agree_with_a_loop(predict, monkeypatch):
    from calcli.core.blocks import sweep
    from calcli.core.evaluate import evaluate
    from calcli.core.results import Settings

    rng = np.random.default_rng(3)
    tables = [rng.dirichlet(np.ones(3), 60) for _ in range(2)]
    labels = rng.integers(0, 3, 60)
    units = []
    for table in tables:
        collector = ClassUnits(60, 3, 15)
        sweep(predict(table, labels), [collector])
        units.append(collector.sums)
    kept = rng.integers(0, 2, 60).astype(float)
    monkeypatch.setattr(permutation, "_memberships", lambda *_: np.append(kept, 1 - kept)[None])
    call = parse_metric("cw_ece_l2")
    found = swapped_sums(*units, class_wise_statistic(find_estimator(call), call.over_classes), 1, rng)

    def value(first, second):
        mixed = np.where(kept[:, None] > 0, first, second)
        settings = Settings(metrics=("cw_ece_l2",), resamples=0, draws=0)
        return evaluate(predict(mixed, labels), settings).estimates["cw_ece_l2"].value

    assert found[0] == pytest.approx(value(tables[1], tables[0]) - value(tables[0], tables[1]), abs=1e-12)


def test_many_rows_change_sides_in_deals():
    sides = two_sides(3_000, seed=4)
    estimator = find_estimator(parse_metric("ks"))
    found = permuted_differences(*sides, estimator, 50, np.random.default_rng(5))
    assert found.shape == (50,)
    # swapping everything is a permutation too, so that the differences are as often above 0 as below
    assert abs(np.mean(found > 0) - 0.5) < 0.3


def test_unpaired_rows_are_dealt_anew_and_keep_their_number():
    sides = two_sides(30, seed=6)[0], two_sides(50, seed=7)[1]
    kept = permutation._memberships(200, 30, 50, np.random.default_rng(8), paired=False)
    assert (kept.sum(1) == 30).all()
    assert 0.25 < kept[:, 0].mean() < 0.5
    found = permuted_differences(
        *sides, find_estimator(parse_metric("ece")), 20, np.random.default_rng(9), False
    )
    assert np.isfinite(found).all()


def test_units_have_the_same_size_in_files_of_different_length():
    assert permutation.unit_counts([500], 45) == [500]
    first, second = permutation.unit_counts([1_000_000, 50_000], 45)
    assert 1_000_000 / first == pytest.approx(50_000 / second, rel=0.01)


@pytest.mark.parametrize("metric", ["ece", "ks", "cw_ece"])
def test_equally_miscalibrated_systems_are_rarely_told_apart(metric, predict):
    from calcli.core.comparing.contest import Contest
    from calcli.core.results import Settings

    rng = np.random.default_rng(10)
    settings = Settings(metrics=(metric,), resamples=0, draws=99)
    call = parse_metric(metric)
    rejected = 0
    for _ in range(200):
        truth = rng.dirichlet([0.5, 0.5, 0.5], 150)
        labels = (rng.random((150, 1)) > truth.cumsum(1)).sum(1)
        noisy = [np.exp(1.5 * np.log(truth + 1e-9) + rng.normal(0, 0.5, (150, 3))) for _ in range(2)]
        systems = [predict(table / table.sum(1, keepdims=True), labels) for table in noisy]
        rejected += Contest(systems, settings).evidence(call, 0, 1).p_value() <= 0.05
    # 10 are expected; 20 or more happen once in 500 times
    assert 1 <= rejected <= 20
