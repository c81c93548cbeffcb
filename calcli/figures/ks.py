"""KS graphs: calibration without bins, as two curves that should be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from calcli.core.curves.unbinned import KNOTS, Cumulative, cumulative, ks_if_calibrated
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.text import apart, number, numbers, percent, plus_minus
from calcli.core.problems.problem import Problem
from calcli.figures.drawing import Evaluations, Made, View, classes_of, through_lens
from calcli.figures.inline import tell
from calcli.figures.style import INK, OVER, UNDER, Look, new_figure, styled, unit_square
from calcli.figures.wording import Words, titles, words

PROMISED: Look = {"color": OVER, "linestyle": (0, (4, 1.5)), "linewidth": 1.4}
OBSERVED: Look = {"color": UNDER, "linestyle": "-", "linewidth": 1.4}
STRIPS = 25  # points with values on a page
HEADS = ("a  cumulative", "b  cumulative, warped", "c  smoothed slope", "d  frequency by score")


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the cumulative curves of each system."""
    knots = view.knots or KNOTS

    def compute(evaluation: Evaluation, problem: Problem) -> Cumulative:
        null = ks_if_calibrated(problem, view.draws, evaluation.settings.seed)
        return replace(cumulative(problem, view.lens, knots), if_calibrated=null)

    results = through_lens(compute, evaluations, view)
    return (
        ks_graphs(results, classes_of(evaluations)),
        results,
        caption(results, knots, classes_of(evaluations)),
    )


def caption(results: Mapping[str, Cumulative], knots: int, classes: Sequence[str] = ()) -> str:
    """Describe the figure and the errors."""
    text = words(next(iter(results.values())).lens, classes)
    score = text.said.partition(" ")[0]
    described = "; ".join(f"{name}: {_found(result)}" for name, result in results.items())
    return (
        f"Rows in ascending order of the {text.said}, without bins. a: sums of {text.several} (dashed) and "
        "of outcomes (line) against the share of rows; KS is the largest distance between them. b: the same, "
        f"the sum of {text.several} as diagonal. c: the slopes of these curves, the outcomes' by a natural "
        f"spline of {knots} knots. d: these slopes against the {score}. {described}."
    )


def _found(result: Cumulative) -> str:
    null = result.if_calibrated
    if null is None:
        return f"KS {number(result.ks)}"
    return f"KS {number(result.ks, digits=apart(null.sd))}, if calibrated {plus_minus(null.mean, null.sd)}"


NARROW = 5.5  # inches up to which the four graphs are in two lines


@styled
def ks_graphs(results: Mapping[str, Cumulative], classes: Sequence[str] = ()) -> Figure:
    """Draw the four KS graphs, a row for each system (Gupta et al. 2021, fig. 1 and 2).

    a: sums of scores and of outcomes against the share of rows, lowest scores first; the largest distance
    between the two curves is the KS error. b: the same, warped until the sum of scores is the diagonal. c:
    the slopes of these curves, the outcome's from a spline. d: these slopes against the score.

    Parameters
    ----------
    results
        Cumulative curves by system name.
    classes
        Class names, for class lenses.
    """
    figure = new_figure(7.0, 1.95 * len(results) + 0.55)
    lines = 1 if figure.bbox.width / figure.dpi > NARROW else 2
    subfigures = figure.subfigures(len(results), 1, squeeze=False)[:, 0]
    names = titles(results)
    for part, (name, result) in zip(subfigures, results.items(), strict=True):
        text = words(result.lens, classes)
        title = f"{names[name]}   {_found(result)}"
        part.suptitle(title, x=0.01, ha="left", fontsize=8.5, fontweight="bold")
        row = part.subplots(lines, 4 // lines).ravel()
        top = float(max(result.score_sum[-1], result.outcome_sum[-1])) or 1.0  # good ones have small sums
        _sums(row[0], result)
        _warped(row[1], result)
        row[0].set(xlim=(0, 1), ylim=(0, top * 1.03))
        row[1].set(xlim=(0, top), ylim=(0, top * 1.03))
        _slopes(row[2], result)
        _by_score(row[3], result, text)
        _tell(row[0], row[2], result)
        for axes, head in zip(row, HEADS, strict=True):
            axes.set_title(head, loc="left", fontsize=7.5, fontweight="normal")
    handles = [*row[0].get_lines()[:2], Line2D([], [], color=INK, linewidth=2.2)]
    figure.legend(handles, [text.score, text.frequency, "KS"], loc="outside upper center", ncols=3)
    return figure


def _tell(sums: Axes, slopes: Axes, result: Cumulative) -> None:
    """Let strips of two panels show the sums, and their slopes, at the middle of each."""
    ends = np.linspace(0, 1, STRIPS + 1)
    middle = np.searchsorted(result.fractile, (ends[:-1] + ends[1:]) / 2).clip(max=len(result.fractile) - 1)
    rows = [f"{percent(result.fractile[at])} of the rows" for at in middle]
    added = [
        "{}\nsum of scores {}, of outcomes {}".format(row, *numbers(*pair))
        for row, *pair in zip(rows, result.score_sum[middle], result.outcome_sum[middle], strict=True)
    ]
    top = float(max(result.score_sum[-1], result.outcome_sum[-1]))
    tell(sums, (ends[:-1], ends[1:]), (0, top), added)
    sloping = [
        "{}\nscore {}, frequency {}".format(row, *numbers(*pair))
        for row, *pair in zip(rows, result.score[middle], result.frequency[middle], strict=True)
    ]
    tell(slopes, (ends[:-1], ends[1:]), (0, 1), sloping)


def _sums(axes: Axes, result: Cumulative) -> None:
    axes.plot(result.fractile, result.score_sum, **PROMISED)
    axes.plot(result.fractile, result.outcome_sum, **OBSERVED)
    at = result.widest
    ends = sorted([result.score_sum[at], result.outcome_sum[at]])
    axes.vlines(result.fractile[at], *ends, color=INK, linewidth=2.2)
    axes.set(xlabel="Fractile of rows", ylabel="Cumulative mean")


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
