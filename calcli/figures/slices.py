"""The forest plot: a metric in every slice of the rows, with its interval."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calcli.core.curves.needs import shown_metrics
from calcli.core.curves.series import Forest
from calcli.core.curves.series import forest as forest_of
from calcli.core.data.derived import ENOUGH_ROWS
from calcli.core.estimators.calibrationerror import SIGNIFICANT
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.results import Estimate
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import estimate_words, tell
from calcli.figures.style import (
    CHANCE,
    COLUMN,
    FAINT,
    GRID,
    MUTED,
    PANEL,
    SERIES,
    Look,
    boxes,
    new_figure,
    styled,
)
from calcli.figures.wording import LENGTH, drawn, metric_name, short, titles

LINE = 0.17  # inches: a slice
LONGEST = 26  # letters of the name of a slice
LETTERS = 14  # in an inch of the name of a column
ERRORS = (
    "Calibration errors grow as rows become few, so that they are not compared with all rows: gray bars are "
    "what calibrated probabilities show in the slice (mean ± 2 sd), and diamonds exceed that by more than "
    "chance, corrected for the number of slices (5%). "
)
WHOLE: Look = {"color": MUTED, "linewidth": 0.9, "dashes": (4, 2)}


MOST = 40  # slices in a figure


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and a forest for each system."""
    results = {
        system: forest_of(evaluation, view.by, shown_metrics("slices", evaluation, view.metrics))
        for system, evaluation in evaluations.items()
    }
    return forest(results), results, caption(results)


def caption(results: Mapping[str, Forest]) -> str:
    """Describe the figure, and count the marked slices."""
    described = [_found(name, result) for name, result in results.items()]
    tested = any(result.tested for result in results.values())
    return (
        "A metric in each slice of the rows with its interval, the worst first; the number of rows is in "
        "parentheses. Dashed: its value over all rows, in its interval. Diamonds: differs from all rows by "
        f"more than chance, corrected for the number of slices and metrics (5%). {ERRORS if tested else ''}"
        f"Slices of fewer than {ENOUGH_ROWS} rows are faint and not judged. "
        f"{_which(next(iter(results.values())))}. {'; '.join(described)}."
    )


def _found(name: str, result: Forest) -> str:
    """Return how many of the tested slices are marked."""
    apart = [p <= SIGNIFICANT for p in result.p_apart.values() if not math.isnan(p)]
    tested = [result.is_miscalibrated(*place) for place in result.tested]
    counts = [f"{sum(apart)} of {len(apart)} differ"] if apart else []
    counts += [f"{sum(tested)} of {len(tested)} errors beyond chance"] if tested else []
    return f"{name}: {', '.join(counts) or 'none judged'}"


def _which(result: Forest) -> str:
    every = len(result.slices)
    return (
        f"{MOST} of {every:,} slices: those marked, and the worst" if every > MOST else f"All {every} slices"
    )


@styled
def forest(results: Mapping[str, Forest]) -> Figure:
    """Draw metrics in every slice with their intervals, and over all rows as a line with its interval.

    Each system has a column of panels, each metric a row; numbers of rows are from the first system. Diamonds
    differ from all rows beyond chance, corrected for the number of slices and metrics, or are errors
    that exceed chance under calibration. Of more than 40 slices only the marked and the worst are
    shown. Slices with fewer than 100 rows are faint.

    Parameters
    ----------
    results
        Forests by system name, all of the same metrics; slices are in the order of the first system.
    """
    leading, *more_systems = results.values()
    every = list(
        dict.fromkeys([*leading.worst_first, *(name for series in more_systems for name in series.slices)])
    )
    plotted = {name for result in results.values() for name in result.shown(MOST)}
    names = [name for name in every if name in plotted]
    metrics = list(leading.overall)
    systems, (column, slices) = titles(results, 20), _called(names)
    height = 0.4 + len(metrics) * (0.5 + LINE * len(names))
    figure = new_figure(COLUMN + 0.6 + PANEL * len(more_systems), height)
    grid = figure.subplots(len(metrics), len(results), sharex="row", sharey=True, squeeze=False)
    for row, metric in zip(grid, metrics, strict=True):
        for axes, (system, result) in zip(row, results.items(), strict=True):
            if not result.overall[metric].metric.entry.family.has_null:
                _whole(axes, result.overall[metric])
            for y, name in enumerate(names):
                if name in result.slices:
                    estimate = result.slices[name][metric]
                    _slice(axes, y, estimate, result, name)
                    _tell(axes, y, estimate, f"{name}, {result.rows[name]:,} rows")
            call = leading.overall[metric].metric
            axes.set_xlabel(f"{metric_name(call)} ({call.unit})")
            axes.grid(axis="x", color=GRID)
            axes.xaxis.set_major_locator(MaxNLocator(6))
            if metric == metrics[0]:
                axes.set_title(systems[system], loc="left")  # beside long names of slices
    rows = {name: count for result in [*more_systems[::-1], leading] for name, count in result.rows.items()}
    labels = [f"{slices[name]} ({rows[name]:,})" for name in names]
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(names)), labels, fontsize=6.8)
        axes.set_ylim(len(names) - 0.4, -0.6)
    if column:
        lines = textwrap.wrap(column, min(LENGTH, int(LETTERS * height)), max_lines=3, placeholder=" …")
        figure.supylabel("\n".join(map(short, lines)), fontsize=7.5, multialignment="center")
    if len(every) > MOST:
        figure.supxlabel(f"{_which(leading)}", fontsize=7)
    key = _key(list(leading.overall.values()))
    figure.legend(handles=key, loc="outside upper center", ncols=4 if more_systems or len(key) < 4 else 2)
    return figure


def _called(names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """Return the names of slices; if a name is too long, their common column is separate."""
    pairs = [name.partition("=") for name in names]
    columns = {column for column, *_ in pairs}
    if len(columns) > 1 or all(len(name) <= LONGEST for name in names):
        return "", titles(names, LONGEST)
    shortened = titles([value for *_, value in pairs], LONGEST)
    return columns.pop(), {name: shortened[value] for name, (*_, value) in zip(names, pairs, strict=True)}


def _key(estimates: Sequence[Estimate]) -> list[Artist]:
    errors = {estimate.metric.entry.family.has_null for estimate in estimates}
    marks = {False: "differs from all rows", True: "error beyond chance"}
    line = [Line2D([], [], label="all rows", **WHOLE)] if False in errors else []
    chance = [Patch(label="if calibrated", **CHANCE)] if True in errors else []
    mark = Line2D(
        [],
        [],
        label=" or ".join(marks[error] for error in sorted(errors)),
        color=SERIES[1],
        marker="D",
        markersize=4,
    )
    return [*line, Line2D([], [], label="slice", color=SERIES[0], marker="o", markersize=4), mark, *chance]


def _tell(axes: Axes, y: int, estimate: Estimate, name: str) -> None:
    interval = _finite(estimate.interval)
    x = (interval.low, interval.high) if interval else (estimate.value, estimate.value)
    if math.isfinite(x[0]):
        tell(axes, x, (y - 0.4, y + 0.4), [f"{name}\n{estimate_words(estimate)}"])


def _whole(axes: Axes, estimate: Estimate) -> None:
    if math.isfinite(estimate.value):
        axes.axvline(estimate.value, **WHOLE)
    if (interval := _finite(estimate.interval)) is not None:
        axes.axvspan(interval.low, interval.high, color=GRID, linewidth=0)


def _slice(axes: Axes, y: int, estimate: Estimate, result: Forest, name: str) -> None:
    if not math.isfinite(estimate.value):
        at_left = axes.get_yaxis_transform()
        axes.text(0.02, y, drawn(estimate.value), transform=at_left, va="center", fontsize=6.5)
        return
    interval = _finite(estimate.interval)
    marked = result.is_marked(name, str(estimate.metric))
    color, alpha = SERIES[1] if marked else SERIES[0], FAINT if result.thin(name) else 1.0
    if (null := estimate.if_calibrated) is not None:
        low, high = np.array([null.mean - 2 * null.sd]), np.array([null.mean + 2 * null.sd])
        boxes(
            axes,
            (np.maximum(low, 0), high),
            (np.array([y - 0.3]), np.array([y + 0.3])),
            alpha=alpha,
            **CHANCE,
        )
        axes.update_datalim([(max(low[0], 0), y), (high[0], y)])
    if interval is not None:
        axes.hlines(y, interval.low, interval.high, color=color, linewidth=1.4, alpha=alpha)
    axes.plot(estimate.value, y, marker="D" if marked else "o", markersize=4, color=color, alpha=alpha)


def _finite(interval: Interval | None) -> Interval | None:
    """Return an interval with finite ends for drawing; infinite losses make ends infinite."""
    return interval if interval and math.isfinite(interval.low) and math.isfinite(interval.high) else None
