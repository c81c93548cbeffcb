"""The forest plot: a metric in every slice of the rows, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from calcli.core.curves.forest import Forest
from calcli.core.results import Estimate, Interval
from calcli.figures.style import (
    COLUMN,
    FAINT,
    GRID,
    MAX_WIDTH,
    MUTED,
    PANEL,
    SERIES,
    new_figure,
    short,
    styled,
)
from calcli.figures.wording import metric_name

LINE = 0.17  # inches: a slice


@styled
def forest(results: Mapping[str, Forest]) -> Figure:
    """Draw metrics in every slice with their intervals, and over all rows as a line in its interval.

    A column of panels a system, a row of them a metric. A diamond's interval leaves out the value of all
    rows. Slices of fewer than 100 rows are faint.

    Parameters
    ----------
    results
        Forests by system name, all of the same metrics; slices are in the order of the first system.
    """
    first, *others = results.values()
    names = list(dict.fromkeys([*first.worst_first, *(name for other in others for name in other.slices)]))
    metrics = list(first.whole)
    width = min(COLUMN + 0.6 + PANEL * (len(results) - 1), MAX_WIDTH)
    figure = new_figure(width, 0.35 + len(metrics) * (0.5 + LINE * len(names)))
    grid = figure.subplots(len(metrics), len(results), sharex="row", sharey=True, squeeze=False)
    for row, metric in zip(grid, metrics, strict=True):
        for axes, (system, result) in zip(row, results.items(), strict=True):
            _whole(axes, result.whole[metric])
            for y, name in enumerate(names):
                if name in result.slices:
                    _slice(axes, y, result.slices[name][metric], result, name)
            call = first.whole[metric].call
            axes.set_xlabel(f"{metric_name(call)} ({call.metric.unit})")
            axes.grid(axis="x", color=GRID)
            axes.xaxis.set_major_locator(MaxNLocator(6))
            if metric == metrics[0]:
                axes.set_title(f"{short(system)}\n(dashed: all rows)", loc="left")
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(names)), [short(name, 26) for name in names], fontsize=6.8)
        axes.set_ylim(len(names) - 0.4, -0.6)
    return figure


def _whole(axes: Axes, estimate: Estimate) -> None:
    if math.isfinite(estimate.value):
        axes.axvline(estimate.value, color=MUTED, linewidth=0.9, dashes=(4, 2))
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
