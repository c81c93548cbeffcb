"""Cumulative gain and lift against the share of rows, the most probable first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.risk import Rates
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.rates import draw_rates, rates_of
from calcli.figures.risk import CONSTANT
from calcli.figures.style import new_figure, percent_tick, styled
from calcli.figures.wording import probability, titles

CAPTION = (
    "Against the share of rows at or above a threshold of P(class 1), the most probable first. Left, the "
    "gain: the share of the rows of the class among these. Right, the lift: how many times as frequent the "
    "class is there as in all rows. Dotted: random scores."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the curve of each system."""
    results, marked = rates_of(evaluations, "gains")
    return gain_curves(results, shared_classes(evaluations)), results, CAPTION + marked


@styled
def gain_curves(results: Mapping[str, Rates], classes: Sequence[str] = ()) -> Figure:
    """Draw the cumulative gain and the lift of each system.

    Parameters
    ----------
    results
        Rates by system name.
    classes
        Class names, if all systems have the same ones.
    """
    figure = new_figure(7.0, 2.75 + 0.14 * len(results))
    panels, names = figure.subplots(1, 2), titles(results)
    by_title = {names[name]: result for name, result in results.items()}
    highest = max(result.lift.max() for result in results.values())
    gain, lift = panels
    gain.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="Gain: share of the class")
    lift.set(xlim=(0, 1), ylim=(0, 1.05 * highest), ylabel="Lift")
    draw_rates(gain, by_title, "share", "recall")
    draw_rates(lift, by_title, "share", "lift")
    gain.plot([0, 1], [0, 1], **CONSTANT, label="random scores")
    lift.axhline(1, **CONSTANT)
    gain.yaxis.set_major_formatter(percent_tick)
    for axes in panels:
        axes.xaxis.set_major_formatter(percent_tick)
        axes.set_xlabel(f"Rows, by {probability(classes)}")
    figure.legend(*gain.get_legend_handles_labels(), loc="outside upper center", handlelength=2.2)
    return figure
