"""Mean divergences from a fixed posterior, including score divergences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import Divergences, divergences
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.style import DASHES, MUTED, SERIES, new_figure, styled
from calcli.figures.wording import titles

TITLES = {
    "l1_of_one": "Absolute, one class",
    "l1": "Absolute, both",
    "squared": "Squared (Brier)",
    "kl": "Kullback-Leibler (log)",
}


CAPTION = (
    "Mean divergences of the posteriors from one fixed posterior against its first probability. The star is "
    "at the mean posterior, the dashed line at the minimum; they are apart where no score has that "
    "divergence."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the divergences of each system."""
    results = {
        system: divergences(problem_of(evaluation, "class-0")) for system, evaluation in evaluations.items()
    }
    return divergence_curves(results), results, CAPTION


@styled
def divergence_curves(results: Mapping[str, Divergences]) -> Figure:
    """Draw mean divergences of posteriors from a fixed one (Ferrer & Ramos 2024, fig. 4).

    The star is at the mean posterior, the line at the minimum. They differ if no score has that
    divergence, as for absolute differences.

    Parameters
    ----------
    results
        Divergences by system name.
    """
    figure = new_figure(8.0, 2.3 + 0.13 * len(results))
    names = titles(results, 26)
    for axes, (name, title) in zip(figure.subplots(1, 4), TITLES.items(), strict=True):
        for index, (system, result) in enumerate(results.items()):
            color, dashes = SERIES[index % len(SERIES)], DASHES[index % len(DASHES)]
            curve = result.curves[name]
            axes.plot(result.fixed, curve, color=color, linestyle=dashes, label=names[system])
            axes.axvline(result.fixed[int(np.argmin(curve))], color=MUTED, linewidth=0.8, dashes=(4, 2))
            axes.plot(result.mean, result.at_mean[name], marker="*", markersize=9, color=color)
        axes.set(xlim=(0, 1), xlabel="First class, fixed")
        axes.set_title(title, loc="left")
        curves = {
            names[system]: (result.fixed, {"": result.curves[name]}) for system, result in results.items()
        }
        tell_curves(axes, "first class, fixed", curves)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure
