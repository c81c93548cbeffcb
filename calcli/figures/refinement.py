"""What rows of one prediction lose, by how often each of two classes occurs among them; shows no data."""

from __future__ import annotations

from matplotlib.figure import Figure

from calcli.core.curves.refinement import GUESS, Refinement, refinement
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.style import DASHES, SERIES, new_figure, styled

CAPTION = (
    "What rows of one prediction lose, against how often the first of two classes occurs among them: the "
    "divergence of the prediction 0.5, the refinement loss of a calibrated prediction, and its error rate."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and its curves."""
    result = refinement()
    return refinement_curves(result), {"": result}, CAPTION


@styled
def refinement_curves(result: Refinement) -> Figure:
    """Draw divergences and refinement losses of two classes (van de Waterlaat 2021, fig. 4.2, 4.5 and 4.7).

    Parameters
    ----------
    result
        The curves.
    """
    figure = new_figure(8.0, 2.7)
    panels = {
        f"Divergence of {GUESS:g}": {"Brier score": result.squared, "Log-loss": result.kl},
        "Refinement loss": {"Brier score": result.brier, "Log-loss": result.log_loss},
        "Refinement loss and errors": {"Brier score": result.brier, "Error rate": result.error_rate},
    }
    for axes, (title, curves) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        for index, (name, curve) in enumerate(curves.items()):
            axes.plot(result.calibrated, curve, color=SERIES[index], linestyle=DASHES[index], label=name)
        axes.set(xlim=(0, 1), ylim=(0, 1.25 * max(curve.max() for curve in curves.values())))
        axes.set_xlabel("Frequency of the first class")
        axes.set_title(title, loc="left")
        tell_curves(axes, "frequency", {"": (result.calibrated, curves)})
        axes.legend(loc="upper center", ncols=2, columnspacing=1.0, handlelength=1.8)
    return figure
