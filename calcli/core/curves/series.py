"""Metrics of several files: scores side by side; series of epochs, smoothed or not, and their best points."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.comparing.selection import best_of, by_folder, numbers_in_names
from calcli.core.data.arrays import Doubles, Tables
from calcli.core.evaluating.results import Estimate
from calcli.core.language.declaring import number_in
from calcli.core.language.entries import Metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import METRICS

LOSS = "relative_calibration_loss"
DEGREE = 3  # of the polynomials of the filter; van de Waterlaat 2021, remark 4.4.1, names none
NARROWEST = {"moving": 3, "savgol": 5}


@dataclass(frozen=True)
class ScoreSet:
    """Metrics of one system that are comparable: 0 is perfect, 1 the best constant system.

    Attributes
    ----------
    estimates
        Estimates, some with intervals: normalized scores, calibration losses as shares, calibration errors.
    """

    estimates: tuple[Estimate, ...]

    @property
    def panels(self) -> list[tuple[Estimate, ...]]:
        """The scores, and beside errors what else is of calibration alone."""
        errors = tuple(one for one in self.estimates if _is_error(one.call))
        if not errors:
            return [self.estimates]
        losses = tuple(one for one in self.estimates if one.call.entry.name == LOSS)
        scores = tuple(one for one in self.estimates if one not in (*errors, *losses))
        return [panel for panel in (scores, losses + errors) if panel]

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


def _is_normalized(metric: Metric) -> bool:
    return metric.name.startswith("normalized_")


def _is_error(call: MetricExpression) -> bool:
    return call.entry.family.beside_null


def _is_drawn(call: MetricExpression, *, errors: bool) -> bool:
    return call.entry.name == LOSS or _is_normalized(call.entry) or (errors and _is_error(call))


def score_sets(systems: Mapping[str, Mapping[str, Estimate]], *, asked: bool = False) -> dict[str, ScoreSet]:
    """Return the normalized scores and shares that all systems have; where they are asked for, also errors.

    Where recalibrations were trained again on resamples, the intervals are those.

    Parameters
    ----------
    systems
        Estimates of each system, by canonical expression.
    asked
        Whether all of them are to be drawn.

    Raises
    ------
    UsageError
        If there is none, or others are asked for.
    """
    first, *others = systems.values()
    shared = [expression for expression in first if all(expression in other for other in others)]
    drawn = [name for name in shared if _is_drawn(first[name].call, errors=asked)]
    if not drawn or (asked and len(drawn) < len(shared)):
        known = ", ".join(name for name, metric in METRICS.items() if name == LOSS or _is_normalized(metric))
        left = next((name for name in shared if name not in drawn), "nothing")
        raise UsageError(
            f"the figure scores draws {known} and calibration errors; {left} is not among them; see --metrics"
        )
    return {
        system: ScoreSet(tuple(estimates[expression] for expression in drawn))
        for system, estimates in systems.items()
    }


@dataclass(frozen=True)
class Course:
    """One metric, or its p-value, over a series of files.

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
        Index of the best value; None of p-values, of which none is.
    chosen
        Index of what another set chose.
    run
        Which run of one model it is, where there are several.
    """

    call: MetricExpression
    series: str
    number: NDArray[np.intp]
    value: Doubles
    line: Doubles
    best: int | None = None
    chosen: int | None = None
    run: str = ""

    @property
    def marked(self) -> int | None:
        """What is marked: what another set chose, else the best value."""
        return self.best if self.chosen is None else self.chosen

    def tables(self) -> Tables:
        """Return the table behind the course."""
        columns = {"number": self.number, "value": self.value, "smoothed": self.line}
        if self.chosen is not None:
            columns["chosen"] = (np.arange(len(self.number)) == self.chosen).astype(np.intp)
        return {"": columns}


@dataclass(frozen=True)
class Courses:
    """Metrics over one or several series of files.

    Attributes
    ----------
    courses
        Of each metric, those of the series, by canonical expression; of p-values as "p of" the metric.
    numbered
        Whether the names of the files say their numbers; else they are counted in the order given.
    """

    courses: Mapping[str, Sequence[Course]]
    numbered: bool

    def named(self) -> dict[str, Course]:
        """Return the courses by metric, and by series where there are several."""
        every = [(name, course) for name, found in self.courses.items() for course in found]
        return {", ".join(filter(None, (name, course.run, course.series))): course for name, course in every}

    @property
    def names(self) -> list[str]:
        """What tells the series apart, each once."""
        return list(dict.fromkeys(course.series for found in self.courses.values() for course in found))


def p_of(name: str) -> str:
    """Return what the p-values of a metric are called."""
    return f"p of {name}"


def courses(
    systems: Mapping[str, Mapping[str, Estimate]],
    smoothing: str = "none",
    *,
    p_values: bool = False,
    runs: bool = False,
    chosen: Mapping[str, int] | None = None,
) -> Courses:
    """Return the courses of each metric that all evaluations have, a series for each folder.

    Parameters
    ----------
    systems
        Estimates of each evaluation, by canonical expression, by path.
    smoothing
        What line is drawn; see `smoother`.
    p_values
        Whether calibration errors are followed by their p-values if calibrated.
    runs
        Whether folders, or those that the folders of series lie in, are runs of one model.
    chosen
        The number that another set chose, of each run by its folder, or of all series as "".

    Raises
    ------
    UsageError
        If no metric is left: those that have no better and worse, or no finite value, are left out. If files
        of a folder have the same number, or what was chosen is not there.
    """
    smooth, _ = smoother(smoothing)
    paths, every = list(systems), list(systems.values())
    folders = by_folder(paths)
    numbers = {folder: numbers_in_names([paths[n] for n in rows]) for folder, rows in folders.items()}
    numbered = None not in numbers.values()
    named = _named(list(folders), runs=runs)
    found: dict[str, list[Course]] = {}
    for name, first in every[0].items():
        if first.call.entry.direction == "none" or not all(name in estimates for estimates in every):
            continue
        for folder, rows in folders.items():
            number = np.array(numbers[folder] if numbered else range(1, len(rows) + 1))
            order = number.argsort()
            estimates = [every[rows[n]][name] for n in order]
            value = np.array([estimate.value for estimate in estimates])
            if not np.isfinite(value).any():
                continue
            (series, run), ordered = named[folder], number[order]
            best, star = best_of(value, first.call), _chosen(chosen or {}, folder, ordered)
            course = Course(first.call, series, ordered, value, smooth(value), best, star, run)
            found.setdefault(name, []).append(course)
            tested = [estimate.if_calibrated for estimate in estimates]
            if p_values and all(tested):
                p = np.array([null.p_value for null in tested if null])
                own = replace(course, value=p, line=p, best=None)
                found.setdefault(p_of(name), []).append(own)
    if not found:
        raise UsageError("the files share no metric that says which is better; name some with --metrics")
    if p_values and not any(course.best is None for several in found.values() for course in several):
        raise UsageError("p_values are those of calibration errors, from --draws; name some with --metrics")
    return Courses(found, numbered)


def _named(folders: Sequence[str], *, runs: bool) -> dict[str, tuple[str, str]]:
    """Return the name of the series and of the run of each folder."""
    if not runs:
        return {folder: (folder if len(folders) > 1 else "", "") for folder in folders}
    parts = {folder: folder.partition(os.sep) for folder in folders}
    sets = {rest for _, _, rest in parts.values()}
    return {folder: (rest if len(sets) > 1 else "", run) for folder, (run, _, rest) in parts.items()}


def _chosen(chosen: Mapping[str, int], folder: str, number: NDArray[np.intp]) -> int | None:
    """Return the place of the number that was chosen for a folder."""
    if not chosen:
        return None
    run = "" if "" in chosen else folder.partition(os.sep)[0]
    if run not in chosen:
        known = ", ".join(chosen)
        raise UsageError(f"selected has no files in {run}, for {folder}; there are files in {known}")
    if chosen[run] not in number:
        raise UsageError(f"selected chose number {chosen[run]}, which no file in {folder} has in its name")
    return int(np.flatnonzero(number == chosen[run])[0])


def smoother(text: str) -> tuple[Callable[[Doubles], Doubles], int]:
    """Return the function that `none`, `moving/3` or `savgol/11` stands for, and its window.

    Raises
    ------
    UsageError
        If there is no such function.
    """
    if text == "none":
        return lambda value: value, 1
    name, _, window = text.partition("/")
    least, width = NARROWEST.get(name, 0), number_in(window)
    if not least or width < least or width % 2 == 0:
        raise UsageError(
            f"smooth={text}: expected none, moving/N or savgol/N, N odd and at least 3 or 5, as in savgol/11"
        )
    smooth = moving if name == "moving" else savgol
    return lambda value: smooth(value, width) if len(value) >= width else value, width


def moving(value: Doubles, window: int) -> Doubles:
    """Return the mean of each value and its neighbors, as many before it as after it; the ends stay."""
    place = np.arange(len(value))
    half = np.minimum(window // 2, np.minimum(place, place[::-1]))
    return np.array([value[n - own : n + own + 1].mean() for n, own in enumerate(half)])


def savgol(value: Doubles, window: int) -> Doubles:
    """Return the cubic least-squares fit around each value, at the ends that of the last window."""
    half = window // 2
    powers = np.vander(np.arange(-half, half + 1.0), DEGREE + 1, increasing=True)
    fit = powers @ np.linalg.pinv(powers)  # (window, window): each fitted value of the values of a window
    smooth = np.convolve(value, fit[half][::-1], mode="same")
    smooth[:half] = fit[:half] @ value[:window]
    smooth[-half:] = fit[-half:] @ value[-window:]
    return np.asarray(smooth)
