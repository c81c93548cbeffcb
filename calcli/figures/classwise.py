"""Class-wise reliability: a small diagram for each of a few classes, a heat map of gaps for many."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from calcli.core.reliability import FEW_ROWS, ClassReliability
from calcli.figures.reliability import key, reliability_bars
from calcli.figures.style import FAINT, MUTED, OVER, UNDER, boxes, new_figure, short, styled
from calcli.figures.wording import words

SMALL_MULTIPLES = 30  # classes up to which each has its own diagram
HEAT_MAP_ROWS = 100  # more names cannot be read
GAPS = LinearSegmentedColormap.from_list("gaps", [OVER, "#ffffff", UNDER])


@styled
def class_wise(result: ClassReliability, name: str) -> Figure:
    """Draw the reliability of every class, worst first.

    Parameters
    ----------
    result
        Reliability of the classes.
    name
        The system's name.
    """
    if len(result.classes) <= SMALL_MULTIPLES:
        return _small_multiples(result, name)
    return _heat_map(result, name)


def _small_multiples(result: ClassReliability, name: str) -> Figure:
    count = len(result.classes)
    columns = min(count, 2 if count <= 4 else math.ceil(math.sqrt(count * 1.4)))
    rows = math.ceil(count / columns)
    size = 1.6 if columns == 2 else 1.15
    figure = new_figure(columns * size + 0.35, rows * (size + 0.12) + 0.85)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, k in zip(grid.flat, result.worst_first, strict=False):
        reliability_bars(
            axes, result.edges, result.bins.count[k], result.mean_score[k], result.frequency[k], result.thin[k]
        )
        axes.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        axes.set_title(short(result.classes[k], 10 * columns if columns == 2 else 10), loc="left", fontsize=7)
        axes.set_title(f"{result.error[k]:.4f}", loc="right", fontsize=6, fontweight="normal")
    for axes in list(grid.flat)[count:]:
        axes.set_visible(False)
    for column in range(columns):
        grid[(count - 1 - column) // columns, column].tick_params(labelbottom=True)
    figure.supxlabel("Predicted probability of the class", fontsize=7.5)
    figure.supylabel("Observed frequency of the class", fontsize=7.5)
    title = f"{short(name)}: classes with their ECE, worst first"
    bold = {"size": 8.5 if columns > 2 else 7.5, "weight": "bold"}
    figure.legend(
        handles=key(words("class-wise")), loc="outside upper center", ncols=3, title=title, title_fontproperties=bold
    )
    return figure


def _heat_map(result: ClassReliability, name: str) -> Figure:
    shown = result.worst_first[:HEAT_MAP_ROWS]
    figure = new_figure(4.6, 1.3 + 0.085 * len(shown))
    axes = figure.subplots()
    limit = _cells(axes, result, shown)
    names = [f"{short(result.classes[k], 16)}  {result.error[k]:.4f}" for k in shown]
    axes.set_yticks(np.arange(len(shown)) + 0.5, names, fontsize=5)
    axes.set(xlim=(0, 1), ylim=(len(shown), 0))
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Predicted probability of the class")
    which = "all" if len(shown) == len(result.classes) else f"worst {len(shown)} of"
    note = f"{which} {len(result.classes):,} classes with their ECE, worst first; faint: under {FEW_ROWS} rows"
    axes.set_title(f"{short(name)}\n", loc="left")
    axes.text(0, 1.0, note + "\n", transform=axes.transAxes, va="baseline", fontsize=6.5, linespacing=0.5)
    _scale(figure, axes, limit)
    return figure


def _cells(axes: Axes, result: ClassReliability, shown: np.ndarray) -> float:
    gap = (result.frequency - result.mean_score)[shown]
    filled = result.bins.count[shown] > 0
    solid = filled & ~result.thin[shown]
    limit = float(np.quantile(np.abs(gap[solid]), 0.95)) if solid.any() else 1.0
    for cells, alpha in ((solid, 1.0), (filled & ~solid, FAINT)):
        row, column = np.nonzero(cells)
        x, y = (result.edges[column], result.edges[column + 1]), (row + 0.0, row + 1.0)
        color = GAPS(0.5 + 0.5 * gap[cells] / limit)
        boxes(axes, x, y, facecolor=color, edgecolor=MUTED, linewidth=0.2, alpha=alpha)
    row, column = np.nonzero(solid & (gap < -limit / 4))
    middle = (result.edges[column] + result.edges[column + 1]) / 2
    axes.plot(middle, row + 0.5, linestyle="", marker="_", markersize=3.5, color="black", markeredgewidth=0.6)
    return limit


def _scale(figure: Figure, axes: Axes, limit: float) -> None:
    colors = ScalarMappable(Normalize(-limit, limit), GAPS)
    bar = figure.colorbar(colors, ax=axes, location="bottom", fraction=0.03, aspect=40, pad=0.01, extend="both")
    bar.set_label("Observed − predicted (dashes mark: predicted too high)")
    bar.ax.spines["outline"].set_linewidth(0.4)
