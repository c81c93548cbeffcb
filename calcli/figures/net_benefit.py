"""Net benefit against the threshold: decision curves, and the difference of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import HIGHEST, Benefits, NetBenefit, benefits, net_benefit
from calcli.core.estimators.intervals import level_percent
from calcli.figures.drawing import Evaluations, Made, Tabled, View, shared_classes
from calcli.figures.inline import tell_curves
from calcli.figures.risk import CONSTANT
from calcli.figures.style import COLUMN, DASHES, SERIES, Look, new_figure, styled
from calcli.figures.wording import probability, titles

CAPTION = (
    "Net benefit at every threshold t of P(class 1): true positives per row minus false positives per row "
    "times t / (1 - t). Dotted: class 1 for every row (treat all). Dashed: for none (treat none), 0."
)
NONE: Look = CONSTANT | {"linestyle": (0, (4, 1))}
DEPTH = 0.25  # depth below 0, as a share of the height above, for the falling curve of treating all
BESIDE = 0.004  # distance between the intervals of systems


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, the curve of each system, and the difference of two with the same cases."""
    points, change = benefits([*evaluations.values()])
    curves = {
        system: net_benefit(problem_of(evaluation, "class-1"), at)
        for (system, evaluation), at in zip(evaluations.items(), points, strict=True)
    }
    settings = next(iter(evaluations.values())).settings
    results, caption = dict[str, Tabled](curves), CAPTION
    if points[0] is not None:
        caption += f" Bars: {level_percent(settings.level)} interval at each threshold by itself."
    if change is not None:
        results[difference_of([*curves])] = change
        caption += " Below: the difference of both on the same rows."
    return decision_curves(curves, shared_classes(evaluations), change, settings.thresholds), results, caption


def difference_of(names: Sequence[str]) -> str:
    """Return the name of the difference of two systems."""
    return f"{names[1]} minus {names[0]}"


@styled
def decision_curves(
    results: Mapping[str, NetBenefit],
    classes: Sequence[str] = (),
    change: Benefits | None = None,
    thresholds: Sequence[float] = (),
) -> Figure:
    """Draw the net benefit of each system, of treating all and of treating none.

    Parameters
    ----------
    results
        Curves by system name.
    classes
        Class names, if all systems have the same ones.
    change
        Net benefit of the second system minus net benefit of the first system.
    thresholds
        The thresholds of the settings; several of them limit the horizontal axis.
    """
    below = change is not None
    figure = new_figure(COLUMN, 2.75 + 0.14 * len(results) + 1.3 * below)
    panels = figure.subplots(1 + below, 1, sharex=True, squeeze=False, height_ratios=(5, 2)[: 1 + below])
    axes, names, curves = panels[0, 0], titles(results), {}
    low, high = (min(thresholds) - 0.01, max(thresholds) + 0.01) if len(thresholds) > 1 else (0, HIGHEST)
    heights = [0.01]
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        axes.plot(result.threshold, result.net_benefit, label=names[name], **look)
        benefits = {"net benefit": result.net_benefit, "treat all": result.treat_all}
        curves[names[name]] = result.threshold, benefits
        inside = (low <= result.threshold) & (result.threshold <= high)
        heights += [result.net_benefit[inside].max(), result.treat_all[inside].max()]
        if result.points is not None:
            shift = (index - (len(results) - 1) / 2) * BESIDE * (high - low)
            _bars(axes, result.points, look["color"], shift)
            heights.append(np.nanmax(result.points.high, initial=0))
    alls = {round(float(result.treat_all[0]), 6): result for result in results.values()}
    for result in alls.values():
        axes.plot(result.threshold, result.treat_all, **CONSTANT)
    axes.axhline(0, **NONE)
    axes.plot([], [], **CONSTANT, label="treat all")
    axes.plot([], [], **NONE, label="treat none")
    top = max(heights)
    axes.locator_params(axis="x", nbins=6)
    axes.set(xlim=(low, high), ylim=(-DEPTH * top, 1.05 * top), ylabel="Net benefit")
    if change is not None:
        second = panels[1, 0]
        second.axhline(0, **NONE)
        second.plot(change.threshold, change.value, marker=".", markersize=3, color=SERIES[1])
        _bars(second, change, SERIES[1])
        second.set_ylabel("Difference")
        second.set_title(difference_of([*names.values()]), loc="left", fontsize=7)
    panels[-1, 0].set_xlabel(f"Threshold of {probability(classes)}")
    tell_curves(axes, "threshold", curves)
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure


def _bars(axes: Axes, points: Benefits, color: str, shift: float = 0.0) -> None:
    """Draw the interval at each threshold."""
    axes.vlines(points.threshold + shift, points.low, points.high, color=color, linewidth=0.8, alpha=0.6)
