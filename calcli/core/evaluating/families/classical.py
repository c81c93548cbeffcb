"""The classical measures of calibration of the probability of the second of two classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Floats
from calcli.core.data.rows import LOG_ODDS
from calcli.core.estimators.classical import (
    Coefficient,
    calibration_intercept,
    calibration_slope,
    in_the_large,
    of_outcomes,
    spiegelhalter_test,
)
from calcli.core.estimators.consistency import Null
from calcli.core.evaluating.families.base import Family, Findings, judged
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings

Fit = Callable[..., Coefficient]

MEANS: dict[str, Fit] = {"calibration_in_the_large": in_the_large}  # of the probabilities
FITS: dict[str, Fit] = {  # to the log-odds
    "calibration_intercept": calibration_intercept,
    "calibration_slope": calibration_slope,
}


class ClassicalFamily(Family):
    """With normal intervals that take dependent rows together, or a test.

    Spiegelhalter's test, whose variance is that of independent outcomes, is left out where rows depend, or
    are weighted by their outcomes.
    """

    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Keep scores and log-odds of the second of two classes."""
        if made.predictions.n_classes != 2:
            raise UsageError(f"{call} is for two classes, these are {made.predictions.n_classes}")
        made.keep_lens("class-1")
        made.keep_rows(LOG_ODDS)

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the measures with their intervals or tests."""
        return Findings({str(call): _estimate(measured, call, settings) for call in calls})


def _estimate(measured: Measurements, call: MetricExpression, settings: Settings) -> Estimate:
    score, outcome, weights, _ = measured.look("class-1")
    log_odds = measured.rows["log_odds"]
    units = measured.units
    if weights is not None and not weights.all():
        counts = weights > 0  # others would hide that the rest have one outcome or one score only
        score, outcome, log_odds, weights = (values[counts] for values in (score, outcome, log_odds, weights))
        units = units.among(counts)
    name, given = call.entry.name, measured.predictions.priors is not None
    if name in FITS:
        line = signature(call, measured, settings, "interval:wald")
        finite = _finite(log_odds, settings.clip)
        found = Coefficient(math.nan, math.nan)
        if finite is not None:
            found = FITS[name](finite, outcome, weights, units, priors=given)
    elif name in MEANS:
        found = MEANS[name](score, outcome, weights, units, priors=given)
        line = signature(call, measured, settings, "interval:wald")
    else:
        test = spiegelhalter_test(score, outcome, weights)
        untested = not settings.draws_outcomes or math.isnan(test.z)
        null = None if untested else Null(0.0, 1.0, test.p_value)
        return Estimate(call, test.z, signature(call, measured, settings), if_calibrated=null)
    interval, reason = None, ""
    if settings.intervals:
        spread = found.spread(of_outcomes(score, outcome, weights))
        interval, reason = judged(spread, found.value, settings)
    return Estimate(call, found.value, line, interval, reason)


def _finite(log_odds: Floats, clip: float) -> NDArray[np.float64] | None:
    """Return log-odds of probabilities no nearer to 0 and 1 than `clip`; None if some are infinite."""
    values = log_odds.astype(np.float64)
    if clip:
        most = math.log1p(-clip) - math.log(clip)
        return np.clip(values, -most, most)
    return values if np.isfinite(values).all() else None


FAMILY = ClassicalFamily()
