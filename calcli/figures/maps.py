"""What a calibrator does to a score, and the log-loss against the temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from calcli.core.curves.maps import SPREAD, CalibrationMap, TemperatureCurve
from calcli.figures.style import (
    BAR,
    COLUMN,
    DASHES,
    MUTED,
    OVER,
    SERIES,
    UNDER,
    is_leftmost,
    new_figure,
    panels,
    short,
    styled,
    unit_square,
    wrapped,
)
from calcli.figures.wording import words


@styled
def calibration_map(results: Mapping[str, CalibrationMap], classes: Sequence[str] = ()) -> Figure:
    """Draw calibrated against uncalibrated score, and the frequencies in the data as circles.

    The area of a circle grows with the number of rows. Where rows of one score get different calibrated
    scores, a band holds 90% of them.

    Parameters
    ----------
    results
        Maps by name.
    classes
        Class names, for the axes.
    """
    figure, stacks = panels(len(results), heights=(1,), height=3.6)
    for (axes,), (name, result) in zip(stacks, results.items(), strict=True):
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, dashes=(4, 2))
        if np.any(result.high > result.low):
            axes.fill_between(
                result.before, result.low, result.high, color=BAR, linewidth=0, label=f"{SPREAD:.0%} of rows"
            )
        axes.plot(
            result.before, result.after, color=UNDER, linewidth=1.6, label="after calibration", clip_on=False
        )
        filled = result.bins.weight > 0
        weight = result.bins.weight[filled]
        axes.scatter(
            result.bins.score[filled] / weight, result.bins.outcome[filled] / weight,
            s=6 + 60 * weight / weight.sum(), facecolor="none", edgecolor=OVER, linewidth=0.9, clip_on=False,
            label="observed in the data", zorder=3,
        )  # fmt: skip
        unit_square(axes)
        axes.set_title(wrapped(name), loc="left")
        axes.set_xlabel(f"{words(result.lens, classes).score}, before")
        if is_leftmost(axes):
            axes.set_ylabel("After calibration; observed")
    handles, labels = stacks[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


@styled
def temperature_curve(results: Mapping[str, TemperatureCurve]) -> Figure:
    """Draw the log-loss against the temperature, with each minimum marked.

    Parameters
    ----------
    results
        Curves by system name.
    """
    figure = new_figure(COLUMN, 2.5 + 0.13 * len(results))
    axes = figure.subplots()
    for index, (name, result) in enumerate(results.items()):
        color, dashes = SERIES[index % len(SERIES)], DASHES[index % len(DASHES)]
        label = f"{short(name, 26)}: {_best(result)}"
        axes.plot(result.temperature, result.log_loss, color=color, linestyle=dashes, label=label)
        best = int(np.argmin(result.log_loss))
        axes.plot(result.temperature[best], result.log_loss[best], marker="o", markersize=5, color=color)
    axes.axvline(1, color=MUTED, linewidth=0.8, dashes=(4, 2))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.125, 0.25, 0.5, 1, 2, 4, 8]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    lowest = min(float(np.min(result.log_loss)) for result in results.values())
    at_one = max(float(np.interp(1, result.temperature, result.log_loss)) for result in results.values())
    won = at_one - lowest if at_one else 0.5  # something, where nothing is lost at any temperature
    axes.set(ylim=(lowest - 0.08 * (won + lowest / 4), at_one + 2 * won + lowest / 2))
    axes.set(xlabel="Temperature (1: as it is)", ylabel="Log-loss (nats)")
    figure.legend(loc="outside upper center")
    return figure


def _best(result: TemperatureCurve) -> str:
    """Say where the minimum is, or which end of the curve is lowest, and which rows it leaves out."""
    best, last = int(np.argmin(result.log_loss)), len(result.temperature) - 1
    where = "below" if best == 0 else "above" if best == last else "near"
    same = np.ptp(result.log_loss) < 1e-12
    found = "the same at all" if same else f"best {where} {result.temperature[best]:.2f}"
    return f"{found}\nwithout rows of infinite loss: {result.left_out:,}" if result.left_out else found
