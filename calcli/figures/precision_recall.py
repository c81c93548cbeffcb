"""Precision against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.risk import Rates
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.rates import draw_rates, rates_of
from calcli.figures.risk import CONSTANT
from calcli.figures.style import COLUMN, new_figure, styled
from calcli.figures.wording import probability, titles

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
    figure = new_figure(COLUMN, 2.75 + 0.14 * len(results))
    axes, names = figure.subplots(), titles(results)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="Recall", ylabel="Precision")
    by_title = {names[name]: result for name, result in results.items()}
    draw_rates(axes, by_title, "recall", "precision", drawstyle="steps-pre")
    for frequency in dict.fromkeys(round(result.frequency, 6) for result in results.values()):
        axes.axhline(frequency, **CONSTANT)
    axes.plot([], [], **CONSTANT, label="random scores")
    axes.set_title(f"By {probability(classes)}", loc="left")
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
