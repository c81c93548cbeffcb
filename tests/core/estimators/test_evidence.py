"""Evidence for differences, against plain definitions and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from calcli.core.estimators.evidence import Margin, Normal, Permuted, Resampled, Untested
from calcli.core.estimators.permutation import Swapped

NONE = Margin()


def test_bootstrap_shares_are_counted():
    evidence = Resampled(np.zeros(9), np.array([-1.0, 0, 1, 2, 3, 4, 5, 6, 7]), True)
    # beside the nine draws the data themselves count once: 2 draws at or below 0
    assert evidence.p_worse(1, NONE) == (1 + 2) / 10
    assert evidence.p_worse(-1, NONE) == (1 + 8) / 10
    assert evidence.p_worse(1, Margin(4.5)) == (1 + 6) / 10
    assert evidence.p_not_worse(1, Margin(4.5)) == (1 + 3) / 10
    assert evidence.p_value() == 2 * (1 + 2) / 10
    assert evidence.interval(0.8) is not None


def test_a_relative_margin_moves_with_the_baseline_of_each_draw():
    evidence = Resampled(np.array([1.0, 2, 4]), np.array([1.2, 2.1, 4.2]), True)
    # 10% more are 1.1, 2.2 and 4.4: only the first draw is beyond
    assert evidence.p_worse(1, Margin(relative=0.1)) == (1 + 2) / 4
    assert evidence.p_worse(1, Margin(relative=0.01)) == (1 + 0) / 4


def test_draws_in_which_both_are_infinite_say_nothing():
    evidence = Resampled(np.array([math.inf, 1, 1]), np.array([math.inf, 2, 3]), True)
    assert evidence.p_worse(1, NONE) == 1 / 3
    assert math.isnan(Resampled(np.full(3, math.inf), np.full(3, math.inf), True).p_value())


def test_interval_is_numpys_order_statistic():
    draws = np.random.default_rng(0).normal(size=999)
    found = Resampled(np.zeros(999), draws, True).interval(0.9)
    assert found is not None
    assert [found.low, found.high] == np.quantile(draws, [0.05, 0.95], method="inverted_cdf").tolist()


def test_normal_evidence_is_the_z_test():
    evidence = Normal(0.8, 0.9, (0.0004, 0.0009), 0.0002, "z")
    error = math.sqrt(0.0004 + 0.0009 - 2 * 0.0002)
    assert evidence.p_value() == pytest.approx(2 * stats.norm.sf(0.1 / error))
    assert evidence.p_worse(1, Margin(0.05)) == pytest.approx(stats.norm.sf(0.05 / error))
    assert evidence.p_not_worse(1, Margin(0.15)) == pytest.approx(stats.norm.cdf(-0.05 / error))
    assert evidence.p_worse(-1, NONE) == pytest.approx(stats.norm.sf(-0.1 / error))
    found = evidence.interval(0.95)
    assert found is not None
    assert [found.low, found.high] == pytest.approx(stats.norm.interval(0.95, 0.1, error))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_relative_margin_changes_the_spread_of_the_contrast(sign):
    baseline, candidate, variances, covariance = 0.8, 0.9, (0.0004, 0.0009), 0.0002
    evidence = Normal(baseline, candidate, variances, covariance, "z")
    # the tested contrast is sign * candidate - (sign + r) * baseline, at most 0 where nothing is worse
    r = 0.05
    spread = np.array([[variances[0], covariance], [covariance, variances[1]]])
    contrast = np.array([-(sign + r), sign])
    z = contrast @ [baseline, candidate] / math.sqrt(contrast @ spread @ contrast)
    assert evidence.p_worse(sign, Margin(relative=r)) == pytest.approx(stats.norm.sf(z))


def test_equal_systems_without_spread_are_no_evidence():
    evidence = Normal(0.8, 0.8, (0.01, 0.01), 0.01, "z")
    assert evidence.p_value() == 1
    assert evidence.p_worse(1, NONE) == 0.5


def test_permutations_at_least_as_extreme_are_counted():
    evidence = Permuted(0.3, 0.1, Swapped(0.3, np.array([-0.4, -0.3, 0.1, 0.3])), True)
    assert evidence.least_p() == 1 / 5
    assert evidence.p_value() == (1 + 3) / 5
    assert evidence.p_worse(1, NONE) == (1 + 1) / 5
    assert evidence.p_worse(1, Margin(0.3)) == 1
    assert evidence.p_worse(1, Margin(0.2)) == (1 + 1) / 5
    assert evidence.interval(0.95) is None
    assert math.isnan(evidence.p_not_worse(1, Margin(1)))


def test_a_margin_is_of_the_difference_and_the_test_of_what_was_swapped():
    evidence = Permuted(0.3, 0.1, Swapped(0.2, np.array([-0.4, 0.1, 0.25, 0.3])), True)
    assert evidence.p_value() == (1 + 3) / 5
    assert evidence.p_worse(1, Margin(0.25)) == (1 + 2) / 5
    assert evidence.p_worse(1, Margin(0.3)) == 1
    assert math.isnan(Permuted(0.1, 0.1, Swapped(math.nan, np.zeros(3)), True).p_value())
    assert math.isnan(Permuted(0.1, 0.1, Swapped(0.1, np.empty(0)), True).p_value())


def test_without_a_test_nothing_is_said():
    evidence = Untested()
    assert evidence.interval(0.95) is None
    assert math.isnan(evidence.p_value())
    assert math.isnan(evidence.p_worse(1, NONE))


def test_margins_read_well():
    assert [str(Margin()), str(Margin(0.01)), str(Margin(relative=0.05))] == ["0", "0.01", "5%"]
    assert Margin(0.01, 0.1).of(-2) == pytest.approx(0.21)
