"""Bayes risks over the threshold, weighted to make areas equal scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.risk import WeightedRiskCurve, integrals_of, weighted_risk
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.inline import tell_curves
from calcli.figures.style import DASHES, MUTED, SERIES, Look, new_figure, styled
from calcli.figures.wording import drawn, probability, short, titles

MIDDLE = 0.45  # of 1/2: risks nearer to 0 and 1 may be beyond all others
CUT = 1.5  # times the highest risk in the middle
KNOWN = {  # heads of panels, and what the paper calls their normalized scores
    "log_loss": ("W = 1: area = log-loss", "NCE"),
    "brier": ("W = Beta(2, 2): area = 1.5 Brier scores", "NBS"),
}


CAPTION = (
    "Bayes risk times the weight W over a_1, where a wrong decision costs 1 / a_1 if the first class is true "
    "and 1 / (1 - a_1) if the second one is, which is decided for above the threshold 1 - a_1 of its "
    "probability. W = 1: the area is the log-loss; the density of Beta(2, 2): 3 times the Brier score, of "
    "Beta(a, b) in a_1: beta_score; weights of one's own: weighted_risk. Scores are over those of the class "
    "frequencies, NCE the log-loss and NBS the Brier score."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the weighted risks of each system.

    Raises
    ------
    UsageError
        If no score was computed that integrates risks.
    """
    scores = integrals_of(next(iter(evaluations.values())), view.metrics)
    if not scores:
        raise UsageError(
            "the figure weighted-risk shows log_loss, brier, beta_score and weighted_risk; expected one of "
            "them among the metrics"
        )
    results = {system: weighted_risk(evaluation, scores) for system, evaluation in evaluations.items()}
    return weighted_risks(results, shared_classes(evaluations)), results, CAPTION


@styled
def weighted_risks(results: Mapping[str, WeightedRiskCurve], classes: Sequence[str] = ()) -> Figure:
    """Draw Bayes risks weighted by W(a) over a_1 (Ferrer & Ramos 2024, fig. 1), a panel for each score.

    Deciding wrongly costs 1 / a_1 where the first class is true, 1 / (1 - a_1) where the second one is. With
    W = 1 the area is the log-loss; with the density of Beta(2, 2) it is 3 times the Brier score.

    Parameters
    ----------
    results
        Weighted risks by system name, of the same scores.
    classes
        Class names, if all systems have the same ones.
    """
    scores = list(next(iter(results.values())).weighted)
    lines, columns = math.ceil(len(scores) / 2), min(len(scores), 2)
    figure = new_figure(3.5 * columns, 2.9 * lines)
    axes_list = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, score in zip(axes_list, scores, strict=False):
        _panel(axes, score, results)
        axes.set_xlabel(f"$a_1$ = 1 − threshold of {probability(classes)}")
    for axes in axes_list[len(scores) :]:
        axes.set_visible(False)
    return figure


def _panel(axes: Axes, score: str, results: Mapping[str, WeightedRiskCurve]) -> None:
    head, symbol = KNOWN.get(score) or (_head(score), "normalized")
    names = titles(results)
    curves = {}
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        value = drawn(*(curve.normalized[score] for curve in (result, *results.values())))
        axes.plot(result.a, result.weighted[score], label=f"{names[name]}: {symbol} {value}", **look)
        curves[names[name]] = result.a, {"weighted risk": result.weighted[score]}
    axes.set_title(head, loc="left")
    weighted = [result.weighted[score] for result in results.values()]
    inner = np.abs(next(iter(results.values())).a - 0.5) < MIDDLE
    middle = max(risk[inner].max() for risk in weighted)
    if max(risk.max() for risk in weighted) > CUT * middle > 0:
        axes.set_ylim(0, CUT * middle)
        axes.text(
            0.99, 0.02, "cut at the top", transform=axes.transAxes, ha="right", color=MUTED, fontsize=6.5
        )
    axes.set(xlim=(0, 1), ylabel="W × Bayes risk")
    axes.set_ylim(0, axes.get_ylim()[1] * (1.05 + 0.09 * len(results)))
    axes.legend(loc="upper left", handlelength=2.2)
    tell_curves(axes, "a_1", curves)


def _head(score: str) -> str:
    """Return the head of the panel of a beta score, or of user-defined weights."""
    metric = parse_metric(score)
    if "weights" in metric.arguments:
        return f"W = {short(metric.arguments['weights'])}: area = weighted risk"
    return f"W = Beta({metric.arguments['a']:g}, {metric.arguments['b']:g}): area = beta score"
