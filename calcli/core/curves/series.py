"""The numbers of figures of series: epochs, slices, sets of scores."""

from __future__ import annotations

import math
import os.path
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calcli.core.comparing.comparison import best_of, by_folder, numbers_in_names
from calcli.core.data.arrays import Doubles, Positions, Tables
from calcli.core.data.derived import ENOUGH_ROWS
from calcli.core.estimators.calibrationerror import SIGNIFICANT
from calcli.core.evaluating.evaluate import slice_p_values, slices_of, with_corrected_p
from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.language.declaring import number_in
from calcli.core.language.entries import Metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure
from calcli.core.language.metrics import METRICS


@dataclass(frozen=True)
class Forest:
    """Metrics of one system in slices.

    Attributes
    ----------
    overall
        Estimates over all rows, by canonical expression.
    slices
        The same in each slice, by its name `column=value`; p-values of errors are corrected for slices.
    rows
        Rows of each slice, by the same name.
    all_rows
        Number of all rows.
    """

    overall: Mapping[str, Estimate]
    slices: Mapping[str, Mapping[str, Estimate]]
    rows: Mapping[str, int]
    all_rows: int

    @cached_property
    def p_apart(self) -> Mapping[tuple[str, str], float]:
        """P-value of each slice and metric under "the slice is like all rows", corrected for their number.

        Slices with few rows and metrics without intervals are not judged.
        """
        pairs = [
            (name, metric, (estimate, self.overall[metric], self.rows[name] / self.all_rows))
            for name, estimates in self.slices.items()
            for metric, estimate in estimates.items()
            if not self.thin(name)
        ]
        p_values = slice_p_values(pair for *_, pair in pairs)
        return {(name, metric): p for (name, metric, _), p in zip(pairs, p_values, strict=True)}

    def is_apart(self, name: str, metric: str) -> bool:
        """Return whether a slice differs from all rows beyond chance."""
        return self.p_apart.get((name, metric), math.nan) <= SIGNIFICANT

    @cached_property
    def tested(self) -> Mapping[tuple[str, str], float]:
        """P-value of each error of a slice under calibration, corrected for the number of slices."""
        nulls = {
            (name, metric): estimate.if_calibrated
            for name, estimates in self.slices.items()
            for metric, estimate in estimates.items()
        }
        return {at: null.corrected_p for at, null in nulls.items() if null and null.corrected_p is not None}

    def is_miscalibrated(self, name: str, metric: str) -> bool:
        """Return whether the error of a slice exceeds chance under calibration."""
        return self.tested.get((name, metric), math.nan) <= SIGNIFICANT

    def is_marked(self, name: str, metric: str) -> bool:
        """Return whether a slice exceeds chance in either way."""
        return self.is_apart(name, metric) or self.is_miscalibrated(name, metric)

    def shown(self, limit: int) -> list[str]:
        """Return slices, the worst first; above a limit only the marked and the worst slices."""
        order = self.worst_first
        chosen = [name for name in order if any(self.is_marked(name, metric) for metric in self.overall)]
        names = set([*chosen, *(name for name in order if name not in chosen)][:limit])
        return [name for name in order if name in names]

    @property
    def worst_first(self) -> list[str]:
        """Names of the slices, the worst by the first metric first, slices with few rows last."""
        return sorted(self.slices, key=self._rank)

    def thin(self, name: str) -> bool:
        """Return whether a slice has too few rows to be compared with others."""
        return self.rows[name] < ENOUGH_ROWS

    def tables(self) -> Tables:
        """Return the table of the slices, one row per slice and metric; nan without an interval."""
        entries = [
            (name, self.rows[name], expression, estimate)
            for name, estimates in self.slices.items()
            for expression, estimate in estimates.items()
        ]
        intervals = [estimate.interval for *_, estimate in entries]
        nulls = [estimate.if_calibrated for *_, estimate in entries]
        columns = {
            "slice": np.array([name for name, *_ in entries]),
            "rows": np.array([rows for _, rows, *_ in entries]),
            "metric": np.array([expression for *_, expression, _ in entries]),
            "value": np.array([estimate.value for *_, estimate in entries]),
            "low": np.array([np.nan if i is None else i.low for i in intervals]),
            "high": np.array([np.nan if i is None else i.high for i in intervals]),
            "p_if_like_all": np.array([self.p_apart.get((name, m), np.nan) for name, _, m, _ in entries]),
            "if_calibrated_mean": np.array([np.nan if null is None else null.mean for null in nulls]),
            "if_calibrated_sd": np.array([np.nan if null is None else null.sd for null in nulls]),
            "corrected_p": np.array([self.tested.get((name, m), np.nan) for name, _, m, _ in entries]),
        }
        return {"": columns}

    def _rank(self, name: str) -> tuple[bool, float]:
        estimate = next(iter(self.slices[name].values()))
        null = estimate.if_calibrated  # errors from few rows are large by chance
        entry = estimate.metric.entry
        cost = entry.cost(estimate.value) - (null.mean if null else 0)
        return self.thin(name), 0.0 if entry.direction == "none" else -cost


def keep_slices(evaluation: Evaluation, columns: Sequence[str], expressions: Sequence[str]) -> None:
    """Evaluate slices and keep their results in the evaluation, for `forest`, which see for parameters.

    Raises
    ------
    UsageError
        If there is no column to slice by, or probabilities were shifted.
    InputError
        If there is no such column, or it has too many values.
    """
    if not columns:
        raise UsageError("the figure slices needs a column to slice by: --by COLUMN")
    if evaluation.settings.shift_to_priors is not None:
        raise UsageError(
            "the figure slices weights each slice to --priors, but moves no probabilities; leave out "
            "--shift-to-priors"
        )
    settings = replace(
        evaluation.settings, metrics=tuple(evaluation.estimates[name].metric.text for name in expressions)
    )
    summary = replace(evaluation.summary, settings=settings)
    columns_kept = {
        column
        for column, slices in evaluation.slices.items()
        if all(slice_.estimates.keys() >= set(expressions) for slice_ in slices)
    }
    missing = [column for column in columns if column not in columns_kept]
    evaluation.slices.update(slices_of(evaluation.predictions, missing, summary))


def forest(evaluation: Evaluation, columns: Sequence[str], expressions: Sequence[str]) -> Forest:
    """Return metrics in every slice; slices missing from the evaluation are evaluated.

    Parameters
    ----------
    evaluation
        The evaluation of all rows, with the metrics.
    columns
        Columns with the slices as values.
    expressions
        The metrics, canonical.

    Raises
    ------
    UsageError, InputError
        As `keep_slices`.
    """
    keep_slices(evaluation, columns, expressions)
    slices = {str(part.slice): part for column in columns for part in evaluation.slices[column]}
    rows = {name: slice_.input.rows for name, slice_ in slices.items()}
    estimates = [
        {expression: slice_.estimates[expression] for expression in expressions} for slice_ in slices.values()
    ]
    corrected = with_corrected_p(estimates, [count >= ENOUGH_ROWS for count in rows.values()])
    overall = {name: evaluation.estimates[name] for name in expressions}
    return Forest(overall, dict(zip(slices, corrected, strict=True)), rows, evaluation.predictions.n_rows)


LOSS = "relative_calibration_loss"
DEGREE = 3  # of the polynomials of the filter; van de Waterlaat 2021, remark 4.4.1, names none
NARROWEST = {"moving": 3, "savgol": 5}


@dataclass(frozen=True)
class ScoreSet:
    """Comparable metrics of one system: 0 is perfect, 1 the best constant system.

    Attributes
    ----------
    estimates
        Estimates, some with intervals: normalized scores, calibration losses as shares, calibration errors.
    """

    estimates: tuple[Estimate, ...]

    @property
    def panels(self) -> list[tuple[Estimate, ...]]:
        """The scores, and the errors with all other measures of calibration."""
        errors = tuple(estimate for estimate in self.estimates if _is_error(estimate.metric))
        if not errors:
            return [self.estimates]
        losses = tuple(estimate for estimate in self.estimates if estimate.metric.entry.name == LOSS)
        scores = tuple(estimate for estimate in self.estimates if estimate not in (*errors, *losses))
        return [panel for panel in (scores, losses + errors) if panel]

    def tables(self) -> Tables:
        """Return the table of the scores; ends are nan without an interval."""
        ends = [
            (np.nan, np.nan) if estimate.interval is None else (estimate.interval.low, estimate.interval.high)
            for estimate in self.estimates
        ]
        columns = {
            "metric": np.array([str(estimate.metric) for estimate in self.estimates]),
            "value": np.array([estimate.value for estimate in self.estimates]),
            "low": np.array([low for low, _ in ends]),
            "high": np.array([high for _, high in ends]),
        }
        return {"": columns}


def _is_normalized(metric: Metric) -> bool:
    return metric.name.startswith("normalized_")


def _is_error(metric: Measure) -> bool:
    return metric.entry.family.has_null


def _is_drawn(metric: Measure, *, errors: bool) -> bool:
    return metric.entry.name == LOSS or _is_normalized(metric.entry) or (errors and _is_error(metric))


def score_sets(systems: Mapping[str, Mapping[str, Estimate]], *, named: bool = False) -> dict[str, ScoreSet]:
    """Return the normalized scores and shares that all systems have; on request also errors.

    Parameters
    ----------
    systems
        Estimates of each system, by canonical expression.
    named
        Whether to draw all of them.

    Raises
    ------
    UsageError
        If there is none, or other metrics are requested.
    """
    leading, *more_systems = systems.values()
    shared = [expression for expression in leading if all(expression in system for system in more_systems)]
    names = [name for name in shared if _is_drawn(leading[name].metric, errors=named)]
    if not names or (named and len(names) < len(shared)):
        usual = ", ".join(name for name, metric in METRICS.items() if name == LOSS or _is_normalized(metric))
        unknown = next((name for name in shared if name not in names), "nothing")
        raise UsageError(
            f"the figure scores draws {usual} and calibration errors, not {unknown}; see --metrics"
        )
    return {
        system: ScoreSet(tuple(estimates[expression] for expression in names))
        for system, estimates in systems.items()
    }


@dataclass(frozen=True)
class Course:
    """One metric, or its p-value, over a series of files.

    Attributes
    ----------
    metric
        The metric.
    series
        What distinguishes the series from others; "" if it is the only one.
    number
        (E,) numbers of the files, increasing.
    value
        (E,) the values.
    line
        (E,) the line drawn through them.
    best
        Index of the best value; None for p-values, which have no best.
    chosen
        Index of the choice on another set.
    run
        The run of a model, if there are several.
    """

    metric: Measure
    series: str
    number: Positions
    value: Doubles
    line: Doubles
    best: int | None = None
    chosen: int | None = None
    run: str = ""

    @property
    def marked(self) -> int | None:
        """The index to mark: the choice on another set, or the best value."""
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
        For each metric its series, by canonical expression; for p-values as "p of" the metric.
    numbered
        Whether file names have numbers; else files are counted in the given order.
    """

    courses: Mapping[str, Sequence[Course]]
    numbered: bool

    def named(self) -> dict[str, Course]:
        """Return the courses by metric, and by series if there are several."""
        every = [(name, course) for name, several in self.courses.items() for course in several]
        return {", ".join(filter(None, (name, course.run, course.series))): course for name, course in every}

    @property
    def names(self) -> list[str]:
        """The distinct names of the series."""
        return list(dict.fromkeys(course.series for several in self.courses.values() for course in several))


def p_of(name: str) -> str:
    """Return the name of the p-values of a metric."""
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
        The line to draw; see `smoother`.
    p_values
        Whether to add p-values under calibration after calibration errors.
    runs
        Whether folders, or the parents of the series' folders, are runs of one model.
    chosen
        The number chosen on another set, for each run by folder, or for all series as "".

    Raises
    ------
    UsageError
        If no metric remains: metrics without a direction, or without a finite value, are left out. If
        files of a folder have the same number, or the chosen number is missing.
    """
    smooth, _ = smoother(smoothing)
    paths, every = list(systems), list(systems.values())
    folders = by_folder(paths)
    numbers = {folder: numbers_in_names([paths[n] for n in rows]) for folder, rows in folders.items()}
    numbered = None not in numbers.values()
    names_of = _named(list(folders), runs=runs)
    by_name: dict[str, list[Course]] = {}
    for name, leading in every[0].items():
        if leading.metric.entry.direction == "none" or not all(name in estimates for estimates in every):
            continue
        for folder, rows in folders.items():
            number = np.array(numbers[folder] if numbered else range(1, len(rows) + 1))
            order = number.argsort()
            estimates = [every[rows[n]][name] for n in order]
            value = np.array([estimate.value for estimate in estimates])
            if not np.isfinite(value).any():
                continue
            (series, run), ordered = names_of[folder], number[order]
            best, star = best_of(value, leading.metric), _chosen(chosen or {}, folder, ordered)
            course = Course(leading.metric, series, ordered, value, smooth(value), best, star, run)
            by_name.setdefault(name, []).append(course)
            tested = [estimate.if_calibrated for estimate in estimates]
            if p_values and all(tested):
                p = np.array([null.p_value for null in tested if null])
                p_course = replace(course, value=p, line=p, best=None)
                by_name.setdefault(p_of(name), []).append(p_course)
    if not by_name:
        raise UsageError("the files share no metric that says which is better; name some with --metrics")
    if p_values and not any(course.best is None for several in by_name.values() for course in several):
        raise UsageError("p_values are those of calibration errors, from --draws; name some with --metrics")
    return Courses(by_name, numbered)


def _named(folders: Sequence[str], *, runs: bool) -> dict[str, tuple[str, str]]:
    """Return the name of the series and of the run of each folder."""
    if not runs:
        return {folder: (folder if len(folders) > 1 else "", "") for folder in folders}
    splits = {folder: folder.partition(os.sep) for folder in folders}
    sets = {run_set for _, _, run_set in splits.values()}
    return {folder: (run_set if len(sets) > 1 else "", run) for folder, (run, _, run_set) in splits.items()}


def _chosen(chosen: Mapping[str, int], folder: str, number: Positions) -> int | None:
    """Return the index of the chosen number in a folder."""
    if not chosen:
        return None
    run = "" if "" in chosen else folder.partition(os.sep)[0]
    if run not in chosen:
        runs = ", ".join(chosen)
        raise UsageError(f"selected has no files in {run}, for {folder}; there are files in {runs}")
    if chosen[run] not in number:
        raise UsageError(f"selected chose number {chosen[run]}, which no file in {folder} has in its name")
    return int(np.flatnonzero(number == chosen[run])[0])


def smoother(text: str) -> tuple[Callable[[Doubles], Doubles], int]:
    """Return the function for `none`, `moving/3` or `savgol/11`, and its window.

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
    """Return the mean of each value and its neighbors, equally many on each side; the ends stay."""
    place = np.arange(len(value))
    half = np.minimum(window // 2, np.minimum(place, place[::-1]))
    return np.array([value[n - width : n + width + 1].mean() for n, width in enumerate(half)])


def savgol(value: Doubles, window: int) -> Doubles:
    """Return the cubic least-squares fit around each value; the ends use the last window."""
    half = window // 2
    powers = np.vander(np.arange(-half, half + 1.0), DEGREE + 1, increasing=True)
    fit = powers @ np.linalg.pinv(powers)  # (window, window): each fitted value of the values of a window
    smooth = np.convolve(value, fit[half][::-1], mode="same")
    smooth[:half] = fit[:half] @ value[:window]
    smooth[-half:] = fit[-half:] @ value[-window:]
    return np.asarray(smooth)
