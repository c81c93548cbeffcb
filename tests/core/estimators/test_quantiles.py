"""Probabilities and quantiles of the beta distribution and of Student's t, against scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calcli.core.estimators.intervals import (
    Interval,
    beta_cdf,
    beta_quantile,
    coin_upper,
    share_least,
    share_most,
    t_quantile,
    t_upper,
)

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
