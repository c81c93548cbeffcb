import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import norm, t
from sklearn.linear_model import LogisticRegression

from calcli.core.data.units import Units
from calcli.core.estimators.classical import (
    Coefficient,
    calibration_intercept,
    calibration_slope,
    spiegelhalter_test,
)


def simulated(rows, rng, intercept=0.0, slope=1.0):
    """Return log-odds and outcomes whose true log-odds are intercept + slope times them."""
    log_odds = rng.normal(scale=2, size=rows)
    return log_odds, rng.random(rows) < expit(intercept + slope * log_odds)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    return *simulated(400, rng, 0.4, 0.6), rng.exponential(size=400)


def log_loss(x, log_odds, outcome, weights):
    logits = x[0] + x[1] * log_odds
    return weights @ (np.logaddexp(0, logits) - outcome * logits)


def test_slope_against_sklearn(sample):
    log_odds, outcome, weights = sample
    for own in (None, weights):
        oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(log_odds[:, None], outcome, own)
        assert calibration_slope(log_odds, outcome, own).value == pytest.approx(oracle.coef_[0, 0], abs=1e-6)


def test_intercept_against_scipy(sample):
    log_odds, outcome, weights = sample
    for own in (None, weights):
        total = np.ones(400) if own is None else own
        oracle = minimize(lambda a: log_loss((a[0], 1), log_odds, outcome, total), [0.0], tol=1e-10)  # noqa: B023
        assert calibration_intercept(log_odds, outcome, own).value == pytest.approx(oracle.x[0], abs=1e-5)


def test_the_interval_of_symmetric_influences_is_that_of_t():
    found = Coefficient(1.0, 0.5, np.tile([-1.0, 1.0], 20)).of_units(40).spread.interval(0.95)
    assert (found.low, found.high) == pytest.approx(t.interval(0.95, 39, 1, 0.5))
    assert Coefficient(np.inf, np.nan).of_units(40) is None


@pytest.mark.parametrize("estimator", [calibration_slope, calibration_intercept])
def test_weights_of_class_priors_are_known(estimator):
    """The spread is that of samples whose outcomes have the same weight together, however many there are."""
    rng = np.random.default_rng(8)
    found = []
    for _ in range(400):
        log_odds, outcome = simulated(400, rng, -1.5)
        weights = np.where(outcome, 0.5 / outcome.mean(), 0.5 / (1 - outcome.mean()))
        found.append(estimator(log_odds, outcome, weights, priors=True))
    spread = np.std([own.value for own in found])
    assert np.mean([own.standard_error for own in found]) == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("estimator", [calibration_slope, calibration_intercept])
class TestClusters:
    """Standard errors of rows that depend on each other."""

    @staticmethod
    def dependent(rng, clusters=60, rows=6):
        """Return log-odds and outcomes whose error is shared within a cluster, and the clusters."""
        number = np.repeat(np.arange(clusters), rows)
        truth = rng.normal(scale=1.5, size=clusters)[number] + rng.normal(scale=0.5, size=len(number))
        seen = truth + rng.normal(scale=0.8, size=clusters)[number]
        return seen, rng.random(len(number)) < expit(truth), number

    @staticmethod
    def estimate(estimator, log_odds, outcome, weights=None, clusters=None):
        return estimator(log_odds, outcome, weights, Units.of(len(log_odds), clusters))

    def test_copies_of_a_row_are_one_observation(self, estimator, sample):
        log_odds, outcome, _ = sample
        copies = np.repeat(np.arange(400), 3)
        found = self.estimate(estimator, log_odds[copies], outcome[copies], clusters=copies)
        alone = self.estimate(estimator, log_odds, outcome, np.ones(400))
        assert found.value == pytest.approx(alone.value, abs=1e-9)
        assert found.standard_error == pytest.approx(alone.standard_error, rel=1e-9)

    def test_against_the_jackknife_of_clusters(self, estimator):
        log_odds, outcome, clusters = self.dependent(np.random.default_rng(6))
        whole = self.estimate(estimator, log_odds, outcome, clusters=clusters)
        without = [
            self.estimate(estimator, log_odds[clusters != left], outcome[clusters != left]).value
            for left in range(60)
        ]
        jackknife = np.sqrt(59 / 60 * np.square(without - np.mean(without)).sum())
        assert whole.standard_error == pytest.approx(jackknife, rel=0.02)

    def test_one_cluster_has_no_spread(self, estimator, sample):
        found = self.estimate(estimator, *sample[:2], clusters=np.zeros(400, np.intp))
        assert np.isnan(found.standard_error)


class TestUndetermined:
    def test_outcomes_told_apart_have_an_infinite_slope(self):
        log_odds, outcome = np.array([-1.0, 0, 0, 2]), np.array([False, False, True, True])
        assert calibration_slope(log_odds, outcome).value == np.inf
        assert calibration_slope(-log_odds, outcome).value == -np.inf

    def test_one_outcome_only(self):
        log_odds = np.array([-1.0, 3.0])
        for outcome, sign in [(np.ones(2, bool), 1), (np.zeros(2, bool), -1)]:
            assert calibration_intercept(log_odds, outcome).value == sign * np.inf
            assert np.isnan(calibration_slope(log_odds, outcome).value)

    def test_one_score_only(self):
        outcome = np.array([True, False, True])
        assert np.isnan(calibration_slope(np.ones(3), outcome).value)
        assert calibration_intercept(np.ones(3), outcome).value == pytest.approx(logit(2 / 3) - 1)

    def test_scores_beyond_any_probability(self):
        found = calibration_intercept(np.array([800.0, -900.0]), np.array([False, True]))
        assert -800 < found.value < 900  # nearly everywhere in between one of the two is expected


class TestSpiegelhalter:
    def test_against_the_brier_score_and_its_moments(self, sample):
        log_odds, outcome, weights = sample
        p = expit(log_odds)
        brier = weights @ (outcome - p) ** 2
        expected = weights @ (p * (1 - p))
        variance = weights**2 @ ((1 - 2 * p) ** 2 * p * (1 - p))
        found = spiegelhalter_test(p, outcome, weights)
        assert found.z == pytest.approx((brier - expected) / np.sqrt(variance))
        assert found.p_value == pytest.approx(2 * norm.sf(abs(found.z)))

    def test_of_weights_only_ratios_count(self):
        p, outcome, weights = np.array([5e-324, 5e-324]), np.array([True, False]), np.ones(2)
        found = [spiegelhalter_test(p, outcome, factor * weights).z for factor in (1, 1e-9, 1e9)]
        assert found == [pytest.approx(1 / np.sqrt(2 * 5e-324))] * 3

    @pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
    def test_no_variance(self, score):
        assert np.isnan(spiegelhalter_test(np.full(3, score), np.ones(3, bool)).z)
