"""The sequential test of calibration: by hand, its guarantee exactly, and against sums over all starts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

from calcli.core.data.units import Units
from calcli.core.estimators.sequential import (
    BETS,
    Hypothesis,
    Reference,
    change,
    evidence,
    first_alarm,
    log_e_values,
)

SCORES = np.array([0.0, 1e-9, 0.001, 0.05, 0.3, 0.5, 0.81, 0.999, 1 - 1e-9, 1.0])


def rows(number, seed=0, slope=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.5, number)
    return expit(z), (rng.random(number) < expit(slope * z)).astype(float)


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_evidence_is_how_much_likelier_each_bet_makes_the_outcomes(tolerance):
    score, outcome = rows(40)
    found = evidence(Hypothesis.within(score, tolerance), outcome, np.zeros(40, int), 1)
    for (slope, intercept), value in zip(BETS.tolist(), found[0].tolist(), strict=True):
        total = 0.0
        for p, y in zip(score.tolist(), outcome.tolist(), strict=True):
            bet = 1 / (1 + math.exp(-(slope * math.log(p / (1 - p)) + intercept)))
            nearest = min(max(bet, p - tolerance), p + tolerance)
            total += math.log(bet / nearest if y else (1 - bet) / (1 - nearest))
        assert value == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.1])
def test_no_factor_has_a_mean_above_1_if_the_probability_is_within_the_tolerance(tolerance):
    """So also at 0 and 1, where every probability beyond one in a million counts as right."""
    hypothesis = Hypothesis.within(SCORES, tolerance)
    factors = [np.exp(hypothesis.log_factors(np.full(len(SCORES), float(y)))) for y in (0, 1)]
    for off in (-1, -0.5, 0, 0.5, 1):
        true = np.clip(SCORES + off * tolerance, 0, 1)[:, None]
        assert ((1 - true) * factors[0] + true * factors[1]).max() <= 1 + 1e-9
    if tolerance == 0:  # and of what is right everywhere it is 1, but at the ends
        inner = slice(2, 8)
        true = SCORES[inner, None]
        np.testing.assert_allclose((1 - true) * factors[0][inner] + true * factors[1][inner], 1, rtol=1e-9)


def test_grades_count_no_more_than_their_mean_allows():
    score = np.array([0.3, 0.8])
    hypothesis = Hypothesis.within(score, 0.0)
    grades, chances = (
        np.array([0.0, 0.5, 1.0]),
        np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]]),
    )  # of these means
    np.testing.assert_allclose(chances @ grades, score)
    mean = sum(chances[:, [k]] * np.exp(hypothesis.log_factors(np.full(2, g))) for k, g in enumerate(grades))
    assert mean.max() <= 1 + 1e-12


def test_evidence_adds_up_over_parts_periods_and_counts():
    score, outcome = rows(3_000, 1)
    period = np.arange(3_000) % 3
    whole = evidence(Hypothesis.within(score, 0.01), outcome, period, 3)
    parts = [
        evidence(Hypothesis.within(score[own], 0.01), outcome[own], np.zeros(own.sum(), int), 1)
        for own in (period == 0, period == 1, period == 2)
    ]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-9)
    twice = evidence(Hypothesis.within(score, 0.01), outcome, period, 3, counts=np.full(3_000, 2))
    np.testing.assert_allclose(twice, 2 * whole, rtol=1e-9)


def test_rows_of_a_cluster_count_by_the_mean_of_their_factors():
    score, outcome = rows(60, 2)
    cluster, period, hypothesis = np.arange(60) % 7, np.arange(60) // 30, Hypothesis.within(score, 0.0)
    expected = np.zeros((2, len(BETS)))
    factors = np.exp(hypothesis.log_factors(outcome))
    for t in range(2):
        for one in range(7):
            expected[t] += np.log(factors[(cluster == one) & (period == t)].mean(axis=0))
    units = Units.of(60, 10 * period + cluster)
    np.testing.assert_allclose(evidence(hypothesis, outcome, period, 2, units), expected, rtol=1e-9)


def test_the_e_value_is_the_mean_over_bets_and_weighted_starts():
    own = np.random.default_rng(3).normal(0, 1, (12, len(BETS)))
    found = log_e_values(own)
    for t in range(12):
        total = 1 / (t + 2)  # of starts that are to come
        for start in range(t + 1):
            total += np.exp(own[start : t + 1].sum(axis=0)).mean() / ((start + 1) * (start + 2))
        assert found[t] == pytest.approx(math.log(total), abs=1e-12)


def test_a_change_is_the_start_and_the_bet_with_the_largest_term():
    own = np.random.default_rng(4).normal(0, 1, (9, len(BETS)))
    terms = {
        (start, bet): own[start:, bet].sum() - math.log((start + 1) * (start + 2))
        for start in range(9)
        for bet in range(len(BETS))
    }
    start, bet = max(terms, key=terms.get)
    found = change(own)
    assert (found.start, found.slope, found.intercept) == (start, *BETS[bet])


def test_an_alarm_takes_evidence_of_one_over_the_rate():
    values = np.log(np.array([1.0, 19.9, 20.1, 3.0]))
    assert first_alarm(values, 0.95) == 2
    assert first_alarm(values, 0.99) is None


def test_a_reference_is_a_logistic_regression_with_its_sandwich():
    score, outcome = rows(3_000, 5, slope=0.7)
    found = Reference.of(score, outcome, Units.of(3_000))
    z = logit(score)[:, None]
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000).fit(z, outcome)
    assert found.line == pytest.approx((fit.intercept_[0], fit.coef_[0, 0]), abs=1e-4)
    features, p = np.column_stack([np.ones(3_000), z]), fit.predict_proba(z)[:, 1]
    bread = np.linalg.inv(features.T * (p * (1 - p)) @ features)
    meat = (features.T * (outcome - p) ** 2) @ features
    np.testing.assert_allclose(found.covariance, bread @ meat @ bread * 3_000 / 2_998, rtol=1e-3)
    hypothesis = Hypothesis.against(score, found, 0.975)
    spread = np.sqrt(np.einsum("ni,ij,nj->n", features, np.array(found.covariance), features))
    reach = math.sqrt(chi2.ppf(0.975, 2)) * spread
    np.testing.assert_allclose(hypothesis.high - hypothesis.log_odds, reach, rtol=1e-6)
    np.testing.assert_allclose(hypothesis.log_odds - hypothesis.low, reach, rtol=1e-6)


def test_clusters_of_a_reference_are_one_observation_each():
    score, outcome = rows(500, 6)
    twice = np.repeat(np.arange(500), 2)
    alone = Reference.of(score, outcome, Units.of(500))
    copied = Reference.of(score[twice], outcome[twice], Units.of(1_000, twice))
    np.testing.assert_allclose(copied.covariance, alone.covariance, rtol=1e-4)


def test_a_flat_reference_is_a_rate():
    outcome = np.array([1.0] * 30 + [0.0] * 70)
    found = Reference.of(np.full(100, 0.5), outcome, Units.of(100), flat=True)
    assert found.line == pytest.approx((logit(0.3), 0), abs=1e-4)
    assert found.covariance[0][0] == pytest.approx(1 / (100 * 0.3 * 0.7) * 100 / 99, rel=1e-3)
