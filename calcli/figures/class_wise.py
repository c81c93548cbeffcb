"""Class-wise reliability: a small diagram for each of a few classes, a heat map of gaps for many."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from calcli.core.curves.reliability import FEW_ROWS, ClassReliability, class_reliability
from calcli.figures.drawing import Evaluations, Made, View, require_same_classes
from calcli.figures.reliability import key, reliability_bars
from calcli.figures.style import MUTED, OVER, UNDER, Look, boxes, new_figure, short, styled
from calcli.figures.wording import words

SMALL_MULTIPLES = 30  # classes up to which each has its own diagram
HEAT_MAP_ROWS = 100  # more names cannot be read
GAPS = LinearSegmentedColormap.from_list("gaps", [OVER, "#ffffff", UNDER])


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the reliability of the classes of each system."""
    require_same_classes(evaluations)
    results = {
        system: class_reliability(evaluation.class_bins, evaluation.predictions.classes)
        for system, evaluation in evaluations.items()
    }
    return class_wise(results), results


@styled
def class_wise(results: Mapping[str, ClassReliability]) -> Figure:
    """Draw the reliability of every class, worst first: up to 30 diagrams, else a heat map of gaps.

    The classes of all systems are in the order of the first one, so that what stands at the same place can be
    compared.

    Parameters
    ----------
    results
        Reliability of the classes by system name; all systems have the same number of classes.
    """
    order = next(iter(results.values())).worst_first
    if len(order) <= SMALL_MULTIPLES:
        return _small_multiples(results, order)
    return _heat_maps(results, order[:HEAT_MAP_ROWS])


def _small_multiples(results: Mapping[str, ClassReliability], order: NDArray[np.intp]) -> Figure:
    count = len(order)
    columns = min(count, 2 if count <= 4 else math.ceil(math.sqrt(count * 1.4)))
    rows = math.ceil(count / columns)
    size = 1.6 if columns == 2 else 1.15
    figure, parts = _parts(len(results), columns * size + 0.3, rows * (size + 0.12) + 0.6)
    for part, (name, result) in zip(parts, results.items(), strict=False):
        grid = part.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, k in zip(grid.flat, order, strict=False):
            bins = result.bins.count[k], result.mean_score[k], result.frequency[k], result.thin[k]
            reliability_bars(axes, result.edges, *bins)
            axes.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
            axes.set_title(short(result.classes[k], 20 if columns == 2 else 10), loc="left", fontsize=7)
            axes.set_title(f"{result.error[k]:.4f}", loc="right", fontsize=6, fontweight="normal")
        for axes in list(grid.flat)[count:]:
            axes.set_visible(False)
        for column in range(columns):
            grid[(count - 1 - column) // columns, column].tick_params(labelbottom=True)
        part.suptitle(f"{short(name)}\n{_ordered(name, results)}, with ECE", fontsize=7.5, fontweight="bold")
        part.supxlabel("Predicted probability of the class", fontsize=7.5)
        part.supylabel("Observed frequency of the class", fontsize=7.5)
    figure.legend(handles=key(words("class-wise")), loc="outside upper center", ncols=3)
    return figure


def _ordered(name: str, results: Mapping[str, ClassReliability]) -> str:
    return "worst class first" if name == next(iter(results)) else "in the same order"


def _heat_maps(results: Mapping[str, ClassReliability], shown: NDArray[np.intp]) -> Figure:
    rows = len(shown)
    figure, parts = _parts(len(results), 4.6, 1.3 + 0.085 * rows)
    limit = max(_typical_gap(result) for result in results.values())
    for part, (name, result) in zip(parts, results.items(), strict=False):
        axes = part.subplots()
        _cells(axes, result, shown, limit)
        names = [f"{short(result.classes[k], 16)}  {result.error[k]:.4f}" for k in shown]
        axes.set_yticks(np.arange(rows) + 0.5, names, fontsize=5)
        axes.set(xlim=(0, 1), ylim=(rows, 0), xlabel="Predicted probability of the class")
        axes.tick_params(axis="y", length=0)
        which = "all" if rows == len(result.classes) else f"worst {rows} of"
        note = f"{which} {len(result.classes):,} classes with their ECE, {_ordered(name, results)}"
        note += f"; dots: under {FEW_ROWS} rows"
        axes.set_title(short(name), loc="left", pad=14)
        axes.annotate(note, (0, 1), (0, 4), "axes fraction", textcoords="offset points", fontsize=6.5)
        colors = ScalarMappable(Normalize(-limit, limit), GAPS)
        place: Look = {"location": "bottom", "fraction": 0.03, "aspect": 40, "pad": 0.01}
        bar = part.colorbar(colors, ax=axes, extend="both", **place)
        bar.set_label("Observed − predicted (dashes mark: predicted too high)")
        bar.ax.spines["outline"].set_linewidth(0.4)
    return figure


def _parts(count: int, width: float, height: float) -> tuple[Figure, list[SubFigure]]:
    """Return a figure with a part of that size, in inches, for each system: two of them side by side."""
    rows, columns = math.ceil(count / 2), min(count, 2)
    figure = new_figure(width * columns, height * rows + 0.25)
    return figure, list(figure.subfigures(rows, columns, squeeze=False).flat)


def _typical_gap(result: ClassReliability) -> float:
    """Return the gap at which colors saturate: that of few bins, so that the others are not all white."""
    solid = (result.bins.count > 0) & ~result.thin
    gap = (result.frequency - result.mean_score)[solid]
    return float(np.quantile(np.abs(gap), 0.95)) if len(gap) else 1.0


def _cells(axes: Axes, result: ClassReliability, shown: NDArray[np.intp], limit: float) -> None:
    gap, thin = (result.frequency - result.mean_score)[shown], result.thin[shown]
    filled = result.bins.count[shown] > 0
    solid, middle = filled & ~thin, (result.edges[:-1] + result.edges[1:]) / 2
    row, column = np.nonzero(solid)
    x, y = (result.edges[column], result.edges[column + 1]), (row + 0.0, row + 1.0)
    boxes(axes, x, y, facecolor=GAPS(0.5 + 0.5 * gap[solid] / limit), edgecolor=MUTED, linewidth=0.2)
    dash: Look = {"marker": "_", "markersize": 3.5, "color": "black", "markeredgewidth": 0.6}
    dot: Look = {"marker": "o", "markersize": 1.4, "markeredgewidth": 0}
    marked = (
        (solid & (gap < -limit / 4), dash),
        (thin & (gap < 0), dot | {"color": OVER}),
        (thin & (gap >= 0), dot | {"color": UNDER}),
    )
    for cells, look in marked:
        row, column = np.nonzero(cells)
        axes.plot(middle[column], row + 0.5, linestyle="", **look)
