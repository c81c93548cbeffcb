"""Metrics over the epochs of one system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from calcli.core.curves.series import Course, courses
from calcli.figures.drawing import Evaluations, Made, View, asked
from calcli.figures.style import COLUMN, GRID, MUTED, SERIES, new_figure, short, styled
from calcli.figures.wording import metric_name


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the course of each metric."""
    results = courses(
        [
            {name: evaluation.estimates[name] for name in asked("epochs", evaluation, view)}
            for evaluation in evaluations.values()
        ]
    )
    return epochs(results, list(evaluations)), results


@styled
def epochs(results: Mapping[str, Course], names: Sequence[str]) -> Figure:
    """Draw metrics over a series of files, and where each is best (van de Waterlaat 2021, fig. 4.10, 5.1).

    Parameters
    ----------
    results
        Courses by canonical expression.
    names
        Names of the files, in order.
    """
    columns = min(len(results), 3)
    rows = math.ceil(len(results) / columns)
    figure = new_figure(max(COLUMN, 2.3 * columns), 1.75 * rows + 0.35)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    place = np.arange(1, len(names) + 1)
    for axes, course in zip(grid.flat, results.values(), strict=False):
        axes.plot(place, course.value, linestyle="", marker="o", markersize=2.6, color=MUTED)
        axes.plot(place, course.smoothed, color=SERIES[0])
        x, y = place[course.best], course.smoothed[course.best]
        axes.plot(
            x, y, marker="o", markersize=7, markerfacecolor="none", color=SERIES[1], markeredgewidth=1.4
        )
        axes.set_title(metric_name(course.call), loc="left", fontsize=7.5, pad=13)
        best = f"best: {short(names[course.best], 26)}"
        axes.annotate(best, (0, 1), (0, 4), "axes fraction", textcoords="offset points", fontsize=6.5)
        axes.set_ylabel(course.call.unit)
        axes.grid(axis="y", color=GRID)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    for axes in list(grid.flat)[len(results) :]:
        axes.set_visible(False)
    for column in range(columns):
        grid[(len(results) - 1 - column) // columns, column].tick_params(labelbottom=True)
    figure.supxlabel("File, in order (ring: best of the smoothed line, weights 1:2:1)", fontsize=7)
    return figure
