"""The reliability diagram: observed frequencies against predictions, and the distribution of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from calcli.core.curves.reliability import BAND, FEW_ROWS, Error, Reliability, is_crowded
from calcli.core.curves.reliability import reliability as reliability_of
from calcli.core.data.arrays import Bools, Doubles
from calcli.core.evaluating.metrics.miscalibration import BinnedError
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric, region_ends
from calcli.core.language.figures import AUTO
from calcli.core.language.text import apart, number, numbers, plus_minus
from calcli.core.problems.problem import Problem
from calcli.figures.drawing import (
    INDEPENDENT,
    Evaluations,
    Made,
    View,
    are_independent,
    classes_of,
    through_lens,
    zoomed,
)
from calcli.figures.inline import MARK, bin_texts, tell
from calcli.figures.style import (
    BAR,
    FAINT,
    INK,
    MOST_SEAMS,
    MUTED,
    OVER,
    PANEL,
    UNDER,
    Look,
    boxes,
    distribution,
    label_panels,
    log_odds_axes,
    panels,
    size_of,
    styled,
    thin_key,
    unit_square,
)
from calcli.figures.wording import Words, titles, words

GAP_WIDTH = 0.36  # of the bar below it
WIDEST_GAP = 0.03
THINNEST = 0.008  # smallest visible size
BARS: Look = {"facecolor": BAR, "edgecolor": "white", "linewidth": 0.5}
MANY_BARS: Look = BARS | {"linewidth": 0}  # seams would hide them
OVERS: Look = {"facecolor": OVER, "edgecolor": "white", "linewidth": 0, "hatch": "////"}
UNDERS: Look = {"facecolor": UNDER, "linewidth": 0}
HEIGHT = 4.5  # inches of a diagram with the distribution below it
SMALL = 1.1  # how much smaller a diagram may be with errors on its bars
INTERVAL: Look = {"color": INK, "linewidth": 1.1}
BAND_LOOK: Look = {"color": BAR, "linewidth": 6}


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the reliability of each system."""
    crowded = False
    if view.binning == AUTO and view.lens.startswith("class-") and view.region == "all":
        crowded = any(through_lens(lambda _, problem: is_crowded(problem), evaluations, view).values())
    results = reliabilities(evaluations, view, in_log_odds=crowded)
    seed = next(iter(evaluations.values())).settings.seed
    if view.band and not are_independent(evaluations):
        raise UsageError(f"reliability:band=true needs {INDEPENDENT}")
    figure = zoomed(reliability(results, classes_of(evaluations), intervals=view.band), view)
    text = caption(results, view.draws, seed, classes_of(evaluations))
    return figure, results, f"{text} Black: 95% intervals of each frequency." if view.band else text


def caption(results: Mapping[str, Reliability], draws: int, seed: int, classes: Sequence[str] = ()) -> str:
    """Describe the figure and the errors."""
    diagram = next(iter(results.values()))
    text = words(diagram.lens, classes)
    texts = "; ".join(f"{name}: {_described(result, ', ', '; ')}" for name, result in results.items())
    note = f" ({draws} data sets drawn from the {text.several}, seed {seed})" if draws else ""
    if diagram.in_log_odds:
        return (
            f"Points: {text.overall} in {binning_words(diagram)} of the {text.said}, both in log-odds, as "
            f"the scores crowd; orange, downwards: {text.over}; blue, upwards: {text.under}; bins of "
            f"fewer than {FEW_ROWS} rows are faint. Gray: where {BAND:.0%} of calibrated data sets have it. "
            f"Below: share of the rows, {text.mean_score} (dashed) and {text.overall} (line). {texts}{note}."
        )
    return (
        f"Bars: {text.overall} in {binning_words(diagram)} of the {text.said}. On each stands the gap "
        f"to the {text.mean_score}, orange and hatched where {text.over}, blue where {text.under}; bins of "
        f"fewer than {FEW_ROWS} rows are faint. Below: share of the rows, {text.mean_score} (dashed) and "
        f"{text.overall} (line). {texts}{note}."
    )


def binning_words(result: Reliability) -> str:
    """Return the number of bins and their kind."""
    bins, region = len(result.bins.count), result.binned.metric.region
    binning = str(result.binned.metric.arguments["binning"])
    kind, where = "explicit" if "/" in binning else binning, "" if region == "all" else f" in {region}"
    if kind == "explicit" and where:
        kind = ""
    return " ".join(filter(None, (f"{bins:,}", kind, f"bin{'s' * (bins > 1)}{where}")))


def reliabilities(
    evaluations: Evaluations, view: View, *, in_log_odds: bool = False
) -> dict[str, Reliability]:
    """Return the reliability of each system in the bins of a view."""
    binning = view.binning
    if binning == AUTO:
        binning = "equal-mass" if in_log_odds else "equal-width"

    def compute(evaluation: Evaluation, problem: Problem) -> Reliability:
        settings = evaluation.settings
        # without a threshold about as many recursive bins as there are of others
        least = view.min_rows or max(2 * FEW_ROWS, 2 * problem.n_rows // settings.bins)
        metric = parse_metric(f"ece:binning={binning}", {**settings.defaults, "min_rows": least})
        assert isinstance(metric, BinnedError)
        return reliability_of(
            problem, view.lens, metric, evaluation.estimates, view.draws, settings.seed, view.region,
            in_log_odds=in_log_odds,
        )  # fmt: skip

    return through_lens(compute, evaluations, view)


@styled
def reliability(
    results: Mapping[str, Reliability], classes: Sequence[str] = (), *, intervals: bool = False
) -> Figure:
    """Draw reliability diagrams side by side (van de Waterlaat 2021, fig. 3.2).

    Bars are the frequency of the outcome in each bin. On them stands the gap to the mean score, centered on
    it, with its end on the diagonal; its color and hatching tell its sign. Bins of fewer than ten rows are
    faint. Below is the distribution of the scores, with their mean and the overall frequency. On log-odds
    axes a point is the frequency, and the band behind it the range for calibrated scores.

    Parameters
    ----------
    results
        Reliability by system name.
    classes
        Class names, for the axes of class lenses.
    intervals
        Whether to draw intervals of the frequencies.
    """
    figure, stacks = panels(len(results), heights=(3.1, 1.0), height=HEIGHT)
    names = titles(results)
    tallest = max(result.share.max() for result in results.values())
    every = [result.ends for result in results.values()]
    ends = min(low for low, _ in every), max(high for _, high in every)
    for (diagram, below), (name, result) in zip(stacks, results.items(), strict=True):
        text = words(result.lens, classes)
        if result.in_log_odds:
            _points(diagram, result, ends)
        else:
            bins = result.bins.count, result.mean_score, result.frequency, result.thin
            reliability_bars(diagram, result.edges, *bins, region_ends(result.binned.metric.region))
        if intervals:
            low, high = (np.clip(end, *ends) if result.in_log_odds else end for end in result.interval)
            diagram.vlines(result.mean_score, low, high, **INTERVAL)
        _distribution(below, result, text, tallest, ends if result.in_log_odds else (0, 1))
        label_panels(diagram, below, names[name], text.score, (text.frequency, "Share of rows"))
    _tell_errors([diagram for diagram, _ in stacks], list(results.values()), intervals=intervals)
    handles: list[Artist] = [*(_key_of_points(text) if result.in_log_odds else key(text))]
    handles += [Line2D([], [], label="95% interval", **INTERVAL)] * intervals
    entries = [*handles, *thin_key(result.thin for result in results.values())]
    tight: Look = {}
    if result.in_log_odds:
        tight = {"handlelength": 0.8, "columnspacing": 0.8, "handletextpad": 0.7}
    figure.legend(handles=entries, loc="outside upper center", ncols=3 if len(entries) == 3 else 2, **tight)
    return figure


def _points(axes: Axes, result: Reliability, ends: tuple[float, float]) -> None:
    """Draw in log-odds the frequency of each bin with rows, and the band of calibrated scores behind it."""
    axes.plot(ends, ends, color=MUTED, linewidth=0.8, dashes=(4, 2))
    b = result.bins.count > 0
    score, frequency = (np.clip(of[b], *ends) for of in (result.mean_score, result.frequency))
    low, high = (np.clip(of[b], *ends) for of in (result.low, result.high))
    axes.vlines(score, low, high, **BAND_LOOK)
    thin = result.thin[b]
    for above, color, marker in ((score > frequency, OVER, "v"), (score <= frequency, UNDER, "^")):
        for faint, alpha in ((False, 1.0), (True, FAINT)):
            group = above & (thin == faint)
            axes.vlines(score[group], frequency[group], score[group], color=color, linewidth=1.2, alpha=alpha)
            axes.scatter(
                score[group], frequency[group], s=22, color=color, marker=marker, alpha=alpha, zorder=3,
                clip_on=False,
            )  # fmt: skip
    log_odds_axes(axes, *ends)
    texts = bin_texts(result.edges, result.bins.count, result.mean_score, result.frequency)
    tell(axes, (score, score), (frequency, frequency), texts, around=MARK)


def _key_of_points(text: Words) -> list[Line2D]:
    """Return the legend of points and bands."""
    points = [
        Line2D([], [], linestyle="", marker=marker, color=color, label=label)
        for marker, color, label in (("v", OVER, text.over), ("^", UNDER, text.under))
    ]
    return [Line2D([], [], label=f"{BAND:.0%} if calibrated", **BAND_LOOK), *points]


def reliability_bars(
    axes: Axes,
    edges: Doubles,
    count: NDArray[np.int64],
    score: Doubles,
    frequency: Doubles,
    thin: Bools,
    visible: tuple[float, float] = (0, 1),
) -> None:
    """Draw a bar for each nonempty bin, and on it the gap to the mean score.

    Parameters
    ----------
    axes
        The axes; they become the unit square.
    edges
        (m + 1,) edges of the bins.
    count, score, frequency
        (m,) rows, mean score and frequency of the outcome.
    thin
        (m,) bins to be drawn faint.
    visible
        The scores that will be shown, by which thin bars are thin.
    """
    span = visible[1] - visible[0]
    empty = np.where(np.diff(edges) == 0, THINNEST * span / 2, 0)  # a bin with a single score has no width
    start, right = edges[:-1] - empty, edges[1:] + empty
    bars = BARS if len(count) <= MOST_SEAMS else MANY_BARS
    half = np.clip((right - start) * GAP_WIDTH, THINNEST * span, WIDEST_GAP * span) / 2
    for alpha, bins in ((1.0, ~thin & (count > 0)), (FAINT, thin)):
        boxes(axes, (start[bins], right[bins]), (0 * frequency[bins], frequency[bins]), alpha=alpha, **bars)
        axes.hlines(frequency[bins], start[bins], right[bins], color=INK, linewidth=1.0, alpha=alpha)
        for sign, look in ((score > frequency, OVERS), (score <= frequency, UNDERS)):
            b = bins & sign
            x, y = (score[b] - half[b], score[b] + half[b]), (frequency[b], score[b])
            boxes(axes, x, y, alpha=alpha, clip_on=span < 1, **look)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, dashes=(4, 2))
    unit_square(axes)
    b = count > 0
    texts = bin_texts(edges, count, score, frequency)
    tell(axes, (start[b], right[b]), (0, np.maximum(score, frequency)[b]), texts)


def _tell_errors(panels: Sequence[Axes], results: Sequence[Reliability], *, intervals: bool) -> None:
    """Write the errors into the panels side by side, all in the same corner and lines."""
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5}
    place, separator = (0.975, 0.03), ", "
    look: Look = {"ha": "right", "va": "bottom"}
    if results[0].in_log_odds:  # where there are points only of scores that are far too low
        place, separator, look = (0.03, 0.975), "\n", {"ha": "left", "va": "top", "zorder": 1.5}
    else:
        width, height = size_of(panels[0])  # words take a larger share of less room
        wide, high = max(1, PANEL / width), max(1, HEIGHT / 2 / height)
        for between, across, down in ((", ", 0.71, 0.2), ("\n", 0.5, 0.3)):
            if all(_has_room(result, across * wide, 1 - down * high, intervals) for result in results):
                place, separator, look = (0.03, 0.975), between, {"ha": "left", "va": "top"}
                break
        else:
            if intervals or max(wide, high) > SMALL:  # the caption has them, too
                return
    for axes, result in zip(panels, results, strict=True):
        text = _described(result, separator)
        axes.text(*place, text, transform=axes.transAxes, fontsize=6.5, linespacing=1.35, bbox=box, **look)


def _has_room(result: Reliability, width: float, bottom: float, intervals: bool) -> bool:
    """Return whether the upper left corner is empty, to a width and depth."""
    low, high = region_ends(result.binned.metric.region)
    tops = np.fmax(result.interval[1] if intervals else result.frequency, result.mean_score)
    return not np.any(tops[result.edges[:-1] < low + width * (high - low)] > bottom)


def _described(result: Reliability, separator: str, between: str = "\n") -> str:
    errors = [_error("ECE", result.binned, separator), _error("KS", result.ks, separator)]
    return between.join([*errors, described_size(result, separator)])


def described_size(result: Reliability, separator: str = ", ") -> str:
    """Return the numbers of rows and bins, in words."""
    lens = [] if result.lens == "top-1" else [result.lens]
    return separator.join([f"n = {result.bins.count.sum():,}", *lens, binning_words(result)])


def _error(name: str, error: Error, separator: str) -> str:
    null = error.if_calibrated
    if null is None:
        return f"{name} {number(error.value)}"
    value = number(error.value, digits=apart(null.sd))
    return f"{name} {value}{separator}if calibrated {plus_minus(null.mean, null.sd)}"


def _distribution(
    axes: Axes, result: Reliability, text: Words, tallest: float, ends: tuple[float, float]
) -> None:
    if result.in_log_odds:
        log_odds_axes(axes, *ends, horizontal=True)
    distribution(axes, result.share_edges, result.share, tallest, ends)
    score, frequency = result.overall_score, result.overall_frequency
    color = OVER if score > frequency else UNDER
    low, high = region_ends(result.binned.metric.region)  # outside it a line is only in the legend
    mean, overall = (
        axes.axvline(place, linewidth=1.2, clip_on=not low <= place <= high, **look)
        for place, look in ((score, {"color": color, "dashes": (3, 1.5)}), (frequency, {"color": INK}))
    )
    names = text.mean_score, text.overall
    labels = [f"{name} {number}" for name, number in zip(names, numbers(score, frequency), strict=True)]
    axes.legend(
        [mean, overall], labels, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 0.97), borderaxespad=0
    )


def key(text: Words) -> list[Patch]:
    """Return the legend of bars and gaps."""
    return [
        Patch(**BARS, label=text.overall),
        Patch(**OVERS, label=text.over),
        Patch(**UNDERS, label=text.under),
    ]
