"""Normalized scores of several systems as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.series import ScoreSet, score_sets
from calcli.core.evaluating.results import Estimate
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.style import COLUMN, INK, MUTED, SERIES, new_figure, short, styled
from calcli.figures.wording import metric_name

HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
BAR_HEIGHT = 0.16  # inches: a bar of one system


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the scores of each system."""
    results = score_sets({system: evaluation.estimates for system, evaluation in evaluations.items()})
    return score_bars(results), results


@styled
def score_bars(systems: Mapping[str, ScoreSet]) -> Figure:
    """Draw normalized scores of several systems as bars, with intervals (Ferrer & Ramos 2024, fig. 2, 3, 5).

    Parameters
    ----------
    systems
        The same metrics of each system, by its name; a value that is not finite is written, not drawn.
    """
    names = [metric_name(estimate.call) for estimate in next(iter(systems.values())).estimates]
    count = len(systems)
    figure = new_figure(COLUMN + 0.9, 0.75 + len(names) * (count * BAR_HEIGHT + 0.14) + 0.14 * count)
    axes = figure.subplots()
    height = 0.8 / count
    for index, (system, scores) in enumerate(systems.items()):
        place = np.arange(len(names)) + (index - (count - 1) / 2) * height
        value = np.array([estimate.value for estimate in scores.estimates])
        shown = np.isfinite(value)
        axes.barh(
            place[shown], value[shown], height * 0.92, color=SERIES[index % len(SERIES)], label=short(system),
            hatch=HATCHES[index % len(HATCHES)], edgecolor="white", linewidth=0,
        )  # fmt: skip
        for y, estimate in zip(place, scores.estimates, strict=True):
            _interval(axes, estimate, y)
    if axes.get_xlim()[1] > 1:
        axes.axvline(1, color=MUTED, linewidth=0.8, dashes=(4, 2))
    axes.set_yticks(np.arange(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.set_xlabel("0 is perfect, 1 (normalized) the best constant system")
    figure.legend(loc="outside upper center", ncols=min(count, 2))
    return figure


def _interval(axes: Axes, estimate: Estimate, y: float) -> None:
    if not math.isfinite(estimate.value):
        axes.text(0, y, f" {estimate.value}", va="center", fontsize=6.5)
        return
    end = max(0, estimate.value)
    if estimate.interval is not None and math.isfinite(estimate.interval.high):
        axes.hlines(y, estimate.interval.low, estimate.interval.high, color=INK, linewidth=1.2)
        end = max(0, estimate.interval.high)
    value = f"{round(estimate.value, 3) + 0.0:.3f}".replace("-", "−")
    axes.annotate(
        value, (end, y), (3, 0), textcoords="offset points", va="center", fontsize=6.2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )  # fmt: skip
