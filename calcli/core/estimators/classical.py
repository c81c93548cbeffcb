"""Classical calibration of two classes: intercept and slope, Spiegelhalter's test.

They all use the probability of one class; weights multiply a row's part of the log-likelihood. The
standard errors of dependent rows, and of weighted ones, come from the sandwich (Liang & Zeger 1986), with the
contribution of a unit divided by one minus its leverage, as in the jackknife (MacKinnon & White 1985).
Weights that come from class priors are known for each outcome: what all rows of one outcome have in common
does not vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.units import Units
from calcli.core.estimators.intervals import ERROR, Influences, of_equal_weight

MAX_STEPS = 100
STEP = 1e-10  # change of the intercept, relative to its size, at which Newton's method ends
GRADIENT = 1e-14  # relative gradient at which the fit of a slope ends
ROUNDING = 1e-12  # relative noise of a summed loss
LEFT = 1e-9  # share of a fit that remains without its only unit


@dataclass(frozen=True)
class Coefficient:
    """An estimate with its standard error; both are nan if the data do not determine it.

    Attributes
    ----------
    value
        The estimate; infinite if the outcomes are perfectly separable.
    standard_error
        Its standard error, nan if the value is infinite.
    influences
        (n,) influence of each unit, up to a factor.
    """

    value: float
    standard_error: float
    influences: Doubles = field(default_factory=lambda: np.zeros(0))

    def of_units(self, errors: float) -> Influences | None:
        """Return the influences of units, `errors` of them errors; None without a standard error."""
        number = int(np.count_nonzero(np.square(self.influences)))  # some squares are rounded to 0
        if math.isnan(self.standard_error) or number < 2:
            return None
        factor = self.standard_error / Influences(self.value, self.influences, number).spread.standard_error
        return Influences(self.value, factor * self.influences, number, fewest=errors, scarce=ERROR)


UNKNOWN = Coefficient(math.nan, math.nan)


def calibration_intercept(
    log_odds: Floats,
    outcome: Array,
    weights: Floats | None = None,
    units: Units | None = None,
    *,
    priors: bool = False,
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
    priors
        Whether the weights bring about class priors.
    """
    if outcome.all() or not outcome.any():
        return Coefficient(math.inf if outcome.all() else -math.inf, math.nan)
    loss = LogisticLoss(np.ones((len(outcome), 1)), outcome, _shares(len(outcome), weights), log_odds)
    # at these ends every outcome is nearly certain: the root lies between them
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
    (error,), influence_values = _spread(loss, weights, units, priors=priors)
    return Coefficient(a, float(error), influence_values[:, 0])


def calibration_slope(
    log_odds: Floats,
    outcome: Array,
    weights: Floats | None = None,
    units: Units | None = None,
    *,
    priors: bool = False,
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
    priors
        Whether the weights bring about class priors.
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
    (_, error), influence_values = _spread(loss, weights, units, priors=priors)
    return Coefficient(float(x[1] / scale), float(error / scale), influence_values[:, 1])


def _shares(rows: int, weights: Floats | None) -> Doubles:
    """Return the share of each row in the mean."""
    return np.full(rows, 1 / rows) if weights is None else weights / weights.sum()


def _spread(
    loss: LogisticLoss, weights: Floats | None, units: Units | None, *, priors: bool
) -> tuple[Doubles, Doubles]:
    """Return the (d,) standard errors of the coefficients, and the (n, d) influences of the units.

    The errors come from the inverse Hessian or, with weights or units of several rows, from the sandwich,
    with every unit as one observation; nan for a single unit.
    """
    loss.refresh()
    inverse = np.linalg.inv(loss.hessian)
    scaled = loss.features @ inverse
    influence_values = -loss.residual[:, None] * scaled
    if weights is None and (units is None or units.single):
        return np.sqrt(np.diagonal(inverse) / len(influence_values)), influence_values
    leverage = loss.weight * loss.prob * (1 - loss.prob) * (scaled * loss.features).sum(1)
    if priors:
        influence_values = _within(influence_values, loss.weight, loss.target)
    if units is not None and not units.single:
        leverage = units.sums(leverage)
        influence_values = np.stack([units.sums(column) for column in influence_values.T], axis=1)
    if len(influence_values) < 2:
        return np.full(influence_values.shape[1], math.nan), influence_values
    influence_values /= np.maximum(1 - leverage, LEFT)[:, None]
    return np.sqrt(np.square(influence_values).sum(0)), influence_values


def _within(influence_values: Doubles, share: Doubles, outcome: Array) -> Doubles:
    """Return the (N, d) contributions of rows, less their share of the sum over rows of equal outcome."""
    outcome = outcome.astype(np.intp)
    means = [
        np.bincount(outcome, column, 2) / np.bincount(outcome, share, 2) for column in influence_values.T
    ]
    return influence_values - share[:, None] * np.stack(means, axis=1)[outcome]


@dataclass(frozen=True)
class ZTest:
    """A standard normal statistic and its two-sided p-value; nan where it has no variance.

    Attributes
    ----------
    z, p_value
        The statistic, and the probability of one at least as far from 0 if the scores are right.
    influences
        (N,) influence of each row on the statistic.
    """

    z: float
    p_value: float
    influences: Doubles


def spiegelhalter_test(score: Floats, outcome: Array, weights: Floats | None = None) -> ZTest:
    """Return Spiegelhalter's test of calibration (Spiegelhalter 1986).

    The statistic is the Brier score minus its expectation under right scores, over its standard deviation:
    positive Z means a worse Brier score than expected, as for over-confident scores.

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
        return ZTest(math.nan, math.nan, np.zeros(len(p)))
    influence_values = lean * (outcome - p)
    z = float(influence_values.sum()) / math.sqrt(variance)
    influences = influence_values / math.sqrt(variance) - z * np.square(lean) * p * (1 - p) / (2 * variance)
    return ZTest(z, math.erfc(abs(z) / math.sqrt(2)), influences - influences.mean())


@dataclass(frozen=True)
class OfTwo:
    """The rows with a positive weight, seen through the second of two classes.

    Attributes
    ----------
    score, outcome, log_odds, weights
        (N,) of the rows.
    units
        The unit of each row.
    priors
        Whether the weights bring about class priors.
    clip
        Smallest distance of a probability to 0 and 1 before log-odds are taken; 0 for no clipping.
    """

    score: Floats
    outcome: Array
    log_odds: Floats
    weights: Floats | None
    units: Units
    priors: bool
    clip: float

    @cached_property
    def finite(self) -> Doubles | None:
        """The log-odds of clipped probabilities; None if some are infinite."""
        values = self.log_odds.astype(np.float64)
        if self.clip:
            limit = math.log1p(-self.clip) - math.log(self.clip)
            return np.clip(values, -limit, limit)
        return values if np.isfinite(values).all() else None

    @cached_property
    def errors(self) -> float:
        """Effective number of units with the less probable outcome."""
        wrong = self.units.sums(1.0 * (self.outcome != (self.score > 0.5)), self.weights)
        return float(of_equal_weight(wrong.sum(), np.square(wrong).sum()))
