"""Metrics of several files: scores side by side; a series of epochs, smoothed, with its best point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Doubles, Tables
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression

NORMALIZED = (
    "normalized_log_loss",
    "normalized_brier",
    "normalized_error_rate",
    "normalized_bayes_risk",
    "relative_calibration_loss",
)


@dataclass(frozen=True)
class ScoreSet:
    """Scores of one system that are comparable: 0 is perfect, 1 the best constant system.

    Attributes
    ----------
    estimates
        Estimates, some with intervals.
    """

    estimates: tuple[Estimate, ...]

    def tables(self) -> Tables:
        """Return the table of the scores; ends of intervals are nan where there is none."""
        ends = [
            (np.nan, np.nan) if estimate.interval is None else (estimate.interval.low, estimate.interval.high)
            for estimate in self.estimates
        ]
        columns = {
            "metric": np.array([str(estimate.call) for estimate in self.estimates]),
            "value": np.array([estimate.value for estimate in self.estimates]),
            "low": np.array([low for low, _ in ends]),
            "high": np.array([high for _, high in ends]),
        }
        return {"": columns}


def score_sets(systems: Mapping[str, Mapping[str, Estimate]]) -> dict[str, ScoreSet]:
    """Return the normalized scores that all systems have.

    Parameters
    ----------
    systems
        Estimates of each system, by canonical expression.

    Raises
    ------
    UsageError
        If there is none.
    """
    first, *others = systems.values()
    shared = [
        expression
        for expression, estimate in first.items()
        if estimate.call.entry.name in NORMALIZED and all(expression in other for other in others)
    ]
    if not shared:
        known = ", ".join(NORMALIZED)
        raise UsageError(f"no normalized score was computed; ask for some of {known} with --metrics")
    return {
        system: ScoreSet(tuple(estimates[expression] for expression in shared))
        for system, estimates in systems.items()
    }


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

    call: MetricExpression
    value: Doubles
    smoothed: Doubles
    best: int

    def tables(self) -> Tables:
        """Return the table behind the course."""
        return {"": {"value": self.value, "smoothed": self.smoothed}}


def courses(series: Sequence[Mapping[str, Estimate]]) -> dict[str, Course]:
    """Return the course of each metric that all evaluations of a series have.

    Parameters
    ----------
    series
        Estimates of each evaluation, by canonical expression.

    Returns
    -------
    Courses by canonical expression; metrics that have no better and worse, or no finite value, are left out.

    Raises
    ------
    UsageError
        If no metric is left.
    """
    found = {}
    for name, estimate in series[0].items():
        if estimate.call.entry.direction != "none" and all(name in estimates for estimates in series):
            value = np.array([estimates[name].value for estimates in series])
            smoothed = smooth(value)
            if np.isfinite(smoothed).any():
                found[name] = Course(estimate.call, value, smoothed, _best(smoothed, estimate.call))
    if not found:
        raise UsageError("the files share no metric that says which is better; name some with --metrics")
    return found


def smooth(value: Doubles) -> Doubles:
    """Return each value averaged with its neighbors, weights 1:2:1; at the ends 2:1."""
    weight = np.convolve(np.ones(len(value)), [1, 2, 1])[1:-1]
    total = 2 * value
    total[1:] += value[:-1]
    total[:-1] += value[1:]
    return np.asarray(total / weight)


def _best(value: Doubles, call: MetricExpression) -> int:
    costs = {"lower": value, "higher": -value, "zero": np.abs(value)}
    cost = costs[call.entry.direction]
    return int(np.nanargmin(cost))
