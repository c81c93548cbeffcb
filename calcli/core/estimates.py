"""Estimates: values that carry their definition and what can soundly be said of their spread."""

from __future__ import annotations

from dataclasses import dataclass

from calcli.core.consistency import Null
from calcli.core.expressions import MetricCall


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval.

    Attributes
    ----------
    low, high
        Its ends.
    level
        Its nominal coverage, such as 0.95.
    """

    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Estimate:
    """The value of a metric with its definition.

    Attributes
    ----------
    call
        The metric and its arguments.
    value
        The number, a fraction or nats; may be inf or nan.
    signature
        Everything the number depends on, in one line.
    interval
        A bootstrap interval, for scores.
    if_calibrated
        The error under perfect calibration and the p-value, for calibration errors that were tested.
    """

    call: MetricCall
    value: float
    signature: str
    interval: Interval | None = None
    if_calibrated: Null | None = None
