"""Normalized scores of several systems as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from calcli.core.curves.series import ScoreSet, score_sets
from calcli.core.evaluating.results import Estimate
from calcli.core.language.expressions import Measure
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import estimate_words, tell
from calcli.figures.style import COLUMN, INK, MUTED, SERIES, Look, new_figure, styled
from calcli.figures.wording import drawn, metric_name, titles

HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
SCALE = "0 is perfect,\n1 (normalized) the best constant system"
BAR_HEIGHT = 0.16  # inches: a bar of one system


CAPTION = "Bars: values of each metric, a bar for each system; lines: their intervals, where there are any"


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the scores of each system."""
    systems = {system: evaluation.estimates for system, evaluation in evaluations.items()}
    results = score_sets(systems, named=bool(view.metrics))
    return score_bars(results), results, f"{CAPTION}."


@styled
def score_bars(systems: Mapping[str, ScoreSet]) -> Figure:
    """Draw normalized scores of several systems as bars, with intervals (Ferrer & Ramos 2024, fig. 2, 3, 5).

    Calibration errors share a separate axis with the calibration losses.

    Parameters
    ----------
    systems
        The same metrics of each system, by name; a value that is not finite is written, not drawn.
    """
    count, panels = len(systems), len(next(iter(systems.values())).panels)
    longest = max(len(panel) for panel in next(iter(systems.values())).panels)
    size = COLUMN + 0.9, 0.75 + longest * (count * BAR_HEIGHT + 0.14) + 0.14 * count
    figure = new_figure(panels * size[0], size[1])
    row = figure.subplots(1, panels, squeeze=False)[0]
    for number, axes in enumerate(row):
        _bars(axes, {system: scores.panels[number] for system, scores in systems.items()})
    key = [Patch(label=name, **_look(index)) for index, name in enumerate(titles(systems).values())]
    figure.legend(handles=key, loc="outside upper center", ncols=min(count, 2 * panels))
    return figure


def _look(index: int) -> Look:
    color, hatch = SERIES[index % len(SERIES)], HATCHES[index % len(HATCHES)]
    return {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _bars(axes: Axes, systems: Mapping[str, tuple[Estimate, ...]]) -> None:
    calls = [estimate.metric for estimate in next(iter(systems.values()))]
    metrics, count = [_lines(metric) for metric in calls], len(systems)
    height = 0.8 / count
    for index, (system, estimates) in enumerate(systems.items()):
        place = np.arange(len(metrics)) + (index - (count - 1) / 2) * height
        value = np.array([estimate.value for estimate in estimates])
        finite = np.isfinite(value)
        axes.barh(place[finite], value[finite], height * 0.92, **_look(index))
        for y, estimate in zip(place, estimates, strict=True):
            _interval(axes, estimate, y)
        ends = np.where(finite, np.maximum(0, value), 0)
        texts = [f"{system}\n{estimate_words(estimate)}" for estimate in estimates]
        tell(axes, (0, ends), (place - height / 2, place + height / 2), texts)
    if axes.get_xlim()[1] > 1:
        axes.axvline(1, color=MUTED, linewidth=0.8, dashes=(4, 2))
    axes.set_yticks(np.arange(len(metrics)), metrics)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(metrics) - 0.5, -0.5)
    axes.margins(x=0.12)
    errors = any(metric.entry.family.has_null for metric in calls)
    axes.set_xlabel("Calibration: 0 is perfect" if errors else SCALE)


def _lines(metric: Measure) -> str:
    """Return the name of a metric, with each argument, also nested ones, on a separate line."""
    title, _, arguments = metric_name(metric).partition("\n")
    lines = arguments.replace("/", "\n/").split(", ") if arguments else []
    return "\n".join([title, *lines])


def _interval(axes: Axes, estimate: Estimate, y: float) -> None:
    if not math.isfinite(estimate.value):
        axes.text(0, y, f" {drawn(estimate.value, digits=estimate.digits)}", va="center", fontsize=6.5)
        return
    end = max(0, estimate.value)
    if estimate.interval is not None and math.isfinite(estimate.interval.high):
        axes.hlines(y, estimate.interval.low, estimate.interval.high, color=INK, linewidth=1.2)
        end = max(0, estimate.interval.high)
    text = drawn(estimate.value, digits=estimate.digits)
    axes.annotate(
        text, (end, y), (3, 0), textcoords="offset points", va="center", fontsize=6.2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )  # fmt: skip
