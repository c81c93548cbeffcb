"""Precision against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.risk import Rates
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.rates import one_panel, rates_of
from calcli.figures.risk import CONSTANT
from calcli.figures.style import styled
from calcli.figures.wording import titles

CAPTION = (
    "Precision against recall at every threshold of P(class 1); rows of equal probability are predicted "
    "together. Dotted: the precision of random scores, the frequency of the class."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the curve of each system."""
    results, marked = rates_of(evaluations, "precision-recall")
    return precision_recall_curves(results, shared_classes(evaluations)), results, CAPTION + marked


@styled
def precision_recall_curves(results: Mapping[str, Rates], classes: Sequence[str] = ()) -> Figure:
    """Draw precision against recall, with the frequency of the class that random scores have.

    Parameters
    ----------
    results
        Rates by system name.
    classes
        Class names, if all systems have the same ones.
    """
    figure, axes = one_panel(results, titles(results), "recall", "precision", classes)
    for frequency in dict.fromkeys(round(result.frequency, 6) for result in results.values()):
        axes.axhline(frequency, **CONSTANT)
    axes.plot([], [], **CONSTANT, label="random scores")
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
