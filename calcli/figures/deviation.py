"""The deviation diagram: the same gaps on a line of their own, with what chance alone would allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from calcli.core.curves.reliability import BAND, Reliability
from calcli.core.language.errors import UsageError
from calcli.figures.drawing import Evaluations, Made, View, classes_of, zoomed
from calcli.figures.reliability import reliabilities
from calcli.figures.style import (
    BAR,
    FAINT,
    INK,
    MUTED,
    OVER,
    UNDER,
    Look,
    boxes,
    is_leftmost,
    panels,
    short,
    styled,
)
from calcli.figures.wording import Words, words

MARKS = 60  # more than so many are drawn smaller
BACKGROUND_HEIGHT = 0.25  # of the panel, for the distribution of the scores
OVERS: Look = {"color": OVER, "marker": "v", "markersize": 5.0, "linestyle": ""}
UNDERS: Look = {"color": UNDER, "marker": "^", "markersize": 5.0, "linestyle": ""}
WITHIN: Look = {"color": INK, "marker": "o", "markersize": 3.6, "markerfacecolor": "white", "linestyle": ""}
CHANCE: Look = {"facecolor": "#9aa3ad", "linewidth": 0}


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the reliability of each system.

    Raises
    ------
    UsageError
        If the view has no draws.
    """
    if not view.draws:
        raise UsageError(
            "a deviation diagram shows what chance allows, from simulated data: give --draws 999"
        )
    results = reliabilities(evaluations, view)
    return zoomed(deviation(results, classes_of(evaluations)), view), results


@styled
def deviation(results: Mapping[str, Reliability], classes: Sequence[str] = ()) -> Figure:
    """Draw deviations with consistency bars (Vaicenavicius et al. 2019, fig. 4).

    A mark is the frequency minus the mean score of a bin; the bar at the same place runs from the 5% to the
    95% quantile of that difference if the scores were calibrated. The distribution of the scores is behind.

    Parameters
    ----------
    results
        Reliability by system name.
    classes
        Class names, for the axes of class lenses.
    """
    figure, stacks = panels(len(results), heights=(1,), height=2.9)
    reach = max(_reach(result) for result in results.values())
    for (axes,), (name, result) in zip(stacks, results.items(), strict=True):
        text = words(result.lens, classes)
        _background(axes, result, reach)
        _deviations(axes, result)
        axes.set_title(short(name), loc="left")
        axes.set(xlim=(0, 1), ylim=(-reach, reach), xlabel=text.score)
        axes.xaxis.set_major_formatter("{x:g}")
        if is_leftmost(axes):
            axes.set_ylabel(text.gap)
    figure.legend(handles=_key(text), loc="outside upper center", ncols=3)
    return figure


def _background(axes: Axes, result: Reliability, reach: float) -> None:
    height = 2 * reach * BACKGROUND_HEIGHT / result.share.max()
    bottom = np.full(len(result.share), -reach)
    x, y = (result.share_edges[:-1], result.share_edges[1:]), (bottom, bottom + height * result.share)
    boxes(axes, x, y, facecolor=BAR, edgecolor="white", linewidth=0.4, zorder=0)


def _deviations(axes: Axes, result: Reliability) -> None:
    axes.axhline(0, color=MUTED, linewidth=0.8, dashes=(4, 2))
    score, gap = result.mean_score, result.frequency - result.mean_score
    low, high = result.low - score, result.high - score
    half = np.maximum(np.diff(result.edges) * 0.18, 0.004)
    above, below = gap > high, gap < low
    size = min(1.0, (MARKS / len(score)) ** 0.5)
    for alpha, bins in ((1.0, ~result.thin & (result.bins.count > 0)), (FAINT, result.thin)):
        x, y = ((score - half)[bins], (score + half)[bins]), (low[bins], high[bins])
        boxes(axes, x, y, alpha=alpha, **CHANCE)
        for kind, look in ((below, OVERS), (above, UNDERS), (~above & ~below, WITHIN)):
            b = bins & kind
            if b.any():  # unclipped lines without a point would count as one in the corner of the figure
                look = look | {"markersize": look["markersize"] * size}
                axes.plot(score[b], gap[b], alpha=alpha, clip_on=False, **look)


def _reach(result: Reliability) -> float:
    """Return how far marks and bars reach; the bars of thin bins alone may leave the panel."""
    bars = np.stack([result.low, result.high])
    if not result.thin[result.bins.count > 0].all():
        bars[:, result.thin] = np.nan
    ends = np.vstack([result.frequency, bars]) - result.mean_score
    return min(1.0, float(np.nanmax(np.abs(ends))) * 1.15 + 0.01)


def _key(text: Words) -> list[Artist]:
    return [
        Line2D([], [], label=text.over, **OVERS),
        Line2D([], [], label=text.under, **UNDERS),
        Line2D([], [], label="within chance", **WITHIN),
        Patch(label=f"{BAND:.0%} if calibrated", **CHANCE),
        Patch(label="share of rows", facecolor=BAR),
    ]
