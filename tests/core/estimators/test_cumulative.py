"""Cumulative errors: their distributions if calibrated, Kuiper by hand, and what its interval promises."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calcli.core.data.derived import Priors
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.metrics.cumulative import (
    CATALAN,
    Kuiper,
    brownian_range_tail,
    brownian_supremum_tail,
    range_quantile,
)
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import ordered_problem


def test_brownian_supremum():
    # two classical expansions of the same distribution must agree where both converge
    x = np.linspace(0.6, 2.5, 20)
    k = np.arange(50)[:, None]
    theta = 4 / np.pi * ((-1.0) ** k / (2 * k + 1) * np.exp(-(((2 * k + 1) * np.pi / x) ** 2) / 8)).sum(0)
    assert [brownian_supremum_tail(value) for value in x] == pytest.approx(1 - theta, abs=1e-12)
    assert brownian_supremum_tail(2.2414) == pytest.approx(0.05, abs=1e-4)  # Feller's table: twice 1.25%
    grid = np.linspace(0, 8, 20_001)
    tail = np.array([brownian_supremum_tail(value) for value in grid])
    mean = np.trapezoid(tail, grid)
    second = np.trapezoid(2 * grid * tail, grid)
    assert mean == pytest.approx(np.sqrt(np.pi / 2), abs=1e-6)
    assert second == pytest.approx(2 * CATALAN, abs=1e-5)


def test_brownian_range():
    # by the other expansion: the probability of staying between two walls, over where they are
    x = np.linspace(0.5, 4, 30)
    k = np.arange(1, 60)[:, None]
    odd = (2 * k - 1) * np.pi
    below = 8 * ((1 / x**2 + 1 / odd**2) * np.exp(-((odd / x) ** 2) / 2)).sum(0)
    assert [brownian_range_tail(value) for value in x] == pytest.approx(1 - below, abs=1e-12)
    grid = np.linspace(0, 12, 30_001)
    tail = np.array([brownian_range_tail(value) for value in grid])
    assert np.trapezoid(tail, grid) == pytest.approx(Kuiper.mean, abs=1e-6)
    assert np.trapezoid(2 * grid * tail, grid) == pytest.approx(Kuiper.sd**2 + Kuiper.mean**2, abs=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
def test_the_range_exceeds_its_quantile_no_more_often_than_said(level):
    assert brownian_range_tail(range_quantile(level)) <= 1 - level + 1e-15
    assert brownian_range_tail(range_quantile(level) - 0.03) > 1 - level


def by_hand(score, outcome, weights):
    """Return the largest miscalibration over any interval of scores, interval by interval."""
    rows = list(zip(score, outcome, weights, strict=True))
    values, largest = sorted(set(score)), Fraction(0)
    for first in values:
        for last in values:
            own = sum((w * (y - s) for s, y, w in rows if first <= s <= last), Fraction(0))
            largest = max(largest, abs(own))
    return largest / sum(weights)


TENTHS = st.integers(0, 10).map(lambda tenth: Fraction(tenth, 10))


@given(st.lists(st.tuples(TENTHS, st.booleans(), st.integers(1, 3)), min_size=1, max_size=12))
def test_kuiper_is_the_largest_gap_over_any_interval_and_weights_are_rows(rows):
    score, outcome, weights = map(list, zip(*rows, strict=True))
    expected = float(by_hand(score, outcome, weights))
    arrays = np.array(score, float), np.array(outcome), np.array(weights, float)
    weighted = ordered_problem(*arrays)
    often = np.array(weights)
    repeated = ordered_problem(np.repeat(arrays[0], often), np.repeat(arrays[1], often))
    assert Kuiper().value(weighted) == pytest.approx(expected, abs=1e-12)
    assert Kuiper().value(repeated) == pytest.approx(expected, abs=1e-12)


def test_no_threshold_wins_more_than_kuiper():
    rng = np.random.default_rng(3)
    for _ in range(20):
        score = np.round(rng.random(60), 1)
        outcome = rng.random(60) < score ** rng.uniform(0.3, 3)
        cuts = np.append(np.unique(score), 1.1)
        largest = 0.0
        for t in np.linspace(0.02, 0.98, 49):  # of costs c_FP = t, c_FN = 1 - t
            cost = [np.mean(np.where(score >= u, t * ~outcome, (1 - t) * outcome)) for u in (t, *cuts)]
            largest = max(largest, cost[0] - min(cost))
        assert largest <= Kuiper().value(ordered_problem(score, outcome)) + 1e-12


def test_reference_values(decide, dataset, predict):
    for name, own in decide.items():
        rows = predict(*(table[:60_000] for table in dataset(name)), kind="logits")
        names = {"kuiper": "kuiper:lens=top-1", "kuiper:lens=class-1": "kuiper:lens=class-1"}
        asked = {name: metric for name, metric in names.items() if name in own}
        found = evaluate(
            rows, Settings(tuple(asked.values()), rows="all", precision="double"), sections=()
        ).estimates
        values = {one.metric.text: one for one in found.values()}
        for name, metric in asked.items():
            assert values[metric].value == pytest.approx(own[name], abs=1e-9)
        kuiper = values["kuiper:lens=top-1"]
        # the reference has the quantile to six decimals
        assert kuiper.interval.low == pytest.approx(own["kuiper_low"], abs=1e-8)
        assert kuiper.interval.high == pytest.approx(own["kuiper_high"], abs=1e-8)
        assert kuiper.if_calibrated.p_value == pytest.approx(own["kuiper_p_value"], rel=1e-9)
        assert kuiper.if_calibrated.mean == pytest.approx(math.sqrt(8 / math.pi) * own["kuiper_sigma"])


def estimate(rows, **more):
    settings = Settings(("kuiper",), draws=0, **more)
    (found,) = evaluate(rows, settings, sections=()).estimates.values()
    return found


def test_there_is_no_interval_where_it_might_not_hold(binary):
    rng = np.random.default_rng(1)
    score = rng.random(400)
    rows = binary(score, (rng.random(400) < score).astype(int))
    assert estimate(rows).interval is not None
    dependent = replace(rows, columns={"patient": np.arange(400) // 4})
    assert "depend on each other" in estimate(dependent, cluster="patient").no_interval
    assert "depend on each other" in estimate(rows, priors=Priors((0.5, 0.5))).no_interval


@pytest.mark.parametrize("wrong", [0, 1, 4])
def test_few_errors_allow_what_the_exact_interval_of_their_share_allows(wrong, binary):
    """The error of a confidence that is the same in every row is its distance from the share of hits."""
    found = estimate(binary(np.full(200, 0.95), (np.arange(200) >= wrong).astype(int)))
    exact = stats.binomtest(wrong, 200).proportion_ci(0.95, "exact")
    value, furthest = abs(wrong / 200 - 0.05), abs(0.05 - exact.high)
    assert found.value == pytest.approx(value)
    assert found.interval.low <= furthest + 1e-9
    assert found.interval.high >= abs(0.05 - exact.low) - 1e-9
    worst = estimate(binary(np.full(20, 0.0), np.ones(20, int)))
    assert (worst.value, worst.interval.high) == (1, 1)
