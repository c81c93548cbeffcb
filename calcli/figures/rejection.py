"""What abstention wins: errors among the rows that are kept."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from calcli.core.curves.risk import RejectionCurve, rejection_curve
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.style import COLUMN, DASHES, MUTED, SERIES, Look, new_figure, percent, short, styled


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the rejection curve of each system."""
    results = {system: rejection_curve(evaluation.confidence) for system, evaluation in evaluations.items()}
    return rejection_curves(results), results


@styled
def rejection_curves(results: Mapping[str, RejectionCurve]) -> Figure:
    """Draw the error rate of what is kept against the share rejected, least sure rows first.

    The thin line of each system is what its confidence promises; where it runs below the thick one, the
    system abstains too rarely.

    Parameters
    ----------
    results
        Rejection curves by system name.
    """
    figure = new_figure(COLUMN, 2.6 + 0.14 * len(results))
    axes = figure.subplots()
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        start: Look = {"marker": "o", "markersize": 3, "markevery": [0], "clip_on": False}
        axes.plot(result.rejected, result.error_rate, label=short(name), **start, **look)
        axes.plot(result.rejected, result.promised, linewidth=0.6, **look)
    axes.plot([], [], color=MUTED, linewidth=0.6, label="promised (1 − mean confidence)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(percent)
    axes.set(
        xlim=(0, 1),
        ylim=(0, None),
        xlabel="Rows rejected, least sure first",
        ylabel="Error rate of the others",
    )
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
