"""Metrics of several files: scores side by side; series of epochs, each with its best point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.comparing.selection import best_of
from calcli.core.curves.smoothing import smoother
from calcli.core.data.arrays import Doubles, Tables
from calcli.core.data.numbering import by_folder, numbers_in_names
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
    """One metric over a series of files.

    Attributes
    ----------
    call
        The metric.
    series
        What tells the series apart from others; "" if it is the only one.
    number
        (E,) numbers of the files, increasing.
    value
        (E,) the values.
    line
        (E,) the line drawn through them.
    best
        Index of the best value.
    """

    call: MetricExpression
    series: str
    number: NDArray[np.intp]
    value: Doubles
    line: Doubles
    best: int

    def tables(self) -> Tables:
        """Return the table behind the course."""
        return {"": {"number": self.number, "value": self.value, "smoothed": self.line}}


@dataclass(frozen=True)
class Courses:
    """Metrics over one or several series of files.

    Attributes
    ----------
    courses
        Of each metric, those of the series, by canonical expression.
    numbered
        Whether the names of the files say their numbers; else they are counted in the order given.
    """

    courses: Mapping[str, Sequence[Course]]
    numbered: bool

    def named(self) -> dict[str, Course]:
        """Return the courses by metric, and by series where there are several."""
        every = [(name, course) for name, found in self.courses.items() for course in found]
        return {f"{name}, {course.series}" if course.series else name: course for name, course in every}


def courses(systems: Mapping[str, Mapping[str, Estimate]], smoothing: str = "none") -> Courses:
    """Return the courses of each metric that all evaluations have, a series for each folder.

    Parameters
    ----------
    systems
        Estimates of each evaluation, by canonical expression, by path.
    smoothing
        What line is drawn; see `smoother`.

    Raises
    ------
    UsageError
        If no metric is left: those that have no better and worse, or no finite value, are left out. If files
        of a folder have the same number.
    """
    smooth, _ = smoother(smoothing)
    paths, every = list(systems), list(systems.values())
    folders = by_folder(paths)
    numbers = {folder: numbers_in_names([paths[n] for n in rows]) for folder, rows in folders.items()}
    numbered = None not in numbers.values()
    found: dict[str, list[Course]] = {}
    for name, first in every[0].items():
        if first.call.entry.direction == "none" or not all(name in estimates for estimates in every):
            continue
        for folder, rows in folders.items():
            number = np.array(numbers[folder] if numbered else range(1, len(rows) + 1))
            order = number.argsort()
            value = np.array([every[rows[n]][name].value for n in order])
            if np.isfinite(value).any():
                best = best_of(value, first.call)
                series = folder if len(folders) > 1 else ""
                course = Course(first.call, series, number[order], value, smooth(value), best)
                found.setdefault(name, []).append(course)
    if not found:
        raise UsageError("the files share no metric that says which is better; name some with --metrics")
    return Courses(found, numbered)
