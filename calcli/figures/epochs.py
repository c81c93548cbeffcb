"""Metrics over the epochs of one system, on one or several sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from calcli.core.curves.series import Course, Courses, courses
from calcli.core.curves.smoothing import smoother
from calcli.core.language.expressions import parse_metrics
from calcli.figures.drawing import Evaluations, Made, View, asked
from calcli.figures.style import COLUMN, DASHES, GRID, MUTED, SERIES, Look, new_figure, short, styled
from calcli.figures.wording import metric_name


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the course of each metric."""
    systems = {
        evaluation.predictions.provenance.path: {
            name: evaluation.estimates[name] for name in asked("epochs", evaluation, view)
        }
        for evaluation in evaluations.values()
    }
    found = courses(systems, view.smooth)
    defaults = next(iter(evaluations.values())).settings.defaults
    panels = [[str(call) for call in parse_metrics(panel, defaults)] for panel in view.panels]
    return epochs(found, panels, view.smooth), found.named()


@styled
def epochs(found: Courses, panels: Sequence[Sequence[str]] = (), smoothing: str = "none") -> Figure:
    """Draw metrics over series of files, and where each is best (van de Waterlaat 2021, fig. 4.8 to 5.1).

    Parameters
    ----------
    found
        The courses.
    panels
        Metrics that share a panel; each has its own if there are none.
    smoothing
        How the lines were smoothed, for the words below.
    """
    shown = [[name for name in panel if name in found.courses] for panel in panels]
    shown = [panel for panel in shown if panel] or [[name] for name in found.courses]
    columns = min(len(shown), 3)
    rows = math.ceil(len(shown) / columns)
    width = 2.3 if max(map(len, shown)) == 1 else 3.1
    figure = new_figure(max(COLUMN, width * columns), (1.75 if width < 3 else 2.6) * rows + 0.35)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axes, panel in zip(grid.flat, shown, strict=False):
        _panel(axes, [found.courses[name] for name in panel])
    for axes in list(grid.flat)[len(shown) :]:
        axes.set_visible(False)
    for column in range(columns):
        grid[(len(shown) - 1 - column) // columns, column].tick_params(labelbottom=True)
    every = [course for several in found.courses.values() for course in several]
    figure.supxlabel(_below(every, smoothing, numbered=found.numbered), fontsize=7)
    if names := [course.series for course in next(iter(found.courses.values())) if course.series]:
        alone = all(len(panel) == 1 for panel in shown)
        _legend(figure, names, colored=alone)
    return figure


def _panel(axes: Axes, metrics: Sequence[Sequence[Course]]) -> None:
    """Draw one metric, a color a series; or several, a color a metric and a dash a series."""
    for m, several in enumerate(metrics):
        for s, course in enumerate(several):
            color = SERIES[(m if len(metrics) > 1 else s) % len(SERIES)]
            number, value = course.number, course.value
            if course.line is not value:
                axes.scatter(number, value, s=3, color=color, alpha=0.35)
            label = metric_name(course.call).replace("\n", ", ") if len(metrics) > 1 and s == 0 else None
            axes.plot(number, course.line, color=color, linestyle=DASHES[s % len(DASHES)], label=label)
            x, y = number[course.best], value[course.best]
            axes.plot(
                x, y, marker="o", markersize=7, color=color, markerfacecolor="none", markeredgewidth=1.4
            )
    units = dict.fromkeys(several[0].call.unit for several in metrics)
    axes.set_ylabel(", ".join(units))
    axes.grid(axis="y", color=GRID)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    if len(metrics) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
        return
    axes.set_title(metric_name(metrics[0][0].call), loc="left", fontsize=7.5, pad=13)
    best = [f"{short(course.series, 14)} {course.number[course.best]}".strip() for course in metrics[0]]
    axes.annotate(
        f"best: {', '.join(best)}", (0, 1), (0, 4), "axes fraction", textcoords="offset points", fontsize=6.5
    )


def _legend(figure: Figure, names: Iterable[str], *, colored: bool) -> None:
    color = SERIES if colored else (MUTED,)
    looks: list[Look] = [
        {"color": color[n % len(color)], "linestyle": DASHES[n % len(DASHES)]} for n, _ in enumerate(names)
    ]
    lines = [Line2D([], [], **look) for look in looks]
    figure.legend(lines, [short(name) for name in names], loc="outside upper center", ncols=4)


def _below(every: Iterable[Course], smoothing: str, *, numbered: bool) -> str:
    """Say what the axis is, and how the lines were smoothed."""
    what = "Number in the name of the file" if numbered else "File, in the order given"
    text = f"{what} (ring: best value"
    if smoothing == "none":
        return text + ")"
    window = smoother(smoothing)[1]
    if all(len(course.value) < window for course in every):
        return f"{text}; not smoothed: fewer than {window} files)"
    how = "cubic Savitzky–Golay filter" if smoothing.startswith("savgol") else "moving mean"
    return f"{text}; lines: {how}, window {window})"
