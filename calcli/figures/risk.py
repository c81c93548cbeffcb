"""The cost of decisions: risk against the threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import RiskCurve, risk_curve
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.text import numbers
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.inline import tell_curves
from calcli.figures.style import DASHES, MUTED, SERIES, Look, new_figure, styled
from calcli.figures.wording import probability, titles

TICKS = {0.01: "0.01", 0.1: "0.1", 0.5: "0.5", 0.9: "0.9", 0.99: "0.99"}
WIDE_TICKS = {1e-6: "$10^{-6}$", 0.001: "0.001", 0.5: "0.5", 0.999: "0.999", 1 - 1e-6: "$1-10^{-6}$"}
WIDE = 8.0  # log-odds from which the second ones fit better
CONSTANT: Look = {"color": MUTED, "linewidth": 0.9, "linestyle": (0, (1, 1))}


CAPTION = (
    "Mean cost of decisions at every threshold t of P(class 1), where a false alarm costs t and a miss "
    "1 - t. Left, over the log-odds of t, the area is the log-loss; right, twice the cost over t, the "
    "area is the Brier score. Dotted: the better of the two constant decisions."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the risk curve of each system."""
    results = {
        system: risk_curve(
            problem_of(evaluation, "class-1"),
            log_loss_of(evaluation),
        )
        for system, evaluation in evaluations.items()
    }
    return risk_curves(results, shared_classes(evaluations)), results, CAPTION


def log_loss_of(evaluation: Evaluation) -> float | None:
    """Return the log-loss of an evaluation, if it was computed."""
    estimate = evaluation.estimates.get("log_loss")
    return None if estimate is None else estimate.value


@styled
def risk_curves(results: Mapping[str, RiskCurve], classes: Sequence[str] = ()) -> Figure:
    """Draw the risk of decisions against their threshold of P(class 1): areas are scores.

    Left, over the log-odds of the threshold, the area under a curve is the log-loss; right, over the
    threshold, the area is the Brier score. The dotted line is the better of the two constant decisions
    (Ferrer & Ramos 2024, fig. 1); systems on rows of other class frequencies have one each, in their color.

    Parameters
    ----------
    results
        Risk curves by system name.
    classes
        Class names, if all systems have the same ones.
    """
    figure = new_figure(7.0, 2.9)
    odds, linear = figure.subplots(1, 2)
    names = titles(results)
    losses = numbers(*(result.log_loss for result in results.values()))
    briers = numbers(*(result.brier for result in results.values()))
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        odds.plot(result.log_odds, result.risk, label=f"{names[name]}: {losses[index]}", **look)
        linear.plot(result.threshold, result.brier_risk, label=f"{names[name]}: {briers[index]}", **look)
    widest = max(results.values(), key=lambda result: result.log_odds[-1])
    alike = all(
        np.allclose(widest.constant_brier_risk, result.constant_brier_risk) for result in results.values()
    )
    for index, result in enumerate([widest] if alike else results.values()):
        dotted = CONSTANT if alike else CONSTANT | {"color": SERIES[index % len(SERIES)]}
        odds.plot(result.log_odds, result.constant_risk, **dotted)
        linear.plot(result.threshold, result.constant_brier_risk, **dotted)
    for axes in (odds, linear):
        axes.plot([], [], **CONSTANT, label="constant decision")
    reach = widest.log_odds[-1]
    ticks = {math.log(t / (1 - t)): name for t, name in (WIDE_TICKS if reach > WIDE else TICKS).items()}
    odds.set_xticks(list(ticks), list(ticks.values()))
    odds.set(xlim=(-reach, reach), ylim=(0, None), ylabel="Mean cost")
    odds.set_xlabel(f"Threshold of {probability(classes)}, log-odds scale")
    odds.set_title("Area = log-loss", loc="left")
    linear.set(xlim=(0, 1), ylim=(0, None), xlabel=f"Threshold of {probability(classes)}")
    linear.set_ylabel("2 × mean cost")
    linear.set_title("Area = Brier score", loc="left")
    for axes in (odds, linear):
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, top * (1.08 + 0.09 * (len(results) + 1)))
        axes.legend(loc="upper left", handlelength=2.2)
    _tell(odds, linear, {names[name]: result for name, result in results.items()})
    return figure


def _tell(odds: Axes, linear: Axes, results: Mapping[str, RiskCurve]) -> None:
    """Let the panels show the costs at each threshold on hover."""
    heads = ("mean cost", "constant decision")
    over_odds, over_thresholds = {}, {}
    for name, result in results.items():
        over_odds[name] = result.log_odds, dict(zip(heads, (result.risk, result.constant_risk), strict=True))
        costs = (result.brier_risk / 2, result.constant_brier_risk / 2)
        over_thresholds[name] = result.threshold, dict(zip(heads, costs, strict=True))
    tell_curves(odds, "log-odds of the threshold", over_odds)
    tell_curves(linear, "threshold", over_thresholds)
