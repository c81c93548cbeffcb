"""The classical measures of calibration of the probability of the second of two classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.classical import (
    UNKNOWN,
    Coefficient,
    OfTwo,
    ZTest,
    calibration_intercept,
    calibration_slope,
    spiegelhalter_test,
)
from calcli.core.estimators.intervals import ERROR, Influences
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import Calls, judged, signature
from calcli.core.evaluating.results import Estimate
from calcli.core.language.entries import CLASSICAL, metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure
from calcli.core.language.settings import Settings
from calcli.core.state.needs import LOG_ODDS, Need, Pass, through


def _rows(measured: Measurements, settings: Settings) -> OfTwo:
    score, outcome, weights, _ = measured.look("class-1")
    log_odds, units = measured.columns["log_odds"], measured.units
    if weights is not None and not weights.all():
        counts = weights > 0  # other bounds would hide that the rest have a single outcome or a single score
        score, outcome, log_odds, weights = (values[counts] for values in (score, outcome, log_odds, weights))
        units = units.among(counts)
    at_priors = measured.predictions.priors is not None
    return OfTwo(score, outcome, log_odds, weights, units, at_priors, settings.clip)


class Classical(Measure):
    """A measure of the second of two classes."""

    family = CLASSICAL

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return scores and log-odds of the second of two classes."""
        if of.rows.n_classes != 2:
            raise UsageError(f"{self} is for two classes, and there are {of.rows.n_classes}")
        return through("class-1", of.rows, of.settings), LOG_ODDS


class Estimated(Classical, ABC):
    """An estimate with an interval that takes dependent rows together."""

    @abstractmethod
    def coefficient(self, rows: OfTwo) -> Coefficient:
        """Return it with its standard error."""

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return it with its interval."""
        rows = _rows(measured, settings)
        coefficient, interval, reason = self.coefficient(rows), None, ""
        if settings.intervals:
            of_units = coefficient.of_units(rows.errors)
            interval, reason = judged(of_units.spread if of_units else None, coefficient.value, settings)
        line = signature(self, measured, settings, "interval:wald")
        return Estimate(self, coefficient.value, line, interval, reason)

    def influences(self, measured: Measurements) -> Influences | None:
        """Return the influences of units; None if it has no spread."""
        rows = _rows(measured, measured.settings)
        return self.coefficient(rows).of_units(rows.errors)


@metric(
    "calibration_intercept", "Calibration intercept", direction="zero", range="-inf to inf",
    unit="log-odds",
)  # fmt: skip
class CalibrationIntercept(Estimated):
    """two classes: what must be added to the log-odds of the second class to be right on average; above 0 it
    is under-predicted

    Formula: a of log-odds(outcome) = a + log-odds(score)
    Source: Cox 1958; Van Calster et al. 2019
    Misses: gaps of opposite sign cancel; calibration_slope shows some of them
    """

    def coefficient(self, rows: OfTwo) -> Coefficient:
        """Return it."""
        finite, of = rows.finite, (rows.outcome, rows.weights, rows.units)
        return UNKNOWN if finite is None else calibration_intercept(finite, *of, priors=rows.priors)


@metric("calibration_slope", "Calibration slope", direction="one", range="-inf to inf", unit="ratio")
class CalibrationSlope(Estimated):
    """two classes: 1 is right, below 1 the probabilities are too extreme, above 1 too moderate

    Formula: b of log-odds(outcome) = a + b log-odds(score)
    Source: Cox 1958; Van Calster et al. 2019
    Misses: errors that are not linear in the log-odds; ks and ece see them
    """

    def coefficient(self, rows: OfTwo) -> Coefficient:
        """Return it."""
        finite, of = rows.finite, (rows.outcome, rows.weights, rows.units)
        return UNKNOWN if finite is None else calibration_slope(finite, *of, priors=rows.priors)


@metric(
    "spiegelhalter_z", "Spiegelhalter's Z", direction="zero", range="-inf to inf",
    unit="standard deviations",
)  # fmt: skip
class SpiegelhalterZ(Classical):
    """two classes: above 0 the Brier score is worse than the probabilities predict

    Formula: sum (outcome - p)(1 - 2 p) / sqrt(sum (1 - 2 p)^2 p (1 - p))
    Source: Spiegelhalter 1986
    Misses: errors that leave the Brier score as predicted; its p-value tests calibration as a whole
    """

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return it with its test, if rows are independent and weights do not depend on outcomes."""
        test = _test(_rows(measured, settings))
        untested = not settings.draws_outcomes or math.isnan(test.z)
        null = None if untested else Null(0.0, 1.0, test.p_value)
        return Estimate(self, test.z, signature(self, measured, settings), if_calibrated=null)

    def influences(self, measured: Measurements) -> Influences | None:
        """Return the influences of units on the statistic; None if it has no variance."""
        rows = _rows(measured, measured.settings)
        test = _test(rows)
        if math.isnan(test.z):
            return None
        of_units = rows.units.sums(test.influences)
        return Influences(test.z, of_units, len(of_units), fewest=rows.errors, scarce=ERROR)


def _test(rows: OfTwo) -> ZTest:
    return spiegelhalter_test(rows.score, rows.outcome, rows.weights)
