"""The area under the ROC curve, average precision, and their standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from calcli.core.estimators.influences import Influences
from calcli.core.estimators.ranking import AREA, PRECISION, is_backwards, ranking_influences
from calcli.core.problems.problem import ordered_problem


def ranked(n, rng):
    outcome = rng.random(n) < 0.4
    return np.round(rng.normal(size=n) + outcome, 1).clip(-5, 5) / 10 + 0.5, outcome


MEASURES = pytest.mark.parametrize(
    ("measure", "oracle"), [(AREA, roc_auc_score), (PRECISION, average_precision_score)]
)


@MEASURES
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees_ties_included(weighted, measure, oracle):
    rng = np.random.default_rng(0)
    score, outcome = ranked(500, rng)
    weights = rng.exponential(size=500) * (rng.random(500) < 0.9) if weighted else None
    found = measure.spread(ordered_problem(score, outcome, weights))
    assert found.value == pytest.approx(oracle(outcome, score, sample_weight=weights), abs=1e-13)


@MEASURES
def test_standard_error_is_the_jackknife(measure, oracle):
    rng = np.random.default_rng(1)
    score, outcome = ranked(150, rng)
    found = measure.spread(ordered_problem(score, outcome))
    left = np.array([oracle(np.delete(outcome, i), np.delete(score, i)) for i in range(150)])
    jackknife = math.sqrt(149 / 150 * np.square(left - left.mean()).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.05)


@MEASURES
def test_influences_are_what_a_little_more_weight_of_a_row_changes(measure, oracle):
    rng = np.random.default_rng(5)
    score, outcome = ranked(60, rng)
    _, found = ranking_influences(measure, np.stack([1 - score, score]), outcome.astype(int))

    def mean(weights):
        second = oracle(outcome, score, sample_weight=weights)
        return (second + oracle(~outcome, 1 - score, sample_weight=weights)) / 2

    expected = [(mean(1 + 1e-6 * one) - mean(np.ones(60))) / 1e-6 for one in np.eye(60)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("separation", [0.75, 2.33, 5.0])
@pytest.mark.parametrize(("positives", "like_others"), [(3, 0.0), (10, 0.2), (30, 0.1)])
def test_few_intervals_miss_where_one_class_is_rare(positives, like_others, separation):
    """All are shown, so that none is by luck; some of the rare class may be scored like the others."""
    rng, trials, negatives = np.random.default_rng(positives), 200, 300
    apart = 0.5 * (1 + math.erf(separation / 2))
    truth = (1 - like_others) * apart + like_others / 2
    outcome = np.arange(positives + negatives) < positives
    missed = 0
    for _ in range(trials):
        own = separation * (rng.random(positives) >= like_others)
        score = stats.norm.cdf(
            rng.normal(size=len(outcome)) + np.where(outcome, np.resize(own, len(outcome)), 0)
        )
        interval, _ = AREA.interval(AREA.spread(ordered_problem(score, outcome)), 0.95, "row")
        missed += not interval.contains(truth)
    assert missed <= stats.binom.ppf(0.999, trials, 0.06)


@pytest.mark.parametrize(("rare", "others"), [(1, 40), (7, 7), (12, 300)])
def test_ranked_without_a_fault_the_interval_is_that_of_a_share_without_a_miss(rare, others):
    """Pairs of a row of each class are independent: all are in order with a chance of area^rare at most."""
    outcome = np.repeat([False, True], [others, rare])
    perfect = AREA.spread(ordered_problem(np.linspace(0, 1, rare + others), outcome))
    found = AREA.interval(perfect, 0.95, "row")[0]
    assert (perfect.value, perfect.fewest, found.high) == (1, rare, 1)
    assert found.low**rare == pytest.approx(0.025)
    oracle = stats.binomtest(rare, rare).proportion_ci(0.95, method="exact")
    assert found.low == pytest.approx(oracle.low)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_one_ranking(weighted):
    rng = np.random.default_rng(3)
    score, outcome = ranked(300, rng)
    weights = rng.exponential(size=300) if weighted else None
    single = AREA.spread(ordered_problem(score, outcome, weights))
    area, influences = ranking_influences(AREA, np.stack([1 - score, score]), outcome.astype(int), weights)
    both = Influences(area, influences, 300).spread
    assert [both.value, both.standard_error, both.skewness, both.carriers] == pytest.approx(
        [single.value, single.standard_error, single.skewness, single.carriers], rel=1e-9
    )


def test_the_standard_error_is_that_of_delong():
    """The variances of the placements of each class, over its size (DeLong et al. 1988)."""
    rng = np.random.default_rng(4)
    score, outcome = ranked(90, rng)
    above = (score[outcome][:, None] > score[~outcome]) + 0.5 * (score[outcome][:, None] == score[~outcome])
    variance = sum(above.mean(axis).var() / above.shape[1 - axis] for axis in (0, 1))
    found = AREA.spread(ordered_problem(score, outcome))
    assert found.standard_error == pytest.approx(math.sqrt(variance * 90 / 89), rel=1e-12)


def test_a_missing_outcome_has_no_area():
    assert math.isnan(AREA.spread(ordered_problem(np.array([0.2, 0.4]), np.array([True, True]))).value)
    assert math.isnan(ranking_influences(AREA, np.ones((2, 3)) / 2, np.array([0, 0, 0]))[0])


@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(4, 60), st.floats(-2, 1))
def test_an_area_below_one_half_is_judged_by_the_test_of_mann_and_whitney(seed, ones, others, shift):
    rng = np.random.default_rng(seed)
    high, low = rng.normal(shift, size=ones), rng.normal(size=others)
    found = stats.mannwhitneyu(high, low, alternative="less", method="asymptotic", use_continuity=False)
    sizes = np.array([others, ones], np.float64)
    assert is_backwards(found.statistic / (ones * others), sizes) == (found.pvalue < 0.005)


def test_useless_scores_of_more_classes_are_seldom_said_to_rank_the_wrong_way_round():
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(1000):
        labels = np.append(np.arange(4), rng.integers(0, 4, 60))
        area, _ = ranking_influences(AREA, rng.dirichlet(np.ones(4), len(labels)).T, labels)
        said += is_backwards(area, np.bincount(labels).astype(float))
    assert stats.binomtest(said, 1000, 0.005, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("positives", [19, 20])
def test_average_precision_needs_twenty_rows_of_the_rarer_outcome_for_an_interval(positives):
    rng = np.random.default_rng(6)
    outcome = np.arange(2_000) < positives
    score = stats.norm.cdf(rng.normal(size=2_000) + 0.3 * outcome)
    found = PRECISION.spread(ordered_problem(score, outcome))
    interval, reason = PRECISION.interval(found, 0.95, "row")
    assert found.fewest == positives / 4
    few = positives < 20
    assert (interval is None, reason) == (few, "effective sample size 4" if few else "")
