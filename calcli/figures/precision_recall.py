"""Precision against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import PrecisionRecall, precision_recall
from calcli.core.language.errors import UsageError
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.inline import tell_curves
from calcli.figures.risk import CONSTANT
from calcli.figures.style import COLUMN, DASHES, SERIES, Look, new_figure, styled
from calcli.figures.wording import probability, titles

CAPTION = (
    "Precision against recall at every threshold of P(class 1); rows of equal probability are predicted "
    "together. Dotted: the precision of random scores, the frequency of the class."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the curve of each system.

    Raises
    ------
    UsageError
        If one has no row of the class: there is no recall.
    """
    results = {
        system: precision_recall(problem_of(evaluation, "class-1"))
        for system, evaluation in evaluations.items()
    }
    if missing := [system for system, result in results.items() if not result.frequency]:
        raise UsageError(
            f"the figure precision-recall: no row of {missing[0]} is of the class; it has no recall"
        )
    return precision_recall_curves(results, shared_classes(evaluations)), results, CAPTION


@styled
def precision_recall_curves(results: Mapping[str, PrecisionRecall], classes: Sequence[str] = ()) -> Figure:
    """Draw precision against recall, with the frequency of the class that random scores have.

    Parameters
    ----------
    results
        Curves by system name.
    classes
        Class names, if all systems have the same ones.
    """
    figure = new_figure(COLUMN, 2.75 + 0.14 * len(results))
    axes, names, curves = figure.subplots(), titles(results), {}
    for index, (name, result) in enumerate(results.items()):
        look: Look = {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index % len(DASHES)]}
        axes.plot(result.recall, result.precision, label=names[name], drawstyle="steps-pre", **look)
        curves[names[name]] = result.recall, {"precision": result.precision, "threshold": result.threshold}
    for frequency in dict.fromkeys(round(result.frequency, 6) for result in results.values()):
        axes.axhline(frequency, **CONSTANT)
    axes.plot([], [], **CONSTANT, label="random scores")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="Recall", ylabel="Precision")
    axes.set_title(f"By {probability(classes)}", loc="left")
    tell_curves(axes, "recall", curves)
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
