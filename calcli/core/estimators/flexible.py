"""Flexible calibration curves: the frequency of an outcome as a smooth function of its log-odds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.data.arrays import Array, Doubles, Floats, from_log_odds

QUANTILES = {  # Harrell's positions of knots (2015, table 2.3), and the fewest rows for that number of knots
    100: (0.05, 0.275, 0.5, 0.725, 0.95),
    30: (0.05, 0.35, 0.65, 0.95),
    0: (0.1, 0.5, 0.9),
}
GRADIENT = 1e-10  # relative gradient at which a fit ends


@dataclass(frozen=True)
class FlexibleCurve:
    """A logistic regression on a restricted cubic spline of the log-odds, linear beyond the outer knots.

    Attributes
    ----------
    knots
        (k,) ascending log-odds; with fewer than three, the curve is a straight line in log-odds.
    centre, scale
        What the spline subtracts from the log-odds, and then divides by.
    coefficients
        (d,) the constant, the slope, and d - 2 = k - 2 bends; or (B, d) of B outcomes.
    covariance
        (d, d) covariance of the coefficients; nan if a spline separates the outcomes perfectly.
    """

    knots: Doubles
    centre: float
    scale: float
    coefficients: Doubles
    covariance: Doubles

    def frequency(self, log_odds: Floats) -> Doubles:
        """Return the fitted frequency of the outcome at (n,) log-odds; (B, n) of B outcomes."""
        return from_log_odds(self.coefficients @ self._features(log_odds).T)

    def standard_error(self, log_odds: Floats) -> Doubles:
        """Return the standard error of the frequency at (n,) log-odds, by the delta method."""
        frequency = self.frequency(log_odds)
        return frequency * (1 - frequency) * self._logit_error(log_odds)

    def interval(self, log_odds: Floats, level: float = 0.95) -> tuple[Doubles, Doubles]:
        """Return the ends of pointwise intervals of the frequency at (n,) log-odds, by Wald in log-odds."""
        logit = self._features(log_odds) @ self.coefficients
        width = NormalDist().inv_cdf((1 + level) / 2) * self._logit_error(log_odds)
        return from_log_odds(logit - width), from_log_odds(logit + width)

    def _logit_error(self, log_odds: Floats) -> Doubles:
        features = self._features(log_odds)
        return np.sqrt(np.vecdot(features @ self.covariance, features))

    def _features(self, log_odds: Floats) -> Doubles:
        """Return the (n, d) basis, the truncated powers of Harrell (2015, section 2.4.5)."""
        at, knots = ((values - self.centre) / (self.scale or 1) for values in (log_odds, self.knots))
        columns = [np.ones(len(at)), *([at] if self.scale else [])]
        cubes = np.maximum(at[:, None] - knots, 0) ** 3
        for j in range(len(knots) - 2):
            before, last = (knots[-2:] - knots[j]) / (knots[-1] - knots[-2])
            columns.append(cubes[:, j] - last * cubes[:, -2] + before * cubes[:, -1])
        return np.stack(columns, axis=1)


def flexible_curve(
    log_odds: Floats,
    outcome: Array,
    weights: Floats | None = None,
    squared_weights: Floats | None = None,
    knots: Doubles | None = None,
) -> FlexibleCurve:
    """Fit a flexible calibration curve (Van Calster et al. 2016; Austin & Steyerberg 2014).

    It is a logistic regression on a restricted cubic spline (Harrell 2015). A calibrated score has the
    identity as its curve, which the spline contains: it is linear in log-odds.

    Parameters
    ----------
    log_odds
        (n,) finite log-odds of the score, of rows or of groups of rows with the same score.
    outcome
        (n,) whether it occurred, or its frequency in each group, in [0, 1]; of B outcomes (B, n), for
        curves without a covariance.
    weights, squared_weights
        (n,) weights of the rows, or their sums over groups, such as numbers of rows, and the sums of their
        squares; None for rows without weights. Rows are taken as independent.
    knots
        Ascending log-odds; else 3 to 5 quantiles of the log-odds, by the number of rows.
    """
    weight = np.ones(len(log_odds)) if weights is None else weights.astype(np.float64)
    squares = np.square(weight) if squared_weights is None else squared_weights
    share = weight / weight.sum()
    if knots is None:
        rows = weight.sum() ** 2 / squares.sum()
        quantiles = next(places for least, places in QUANTILES.items() if rows >= least)
        knots = np.unique(np.quantile(log_odds, quantiles, weights=share, method="inverted_cdf"))
        knots = knots if len(knots) > 2 else knots[:0]
    curve = FlexibleCurve(
        knots, float(log_odds @ share), float(np.ptp(log_odds)), np.zeros(0), np.zeros((0, 0))
    )
    features = curve._features(log_odds)
    start = np.zeros((*outcome.shape[:-1], features.shape[1]))
    loss = LogisticLoss(np.broadcast_to(features, (*outcome.shape[:-1], *features.shape)), outcome, share)
    coefficients = minimize(loss, start, GRADIENT).x
    covariance = np.full((features.shape[1],) * 2, math.nan)
    prob = from_log_odds(coefficients @ features.T)
    spread = prob * (1 - prob)
    if outcome.ndim == 1 and spread @ share > GRADIENT:  # else the outcomes are separable
        curvature = features.T * spread
        inverse = np.linalg.pinv(curvature * share @ features)
        covariance = inverse @ (curvature * squares @ features) @ inverse / weight.sum() ** 2
    return replace(curve, coefficients=coefficients, covariance=covariance)
