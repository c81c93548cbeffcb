"""Evidence for differences, against plain definitions and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from calcli.core.estimators.evidence import (
    DistanceEvidence,
    Equal,
    ExactShares,
    Margin,
    Normal,
    Simultaneous,
    Studentized,
    Untested,
    joint_covariance,
    sum_of_errors,
)
from calcli.core.estimators.intervals import Influences
from calcli.core.estimators.power import Power

NONE = Margin()


def of_mean(values):
    return Influences(float(values.mean()), (values - values.mean()) / len(values), len(values))


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    baseline = rng.normal(1, 0.5, 200)
    return baseline, baseline + rng.normal(0.05, 0.3, 200)


def test_without_skewness_it_is_the_paired_t_test(pair):
    baseline, candidate = (np.concatenate([one, 2 - one[::-1]]) for one in pair)  # symmetric about 1
    evidence = Studentized(of_mean(baseline), of_mean(candidate), True)
    oracle = stats.ttest_rel(candidate, baseline)
    assert evidence.difference.spread.skewness == pytest.approx(0, abs=1e-12)
    # degrees of freedom follow from the kurtosis, 399 or so
    assert evidence.p_value() == pytest.approx(oracle.pvalue, abs=1e-12)
    assert evidence.method == "paired-jackknife"


@pytest.mark.parametrize("sign", [1, -1])
def test_proofs_belong_to_the_interval(pair, sign):
    baseline, candidate = (sign * one for one in pair)
    evidence = Studentized(of_mean(baseline), of_mean(candidate), True)
    ends = evidence.interval(0.9)
    worst = ends.low if sign > 0 else -ends.high
    assert evidence.p_worse(sign, Margin(worst)) == pytest.approx(0.05, abs=1e-9)
    best = ends.high if sign > 0 else -ends.low
    assert evidence.p_not_worse(sign, Margin(best)) == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_relative_margin_is_of_the_baseline_of_each_row(pair, sign):
    baseline, candidate = pair
    evidence = Studentized(of_mean(baseline), of_mean(candidate), True)
    excess = of_mean(sign * candidate - (sign + 0.02) * baseline).spread
    assert evidence.p_worse(sign, Margin(relative=0.02)) == pytest.approx(excess.p_above(0), rel=1e-9)


def _of_mean(values):
    """Return the p-value of a t-test with one degree of freedom fewer than observations carry the mean."""
    influence_values = np.square(values - values.mean())
    freedom = influence_values.sum() ** 2 / np.square(influence_values).sum() - 1
    return 2 * stats.t.sf(abs(stats.ttest_1samp(values, 0).statistic), freedom)


@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize(("shift", "decides"), [(0.05, "errors"), (2.0, "difference")])
def test_nearness_needs_both_a_difference_and_errors_that_do_not_cancel(pair, target, shift, decides):
    symmetric = np.concatenate([pair[0], 2 - pair[0][::-1]])
    baseline = target + shift - 1 + symmetric
    candidate = baseline + 0.02 + np.resize([-0.1, 0.1], 400)
    first, second = of_mean(baseline), of_mean(candidate)
    found = DistanceEvidence(Studentized(first, second, True), sum_of_errors(first, second, target, True))
    p = {"difference": _of_mean(candidate - baseline), "errors": _of_mean(baseline + candidate - 2 * target)}
    assert max(p, key=p.get) == decides
    assert found.p_value() == pytest.approx(p[decides], rel=1e-6)
    assert found.interval(0.95) == Studentized(first, second, True).interval(0.95)


def test_nearness_is_not_told_by_errors_that_few_carry(pair):
    first, second = map(of_mean, pair)
    assert math.isnan(DistanceEvidence(Studentized(first, second, True), None).p_value())
    alone = of_mean(np.append(np.zeros(199), 1.0))
    errors = sum_of_errors(alone, alone, 0.0, True)
    assert math.isnan(DistanceEvidence(Studentized(first, second, True), errors).p_value())


def test_pairs_of_shares_are_mcnemars_test():
    evidence = ExactShares(7, 100, 2, 100, 0.5, True)
    assert evidence.p_value() == pytest.approx(stats.binomtest(7, 9).pvalue, rel=1e-9)
    assert evidence.p_worse(-1, NONE) == pytest.approx(stats.binom.sf(1, 9, 0.5))
    assert evidence.p_worse(1, NONE) == pytest.approx(stats.binom.sf(6, 9, 0.5))
    assert ExactShares(0, 100, 0, 100, 0.5, True).p_value() == 1


def test_intervals_of_unpaired_shares_join_those_of_both():
    evidence = ExactShares(7, 100, 2, 100, 0.5, False)
    ends = evidence.interval(0.95)
    first, second = (stats.binomtest(k, 100).proportion_ci(0.975, method="exact") for k in (7, 2))
    assert (ends.low, ends.high) == pytest.approx((first.low - second.high, first.high - second.low))
    assert evidence.p_not_worse(1, Margin(ends.high)) == pytest.approx(0.025, abs=1e-9)
    assert evidence.p_worse(-1, Margin(0.2)) == pytest.approx(1, abs=1e-9)


def melded(gained, lost, rows):
    """Return draws of the lower confidence distribution of a difference (Fay & Lumbard 2021)."""
    rng, m = np.random.default_rng(0), gained + lost
    won = rng.beta(gained, lost + 1, 200_000) if gained else np.zeros(200_000)
    least = rng.beta(m, rows - m + 1, 200_000) if m else np.zeros(200_000)
    most = rng.beta(m + 1, rows - m, 200_000) if m < rows else np.ones(200_000)
    return np.where(won > 0.5, least, most) * (2 * won - 1)


@pytest.mark.parametrize(
    ("gained", "lost", "rows"),
    [(7, 2, 100), (0, 4, 30), (3, 9, 12), (0, 0, 50), (12, 0, 12), (24, 0, 1000), (11, 13, 10**6)],
)
def test_the_interval_of_paired_shares_is_melded_of_two_exact_ones(gained, lost, rows):
    evidence = ExactShares(gained, rows, lost, rows, 0.5, True)
    for level in (0.8, 0.95):
        ends, tail = evidence.interval(level), (1 - level) / 2
        for drawn, end in ((melded(gained, lost, rows), ends.low), (melded(lost, gained, rows), -ends.high)):
            assert end == -1 or np.mean(drawn < end) == pytest.approx(tail, abs=0.002)
        assert evidence.p_worse(1, Margin(max(ends.low, 0))) <= max(tail, evidence.p_worse(1, NONE)) + 1e-9
        assert ends.high == 1 or evidence.p_not_worse(1, Margin(ends.high)) == pytest.approx(tail, abs=1e-7)
        assert ends.contains(0) == (evidence.p_value() > 1 - level)


def test_correlated_tests_cost_less_than_bonferronis_correction():
    """The largest of statistics, against multivariate normal probabilities by scipy."""
    spread = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = Simultaneous.of(spread, np.eye(3), 0)
    for p in (0.5, 0.05, 0.01):
        z = stats.norm.isf(p / 2)
        inside = stats.multivariate_normal(cov=spread).cdf(np.full(3, z), lower_limit=np.full(3, -z))
        assert found.corrected(p) == pytest.approx(1 - inside, abs=0.015)
    assert found.corrected(1e-9) == pytest.approx(3e-9)
    level = found.pointwise(0.95)
    assert found.corrected(1 - level) == pytest.approx(0.05, abs=1e-3)
    assert found.corrected(1 - level - 1e-9) <= 0.05 + 1e-9
    assert Simultaneous.of(np.eye(1), np.eye(1), 0).corrected(0.04) == 0.04
    # all pairs of three alike systems: Tukey's studentized range
    pairs = np.array([[-1, 1, 0], [-1, 0, 1], [0, -1, 1]])
    tukey = stats.studentized_range.sf(np.sqrt(2) * 2.2, 3, np.inf)
    assert Simultaneous.of(np.eye(3), pairs, 0).corrected(2 * stats.norm.sf(2.2)) == pytest.approx(
        tukey, abs=0.01
    )


def test_estimates_of_other_units_have_no_covariance():
    values = np.random.default_rng(0).normal(size=(3, 50))
    first, second, third = map(of_mean, values)
    joint = joint_covariance([first, second, of_mean(values[2][:40])])
    expected = np.cov(values[:2], bias=True) / 50
    assert joint[:2, :2] == pytest.approx(expected)
    assert joint[2, :2].tolist() == [0, 0]
    apart = joint_covariance([first, second, third], paired=False)
    assert apart == pytest.approx(np.diag(np.diag(apart)))


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


def test_equal_systems_pass_without_a_test():
    assert Equal().interval(0.95) is None
    assert math.isnan(Equal().p_value())
    assert (Equal().p_worse(1, NONE), Equal().p_not_worse(1, NONE)) == (1, 0)


def test_equal_shares_are_proven_to_be_close_where_rows_are_many():
    assert ExactShares(0, 1000, 0, 1000, 0.9, True).p_not_worse(-1, Margin(0.01)) < 0.001
    assert ExactShares(0, 100, 0, 100, 0.9, True).p_not_worse(-1, Margin(0.01)) > 0.3


def test_without_a_test_nothing_is_said():
    assert Untested().interval(0.95) is None
    assert math.isnan(Untested().p_value())
    assert math.isnan(Untested().p_worse(1, NONE))


def test_margins_read_well():
    assert [str(Margin()), str(Margin(0.01)), str(Margin(relative=0.05))] == ["0", "0.01", "5%"]
    assert Margin(0.01, 0.1).of(-2) == pytest.approx(0.21)


def test_what_rows_detect_and_margins_need_is_by_the_normal_formulas(pair):
    baseline, candidate = pair
    for paired, error in (
        (True, stats.sem(candidate - baseline)),
        (False, math.hypot(stats.sem(candidate), stats.sem(baseline))),
    ):
        power = Power.of(Studentized(of_mean(baseline), of_mean(candidate), paired), 200, 0.95)
        assert power.standard_error == pytest.approx(error, rel=0.003)  # unpaired: n - 1 of both together
        z = stats.norm.ppf([0.975, 0.8, 0.9])
        assert power.detectable == pytest.approx((z[0] + z[1]) * power.standard_error, rel=1e-9)
        sd = power.standard_error * math.sqrt(200)
        assert power.not_worse(0.01) == math.ceil(((z[0] + z[1]) * sd / 0.01) ** 2)
        assert power.equivalent(0.01) == math.ceil(((z[0] + z[2]) * sd / 0.01) ** 2)
        assert power.known_within(0.01) == math.ceil((z[0] * sd / 0.01) ** 2)


def test_shares_are_spread_as_their_rows_are():
    old, new = np.repeat([1, 1, 0, 0], [80, 3, 1, 16]), np.repeat([1, 0, 1, 0], [80, 3, 1, 16])
    paired, unpaired = ExactShares(1, 100, 3, 100, 0.83, True), ExactShares(81, 100, 83, 100, 0.83, False)
    assert paired.standard_error == pytest.approx(stats.sem(new - old), rel=1e-12)
    assert unpaired.standard_error == pytest.approx(math.hypot(stats.sem(new), stats.sem(old)), rel=1e-12)
    assert Power.of(ExactShares(0, 100, 0, 100, 0.9, True), 100, 0.95) is None
    assert Power.of(Untested(), 100, 0.95) is None
