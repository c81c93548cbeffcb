"""KS graphs: calibration without bins, as two curves that should be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calcli.core.curves.cumulative import Cumulative, cumulative
from calcli.figures.drawing import Evaluations, Made, View, classes_of, through_lens
from calcli.figures.style import INK, OVER, UNDER, Look, new_figure, short, styled, unit_square
from calcli.figures.wording import Words, words

PROMISED: Look = {"color": OVER, "linestyle": (0, (4, 1.5)), "linewidth": 1.4}
OBSERVED: Look = {"color": UNDER, "linestyle": "-", "linewidth": 1.4}
HEADS = ("a  cumulative", "b  cumulative, warped", "c  smoothed slope", "d  frequency by score")


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the cumulative curves of each system."""
    results = through_lens(
        lambda evaluation, problem: cumulative(problem, view.lens, view.knots), evaluations, view
    )
    return ks_graphs(results, classes_of(evaluations)), results


@styled
def ks_graphs(results: Mapping[str, Cumulative], classes: Sequence[str] = ()) -> Figure:
    """Draw the four KS graphs, a row for each system (Gupta et al. 2021, fig. 1 and 2).

    a: sums of scores and of outcomes against the share of rows, lowest scores first; the largest distance
    between the two curves is the KS error. b: the same, warped so that the sum of scores is the diagonal.
    c: the slopes of these curves, the outcome's from a spline. d: these slopes against the score.

    Parameters
    ----------
    results
        Cumulative curves by system name.
    classes
        Class names, for class lenses.
    """
    figure = new_figure(7.0, 1.95 * len(results) + 0.55)
    parts = figure.subfigures(len(results), 1, squeeze=False)[:, 0]
    top = max(float(max(result.score_sum[-1], result.outcome_sum[-1])) for result in results.values())
    for part, (name, result) in zip(parts, results.items(), strict=True):
        text = words(result.lens, classes)
        title = f"{short(name)}   KS {result.ks:.4f}"
        part.suptitle(title, x=0.01, ha="left", fontsize=8.5, fontweight="bold")
        row = part.subplots(1, 4)
        _sums(row[0], result)
        _warped(row[1], result)
        row[0].set(xlim=(0, 1), ylim=(0, top * 1.03))
        row[1].set(xlim=(0, top), ylim=(0, top * 1.03))
        _slopes(row[2], result)
        _by_score(row[3], result, text)
        for axes, head in zip(row, HEADS, strict=True):
            axes.set_title(head, loc="left", fontsize=7.5, fontweight="normal")
    handles = row[0].get_lines()[:2]
    figure.legend(handles, [text.score, text.frequency], loc="outside lower center", ncols=2)
    return figure


def _sums(axes: Axes, result: Cumulative) -> None:
    axes.plot(result.fractile, result.score_sum, **PROMISED)
    axes.plot(result.fractile, result.outcome_sum, **OBSERVED)
    at = result.widest
    ends = sorted([result.score_sum[at], result.outcome_sum[at]])
    axes.vlines(result.fractile[at], *ends, color=INK, linewidth=2.2)
    _label_gap(axes, result.fractile[at], ends[0])
    axes.set(xlabel="Fractile of rows", ylabel="Cumulative mean")


def _label_gap(axes: Axes, x: float, y: float) -> None:
    """Write below the lower end of the gap, where neither curve, which both rise, can be."""
    offset, align = ((3, -3), "left") if x < 0.8 else ((1, -12), "right")
    at: Look = {"textcoords": "offset points", "ha": align, "va": "top"}
    axes.annotate("KS", (x, y), offset, fontsize=6.5, annotation_clip=False, **at)


def _warped(axes: Axes, result: Cumulative) -> None:
    top = result.score_sum[-1]
    axes.plot([0, top], [0, top], **PROMISED)
    axes.plot(result.score_sum, result.outcome_sum, **OBSERVED)
    at = result.widest
    ends = sorted([result.score_sum[at], result.outcome_sum[at]])
    axes.vlines(result.score_sum[at], *ends, color=INK, linewidth=2.2)
    axes.set(xlabel="Cumulative score", ylabel="Cumulative mean")


def _slopes(axes: Axes, result: Cumulative) -> None:
    axes.plot(result.fractile, result.score, **PROMISED, clip_on=False)
    axes.plot(result.fractile, result.frequency, **OBSERVED, clip_on=False)
    unit_square(axes)
    axes.set(xlabel="Fractile of rows", ylabel="Probability", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])


def _by_score(axes: Axes, result: Cumulative, text: Words) -> None:
    axes.plot([0, 1], [0, 1], **PROMISED)
    marks: Look = {"marker": "o", "markersize": 2, "markevery": 20}
    axes.plot(result.score, result.frequency, **OBSERVED, **marks, clip_on=False)
    unit_square(axes)
    axes.set(xlabel="Score", ylabel=text.overall.capitalize(), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
