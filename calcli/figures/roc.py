"""The ROC curve: recall against the false positive rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.risk import Rates
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.rates import one_panel, rates_of
from calcli.figures.risk import CONSTANT
from calcli.figures.style import styled
from calcli.figures.wording import drawn, titles

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
    labels = {name: f"{title}  {areas.get(name, '')}".strip() for name, title in titles(results).items()}
    figure, axes = one_panel(results, labels, "false_positive_rate", "recall", classes)
    axes.plot([0, 1], [0, 1], **CONSTANT, label="random scores")
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
