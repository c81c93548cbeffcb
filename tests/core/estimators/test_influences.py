"""Intervals from influences, against the t-test, exact distributions and simulated coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calcli.core.estimators.influences import FEWEST, Influences, Spread, carriers, contrast, pooled
from calcli.core.state.expectedmoments import Moments


def of_mean(values):
    values = np.asarray(values, float)
    return Influences(float(values.mean()), (values - values.mean()) / len(values), len(values))


def test_the_standard_error_is_that_of_a_mean():
    values = np.random.default_rng(0).exponential(size=50)
    assert of_mean(values).spread.standard_error == pytest.approx(stats.sem(values), rel=1e-12)


def test_the_skewness_is_that_of_the_values_over_the_root_of_their_number():
    values = np.random.default_rng(1).exponential(size=80)
    assert of_mean(values).spread.skewness == pytest.approx(stats.skew(values) / math.sqrt(80), rel=1e-12)


def test_carriers_are_the_number_over_the_kurtosis():
    values = np.random.default_rng(2).normal(size=300)
    expected = 300 / stats.kurtosis(values, fisher=False)
    assert of_mean(values).spread.carriers == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 20))
def test_as_many_carry_a_rare_event_as_there_are_of_it(events):
    values = np.zeros(20_000)
    values[:events] = 1
    assert of_mean(values).spread.carriers == pytest.approx(events, rel=0.005)


def test_symmetric_values_of_one_size_have_the_interval_of_the_t_test():
    values = np.tile([-1.0, 1.0], 30)
    found = of_mean(values).spread.interval(0.9)
    oracle = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), rel=1e-9)


@pytest.mark.parametrize("power", [1, 3])
def test_p_values_belong_to_the_interval(power):
    spread = of_mean(np.random.default_rng(3).normal(size=40) ** power + 1).spread
    ends = spread.interval(0.95)
    assert spread.p_above(ends.low) == pytest.approx(0.025, abs=1e-9)
    assert spread.p_below(ends.high) == pytest.approx(0.025, abs=1e-9)
    assert spread.p_above(0.3) + spread.p_below(0.3) == pytest.approx(1)


@pytest.mark.parametrize("mean", [2, 4, 6, 9, 14, 30])
def test_rare_events_are_missed_by_no_more_than_is_promised(mean):
    """Of Poisson counts all probabilities are known: shown intervals that miss are at most 5% of all."""
    missed = 0.0
    for count in range(200):
        values = np.zeros(5_000)
        values[:count] = 1
        interval, _ = of_mean(values).spread.judged(0.95)
        if interval is not None and not interval.contains(mean / 5_000):
            missed += stats.poisson.pmf(count, mean)
    assert missed <= 0.05


def test_of_rare_events_that_happen_often_enough_to_be_shown_few_are_missed():
    """Where 10 to 90% of the data sets show an interval, few of these may miss: those of most events do."""
    counts = np.arange(60)
    shown = [of_mean(np.arange(5_000) < count).spread.judged(0.95)[0] for count in counts]
    looked_at = 0
    for mean in np.arange(1, 15, 0.25):
        chance = stats.poisson.pmf(counts, mean)
        of_shown = sum(p for p, one in zip(chance, shown, strict=True) if one is not None)
        missed = sum(
            p
            for p, one in zip(chance, shown, strict=True)
            if one is not None and not one.contains(mean / 5_000)
        )
        if 0.1 <= of_shown <= 0.9:
            looked_at += 1
            assert missed <= 0.06 * of_shown, mean
    assert looked_at > 15


@pytest.mark.parametrize(
    ("rows", "size"), [(12, 0.0), (20, 0.0), (50, 0.0), (20, 1.0), (200, 1.0), (500, 1.0)]
)
def test_shown_intervals_that_miss_are_few(rows, size):
    """Normal values, and exponentials of them: at most 7% of all data sets."""
    rng, trials = np.random.default_rng(rows), 1000
    truth, missed, shown = math.exp(size**2 / 2) if size else 0.0, 0, 0
    for _ in range(trials):
        values = rng.normal(size=rows)
        interval, reason = of_mean(np.exp(size * values) if size else values).spread.judged(0.95)
        assert (interval is None) == bool(reason)
        shown += interval is not None
        missed += interval is not None and not interval.contains(truth)
    assert missed <= stats.binom.ppf(0.999, trials, 0.06)
    assert shown > 0


def test_few_carriers_are_told():
    values = np.zeros(1000)
    values[:3] = 1
    assert of_mean(values).spread.judged(0.95) == (None, "effective sample size 3")
    values[1:] = 0
    assert of_mean(values).spread.judged(0.95, "cluster") == (None, "effective sample size 1 cluster")
    assert of_mean(np.ones(9)).spread.judged(0.95) == (None, "effective sample size 0")


def test_a_bias_moves_the_interval_until_it_loses_the_value():
    found = of_mean(np.tile([-1.0, 1.0], 50))
    plain = found.spread.interval(0.95)
    moved = Influences(0.0, found.of_units, 100, bias=0.1).spread.interval(0.95)
    assert (moved.low, moved.high) == pytest.approx((plain.low - 0.1, plain.high - 0.1))
    interval, reason = Influences(0.0, found.of_units, 100, bias=0.5).spread.judged(0.95)
    assert interval is None
    assert "bias" in reason


def test_what_did_not_happen_is_counted():
    """A log-loss without errors, of predictions that promise 1.3: one row in the mean of both carries it."""
    losses = np.random.default_rng(4).exponential(0.003, 500)
    error = 6.0
    chance = np.full(500, 1.3 / 500)
    powers = np.arange(5)[:, None]
    raw = ((1 - chance) * losses**powers + chance * error**powers).sum(1)
    assert of_mean(losses).spread.carriers > 30
    assert carriers(*pooled(losses, None, Moments(raw[:3], raw))) == pytest.approx(1.3 / 2, rel=0.02)


def test_expected_moments_are_those_of_drawn_labels():
    rng = np.random.default_rng(5)
    right, wrong, chance = rng.uniform(size=40), 1 + rng.uniform(size=40), rng.uniform(size=40)
    weights = rng.exponential(size=40)
    powers = np.arange(5)[:, None]
    raw = chance * right**powers + (1 - chance) * wrong**powers
    second, fourth = Moments(raw[:3] @ weights**2, raw @ weights**4).about(0.7)
    expected = [
        weights**p @ (chance * (right - 0.7) ** p + (1 - chance) * (wrong - 0.7) ** p) for p in (2, 4)
    ]
    assert (second, fourth) == pytest.approx(expected, rel=1e-10)


def test_the_contrast_of_pairs_is_the_paired_t_test():
    rng = np.random.default_rng(6)
    first = rng.normal(size=60)
    second = first + rng.normal(0.1, 0.3, 60)
    found = contrast(of_mean(second), of_mean(first)).spread
    assert found.standard_error == pytest.approx(stats.sem(second - first), rel=1e-12)
    assert found.value == pytest.approx(np.mean(second - first))
    apart = contrast(of_mean(second), of_mean(first), paired=False).spread
    unpaired = math.hypot(stats.sem(first), stats.sem(second))
    assert apart.standard_error == pytest.approx(unpaired, rel=0.005)


def test_nothing_carries_what_has_no_spread():
    assert carriers(0.0, 0.0) == 0
    assert Spread(1.0, 10, 0.0, 0.0, 0.0).carriers == 0
    assert carriers(FEWEST, FEWEST) == FEWEST
