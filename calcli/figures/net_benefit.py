"""Net benefit against the threshold: decision curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from calcli.core.curves.needs import problem_of
from calcli.core.curves.risk import HIGHEST, NetBenefit, net_benefit
from calcli.figures.drawing import Evaluations, Made, View, shared_classes
from calcli.figures.inline import tell_curves
from calcli.figures.risk import CONSTANT
from calcli.figures.style import COLUMN, DASHES, SERIES, Look, new_figure, styled
from calcli.figures.wording import probability, titles

CAPTION = (
    "Net benefit at every threshold t of P(class 1): true positives per row minus false positives per row "
    "times t / (1 - t). Dotted: class 1 for every row (treat all). Dashed: for none (treat none), 0."
)
NONE: Look = CONSTANT | {"linestyle": (0, (4, 1))}
DEPTH = 0.25  # depth below 0, as a share of the height above, for the falling curve of treating all


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the curve of each system."""
    results = {
        system: net_benefit(problem_of(evaluation, "class-1")) for system, evaluation in evaluations.items()
    }
    return decision_curves(results, shared_classes(evaluations)), results, CAPTION


@styled
def decision_curves(results: Mapping[str, NetBenefit], classes: Sequence[str] = ()) -> Figure:
    """Draw the net benefit of each system, of treating all and of treating none.

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
        axes.plot(result.threshold, result.net_benefit, label=names[name], **look)
        benefits = {"net benefit": result.net_benefit, "treat all": result.treat_all}
        curves[names[name]] = result.threshold, benefits
    alls = {round(float(result.treat_all[0]), 6): result for result in results.values()}
    for result in alls.values():
        axes.plot(result.threshold, result.treat_all, **CONSTANT)
    axes.axhline(0, **NONE)
    axes.plot([], [], **CONSTANT, label="treat all")
    axes.plot([], [], **NONE, label="treat none")
    top = max(0.01, *(float(max(curve.net_benefit.max(), curve.treat_all[0])) for curve in results.values()))
    axes.set(xlim=(0, HIGHEST), ylim=(-DEPTH * top, 1.05 * top), ylabel="Net benefit")
    axes.set_xlabel(f"Threshold of {probability(classes)}")
    tell_curves(axes, "threshold", curves)
    figure.legend(loc="outside upper center", handlelength=2.2)
    return figure
