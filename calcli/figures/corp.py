"""Reliability curves without bins: isotonic steps or a smooth kernel, over the band of calibrated curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from calcli.core.curves.reliability import BAND
from calcli.core.curves.unbinned import Curve, corp_curve
from calcli.core.data.streams import Stream, generator
from calcli.core.evaluating.results import Evaluation
from calcli.core.problems.problem import Problem
from calcli.figures.drawing import Evaluations, Made, View, classes_of, through_lens, zoomed
from calcli.figures.style import BAR, INK, MUTED, UNDER, Look, is_leftmost, panels, short, styled, unit_square
from calcli.figures.wording import words

CURVE: Look = {"color": UNDER, "linewidth": 1.6}
IDEAL: Look = {"color": MUTED, "linewidth": 0.8, "linestyle": (0, (4, 2))}
TICK = 0.028  # height of a raw datum
CURVE_DRAWS = 199  # simulated curves behind a band
MANY_POINTS = 4000  # above which vector formats keep a curve as an image


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the isotonic curve of each system."""
    return make_curves(corp_curve, evaluations, view)


def make_curves(kind: Callable[..., Curve], evaluations: Evaluations, view: View) -> Made:
    """Return the figure of one kind of curve, `corp_curve` or `kernel_curve`, and the curves."""

    def compute(evaluation: Evaluation, problem: Problem) -> Curve:
        rng = generator(evaluation.settings.seed, Stream.CURVES)
        return kind(problem, view.lens, CURVE_DRAWS, rng)

    results = through_lens(compute, evaluations, view)
    ends = np.concatenate([end for curve in results.values() for end in (curve.score, curve.frequency)])
    figure = reliability_curve(results, classes_of(evaluations))
    return zoomed(figure, view, (ends.min(), ends.max())), results


@styled
def reliability_curve(results: Mapping[str, Curve], classes: Sequence[str] = ()) -> Figure:
    """Draw isotonic (CORP) or kernel reliability curves side by side.

    The gray band holds 90% of the curves that calibrated scores would give, point by point. Ticks are raw
    data: rows with the outcome above, without it below.

    Parameters
    ----------
    results
        Curves by system name.
    classes
        Class names, for the axes of class lenses.
    """
    figure, stacks = panels(len(results), heights=(1,), height=3.5)
    for (axes,), (name, result) in zip(stacks, results.items(), strict=True):
        _curve(axes, result)
        axes.set_title(short(name), loc="left")
        text = words(result.lens, classes)
        axes.set_xlabel(text.score)
        if is_leftmost(axes):
            axes.set_ylabel(text.frequency)
    made = "isotonic (CORP)" if result.bandwidth is None else "kernel"
    handles = [
        Line2D([], [], label=f"{text.overall}, {made}", **CURVE),
        Patch(facecolor=BAR, label=f"{BAND:.0%} if calibrated"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _curve(axes: Axes, result: Curve) -> None:
    many = len(result.score) > MANY_POINTS
    single = result.score[0] == result.score[-1]
    width = 5 if single else 1.5  # a single score has a band without a width of its own
    axes.fill_between(result.score, result.low, result.high, color=BAR, linewidth=width, rasterized=many)
    axes.plot([0, 1], [0, 1], **IDEAL)
    marker: Look = {"marker": "o", "markersize": 3} if single else {}
    axes.plot(result.score, result.frequency, **CURVE, **marker, rasterized=many, clip_on=False)
    inside = axes.get_xaxis_transform()  # at the edges, whatever part is shown
    ticks: Look = {"color": INK, "linewidth": 0.4, "alpha": 0.6, "transform": inside}
    axes.vlines(result.hits, 1 - TICK, 1, **ticks)
    axes.vlines(result.misses, 0, TICK, **ticks)
    unit_square(axes)
    if result.bandwidth is not None:
        note = f"bandwidth {result.bandwidth:.3f}"
        axes.text(0.97, 0.05, note, transform=axes.transAxes, ha="right", fontsize=6.5)
