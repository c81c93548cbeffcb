"""Classical calibration of two classes: in the large, intercept and slope, Spiegelhalter's test.

All of them look at the probability of one class; weights multiply a row's part of the log-likelihood. The
standard errors of dependent rows are those of the cluster-robust sandwich (Liang & Zeger 1986).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.units import Units
from calcli.core.estimators.influences import Influences, Pooled, Spread, pooled
from calcli.core.state.expectedmoments import Moments

MAX_STEPS = 100
STEP = 1e-10  # change of the intercept, relative to its size, at which Newton's method ends
GRADIENT = 1e-14  # relative gradient at which the fit of a slope ends
ROUNDING = 1e-12  # relative noise of a summed loss


@dataclass(frozen=True)
class Coefficient:
    """An estimate with its standard error; both are nan where the data do not determine it.

    Attributes
    ----------
    value
        The estimate; infinite where the outcomes can be told apart perfectly.
    standard_error
        Its standard error, nan if the value is infinite.
    influences
        (n,) what each unit brings to it, up to a factor.
    """

    value: float
    standard_error: float
    influences: Doubles = field(default_factory=lambda: np.zeros(0))

    def spread(self, outcomes: Pooled | None = None) -> Spread | None:
        """Return its spread, whose shape is that of the influences; None if it has no standard error.

        Parameters
        ----------
        outcomes
            Moments of outcome minus score, of those seen and those that the scores expect.
        """
        number = int(np.count_nonzero(np.square(self.influences)))  # some squares are rounded to 0
        if math.isnan(self.standard_error) or number < 2:
            return None
        whole = Influences(self.value, self.influences, number).spread
        factor = float(self.standard_error) / whole.standard_error
        return replace(whole.scaled(self.value, factor), pooled=outcomes)


UNKNOWN = Coefficient(math.nan, math.nan)


def of_outcomes(score: Floats, outcome: Array, weights: Floats | None) -> Pooled:
    """Return the moments of outcome minus score, of the outcomes seen and those that the scores expect."""
    p = score.astype(np.float64, copy=False)
    weight = np.ones(len(p)) if weights is None else weights
    powers = np.arange(5)[:, None]
    expected = p * (1 - p) ** powers + (1 - p) * (-p) ** powers
    moments = Moments(expected[:3] @ weight**2, expected @ weight**4)
    return pooled(outcome - p, weights, moments)


def in_the_large(
    score: Floats, outcome: Array, weights: Floats | None = None, units: Units | None = None
) -> Coefficient:
    """Return the mean outcome minus the mean score: above 0 the class occurs more often than predicted.

    Parameters
    ----------
    score
        (N,) probabilities of the class.
    outcome
        (N,) whether it occurred.
    weights
        (N,) row weights.
    units
        Which rows belong together; each is by itself if None.
    """
    gap = np.subtract(outcome, score, dtype=np.float64)
    share = _shares(len(gap), weights)
    mean = float(share @ gap)
    influence = share * (gap - mean)
    if units is not None:
        share, influence = units.sums(share), units.sums(influence)
    effective = 1 / float(share @ share)
    if effective <= 1 + ROUNDING:
        return Coefficient(mean, math.nan)
    return Coefficient(mean, math.sqrt(float(influence @ influence) * effective / (effective - 1)), influence)


def calibration_intercept(
    log_odds: Floats, outcome: Array, weights: Floats | None = None, units: Units | None = None
) -> Coefficient:
    """Return a of log-odds(outcome) = a + log-odds(score): 0 if right on average (Cox 1958).

    Parameters
    ----------
    log_odds
        (N,) finite log-odds of the class.
    outcome
        (N,) whether it occurred.
    weights
        (N,) row weights.
    units
        Which rows belong together; each is by itself if None.
    """
    if outcome.all() or not outcome.any():
        return Coefficient(math.inf if outcome.all() else -math.inf, math.nan)
    loss = LogisticLoss(np.ones((len(outcome), 1)), outcome, _shares(len(outcome), weights), log_odds)
    # at these ends every outcome is all but sure: the root lies between them
    low, high = -float(log_odds.max()) - 1000, -float(log_odds.min()) + 1000
    a = 0.0
    for _ in range(MAX_STEPS):
        excess = -float(loss.evaluate(np.array([a]))[1][0])
        loss.refresh()
        steepness = float(loss.hessian[0, 0])
        low, high = (a, high) if excess > 0 else (low, a)
        newton = a + excess / steepness if steepness > 0 else math.nan
        previous, a = a, newton if low <= newton <= high else (low + high) / 2
        if abs(a - previous) <= STEP * max(1, abs(a)):
            break
    if not steepness > 0:
        return Coefficient(a, math.nan)
    return Coefficient(a, math.sqrt(_covariance(loss, weights, units)[0, 0]), _brought(loss, units)[:, 0])


def calibration_slope(
    log_odds: Floats, outcome: Array, weights: Floats | None = None, units: Units | None = None
) -> Coefficient:
    """Return b of log-odds(outcome) = a + b log-odds(score) (Cox 1958).

    Below 1 the scores are too extreme, over-confident; above 1 they are too timid.

    Parameters
    ----------
    log_odds
        (N,) finite log-odds of the class.
    outcome
        (N,) whether it occurred.
    weights
        (N,) row weights.
    units
        Which rows belong together; each is by itself if None.
    """
    hits, misses = log_odds[outcome.astype(bool)], log_odds[~outcome.astype(bool)]
    if not len(hits) or not len(misses) or log_odds.min() == log_odds.max():
        return UNKNOWN
    for sign, low, high in [(1, misses, hits), (-1, hits, misses)]:
        if low.max() <= high.min():
            return Coefficient(sign * math.inf, math.nan)
    # a standardized feature leaves a well-conditioned Hessian and the same logits
    centered = log_odds - np.average(log_odds, weights=weights)
    scale = np.sqrt(np.average(np.square(centered), weights=weights))
    features = np.stack([np.ones(len(log_odds)), centered / scale], axis=1)
    loss = LogisticLoss(features, outcome, _shares(len(outcome), weights))
    x = minimize(loss, np.zeros(2), GRADIENT).x
    loss.evaluate(x)
    covariance = _covariance(loss, weights, units)
    return Coefficient(float(x[1] / scale), math.sqrt(covariance[1, 1]) / scale, _brought(loss, units)[:, 1])


def _shares(rows: int, weights: Floats | None) -> Doubles:
    """Return the share of each row in the mean."""
    return np.full(rows, 1 / rows) if weights is None else weights / weights.sum()


def _covariance(loss: LogisticLoss, weights: Floats | None, units: Units | None) -> Doubles:
    """Return the covariance of the coefficients at the last evaluation of their loss.

    It is the inverse Hessian; with weights, or units of several rows, the sandwich, in which every unit is
    one observation.
    """
    loss.refresh()
    inverse = np.linalg.inv(loss.hessian)
    if weights is None and (units is None or units.single):
        return inverse / len(loss.residual)
    return inverse @ _score_covariance(loss.residual[:, None] * loss.features, units) @ inverse


def _brought(loss: LogisticLoss, units: Units | None) -> Doubles:
    """Return the (n, d) influences of units on the coefficients."""
    scores = -(loss.residual[:, None] * loss.features) @ np.linalg.inv(loss.hessian)
    if units is None or units.single:
        return scores
    return np.stack([units.sums(column) for column in scores.T], axis=1)


def _score_covariance(scores: Floats, units: Units | None) -> Floats:
    """Return the (d, d) summed products of (N, d) scores of units; nan of only one."""
    if units is None or units.single:
        return scores.T @ scores
    sums = np.stack([units.sums(column) for column in scores.T], axis=1)
    if len(sums) < 2:
        return np.full((sums.shape[1], sums.shape[1]), math.nan)
    return len(sums) / (len(sums) - 1) * (sums.T @ sums)


@dataclass(frozen=True)
class ZTest:
    """A standard normal statistic and its two-sided p-value; nan where it has no variance."""

    z: float
    p_value: float


def spiegelhalter_test(score: Floats, outcome: Array, weights: Floats | None = None) -> ZTest:
    """Return Spiegelhalter's test of calibration (Spiegelhalter 1986).

    It compares the Brier score with its expectation if the scores are right, over its standard deviation:
    positive Z means a worse Brier score than the scores promise, as over-confident ones have.

    Parameters
    ----------
    score
        (N,) probabilities of the class.
    outcome
        (N,) whether it occurred.
    weights
        (N,) row weights.
    """
    p = score.astype(np.float64, copy=False)
    lean = 1 - 2 * p
    if weights is not None:
        lean *= weights / weights.max()  # squares of small ones would be 0
    variance = float(np.square(lean) @ (p * (1 - p)))
    if variance == 0:
        return ZTest(math.nan, math.nan)
    z = float(lean @ (outcome - p)) / math.sqrt(variance)
    return ZTest(z, math.erfc(abs(z) / math.sqrt(2)))
