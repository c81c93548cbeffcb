"""What abstention wins: errors among the rows that are kept."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.curves.risk import RejectionCurve, rejection_curve
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.naming import titles
from calcli.figures.style import COLUMN, DASHES, MUTED, SERIES, Look, new_figure, percent, styled

CAPTION = (
    "Error rate of the rows that are kept against the share of rows rejected, those of lowest confidence "
    "first. Thin: the error rate that the confidence promises. Rows of equal confidence are rejected "
    f"together; the curve ends where fewer than {FEW_ROWS} rows would be kept."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the rejection curve of each system."""
    results = {system: rejection_curve(evaluation.confidence) for system, evaluation in evaluations.items()}
    return rejection_curves(results), results, CAPTION


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
    names = titles(results)
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        start: Look = {"marker": "o", "markersize": 3, "markevery": [0], "clip_on": False}
        axes.plot(result.rejected, result.error_rate, label=names[name], **start, **look)
        axes.plot(result.rejected, result.promised, linewidth=0.6, **look)
    axes.plot([], [], color=MUTED, linewidth=0.6, label="thin: promised (1 − mean confidence)")
    if all(len(result.rejected) == 1 for result in results.values()):
        said = "all rows have one confidence:\nnone is less sure than others"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", va="center", fontsize=6.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(percent)
    axes.set(
        xlim=(0, 1),
        ylim=(0, None),
        xlabel="Rows rejected, least sure first",
        ylabel="Error rate of the others",
    )
    curves = {
        names[name]: (one.rejected, {"error rate": one.error_rate, "promised": one.promised})
        for name, one in results.items()
    }
    tell_curves(axes, "rejected", curves)
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
