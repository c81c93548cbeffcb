"""Bayes risks over the threshold, weighted so that areas are scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import WeightedRiskCurve, weighted_risk
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.naming import titles
from calcli.figures.risk import log_loss_of
from calcli.figures.style import DASHES, MUTED, SERIES, Look, new_figure, styled
from calcli.figures.wording import decimal

MIDDLE = 0.45  # of 1/2: risks nearer to 0 and 1 may be beyond all others
CUT = 1.5  # times the highest risk in the middle


CAPTION = (
    "Bayes risk times the weight W over a_1, where a wrong decision costs 1 / a_1 if the first class is true "
    "and 1 / (1 - a_1) if the second one is. Left W = 1: the area is the log-loss; right W is the density of "
    "Beta(2, 2): the area is 1.5 times the Brier score. NCE and NBS are both over those of the class "
    "frequencies."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the weighted risks of each system."""
    results = {
        system: weighted_risk(problem_of(evaluation, "class-1"), log_loss_of(evaluation))
        for system, evaluation in evaluations.items()
    }
    return weighted_risks(results), results, CAPTION


@styled
def weighted_risks(results: Mapping[str, WeightedRiskCurve]) -> Figure:
    """Draw Bayes risks weighted by W(a) over a_1 (Ferrer & Ramos 2024, fig. 1).

    Deciding wrongly costs 1 / a_1 where the first class is true, 1 / (1 - a_1) where the second one is. Left
    W = 1, and the area is the log-loss; right W is the density of Beta(2, 2), and the area 1.5 times the
    Brier score.

    Parameters
    ----------
    results
        Weighted risks by system name.
    """
    figure = new_figure(7.0, 2.9)
    left, right = figure.subplots(1, 2)
    names = titles(results)
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        nce, nbs = decimal(result.normalized_log_loss, 3), decimal(result.normalized_brier, 3)
        left.plot(result.a, result.risk, label=f"{names[name]}: NCE {nce}", **look)
        right.plot(result.a, result.beta_risk, label=f"{names[name]}: NBS {nbs}", **look)
    left.set_title("W = 1: area = log-loss", loc="left")
    right.set_title("W = Beta(2, 2): area = 1.5 Brier scores", loc="left")
    middle = max(result.risk[np.abs(result.a - 0.5) < MIDDLE].max() for result in results.values())
    if max(result.risk.max() for result in results.values()) > CUT * middle > 0:
        left.set_ylim(0, CUT * middle)
        left.text(
            0.99, 0.02, "cut at the top", transform=left.transAxes, ha="right", color=MUTED, fontsize=6.5
        )
    for axes in (left, right):
        axes.set(xlim=(0, 1), xlabel="$a_1$", ylabel="W × Bayes risk")
        axes.set_ylim(0, axes.get_ylim()[1] * (1.05 + 0.09 * len(results)))
        axes.legend(loc="upper left", handlelength=2.2)
    for axes, which in ((left, "risk"), (right, "beta_risk")):
        curves = {
            names[name]: (one.a, {"weighted risk": getattr(one, which)}) for name, one in results.items()
        }
        tell_curves(axes, "a_1", curves)
    return figure
