"""The reliability diagram: what was observed against what was predicted, and where the predictions are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from calcli.core.reliability import Error, Reliability
from calcli.figures.style import BAR, INK, MUTED, OVER, UNDER, panels, short, styled, unit_square
from calcli.figures.wording import Words, words

FAINT = 0.3  # opacity of bins too thin to say anything
GAP_WIDTH = 0.42  # of the bar it stands on


@styled
def reliability(results: Mapping[str, Reliability], classes: Sequence[str] = ()) -> Figure:
    """Draw reliability diagrams side by side (van de Waterlaat 2021, fig. 3.2).

    Bars are the frequency of the outcome in each bin. On them stands the gap to the mean score, centered on
    it, so that it ends on the diagonal; its color and hatching tell its sign. Bins of fewer than ten rows
    are faint. Below is the distribution of the scores, with their mean and the overall frequency.

    Parameters
    ----------
    results
        Reliability by system name.
    classes
        Class names, for the axes of class lenses.
    """
    figure, rows = panels(len(results), heights=(3.1, 1.0), height=4.2)
    for column, (name, result) in enumerate(results.items()):
        text = words(result.lens, classes)
        diagram, below = rows[0][column], rows[1][column]
        _bars(diagram, result)
        _corner(diagram, result)
        _distribution(below, result, text)
        diagram.set_title(short(name), loc="left")
        diagram.tick_params(labelbottom=False)
        below.set_xlabel(text.score)
        if column == 0:
            diagram.set_ylabel(text.frequency)
            below.set_ylabel("Share of rows")
    figure.legend(handles=_key(text), loc="outside upper center", ncols=3)
    return figure


def _bars(axes: Axes, result: Reliability) -> None:
    filled = np.flatnonzero(result.bins.count)
    left, width = result.edges[:-1], np.diff(result.edges)
    for b in filled:
        alpha = FAINT if result.thin[b] else 1.0
        frequency, score = result.frequency[b], result.mean_score[b]
        axes.bar(
            left[b], frequency, width[b], align="edge", color=BAR, edgecolor="white", linewidth=0.5, alpha=alpha
        )
        over = score > frequency
        axes.bar(
            score, score - frequency, max(width[b] * GAP_WIDTH, 0.008), bottom=frequency, alpha=alpha,
            color=OVER if over else UNDER, hatch="////" if over else None, edgecolor="white", linewidth=0,
        )  # fmt: skip
        axes.hlines(frequency, left[b], left[b] + width[b], color=INK, linewidth=1.0, alpha=alpha)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, dashes=(4, 2))
    unit_square(axes)


def _corner(axes: Axes, result: Reliability) -> None:
    lines = [_described("ECE", result.binned), _described("KS", result.ks)]
    lines.append(f"{result.bins.count.sum():,} rows, {len(result.bins.count)} {_binning(result)} bins")
    drawn_high = np.fmax(result.frequency, result.mean_score)[result.edges[:-1] < 0.75]
    free = not np.any(drawn_high > 0.74)
    x, y, align = (0.03, 0.97, "left") if free else (0.975, 0.03, "right")
    axes.text(
        x, y, "\n".join(lines), transform=axes.transAxes, ha=align, va="top" if free else "bottom", fontsize=6.8,
        linespacing=1.35, bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def _described(name: str, error: Error) -> str:
    if error.if_calibrated is None:
        return f"{name} {error.value:.4f}"
    null = error.if_calibrated
    return f"{name} {error.value:.4f}  (if calibrated {null.mean:.4f} ± {null.sd:.4f})"


def _binning(result: Reliability) -> str:
    return str(result.binned.call.arguments["binning"])


def _distribution(axes: Axes, result: Reliability, text: Words) -> None:
    edges, share = result.share_edges, result.share
    axes.bar(edges[:-1], share, np.diff(edges), align="edge", color=BAR, edgecolor="white", linewidth=0.5)
    score, frequency = result.overall_score, result.overall_frequency
    mean = axes.axvline(score, color=OVER if score > frequency else UNDER, linewidth=1.2, dashes=(3, 1.5))
    overall = axes.axvline(frequency, color=INK, linewidth=1.2)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set(xlim=(0, 1))
    right_half = share[edges[:-1] >= 0.5].sum() > 0.5
    labels = [f"{text.mean_score} {score:.3f}", f"{text.overall} {frequency:.3f}"]
    axes.legend([mean, overall], labels, loc="upper left" if right_half else "upper right")


def _key(text: Words) -> list[Patch]:
    return [
        Patch(color=BAR, label=text.overall),
        Patch(facecolor=OVER, hatch="////", edgecolor="white", linewidth=0, label=text.over),
        Patch(color=UNDER, label=text.under),
    ]
