"""The ROC curve: recall against the false positive rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.risk import Rates
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.rates import draw_rates, rates_of
from calcli.figures.risk import CONSTANT
from calcli.figures.style import COLUMN, new_figure, styled, unit_square
from calcli.figures.wording import drawn, probability, titles

CAPTION = (
    "Recall (true positive rate) against the false positive rate at every threshold of P(class 1); rows of "
    "equal probability are predicted together. Dotted: random scores."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the curve of each system."""
    results, marked = rates_of(evaluations, "roc")
    estimates = {name: evaluation.estimates.get("auroc") for name, evaluation in evaluations.items()}
    areas = {name: f"AUROC {drawn(e.value, digits=e.digits)}" for name, e in estimates.items() if e}
    return roc_curves(results, areas, shared_classes(evaluations)), results, CAPTION + marked


@styled
def roc_curves(results: Mapping[str, Rates], areas: Mapping[str, str], classes: Sequence[str] = ()) -> Figure:
    """Draw recall against the false positive rate.

    Parameters
    ----------
    results
        Rates by system name.
    areas
        By system name, the words for the area under the curve.
    classes
        Class names, if all systems have the same ones.
    """
    figure = new_figure(COLUMN, COLUMN + 0.14 * len(results))
    axes, names = figure.subplots(), titles(results)
    unit_square(axes)
    axes.set(xlabel="False positive rate", ylabel="Recall")
    by_title = {f"{names[name]}  {areas.get(name, '')}".strip(): result for name, result in results.items()}
    draw_rates(axes, by_title, "false_positive_rate", "recall")
    axes.plot([0, 1], [0, 1], **CONSTANT, label="random scores")
    axes.set_title(f"By {probability(classes)}", loc="left")
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
