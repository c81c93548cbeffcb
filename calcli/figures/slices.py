"""The forest plot: a metric in every slice of the rows, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from calcli.core.curves.forest import Forest
from calcli.core.curves.forest import forest as forest_of
from calcli.core.estimators.interval import Interval
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.figures.drawing import Evaluations, Made, View, asked
from calcli.figures.style import (
    COLUMN,
    FAINT,
    GRID,
    MUTED,
    PANEL,
    SERIES,
    Look,
    new_figure,
    short,
    styled,
)
from calcli.figures.wording import metric_name

LINE = 0.17  # inches: a slice
WHOLE: Look = {"color": MUTED, "linewidth": 0.9, "dashes": (4, 2)}


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and a forest for each system.

    Raises
    ------
    UsageError
        If there is no column to slice by, or probabilities were moved.
    """
    if not view.by:
        raise UsageError("the figure slices needs a column to slice by: --by COLUMN")
    if any(evaluation.settings.shift_to_priors for evaluation in evaluations.values()):
        raise UsageError(
            "the figure slices weights each slice to --priors, but moves no probabilities; leave out "
            "--shift-to-priors"
        )
    results = {
        system: forest_of(evaluation, view.by, asked("slices", evaluation, view))
        for system, evaluation in evaluations.items()
    }
    return forest(results), results


@styled
def forest(results: Mapping[str, Forest]) -> Figure:
    """Draw metrics in every slice with their intervals, and over all rows as a line in its interval.

    A column of panels a system, a row of them a metric; numbers of rows are those of the first system. A
    diamond's interval leaves out the value of all rows. Slices of fewer than 100 rows are faint.

    Parameters
    ----------
    results
        Forests by system name, all of the same metrics; slices are in the order of the first system.
    """
    first, *others = results.values()
    names = list(dict.fromkeys([*first.worst_first, *(name for other in others for name in other.slices)]))
    metrics = list(first.whole)
    height = 0.4 + len(metrics) * (0.5 + LINE * len(names))
    figure = new_figure(COLUMN + 0.6 + PANEL * len(others), height)
    grid = figure.subplots(len(metrics), len(results), sharex="row", sharey=True, squeeze=False)
    for row, metric in zip(grid, metrics, strict=True):
        for axes, (system, result) in zip(row, results.items(), strict=True):
            _whole(axes, result.whole[metric])
            for y, name in enumerate(names):
                if name in result.slices:
                    _slice(axes, y, result.slices[name][metric], result, name)
            call = first.whole[metric].call
            axes.set_xlabel(f"{metric_name(call)} ({call.unit})")
            axes.grid(axis="x", color=GRID)
            axes.xaxis.set_major_locator(MaxNLocator(6))
            if metric == metrics[0]:
                axes.set_title(short(system, 20), loc="left")  # beside long names of slices
    rows = {name: count for result in [*others[::-1], first] for name, count in result.rows.items()}
    labels = [f"{short(name, 26)} ({rows[name]:,})" for name in names]
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(names)), labels, fontsize=6.8)
        axes.set_ylim(len(names) - 0.4, -0.6)
    figure.legend(handles=_key(), loc="outside upper center", ncols=3)
    return figure


def _key() -> list[Artist]:
    return [
        Line2D([], [], label="all rows", **WHOLE),
        Line2D([], [], label="slice", color=SERIES[0], marker="o", markersize=4),
        Line2D([], [], label="apart from all rows", color=SERIES[1], marker="D", markersize=4),
    ]


def _whole(axes: Axes, estimate: Estimate) -> None:
    if math.isfinite(estimate.value):
        axes.axvline(estimate.value, **WHOLE)
    if (interval := _finite(estimate.interval)) is not None:
        axes.axvspan(interval.low, interval.high, color=GRID, linewidth=0)


def _slice(axes: Axes, y: int, estimate: Estimate, result: Forest, name: str) -> None:
    if not math.isfinite(estimate.value):
        at_left = axes.get_yaxis_transform()
        axes.text(0.02, y, str(estimate.value), transform=at_left, va="center", fontsize=6.5)
        return
    whole = result.whole[str(estimate.call)].value
    interval = _finite(estimate.interval)
    apart = interval is not None and math.isfinite(whole) and not interval.low <= whole <= interval.high
    color, alpha = SERIES[1] if apart else SERIES[0], FAINT if result.thin(name) else 1.0
    if interval is not None:
        axes.hlines(y, interval.low, interval.high, color=color, linewidth=1.4, alpha=alpha)
    axes.plot(estimate.value, y, marker="D" if apart else "o", markersize=4, color=color, alpha=alpha)


def _finite(interval: Interval | None) -> Interval | None:
    """Return an interval that can be drawn; infinite losses make ends infinite."""
    return interval if interval and math.isfinite(interval.low) and math.isfinite(interval.high) else None
