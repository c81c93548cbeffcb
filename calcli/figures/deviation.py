"""The deviation diagram: gaps along a line, with the range that chance alone allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from calcli.core.curves.reliability import BAND, FEW_ROWS, Reliability
from calcli.core.language.errors import UsageError
from calcli.figures.drawing import Evaluations, Made, View, classes_of, zoomed
from calcli.figures.inline import bin_texts, tell
from calcli.figures.reliability import binning_words, described_size, reliabilities
from calcli.figures.style import (
    CHANCE,
    FAINT,
    INK,
    MUTED,
    OVER,
    UNDER,
    Look,
    boxes,
    distribution,
    label_panels,
    panels,
    styled,
    thin_key,
)
from calcli.figures.wording import Words, titles, words

MARKS = 60  # above this number they are drawn smaller
OVERS: Look = {"color": OVER, "marker": "^", "markersize": 5.0, "linestyle": ""}
UNDERS: Look = {"color": UNDER, "marker": "v", "markersize": 5.0, "linestyle": ""}
WITHIN: Look = {"color": INK, "marker": "o", "markersize": 3.6, "markerfacecolor": "white", "linestyle": ""}


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the reliability of each system.

    Raises
    ------
    UsageError
        If the view has no draws.
    """
    if not view.draws:
        raise UsageError("a deviation diagram needs simulated data: use --draws 999")
    results = reliabilities(evaluations, view)
    seed = next(iter(evaluations.values())).settings.seed
    figure = zoomed(deviation(results, classes_of(evaluations)), view)
    return figure, results, caption(results, view.draws, seed, classes_of(evaluations))


def caption(results: Mapping[str, Reliability], draws: int, seed: int, classes: Sequence[str] = ()) -> str:
    """Describe the figure."""
    result = next(iter(results.values()))
    text = words(result.lens, classes)
    return (
        f"Marks: mean {text.said} minus {text.observed} in {binning_words(result)}, colored where "
        f"it exceeds chance, corrected for the number of bins (5%). Gray bars: the middle {BAND:.0%} of that "
        f"difference in {draws} data sets whose outcomes are drawn from the {text.several} (seed {seed}); of "
        f"calibrated probabilities one mark in ten lies outside. Bins of fewer than {FEW_ROWS} rows are "
        "faint. Below: share of the rows."
    )


@styled
def deviation(results: Mapping[str, Reliability], classes: Sequence[str] = ()) -> Figure:
    """Draw deviations with consistency bars (Vaicenavicius et al. 2019, fig. 4).

    A mark is the mean score minus the frequency of a bin; the bar at the same place runs from the 5% to the
    95% quantile of that difference if the scores were calibrated. Marks beyond chance, corrected for the
    number of bins, have a color. The distribution of the scores is below.

    Parameters
    ----------
    results
        Reliability by system name.
    classes
        Class names, for the axes of class lenses.
    """
    figure, stacks = panels(len(results), heights=(3.1, 0.7), height=3.5)
    names = titles(results)
    reach = max(_reach(result) for result in results.values())
    tallest = max(result.share.max() for result in results.values())
    for (axes, below), (name, result) in zip(stacks, results.items(), strict=True):
        text = words(result.lens, classes)
        _deviations(axes, result)
        axes.set(xlim=(0, 1), ylim=(-reach, reach))
        distribution(below, result.share_edges, result.share, tallest)
        score = f"{text.score}\n{described_size(result)}"
        label_panels(axes, below, names[name], score, (text.gap, "Share"))
    figure.legend(
        handles=[*_key(text), *thin_key(result.thin for result in results.values())],
        loc="outside upper center",
        ncols=2 if len(stacks) < 3 else 5,
    )
    return figure


def _deviations(axes: Axes, result: Reliability) -> None:
    axes.axhline(0, color=MUTED, linewidth=0.8, dashes=(4, 2))
    score, gap = result.mean_score, result.gap
    low, high = score - result.high, score - result.low
    half = np.maximum(np.diff(result.edges) * 0.18, 0.004)
    above, below = result.beyond_chance & (gap > 0), result.beyond_chance & (gap < 0)
    size = min(1.0, (MARKS / len(score)) ** 0.5)
    for alpha, bins in ((1.0, ~result.thin & (result.bins.count > 0)), (FAINT, result.thin)):
        x, y = ((score - half)[bins], (score + half)[bins]), (low[bins], high[bins])
        boxes(axes, x, y, alpha=alpha, **CHANCE)
        for kind, look in ((above, OVERS), (below, UNDERS), (~above & ~below, WITHIN)):
            b = bins & kind
            if b.any():  # unclipped lines without a point would count as one in the corner of the figure
                look = look | {"markersize": look["markersize"] * size}
                axes.plot(score[b], gap[b], alpha=alpha, clip_on=False, **look)
    b = result.bins.count > 0
    texts = bin_texts(result.edges, result.bins.count, score, result.frequency)
    ends = np.stack([low, high, gap])[:, b]
    tell(axes, (result.edges[:-1][b], result.edges[1:][b]), (ends.min(0), ends.max(0)), texts)


def _reach(result: Reliability) -> float:
    """Return the extent of marks and bars; only the bars of thin bins may leave the panel."""
    bars = np.stack([result.low, result.high])
    if not result.thin[result.bins.count > 0].all():
        bars[:, result.thin] = np.nan
    ends = (np.vstack([result.frequency, bars]) - result.mean_score).ravel()
    return min(1.0, float(np.nanmax(np.abs(ends))) * 1.15 + 0.01)


def _key(text: Words) -> list[Artist]:
    return [
        Line2D([], [], label=text.over, **OVERS),
        Line2D([], [], label=text.under, **UNDERS),
        Line2D([], [], label="not beyond chance (Holm)", **WITHIN),
        Patch(label=f"{BAND:.0%} if calibrated, bin by bin", **CHANCE),
    ]
