"""Rows that a decision needs where few of them carry a difference, against draws and bounds of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calcli.core.estimators.evidence import ExactShares, Margin, Studentized
from calcli.core.estimators.intervals import Influences
from calcli.core.estimators.power import POWER, Power, Units


@pytest.mark.parametrize("unlike", [4, 10])
def test_shares_are_proven_four_times_in_five(unlike):
    """By the rule that judges them, on rows that are drawn anew."""
    half = unlike // 2
    power = Power.of(ExactShares(half, 400, half, 400, 0.97, True), 400, 0.95, sign=-1)
    rows = power.not_worse(0.01)
    assert rows > 400
    rng = np.random.default_rng(3)
    differ = rng.binomial(rows, rng.beta(unlike + 1, 401 - unlike, 4000))
    gained = rng.binomial(differ, 0.5)
    pairs, times = np.unique(np.stack([gained, differ - gained]), axis=1, return_counts=True)
    judged = [ExactShares(*own, 0.97, True) for own in ((a, rows, b, rows) for a, b in pairs.T.tolist())]
    proven = np.array([one.p_not_worse(-1, Margin(0.01)) <= 0.025 for one in judged])
    assert times @ proven / 4000 == pytest.approx(POWER, abs=0.06)


def test_few_rows_that_carry_a_difference_need_more_than_the_formula_says():
    rng = np.random.default_rng(0)
    losses = np.where(rng.random(400) < 0.03, rng.normal(0, 0.3, 400), rng.normal(0, 0.01, 400))
    influence_values = (losses - losses.mean()) / 400
    nothing = Influences(0.0, np.zeros(400), 400)
    found = Power.of(Studentized(nothing, Influences(losses.mean(), influence_values, 400), True), 400, 0.95)
    z = stats.norm.ppf([0.975, 0.8]).sum()
    assert found.not_worse(0.005) > 1.1 * 400 * (z * found.standard_error / 0.005) ** 2
    assert found.equivalent(0.005) >= found.not_worse(0.005)


def test_four_in_five_intervals_are_as_narrow_as_wanted():
    """Of means of rows that are drawn anew from the same distribution, by the interval of their spread."""
    rng = np.random.default_rng(5)

    def spread(rows):
        values = rng.exponential(size=rows)
        return Influences(values.mean(), (values - values.mean()) / rows, rows)

    planned = []
    for _ in range(40):
        pilot = spread(300)
        power = Power(
            pilot.spread.standard_error, 300, 0.95, Units(pilot, 300, 1), lambda one: one.interval(0.95)
        )
        planned.append(power.known_within(0.05))
    intervals = [spread(rows).spread.interval(0.95) for rows in planned for _ in range(10)]
    narrow = [one.high - one.low <= 0.1 for one in intervals]
    assert np.mean(narrow) == pytest.approx(POWER, abs=0.1)
