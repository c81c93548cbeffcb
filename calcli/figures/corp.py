"""Reliability curves without bins: isotonic steps or a spline, over the band of calibrated curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from calcli.core.curves.reliability import BAND, FEW_ROWS
from calcli.core.curves.unbinned import SHARES, TICKS, WIDE_GAP, Curve, corp_curve
from calcli.core.data.arrays import Stream, generator
from calcli.core.data.binning import equal_width_edges
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.text import number
from calcli.core.problems.problem import Problem
from calcli.figures.drawing import Evaluations, Made, View, classes_of, through_lens, zoomed
from calcli.figures.inline import tell_curves
from calcli.figures.style import (
    BAR,
    INK,
    MUTED,
    UNDER,
    Look,
    distribution,
    label_panels,
    panels,
    styled,
    unit_square,
)
from calcli.figures.wording import titles, words

CURVE: Look = {"color": UNDER, "linewidth": 1.6}
INTERVAL: Look = {"facecolor": UNDER, "alpha": 0.25, "linewidth": 0}
UNTOLD: Look = {"color": UNDER, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
NOTE: Look = {
    "fontsize": 6.5,
    "linespacing": 1.35,
    "bbox": {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
}
IDEAL: Look = {"color": MUTED, "linewidth": 0.8, "linestyle": (0, (4, 2))}
HEIGHT = 0.028  # of the tick of a row
CURVE_DRAWS = 199  # simulated curves behind a band
MANY_POINTS = 4000  # above which vector formats keep a curve as an image


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the isotonic curve of each system."""
    return make_curves(corp_curve, evaluations, view)


def make_curves(kind: Callable[..., Curve], evaluations: Evaluations, view: View) -> Made:
    """Return the figure of one kind of curve, `corp_curve` or `flexible_reliability`, and the curves."""

    def compute(evaluation: Evaluation, problem: Problem) -> Curve:
        rng = generator(evaluation.settings.seed, Stream.CURVES)
        return kind(problem, view.lens, CURVE_DRAWS if view.draws else 0, rng)

    results = through_lens(compute, evaluations, view)
    ends = np.concatenate([end for curve in results.values() for end in (curve.score, curve.frequency)])
    figure = reliability_curve(results, classes_of(evaluations))
    seed = next(iter(evaluations.values())).settings.seed
    return (
        zoomed(figure, view, (ends.min(), ends.max())),
        results,
        caption(results, seed, classes_of(evaluations)),
    )


def caption(results: Mapping[str, Curve], seed: int, classes: Sequence[str] = ()) -> str:
    """Describe the figure."""
    curve = next(iter(results.values()))
    text = words(curve.lens, classes)
    score = text.said.partition(" ")[0]
    method = f"isotonic regression (CORP), dotted across gaps of more than {WIDE_GAP:g} without rows"
    if curve.knots is not None:
        method = (
            f"logistic regression on a restricted cubic spline of the log-odds; dotted where fewer than "
            f"{FEW_ROWS} rows have lower {score}s, or higher ones"
        )
    interval = " Blue: its 95% confidence interval, point by point." if curve.interval else ""
    thinned = (
        f"some rows, at most {TICKS} each" if curve.rows > len(curve.misses) + len(curve.hits) else "rows"
    )
    gray = (
        f" Gray: the middle {BAND:.0%} of {CURVE_DRAWS} such curves of outcomes drawn from the "
        f"{text.several}, point by point (seed {seed})."
    )
    described = ", ".join(f"{name}: smooth ECE {number(result.error)}" for name, result in results.items())
    return (
        f"Line: {text.observed} against {text.said} by {method}.{interval}{gray if curve.has_band else ''} "
        f"Ticks: {thinned}, evenly thinned, with the outcome above and without it below. Bottom: share of "
        f"the rows in {SHARES} bins. {described}."
    )


@styled
def reliability_curve(results: Mapping[str, Curve], classes: Sequence[str] = ()) -> Figure:
    """Draw isotonic (CORP) or spline reliability curves side by side.

    The gray band, if there is one, holds 90% of the curves that calibrated scores would give, point by point.
    Without support by rows, the curve is dotted. Ticks are raw data: rows with the outcome above, without it
    below. At the bottom is the distribution of the scores.

    Parameters
    ----------
    results
        Curves by system name.
    classes
        Class names, for the axes of class lenses.
    """
    figure, stacks = panels(len(results), heights=(3.1, 0.7), height=4.1)
    names, tallest = titles(results), max(result.share.max() for result in results.values())
    for (axes, below), (name, result) in zip(stacks, results.items(), strict=True):
        _curve(axes, result)
        distribution(below, equal_width_edges(len(result.share)), result.share, tallest)
        text = words(result.lens, classes)
        label_panels(axes, below, names[name], text.score, (text.frequency, "Share of rows"))
    method = "isotonic (CORP)" if result.knots is None else "spline"
    handles = [
        Line2D([], [], label=f"{text.overall}, {method}", **CURVE),
        *[Patch(**INTERVAL, label="95% interval")][: result.interval is not None],
        *[Patch(facecolor=BAR, label=f"{BAND:.0%} if calibrated")][: result.has_band],
        Line2D([], [], label="too few rows", **UNTOLD),
        Line2D([], [], label="some rows", marker="|", linestyle="", color=INK, markersize=5),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _curve(axes: Axes, result: Curve) -> None:
    many = len(result.score) > MANY_POINTS
    single = result.score[0] == result.score[-1]
    width = 5 if single else 1.5  # a single score has a band without a width of its own
    if result.has_band:
        axes.fill_between(result.score, result.low, result.high, color=BAR, linewidth=width, rasterized=many)
    if result.interval is not None:
        axes.fill_between(result.score, *result.interval, **INTERVAL)
    axes.plot([0, 1], [0, 1], **IDEAL)
    axes.plot(result.score, result.frequency, **UNTOLD, rasterized=many, clip_on=False)
    frequency = np.where(result.supported, result.frequency, np.nan)
    axes.plot(result.score, frequency, **CURVE, rasterized=many, clip_on=False)
    supported = np.pad(result.supported, 1)
    alone = result.supported & ~supported[:-2] & ~supported[2:]  # points that a line does not show
    axes.plot(result.score[alone], frequency[alone], color=UNDER, marker="o", markersize=2.5, linestyle="")
    inside = axes.get_xaxis_transform()  # at the edges, whatever part is shown
    ticks: Look = {"color": INK, "linewidth": 0.4, "alpha": 0.6, "transform": inside}
    axes.vlines(result.hits, 1 - HEIGHT, 1, **ticks)
    axes.vlines(result.misses, 0, HEIGHT, **ticks)
    unit_square(axes)
    frequencies = {
        "frequency": result.frequency,
        f"if calibrated ({BAND:.0%}) from": result.low,
        "to": result.high,
    }
    tell_curves(axes, "score", {"": (result.score, frequencies)})
    notes = [f"n = {result.rows:,}"]
    if result.knots is not None:
        notes += [
            f"smooth ECE {number(result.error)}",
            f"{result.knots} knots" if result.knots else "straight line",
        ]
    axes.text(0.03, 0.93, "\n".join(notes), transform=axes.transAxes, ha="left", va="top", **NOTE)
