"""Rates at every threshold, one against another: what precision-recall, roc and gains share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import Rates, rates
from calcli.core.language.errors import UsageError
from calcli.figures.drawing import Evaluations
from calcli.figures.inline import tell_curves
from calcli.figures.style import COLUMN, DASHES, SERIES, Look, new_figure, unit_square
from calcli.figures.wording import probability

MARKED = " Circles: the thresholds {}."
WORDED = 4  # thresholds whose values fit beside their circles


def rates_of(evaluations: Evaluations, figure: str) -> tuple[dict[str, Rates], str]:
    """Return the rates of each system, and what the caption says of marked thresholds.

    Raises
    ------
    UsageError
        If one has no row of the class: there is no recall.
    """
    thresholds = next(iter(evaluations.values())).settings.thresholds
    results = {
        system: rates(problem_of(evaluation, "class-1"), thresholds)
        for system, evaluation in evaluations.items()
    }
    for system, result in results.items():
        if not result.frequency:
            raise UsageError(f"the figure {figure}: no row of {system} is of the class; it has no recall")
    listed = ", ".join(f"{threshold:g}" for threshold in thresholds)
    return results, MARKED.format(listed) if thresholds else ""


def one_panel(
    results: Mapping[str, Rates], labels: Mapping[str, str], x: str, y: str, classes: Sequence[str]
) -> tuple[Figure, Axes]:
    """Return a figure of one rate against another, still without a key, and its panel.

    Parameters
    ----------
    results, labels
        Rates and what the key says, by system name.
    x, y
        Fields of the rates.
    classes
        Class names, if all systems have the same ones.
    """
    figure = new_figure(COLUMN, COLUMN + 0.14 * len(results))
    axes = figure.subplots()
    unit_square(axes)
    axes.set(xlabel=x.replace("_", " ").capitalize(), ylabel=y.capitalize())
    axes.set_title(f"By {probability(classes)}", loc="left")
    draw_rates(axes, {labels[name]: result for name, result in results.items()}, x, y)
    return figure, axes


def draw_rates(axes: Axes, results: Mapping[str, Rates], x: str, y: str) -> None:
    """Draw one rate of each system, by its title, against another; with circles at marked thresholds.

    Parameters
    ----------
    axes
        The panel, with its limits.
    results
        Rates by title.
    x, y
        Fields of the rates.
    """
    curves = {}
    for index, (title, result) in enumerate(results.items()):
        color = SERIES[index % len(SERIES)]
        of_line: Look = {"color": color, "linestyle": DASHES[index % len(DASHES)]}
        of_line["drawstyle"] = "steps-pre" if x == "recall" else "default"
        across, up = getattr(result, x), getattr(result, y)
        start = [0.0] if y == "recall" else []  # where no row is predicted
        axes.plot([*start, *across], [*start, *up], label=title, **of_line)
        curves[title] = across, {y.replace("_", " "): up, "threshold": result.threshold}
        if result.marked is not None:
            places = getattr(result.marked, x), getattr(result.marked, y)
            axes.plot(*places, "o", color=color, markersize=4, clip_on=False, zorder=3)
            offset = (4, -9) if index else (-14, 3) if y == "recall" else (4, 4)
            near: Look = {"xytext": offset, "textcoords": "offset points", "color": color, "fontsize": 6.5}
            for place in zip(*places, result.marked.threshold, strict=True):
                if len(result.marked.threshold) <= WORDED and not np.isnan(place).any():
                    axes.annotate(f"{place[2]:g}", place[:2], **near)
    tell_curves(axes, x.replace("_", " "), curves)
