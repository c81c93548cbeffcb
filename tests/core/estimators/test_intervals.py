"""Intervals from influences, against the t-test, exact distributions and simulated coverage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.stats import binomtest

from calcli.core.data.binning import Bins
from calcli.core.estimators.intervals import (
    ERROR,
    Influences,
    Interval,
    beta_cdf,
    beta_quantile,
    coin_upper,
    contrast,
    share_least,
    share_most,
    t_quantile,
    t_upper,
    wilson_interval,
)
from calcli.core.evaluating.metrics.miscalibration import ConfidenceShare
from calcli.core.problems.problem import ordered_problem


def of_mean(values):
    values = np.asarray(values, float)
    return Influences(float(values.mean()), (values - values.mean()) / len(values), len(values))


def test_the_standard_error_is_that_of_a_mean():
    values = np.random.default_rng(0).exponential(size=50)
    assert of_mean(values).spread.standard_error == pytest.approx(stats.sem(values), rel=1e-12)


def test_carriers_are_the_number_over_the_kurtosis():
    values = np.random.default_rng(2).normal(size=300)
    expected = 300 / stats.kurtosis(values, fisher=False)
    assert of_mean(values).spread.effective_size == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 20))
def test_as_many_carry_a_rare_event_as_there_are_of_it(events):
    values = np.zeros(20_000)
    values[:events] = 1
    assert of_mean(values).spread.effective_size == pytest.approx(events, rel=0.005)


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
    needed = "an interval needs 5"
    assert of_mean(values).spread.judged(0.95) == (None, f"3 rows carry nearly all of it; {needed}")
    values[1:] = 0
    one = of_mean(values).spread
    assert one.judged(0.95, "cluster") == (None, f"1 cluster carries nearly all of it; {needed}")
    assert of_mean(np.ones(9)).spread.judged(0.95) == (None, f"no row tells how much it varies; {needed}")
    errors = replace(one, fewest=2.0, scarce=ERROR)
    assert errors.judged(0.95) == (None, f"2 errors; {needed}")
    assert errors.judged(0.95, "cluster") == (None, f"2 clusters with errors; {needed}")


@pytest.mark.parametrize(("area", "positives", "negatives"), [(0.8, 5, 50), (0.97, 20, 400), (1.0, 8, 30)])
def test_the_score_interval_of_an_area_is_that_of_newcombe_with_a_larger_variance(area, positives, negatives):
    """Its ends are where the squared distance is z^2 times the variance of his method 5, here by scipy."""
    z, mean = stats.norm.ppf(0.975), (positives + negatives) / 2 - 1

    def excess(theta):
        odds = (1 - theta) / (2 - theta) + theta / (1 + theta)
        return (theta - area) ** 2 - 1.2 * z**2 * theta * (1 - theta) * (
            1 + mean * odds
        ) / positives / negatives

    found = Interval.of_area(area, positives, negatives, 0.95, 0.0)
    assert found.low == pytest.approx(optimize.brentq(excess, 1e-9, area - 1e-9), abs=1e-9)
    if area < 1:
        assert found.high == pytest.approx(optimize.brentq(excess, area + 1e-9, 1 - 1e-9), abs=1e-9)
        wider = Interval.of_area(area, positives, negatives, 0.95, 4 * (found.high - found.low) ** 2)
        assert wider.low < found.low < area < found.high < wider.high
    else:
        assert found.high == 1


def test_a_mean_of_shares_and_a_ratio_have_square_and_add_intervals():
    """By hand: distances to the ends, squared and added; a ratio ends where the contrast with it does."""
    parts = Interval(0.2, 0.7, 0.95), Interval(0.7, 1.0, 0.95)
    found = Interval.of_mean([0.5, 0.9], parts, 0.95)
    assert found.low == pytest.approx(0.7 - math.hypot(0.3, 0.2) / 2)
    assert found.high == pytest.approx(0.7 + math.hypot(0.2, 0.1) / 2)
    ratio = Interval.of_ratio(0.1, 0.5, Interval(0.04, 0.2, 0.95), Interval(0.4, 0.58, 0.95))
    high = optimize.brentq(lambda r: r * 0.5 - 0.1 - math.hypot(0.1, r * 0.1), 0.2, 5)
    low = optimize.brentq(lambda r: 0.1 - r * 0.5 - math.hypot(0.06, r * 0.08), 0, 0.2)
    assert (ratio.low, ratio.high) == (pytest.approx(low), pytest.approx(high))
    assert Interval.of_ratio(0.0, 0.5, Interval(0.0, 0.02, 0.95), Interval(0.4, 0.58, 0.95)).low == 0


def test_a_bias_moves_the_interval_until_it_loses_the_value():
    found = of_mean(np.tile([-1.0, 1.0], 50))
    plain = found.spread.interval(0.95)
    moved = Influences(0.0, found.of_units, 100, bias=0.1).spread.interval(0.95)
    assert (moved.low, moved.high) == pytest.approx((plain.low - 0.1, plain.high - 0.1))
    interval, reason = Influences(0.0, found.of_units, 100, bias=0.5).spread.judged(0.95)
    assert interval is None
    assert "bias" in reason


def test_a_row_that_could_have_been_is_counted():
    """500 losses without an error, of which each could have brought 2: one row more would carry them all."""
    losses = np.random.default_rng(4).exponential(0.003, 500)
    spread = of_mean(losses).spread
    assert spread.effective_size > 30
    more = np.append(losses, 2 + losses.mean())
    other = replace(spread, unseen=2 / 500)
    assert other.carried == pytest.approx(of_mean(more).spread.effective_size, rel=0.02)
    assert not other.enough
    assert replace(spread, unseen=1e-6).enough


@pytest.mark.parametrize(("hits", "rows"), [(0, 40), (1, 40), (7, 40), (25, 40), (40, 40), (3, 100_000)])
def test_of_equal_parts_the_interval_that_holds_is_that_of_a_share(hits, rows):
    found = of_mean(np.arange(rows) < hits).spread.held(0.95, rows)
    exact = stats.binomtest(hits, rows).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), rel=1e-6, abs=1e-12)


def test_of_rare_unequal_parts_it_is_that_of_fay_and_feuer():
    rng = np.random.default_rng(8)
    rows = 1_000_000
    parts = rng.uniform(size=12) / rows
    mean, squares, most = parts.sum(), np.square(parts).sum(), 1 / rows
    found = Interval.of_parts(mean, squares, most, 0.95)
    low = stats.gamma.ppf(0.025, mean**2 / squares, scale=squares / mean)
    more, wider = mean + most, squares + most**2
    high = stats.gamma.ppf(0.975, more**2 / wider, scale=wider / more)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-4)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(-2, 0), st.floats(0.1, 3))
def test_an_interval_that_holds_is_within_the_ends_and_holds_the_value(shares, low, span):
    values = low + span * np.array(shares)
    found = of_mean(values).spread.held(0.9, len(values), (low, low + span))
    assert low - 1e-9 <= found.low <= values.mean() + 1e-6
    assert values.mean() - 1e-6 <= found.high <= low + span + 1e-9


def test_no_interval_is_wider_than_one_that_holds():
    spread, held = of_mean(np.random.default_rng(9).exponential(size=30)).spread, Interval(0.9, 1.1, 0.95)
    assert spread.judged(0.95, bounded=held) == (held, "")
    assert of_mean(np.ones(9)).spread.judged(0.95, bounded=held) == (held, "")


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


SIZES = st.floats(0.3, 20_000)


@given(st.floats(0, 1), SIZES, SIZES)
def test_beta_against_scipy(p, a, b):
    x = float(stats.beta.ppf(p, a, b))
    assert beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-9)


@pytest.mark.parametrize("p", [1e-6, 0.025, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 40), (300, 2), (5000, 5000), (11, 49_990)])
def test_beta_quantiles_against_scipy(p, a, b):
    assert beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), rel=1e-9)


@given(st.floats(-30, 30), st.floats(1, 50_000))
def test_t_against_scipy(t, freedom):
    assert t_upper(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("p", [1e-4, 0.025, 0.5, 0.9, 0.9999])
@pytest.mark.parametrize("freedom", [1, 2.5, 11, 50, 499, 19_999])
def test_t_quantiles_against_scipy(p, freedom):
    assert t_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-9, abs=1e-12)


def test_ends_of_t():
    assert (t_upper(math.inf, 3), t_upper(-math.inf, 3)) == (0, 1)
    assert math.isnan(t_upper(math.nan, 3))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (0, 40), (40, 40), (1, 40), (200, 500), (19_999, 20_000)])
def test_shares_have_the_interval_of_clopper_and_pearson(hits, rows, level):
    oracle = stats.binomtest(hits, rows).proportion_ci(level, method="exact")
    found = Interval.of_share(hits, rows, level)
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=1e-10)


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_fair_coin(heads, tails):
    tosses = heads + tails
    assert coin_upper(heads, tosses) == pytest.approx(stats.binom.sf(heads - 1, tosses, 0.5), rel=1e-9)


def test_a_share_lies_between_its_ends():
    assert share_least(3, 10, 0.5) <= 0.3 <= share_most(3, 10, 0.5)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (1, 1), (0, 30), (3, 10), (199, 200), (50, 50)])
def test_wilson_interval_against_scipy(hits, rows, level):
    expected = binomtest(hits, rows).proportion_ci(level, method="wilson")
    low, high = wilson_interval(np.array([hits / rows]), np.array([rows]), level)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def shares(problem, bins, significant=False):
    """Return the over- and the under-confident share."""
    return tuple(
        float(ConfidenceShare(side=side, significant=significant).of(problem, bins))
        for side in ("over", "under")
    )


def test_shares_of_bins():
    # 10 rows 0.9 against 0.5, 30 rows 0.6 against 0.7, 60 rows 0.5 against 0.8, none in the fourth
    count = np.array([10, 30, 60, 0])
    bins = Bins(count, count.astype(float), np.array([9.0, 18, 30, 0]), np.array([5.0, 21, 48, 0]))
    assert shares(None, bins) == pytest.approx((0.1, 0.9))
    # 5 of 10 reaches up to 0.76, 21 of 30 down to 0.52, 48 of 60 down to 0.68 (as scipy has it, above)
    assert shares(None, bins, significant=True) == pytest.approx((0.1, 0.6))


@pytest.mark.parametrize("score", [0.75, 0.1])
def test_equal_confidence_and_accuracy_are_neither(score):
    outcome = np.arange(20) < round(20 * score)
    problem = ordered_problem(np.full(20, score), outcome)  # twenty times 0.1 is not quite 2
    for significant in (False, True):
        assert shares(problem, problem.bins("equal-width", 15), significant) == (0, 0)


def test_weights_move_shares_but_rows_decide_significance():
    score, outcome = np.repeat([0.55, 0.95], 20), np.tile([True, False], 20)
    weights = np.repeat([3.0, 1.0], 20)
    bins = ordered_problem(score, outcome, weights).bins("equal-width", 10)
    assert shares(None, bins) == pytest.approx((1, 0))
    assert shares(None, bins, significant=True) == pytest.approx((0.25, 0))
    thousandfold = ordered_problem(score, outcome, 1000 * weights).bins("equal-width", 10)
    assert shares(None, thousandfold, significant=True) == pytest.approx((0.25, 0))
