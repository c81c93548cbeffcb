"""The effect of a calibrator on a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.calibration_maps import BINS, SPREAD, CalibrationMap
from calcli.core.curves.calibration_maps import calibration_map as map_of
from calcli.core.curves.needs import some_rows
from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.data.arrays import Doubles, from_log_odds, log_odds
from calcli.core.data.predictions import require_classes
from calcli.core.language.errors import UsageError
from calcli.core.language.figures import FIGURES
from calcli.core.language.text import numbers
from calcli.figures.drawing import Evaluations, Made, View, classes_of
from calcli.figures.inline import MARK, tell, tell_curves
from calcli.figures.style import (
    BAR,
    FAINT,
    MUTED,
    OVER,
    UNDER,
    is_leftmost,
    log_odds_axes,
    panels,
    styled,
    thin_key,
    unit_square,
)
from calcli.figures.wording import words, wrapped


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
            rows = some_rows(evaluation, FIGURES["calibration-map"])
            results[f"{name} on {system}"] = map_of(record.calibrator, rows, raw=record.raw)
    return (
        calibration_map(results, classes_of(evaluations)),
        results,
        caption(results, classes_of(evaluations)),
    )


def caption(results: Mapping[str, CalibrationMap], classes: Sequence[str] = ()) -> str:
    """Describe the figure."""
    map_ = next(iter(results.values()))
    scaled = ", both in log-odds" if map_.lens == "class-1" else ""
    text = words(map_.lens, classes)
    score = text.said.partition(" ")[0]
    looked = f"{map_.bins.count.sum():,}"
    if map_.bins.count.sum() < map_.all_rows:
        looked += f" of {map_.all_rows:,}"
    return (
        f"Line: the {text.said} after calibration against the {score} before{scaled}. Circles: "
        f"{text.observed} in {BINS} bins of equal width there, their area by the number of rows, faint "
        f"where they are fewer than {FEW_ROWS}; of {looked} rows. Gray: "
        f"{SPREAD:.0%} of the rows of about that {score}, where the map depends on more than the {score}."
    )


@styled
def calibration_map(results: Mapping[str, CalibrationMap], classes: Sequence[str] = ()) -> Figure:
    """Draw calibrated against uncalibrated score, and the frequencies in the data as circles.

    The area of a circle grows with the number of rows. If rows with one score get different calibrated
    scores, a band holds 90% of the rows.

    Parameters
    ----------
    results
        Maps by name.
    classes
        Class names, for the axes.
    """
    figure, stacks = panels(len(results), heights=(1,), height=3.6)
    for (axes,), (name, result) in zip(stacks, results.items(), strict=True):
        ends = _ends(result) if result.lens == "class-1" else (0, 1)
        axes.plot(ends, ends, color=MUTED, linewidth=0.8, dashes=(4, 2))
        if np.any(result.high > result.low):
            axes.fill_between(
                result.before, result.low, result.high, color=BAR, linewidth=0, label=f"{SPREAD:.0%} of rows"
            )
        axes.plot(
            result.before, result.after, color=UNDER, linewidth=1.6, label="after calibration",
            clip_on=result.lens == "class-1",  # axes of log-odds end before 0 and 1
        )  # fmt: skip
        bins, total = result.bins, result.bins.weight.sum()
        solid = (bins.count > 0) & ~result.thin
        for chosen, alpha in ((solid, 1.0), (result.thin, FAINT)):
            weight = bins.weight[chosen]
            score = np.clip(bins.score[chosen] / weight, result.before[0], result.before[-1])
            axes.scatter(
                score, _inside(bins.outcome[chosen] / weight, result),
                s=6 + 60 * weight / total, facecolor="none", edgecolor=OVER, linewidth=0.9, clip_on=False,
                alpha=alpha, label="observed in the data" if chosen is solid else None, zorder=3,
            )  # fmt: skip
        if result.lens == "class-1":
            log_odds_axes(axes, *_ends(result))
        else:
            unit_square(axes)
        tell_curves(axes, "before", {"": (result.before, {"after": result.after})})
        _tell(axes, result)
        axes.set_title(wrapped(name), loc="left")
        axes.set_xlabel(f"{words(result.lens, classes).score}, before\nn = {result.all_rows:,}")
        if is_leftmost(axes):
            axes.set_ylabel("After calibration; observed")
    handles = [
        *stacks[0][0].get_legend_handles_labels()[0],
        *thin_key(result.thin for result in results.values()),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _tell(axes: Axes, result: CalibrationMap) -> None:
    """Let circles show the observed frequency on hover, in front of the values of the curve."""
    bins = result.bins
    b = bins.count > 0
    score, frequency = bins.score[b] / bins.weight[b], bins.outcome[b] / bins.weight[b]
    texts = [
        "{:,} rows\nmean score before {}, observed {}".format(rows, *numbers(mean, seen))
        for rows, mean, seen in zip(bins.count[b], score, frequency, strict=True)
    ]
    x, y = np.clip(score, result.before[0], result.before[-1]), _inside(frequency, result)
    tell(axes, (x, x), (y, y), texts, around=MARK)


def _inside(frequency: Doubles, result: CalibrationMap) -> Doubles:
    """Return frequencies that an axis of log-odds can show: 0 and 1 at its ends."""
    return frequency if result.lens == "top-1" else np.clip(frequency, *_ends(result))


def _ends(result: CalibrationMap) -> tuple[float, float]:
    values = np.concatenate([result.before, result.after])
    reach = np.abs(log_odds(values)).max() + 0.5
    return float(from_log_odds(-reach)), float(from_log_odds(reach))
