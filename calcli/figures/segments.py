"""Segments with their intervals, with marks beyond chance."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from matplotlib.figure import Figure

from calcli.core.estimators.segments import Segment, SegmentMetric
from calcli.core.language.text import number
from calcli.figures.inline import tell
from calcli.figures.style import COLUMN, GRID, MUTED, SERIES, new_figure, styled
from calcli.figures.wording import titles

MOST = 30  # segments
LINE = 0.17  # inches: a segment
LONGEST = 40  # letters of a name


@styled
def segments_forest(
    segments: Sequence[Segment], flagged: Collection[str], metric: SegmentMetric = "gap"
) -> Figure:
    """Draw the deviations of segments with simultaneous intervals.

    Parameters
    ----------
    segments
        Segments, the furthest from chance first; only the first of many are drawn.
    flagged
        Names of the segments beyond chance.
    metric
        The metric of the comparison.
    """
    listed = [segment for n, segment in enumerate(segments) if n < MOST or segment.name in flagged]
    names, scale = (titles([segment.name for segment in listed], LONGEST), 100 if metric == "gap" else 1)
    figure = new_figure(1.5 * COLUMN, 0.6 + LINE * len(listed))
    axes = figure.subplots()
    axes.axvline(0, color=MUTED, linewidth=0.9, dashes=(4, 2))
    for y, one in enumerate(listed):
        marked = one.name in flagged
        color = SERIES[1] if marked else SERIES[0]
        low, value, high = (scale * end for end in (one.low, one.value, one.high))
        axes.hlines(y, low, high, color=color, linewidth=1.4)
        axes.plot(value, y, marker="D" if marked else "o", markersize=4, color=color)
        text = f"{number(value)}, {number(low)} to {number(high)}"
        tell(axes, (low, high), (y - 0.4, y + 0.4), [f"{one.name}, {one.rows:,} rows\n{text}"])
    axes.set_yticks(
        range(len(listed)),
        [f"{names[segment.name]} ({segment.rows:,})" for segment in listed],
        fontsize=6.8,
    )
    axes.set_ylim(len(listed) - 0.4, -0.6)
    axes.set_xlabel("Predicted - observed (points)" if metric == "gap" else "Excess log-loss (nats)")
    axes.grid(axis="x", color=GRID)
    return figure
