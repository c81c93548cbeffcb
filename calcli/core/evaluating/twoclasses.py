"""Estimates of the classical measures of calibration, for two classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.estimators.classical import (
    Clusters,
    Coefficient,
    calibration_intercept,
    calibration_slope,
    in_the_large,
    spiegelhalter_test,
)
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.interval import Interval
from calcli.core.evaluating.measure import Measurements
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings

Fit = Callable[[Floats, Array, Floats | None, Clusters | None], Coefficient]

FITS: dict[str, Fit] = {
    "calibration_intercept": calibration_intercept,
    "calibration_slope": calibration_slope,
}


def classical_estimates(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings
) -> dict[str, Estimate]:
    """Return the estimates of the family "classical", of the probability of the second class.

    Intervals take dependent rows together; Spiegelhalter's test, whose variance is that of independent
    outcomes, is left out where there are any.

    Raises
    ------
    UsageError
        If there are more than two classes.
    """
    estimates = {}
    for call in calls:
        if call.entry.family == "classical":
            if measured.predictions.n_classes != 2:
                raise UsageError(f"{call} is for two classes, these are {measured.predictions.n_classes}")
            estimates[str(call)] = _estimate(measured, call, settings)
    return estimates


def _estimate(measured: Measurements, call: MetricExpression, settings: Settings) -> Estimate:
    score, outcome = measured.columns("class-1")
    log_odds, weights = measured.rows["log_odds"], measured.predictions.weights
    clusters = settings.clusters(measured.predictions)
    if clusters is not None:
        clusters = np.unique(clusters, return_inverse=True)[1]
    if weights is not None and not weights.all():
        counts = weights > 0  # others would hide that the rest have one outcome or one score only
        score, outcome, log_odds, weights = (values[counts] for values in (score, outcome, log_odds, weights))
        clusters = None if clusters is None else np.unique(clusters[counts], return_inverse=True)[1]
    if call.entry.name == "spiegelhalter_z":
        test = spiegelhalter_test(score, outcome, weights)
        line = signature(call, measured, settings)
        untested = settings.cluster is not None or math.isnan(test.z)
        null = None if untested else Null(0.0, 1.0, test.p_value)
        return Estimate(call, test.z, line, if_calibrated=null)
    if call.entry.name == "calibration_in_the_large":
        found = in_the_large(score, outcome, weights, clusters)
        line = signature(call, measured, settings, "interval:wald")
    else:
        line = signature(call, measured, settings, f"clip:{settings.clip:g}", "interval:wald")
        finite = _finite(log_odds, settings.clip)
        found = Coefficient(math.nan, math.nan)
        if finite is not None:
            found = FITS[call.entry.name](finite, outcome, weights, clusters)
    interval = None
    if not math.isnan(found.standard_error):
        interval = Interval(*found.interval(settings.level), settings.level)
    return Estimate(call, found.value, line, interval)


def _finite(log_odds: Floats, clip: float) -> NDArray[np.float64] | None:
    """Return log-odds of probabilities no nearer to 0 and 1 than `clip`; None if some are infinite."""
    values = log_odds.astype(np.float64)
    if clip:
        most = math.log1p(-clip) - math.log(clip)
        return np.clip(values, -most, most)
    return values if np.isfinite(values).all() else None
