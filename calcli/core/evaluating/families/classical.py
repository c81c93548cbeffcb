"""The classical measures of calibration of the probability of the second of two classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.units import Units
from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.classical import (
    UNKNOWN,
    Coefficient,
    ZTest,
    in_the_large,
    spiegelhalter_test,
)
from calcli.core.estimators.intervals import Influences
from calcli.core.estimators.ranking import of_equal_weight
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
        rows = _Rows.of(measured, settings)
        return Findings({str(call): _estimate(rows, measured, call, settings) for call in calls})

    def influences(
        self, calls: Sequence[MetricExpression], measured: Measurements
    ) -> Mapping[str, Influences]:
        """Return what each unit brings to the measures."""
        rows = _Rows.of(measured, measured.settings)
        found = {str(call): rows.influences(call) for call in calls}
        return {name: one for name, one in found.items() if one is not None}


@dataclass(frozen=True)
class _Rows:
    """The rows that have weight, through the second of two classes."""

    score: Floats
    outcome: Array
    log_odds: Floats
    weights: Floats | None
    units: Units
    priors: bool
    clip: float

    @classmethod
    def of(cls, measured: Measurements, settings: Settings) -> _Rows:
        score, outcome, weights, _ = measured.look("class-1")
        log_odds, units = measured.columns["log_odds"], measured.units
        if weights is not None and not weights.all():
            counts = weights > 0  # others would hide that the rest have one outcome or one score only
            score, outcome, log_odds, weights = (
                values[counts] for values in (score, outcome, log_odds, weights)
            )
            units = units.among(counts)
        given = measured.predictions.priors is not None
        return cls(score, outcome, log_odds, weights, units, given, settings.clip)

    def coefficient(self, call: MetricExpression) -> Coefficient:
        """Return a measure that is an estimate with a standard error."""
        fit: Callable[..., Coefficient] = call.entry.mathematics
        rows = self.outcome, self.weights, self.units
        if fit is in_the_large:
            return fit(self.score, *rows, priors=self.priors)
        finite = _finite(self.log_odds, self.clip)
        return UNKNOWN if finite is None else fit(finite, *rows, priors=self.priors)

    def test(self) -> ZTest:
        """Return Spiegelhalter's test."""
        return spiegelhalter_test(self.score, self.outcome, self.weights)

    def influences(self, call: MetricExpression) -> Influences | None:
        """Return what each unit brings to a measure; None of what has no spread."""
        if call.entry.mathematics is not spiegelhalter_test:
            return self.coefficient(call).of_units(self.errors)
        test = self.test()
        if math.isnan(test.z):
            return None
        of_units = self.units.sums(test.influences)
        return Influences(test.z, of_units, len(of_units), fewest=self.errors)

    @cached_property
    def errors(self) -> float:
        """How many units of equal weight have the less probable outcome."""
        wrong = self.units.sums(1.0 * (self.outcome != (self.score > 0.5)), self.weights)
        return float(of_equal_weight(wrong.sum(), np.square(wrong).sum()))


def _estimate(rows: _Rows, measured: Measurements, call: MetricExpression, settings: Settings) -> Estimate:
    if call.entry.mathematics is spiegelhalter_test:
        test = rows.test()
        untested = not settings.draws_outcomes or math.isnan(test.z)
        null = None if untested else Null(0.0, 1.0, test.p_value)
        return Estimate(call, test.z, signature(call, measured, settings), if_calibrated=null)
    found, interval, reason = rows.coefficient(call), None, ""
    if settings.intervals:
        of_units = found.of_units(rows.errors)
        interval, reason = judged(of_units.spread if of_units else None, found.value, settings)
    line = signature(call, measured, settings, "interval:wald")
    return Estimate(call, found.value, line, interval, reason)


def _finite(log_odds: Floats, clip: float) -> NDArray[np.float64] | None:
    """Return log-odds of probabilities no nearer to 0 and 1 than `clip`; None if some are infinite."""
    values = log_odds.astype(np.float64)
    if clip:
        most = math.log1p(-clip) - math.log(clip)
        return np.clip(values, -most, most)
    return values if np.isfinite(values).all() else None


FAMILY = ClassicalFamily()
