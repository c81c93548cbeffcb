"""What a calibrator does to a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from calcli.core.curves.calibration_maps import SPREAD, CalibrationMap
from calcli.core.curves.calibration_maps import calibration_map as map_of
from calcli.core.data.predictions import require_classes
from calcli.core.language.errors import UsageError
from calcli.figures.drawing import Evaluations, Made, View, classes_of
from calcli.figures.style import BAR, MUTED, OVER, UNDER, is_leftmost, panels, styled, unit_square, wrapped
from calcli.figures.wording import words


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the map of each calibrator on each system.

    Raises
    ------
    UsageError
        If there is no calibrator.
    InputError
        If one does not fit the data.
    """
    if not view.calibrators:
        raise UsageError("a calibration map needs a calibrator file, made by calcli fit: --calibrator FILE")
    results = {}
    for system, evaluation in evaluations.items():
        for name, record in view.calibrators.items():
            predictions = evaluation.predictions
            require_classes(predictions, record.classes, name)
            record.refuse_kind(predictions.kind, predictions.provenance.path)
            results[f"{name} on {system}"] = map_of(record.calibrator, predictions, raw=record.raw)
    return calibration_map(results, classes_of(evaluations)), results


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
