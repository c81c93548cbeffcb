"""The classical measures of calibration of the probability of the second of two classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.classical import Classical, OfTwo, SpiegelhalterZ
from calcli.core.estimators.intervals import Influences
from calcli.core.evaluating.families.base import Family, Findings, judged, signature
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.state.needs import LOG_ODDS, Need, Pass, through


class ClassicalFamily(Family):
    """With intervals that take dependent rows together, or a test; in comparisons with influences.

    Spiegelhalter's test, whose variance is that of independent outcomes, is left out where rows depend, or
    are weighted by their outcomes.
    """

    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return scores and log-odds of the second of two classes."""
        if of.rows.n_classes != 2:
            raise UsageError(f"{call} is for two classes, and there are {of.rows.n_classes}")
        return through("class-1", of.rows, of.settings), LOG_ODDS

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the measures with their intervals or tests."""
        rows = _rows(measured, settings)
        return Findings({str(call): _estimate(rows, measured, call, settings) for call in calls})

    def influences(
        self, calls: Sequence[MetricExpression], measured: Measurements
    ) -> Mapping[str, Influences]:
        """Return what each unit brings to the measures."""
        rows = _rows(measured, measured.settings)
        found = {str(call): call.made.influences(rows) for call in calls}
        return {name: one for name, one in found.items() if one is not None}


def _rows(measured: Measurements, settings: Settings) -> OfTwo:
    score, outcome, weights, _ = measured.look("class-1")
    log_odds, units = measured.columns["log_odds"], measured.units
    if weights is not None and not weights.all():
        counts = weights > 0  # others would hide that the rest have one outcome or one score only
        score, outcome, log_odds, weights = (values[counts] for values in (score, outcome, log_odds, weights))
        units = units.among(counts)
    given = measured.predictions.priors is not None
    return OfTwo(score, outcome, log_odds, weights, units, given, settings.clip)


def _estimate(rows: OfTwo, measured: Measurements, call: MetricExpression, settings: Settings) -> Estimate:
    made: Classical = call.made
    if isinstance(made, SpiegelhalterZ):
        test = made.test(rows)
        untested = not settings.draws_outcomes or math.isnan(test.z)
        null = None if untested else Null(0.0, 1.0, test.p_value)
        return Estimate(call, test.z, signature(call, measured, settings), if_calibrated=null)
    found, interval, reason = made.coefficient(rows), None, ""
    if settings.intervals:
        of_units = found.of_units(rows.errors)
        interval, reason = judged(of_units.spread if of_units else None, found.value, settings)
    line = signature(call, measured, settings, "interval:wald")
    return Estimate(call, found.value, line, interval, reason)


FAMILY = ClassicalFamily()
