"""Metrics over a series of files, such as the epochs of a training: smoothed, with their best point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.expressions import MetricCall
from calcli.core.results import Estimate

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    """One metric over the series.

    Attributes
    ----------
    call
        The metric.
    value
        (E,) its values.
    smoothed
        (E,) each averaged with its neighbors, weights 1:2:1.
    best
        Index of the best smoothed value: a choice that hangs less on the noise of a single file.
    """

    call: MetricCall
    value: Values
    smoothed: Values
    best: int

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Return the table behind the course."""
        return {"value": self.value, "smoothed": self.smoothed}


def courses(series: Sequence[Mapping[str, Estimate]]) -> dict[str, Course]:
    """Return the course of each metric that all evaluations of a series have.

    Parameters
    ----------
    series
        Estimates of each evaluation, by canonical expression.

    Returns
    -------
    Courses by canonical expression; a metric without any finite value is left out.
    """
    found = {}
    for name, estimate in series[0].items():
        if all(name in estimates for estimates in series):
            value = np.array([estimates[name].value for estimates in series])
            smoothed = smooth(value)
            if np.isfinite(smoothed).any():
                found[name] = Course(estimate.call, value, smoothed, _best(smoothed, estimate.call))
    return found


def smooth(value: Values) -> Values:
    """Return each value averaged with its neighbors, weights 1:2:1; at the ends 2:1."""
    weight = np.convolve(np.ones(len(value)), [1, 2, 1])[1:-1]
    total = 2 * value
    total[1:] += value[:-1]
    total[:-1] += value[1:]
    return np.asarray(total / weight)


def _best(value: Values, call: MetricCall) -> int:
    cost = {"lower": value, "higher": -value, "zero": np.abs(value)}[call.metric.direction]
    return int(np.nanargmin(cost))
