"""Streams over time: the gap of each period with its band, and the evidence below."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from calcli.core.comparing.monitoring import Stream
from calcli.figures.inline import tell
from calcli.figures.style import BAR, COLUMN, GRID, MUTED, SERIES, new_figure, styled
from calcli.figures.wording import titles

WITHIN = 1.96  # standard errors
NAMED = 5  # periods along the axis
WIDEST = 70  # letters of all their names
HIGHEST = 8.0  # powers of ten of the evidence, above which an alarm is plain
SINGLE = 40  # periods up to which each has a dot


@styled
def over_time(stream: Stream) -> Figure:
    """Draw the gap of every period, predicted minus observed, and the evidence after it.

    Parameters
    ----------
    stream
        The stream.
    """
    periods, x = stream.periods, np.arange(len(stream.periods))
    gap, error = (100 * np.array([getattr(period, name) for period in periods]) for name in ("gap", "error"))
    figure = new_figure(1.7 * COLUMN, COLUMN)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    dots = {"marker": "o", "markersize": 3} if len(x) <= SINGLE else {}
    edges = np.repeat(np.append(x - 0.5, x[-1] + 0.5), 2)[1:-1]
    band = WITHIN * np.repeat(error, 2)
    above.fill_between(edges, -band, band, color=BAR, linewidth=0)
    above.axhline(0, color=MUTED, linewidth=0.9, dashes=(4, 2))
    above.plot(x, gap, color=SERIES[0], linewidth=0.9, **dots)
    above.set_ylabel("Gap (points)")
    tens = stream.log_values / math.log(10)
    limit = -math.log10(1 - stream.level)
    below.axhline(limit, color=SERIES[1], linewidth=1.0)
    below.annotate(
        "alarm", (0, limit), (3, 2), "data", textcoords="offset points", color=SERIES[1], fontsize=6.5
    )
    below.plot(x, np.minimum(tens, HIGHEST), color=SERIES[0], **dots)
    top = math.ceil(min(max(tens.max(), 2), HIGHEST))
    ticks = range(math.floor(min(tens.min(), 0)), top + 1, max(1, top // 4))
    below.set_yticks(ticks, [f"$10^{{{tick}}}$" if abs(tick) > 2 else f"{10.0**tick:g}" for tick in ticks])
    below.set(ylabel="Evidence", xlim=(-0.5, len(x) - 0.5))
    places = np.unique(np.linspace(0, len(x) - 1, min(NAMED, len(x))).round().astype(int))
    below.set_xticks(places, [*titles([periods[n].name for n in places], WIDEST // len(places)).values()])
    if stream.change is not None and stream.alarm is not None:
        for axes in (above, below):
            axes.axvspan(
                stream.change.start - 0.5, stream.alarm + 0.5, color=SERIES[1], alpha=0.15, linewidth=0
            )
    for axes in (above, below):
        axes.grid(axis="y", color=GRID)
        texts = [
            f"{period.name}: {period.rows:,} rows\n"
            f"gap {points:+.1f} points\nevidence {10 ** min(ten, 300):.3g}"
            for period, points, ten in zip(periods, gap, tens, strict=True)
        ]
        tell(axes, (x - 0.5, x + 0.5), axes.get_ylim(), texts)
    return figure
