"""The log-loss against the temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from calcli.core.curves.calibration_maps import FLAT, TemperatureCurve
from calcli.core.curves.calibration_maps import temperature_curve as curve_of
from calcli.core.curves.needs import some_rows
from calcli.core.language.figures import FIGURES
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.inline import tell_curves
from calcli.figures.style import COLUMN, DASHES, MUTED, SERIES, new_figure, styled
from calcli.figures.wording import titles

CAPTION = (
    "Mean log-loss of the scores divided by a temperature. A mark is at the temperature that a fit to these "
    "rows learns; there is none where all are alike, or where it is beyond the curve. Dashed: the scores as "
    "they are."
)


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the curve of each system."""
    kind = FIGURES["temperature"]
    results = {system: curve_of(some_rows(evaluation, kind)) for system, evaluation in evaluations.items()}
    return temperature_curve(results), results, CAPTION


@styled
def temperature_curve(results: Mapping[str, TemperatureCurve]) -> Figure:
    """Draw the log-loss against the temperature, with each fit marked.

    Parameters
    ----------
    results
        Curves by system name.
    """
    figure = new_figure(COLUMN, 2.5 + 0.13 * len(results))
    axes = figure.subplots()
    names = titles(results, 26)
    for index, (name, result) in enumerate(results.items()):
        color, dashes = SERIES[index % len(SERIES)], DASHES[index % len(DASHES)]
        label = f"{names[name]}: {_best(result)}"
        axes.plot(result.temperature, result.log_loss, color=color, linestyle=dashes, label=label)
        if result.fitted is not None and result.fitted_loss is not None:
            axes.plot(result.fitted, result.fitted_loss, marker="o", markersize=5, color=color)
    axes.axvline(1, color=MUTED, linewidth=0.8, dashes=(4, 2))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.125, 0.25, 0.5, 1, 2, 4, 8]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    lowest = min(float(np.min(result.log_loss)) for result in results.values())
    at_one = max(float(np.interp(1, result.temperature, result.log_loss)) for result in results.values())
    won = at_one - lowest if at_one else 0.5  # a positive limit if the loss is 0 at every temperature
    axes.set(ylim=(lowest - 0.08 * (won + lowest / 4), at_one + 2 * won + lowest / 2))
    axes.set(xlabel="Temperature (1: as it is)", ylabel="Log-loss (nats)")
    curves = {
        names[name]: (result.temperature, {"log-loss": result.log_loss}) for name, result in results.items()
    }
    tell_curves(axes, "temperature", curves)
    figure.legend(loc="outside upper center")
    return figure


def _best(result: TemperatureCurve) -> str:
    """Return the position of the minimum, if it is on the curve, and the number of omitted rows."""
    lowest, last = result.temperature[[0, -1]]
    if result.is_best:
        described = f"best at {result.fitted:.4g}"
    elif np.ptp(result.log_loss) <= FLAT:
        described = "the same for all"
    else:
        falls = result.log_loss[0] > result.log_loss[-1]
        described = f"best above {last:.4g}" if falls else f"best below {lowest:.4g}"
        described += "" if result.fitted is None else f"\na fit takes {result.fitted:.4g} (dot)"
    if result.rows < result.all_rows:
        described += f"\n{result.rows:,} of {result.all_rows:,} rows"
    return (
        f"{described}\nwithout rows of infinite loss: {result.left_out:,}" if result.left_out else described
    )
