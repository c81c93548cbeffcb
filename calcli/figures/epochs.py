"""Metrics over the epochs of one system, on one or several sets."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import partial, reduce

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from calcli.core.curves.needs import shown_metrics
from calcli.core.curves.series import Course, Courses, courses, p_of, smoother
from calcli.core.data.arrays import Doubles, Positions
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metrics
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.style import COLUMN, DASHES, GRID, MUTED, SERIES, Look, new_figure, styled
from calcli.figures.wording import metric_name, short, titles

CAPTION = (
    "Values of each file; a ring is at the best one, but of calibration errors, whose least value chooses no "
    "model; a star is at what another set chose."
)
THIN, HEAVY = 0.7, 1.8  # lines of runs, and of their mean
LETTERS = 17  # letters of 7 points in an inch
KEYS, LINE = 4, 0.15  # keys of the legend in a line, and its height in inches
MARGIN = 5  # letters by which a title is shorter
BESIDE = 18  # letters that take as much as the axis and the key beside the name of a metric
RING: Look = {"marker": "o", "markersize": 7, "markerfacecolor": "none", "markeredgewidth": 1.4}
STAR: Look = {"marker": "*", "markersize": 9, "markeredgecolor": "white", "markeredgewidth": 0.5}


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the course of each metric.

    Raises
    ------
    UsageError
        If there is only one file.
    """
    if len(evaluations) < 2:
        raise UsageError(
            "the figure epochs shows how metrics change from file to file: give two files or more; "
            "calcli evaluate has the metrics of one"
        )
    systems = {
        evaluation.predictions.provenance.in_series: {
            name: evaluation.estimates[name] for name in shown_metrics("epochs", evaluation, view.metrics)
        }
        for evaluation in evaluations.values()
    }
    words, chosen = view.selected or ("", None)
    series = courses(systems, view.smooth, p_values=view.p_values, runs=view.seeds, chosen=chosen)
    defaults = next(iter(evaluations.values())).settings.defaults
    panels = [[str(metric) for metric in parse_metrics(panel, defaults)] for panel in view.panels]
    panels = [metrics for panel in panels for metrics in (panel, list(map(p_of, panel)))]
    return epochs(series, panels, view.smooth, words), series.named(), CAPTION


@styled
def epochs(
    series: Courses, panels: Sequence[Sequence[str]] = (), smoothing: str = "none", selected: str = ""
) -> Figure:
    """Draw metrics over series of files, and where each is best (van de Waterlaat 2021, fig. 4.8 to 5.1).

    Runs of one model have one color and their mean a heavy line; p-values have no best and no mean
    (Vaicenavicius et al. 2019, fig. 3).

    Parameters
    ----------
    series
        The courses.
    panels
        Metrics that share a panel; each has its own if there are none.
    smoothing
        How the lines were smoothed, for the words below.
    selected
        How the marked files were chosen on another set, in words.
    """
    subplots = [[name for name in panel if name in series.courses] for panel in panels]
    subplots = [panel for panel in subplots if panel] or [[name] for name in series.courses]
    columns = min(len(subplots), 3)
    rows = math.ceil(len(subplots) / columns)
    width = 2.3 if max(map(len, subplots)) == 1 else 3.1
    names = [name for name in series.names if name]
    key_height = LINE * max(0, math.ceil(len(names) / KEYS) - 1)
    figure = new_figure(max(COLUMN, width * columns), (1.75 if width < 3 else 2.6) * rows + 0.35 + key_height)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axes, panel in zip(grid.flat, subplots, strict=False):
        _panel(axes, [series.courses[name] for name in panel], figure.get_figwidth() / columns)
    for axes in list(grid.flat)[len(subplots) :]:
        axes.set_visible(False)
    for column in range(columns):
        grid[(len(subplots) - 1 - column) // columns, column].tick_params(labelbottom=True)
    every = [course for several in series.courses.values() for course in several]
    below = _below(every, smoothing, selected, numbered=series.numbered)
    figure.supxlabel(textwrap.fill(below, int(LETTERS * figure.get_figwidth())), fontsize=7)
    if names:
        alone = all(len(panel) == 1 for panel in subplots)
        _legend(figure, names, colored=alone)
    return figure


def _panel(axes: Axes, metrics: Sequence[Sequence[Course]], inches: float) -> None:
    """Draw one metric with a color per series, or several with a color per metric and a dash per series."""
    room = int(LETTERS * inches)
    labels = [_name(several[0]).replace("\n", ", ") for several in metrics]
    texts = titles(labels, room - BESIDE)
    for m, several in enumerate(metrics):
        names = list(dict.fromkeys(course.series for course in several))
        for course in several:
            s = names.index(course.series)
            color = SERIES[(m if len(metrics) > 1 else s) % len(SERIES)]
            number, value = course.number, course.value
            if course.line is not value:
                axes.scatter(number, value, s=3, color=color, alpha=0.35)
            label = texts[labels[m]] if len(metrics) > 1 and course is several[0] else None
            width = THIN if course.run else None
            dashes = DASHES[s % len(DASHES)]
            look: Look = {"color": color, "linestyle": dashes, **_dots(course.line)}
            axes.plot(number, course.line, linewidth=width, label=label, **look)
            if _is_marked(course):
                mark = RING if course.chosen is None else STAR
                axes.plot(number[course.marked], value[course.marked], color=color, **mark)
        if several[0].best is not None and several[0].run:
            for s, name in enumerate(names):
                color = SERIES[(m if len(metrics) > 1 else s) % len(SERIES)]
                mean = _mean([course for course in several if course.series == name])
                look = {"color": color, "linestyle": DASHES[s % len(DASHES)], **_dots(mean[1])}
                axes.plot(*mean, linewidth=HEAVY, **look)
    _tell(axes, [course for several in metrics for course in several])
    units = dict.fromkeys("p" if several[0].best is None else several[0].metric.unit for several in metrics)
    axes.set_ylabel(", ".join(units))
    axes.grid(axis="y", color=GRID)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
    if len(metrics) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
        return
    fill = partial(textwrap.fill, width=room - MARGIN, max_lines=2, placeholder="…")
    axes.set_title("\n".join(map(fill, _name(metrics[0][0]).split("\n"))), loc="left", fontsize=7.5, pad=13)
    if metrics[0][0].best is None:
        axes.set_ylim(-0.03, 1.03)
    elif words := _marks(metrics[0], room):
        axes.annotate(words, (0, 1), (0, 4), "axes fraction", textcoords="offset points", fontsize=6.5)


def _dots(line: Doubles) -> Look:
    """Return a look that shows the points without a neighbor, which a line does not show."""
    there = np.pad(np.isfinite(line), 1)
    alone = np.flatnonzero(there[1:-1] & ~there[:-2] & ~there[2:]).tolist()
    return {"marker": "o", "markersize": 3, "markevery": alone} if alone else {}


def _marks(metric: Sequence[Course], room: float) -> str:
    """Return which files of a metric are marked, by their numbers alone if names have no room."""
    marked = [course for course in metric if _is_marked(course)]
    numbers = [f"{course.number[course.marked]}" for course in marked]
    names = [short(course.run or course.series, 14) for course in marked]
    word = "best" if metric[0].chosen is None else "selected"
    labels = (map(" ".join, zip(names, numbers, strict=True)), numbers)
    every = (f"{word}: {', '.join(part.strip() for part in label)}" for label in labels if marked)
    return next((words for words in every if len(words) <= room), "")


def _tell(axes: Axes, every: Sequence[Course]) -> None:
    """Let the panel show the values of each file on hover; all metrics of a series have the same files."""
    numbers: dict[str, Positions] = {}
    values: dict[str, dict[str, Doubles]] = {}
    for course in every:
        name = " ".join(filter(None, (course.series, course.run)))
        metric = course.metric.text if course.best is not None else f"p of {course.metric.text}"
        numbers[name] = course.number
        values.setdefault(name, {})[metric] = course.value
    tell_curves(axes, "file", {name: (number, values[name]) for name, number in numbers.items()})


def _is_marked(course: Course) -> bool:
    """Return whether a file is marked: for a calibration error only the choice on another set.

    It is not a proper score: its least value does not choose a model.
    """
    return course.chosen is not None or (course.best is not None and not course.metric.entry.family.has_null)


def _name(course: Course) -> str:
    name = metric_name(course.metric)
    return f"p-value: {name}" if course.best is None else name


def _mean(runs: Sequence[Course]) -> tuple[Positions, Doubles]:
    """Return the numbers that all runs have, and the mean of their lines there."""
    number = reduce(np.intersect1d, [course.number for course in runs])
    lines = [course.line[np.searchsorted(course.number, number)] for course in runs]
    return number, np.mean(lines, axis=0)


def _legend(figure: Figure, names: Iterable[str], *, colored: bool) -> None:
    color = SERIES if colored else (MUTED,)
    looks: list[Look] = [
        {"color": color[n % len(color)], "linestyle": DASHES[n % len(DASHES)]} for n, _ in enumerate(names)
    ]
    lines = [Line2D([], [], **look) for look in looks]
    figure.legend(lines, list(titles(names).values()), loc="outside upper center", ncols=KEYS)


def _below(every: Iterable[Course], smoothing: str, selected: str, *, numbered: bool) -> str:
    """Return the words for the axis, and for the smoothing of the lines."""
    text_of_x = "Number in the name of the file" if numbered else "File, in the order given"
    text = f"{text_of_x} ({f'star: {selected}' if selected else 'ring: best value'}"
    if any(course.run for course in every):
        text += "; heavy: mean of the runs"
    if smoothing == "none":
        return text + ")"
    window = smoother(smoothing)[1]
    if all(len(course.value) < window for course in every):
        return f"{text}; not smoothed: fewer than {window} files)"
    how = "cubic Savitzky–Golay filter" if smoothing.startswith("savgol") else "moving mean"
    return f"{text}; lines: {how}, window {window})"
