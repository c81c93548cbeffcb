"""The gain of abstention: errors among the rows that stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from calcli.core.curves.needs import problem_of
from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.curves.risk import RejectionCurve, rejection_curve
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.figures import FIGURES
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.style import COLUMN, DASHES, MUTED, SERIES, Look, new_figure, percent_tick, styled
from calcli.figures.wording import drawn, titles

CAPTION = (
    "Error rate of the rows that are kept against the share of rows rejected, those of lowest confidence "
    "first{band}. Thin: the error rate expected from the confidence. Rows of equal confidence are rejected "
    f"together; the curve ends where fewer than {FEW_ROWS} rows would be kept."
)
FADED = 0.15  # opacity of intervals, which may lie on each other
OPENING = 0.9  # share of rows rejected from which intervals may leave the figure: they open to a trumpet
SMALL: dict[str, Any] = {"color": MUTED, "fontsize": 6.5}


def _highest(result: RejectionCurve) -> float:
    """Return the maximum of the curves, and of the interval where that does not hide them."""
    ends = result.high[result.rejected <= OPENING]
    return float(np.nanmax([*result.error_rate, *result.promised, *ends]))


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the rejection curve of each system; dependent rows have no intervals."""
    settings = next(iter(evaluations.values())).settings
    level = settings.level if settings.cluster is None else None
    results = {
        system: rejection_curve(problem_of(evaluation, "top-1"), level)
        for system, evaluation in evaluations.items()
    }
    band = "" if level is None else f"; band: its {level_percent(level)} interval at each point (Wilson 1927)"
    areas = {system: _areas(evaluation) for system, evaluation in evaluations.items()}
    described = "".join(f" {system}: {area}." for system, area in areas.items() if area)
    return rejection_curves(results, areas), results, CAPTION.format(band=band) + described


def _areas(evaluation: Evaluation) -> str:
    """Return the areas under curves of risk and coverage, if computed."""
    estimates = [evaluation.estimates.get(name) for name in FIGURES["rejection"].metrics]
    return ", ".join(
        f"{estimate.metric.entry.title} {drawn(estimate.value, digits=estimate.digits)}"
        for estimate in estimates
        if estimate is not None
    )


@styled
def rejection_curves(results: Mapping[str, RejectionCurve], areas: Mapping[str, str]) -> Figure:
    """Draw the error rate of the kept rows against the rejected share, with its interval.

    The thin line of each system is the error rate that its confidence implies; where it runs below the thick
    one, the system abstains too rarely.

    Parameters
    ----------
    results
        Rejection curves by system name.
    areas
        By system name, the words of the legend for the areas under curves of risk and coverage.
    """
    labels = {name: f"{title}\n{areas[name]}".strip() for name, title in titles(results).items()}
    figure = new_figure(COLUMN, 2.75 + 0.14 * len("\n".join(labels.values()).splitlines()))
    axes = figure.subplots()
    names, handles, promises = titles(results), dict[str, Any](), tuple[Line2D, ...]()
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        start: Look = {"marker": "o", "markersize": 3, "markevery": [0], "clip_on": False}
        ends, color = (result.low, result.high), look["color"]
        axes.fill_between(result.rejected, *ends, color=color, alpha=FADED, linewidth=0)
        (line,) = axes.plot(result.rejected, result.error_rate, **start, **look)
        (thin,) = axes.plot(result.rejected, result.promised, linewidth=0.6, **look)
        handles[labels[name]], promises = line, (*promises, thin)
    handles["thin: expected (1 − mean confidence)"] = promises
    if not all(np.isnan(result.low).all() for result in results.values()):
        handles["interval at each point"] = Patch(color=MUTED, alpha=2 * FADED, linewidth=0)
    if all(len(result.rejected) == 1 for result in results.values()):
        note = "all rows have the same confidence"
        axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center", va="center", fontsize=6.5)
    highest = max(_highest(result) for result in results.values())
    if any((result.high > highest).any() for result in results.values()):
        axes.text(0.86, 0.98, "cut at the top", transform=axes.transAxes, ha="right", va="top", **SMALL)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(percent_tick)
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1.05 * highest or None),
        xlabel="Rows rejected, least confident first",
        ylabel="Error rate of the others",
    )
    curves = {
        names[name]: (result.rejected, {"error rate": result.error_rate, "promised": result.promised})
        for name, result in results.items()
    }
    tell_curves(axes, "rejected", curves)
    figure.legend(
        list(handles.values()), list(handles), loc="outside upper center", handlelength=2.2,
        handler_map={tuple: HandlerTuple(None, 0.4)},
    )  # fmt: skip
    return figure
