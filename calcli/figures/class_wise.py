"""Class-wise reliability: a small diagram for each of a few classes, a heat map of gaps for many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure, SubFigure

from calcli.core.curves.reliability import FEW_ROWS, ClassReliability, class_reliability
from calcli.core.data.arrays import Positions
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.text import number
from calcli.figures.drawing import Evaluations, Made, View, chance_note, require_same_classes
from calcli.figures.inline import (
    score_words,
    tell,
)
from calcli.figures.reliability import key, reliability_bars
from calcli.figures.style import BAR, OVER, UNDER, Look, boxes, new_figure, styled, thin_key
from calcli.figures.wording import titles, words

SMALL_MULTIPLES = 30  # classes up to which each has its own diagram
LEAST_RANGE = 0.1  # of colors
HEAT_MAP_ROWS = 100  # more names would be illegible
GAPS = LinearSegmentedColormap.from_list("gaps", [(0, UNDER), (0.5, "#d3e6f3"), (0.5, "#fbe3d2"), (1, OVER)])


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and the reliability of the classes of each system."""
    require_same_classes(evaluations)
    results = {system: _of(evaluation) for system, evaluation in evaluations.items()}
    figure, text = class_wise(results), caption(results)
    if len(next(iter(results.values())).classes) > SMALL_MULTIPLES:
        text += chance_note(figure, evaluations)
    return figure, results, text


def _of(evaluation: Evaluation) -> ClassReliability:
    weights = evaluation.predictions.weights
    heaviest = 1.0 if weights is None else float(weights.max())
    assert evaluation.class_bins is not None  # a figure has all sections
    return class_reliability(evaluation.class_bins, evaluation.predictions.classes, heaviest)


def caption(results: Mapping[str, ClassReliability]) -> str:
    """Describe the figure."""
    diagram = next(iter(results.values()))
    text = (
        f"For each class, observed frequency against predicted probability in {len(diagram.edges) - 1} "
        "equal-width bins; the number beside its name is its ECE, which is above 0 by chance alone. "
    )
    if len(diagram.classes) <= SMALL_MULTIPLES:
        return text + f"Bins of fewer than {FEW_ROWS} rows are faint."
    described = "; ".join(f"{name}: {_counted(result)}" for name, result in results.items())
    return (
        f"{text}Cells: gray with rows, white without, colored where predicted minus observed exceeds chance, "
        f"corrected for the number of cells (5%). {described}."
    )


@styled
def class_wise(results: Mapping[str, ClassReliability]) -> Figure:
    """Draw the reliability of every class, largest error first: up to 30 diagrams, else a heat map of gaps.

    In the heat map only gaps beyond chance, corrected for the number of cells, have a color.

    The classes of all systems are in the order of the first system: the same position shows the same class.

    Parameters
    ----------
    results
        Reliability of the classes by system name; all systems have the same number of classes.
    """
    order = next(iter(results.values())).worst_first
    if len(order) <= SMALL_MULTIPLES:
        return _small_multiples(results, order)
    return _heat_maps(results, order[:HEAT_MAP_ROWS])


def _small_multiples(results: Mapping[str, ClassReliability], order: Positions) -> Figure:
    count = len(order)
    columns = min(count, 2 if count <= 4 else math.ceil(math.sqrt(count * 1.4)))
    rows = math.ceil(count / columns)
    size = 1.6 if columns == 2 else 1.15
    figure, subfigures = _parts(len(results), columns * size + 0.3, rows * (size + 0.12) + 0.6)
    names = titles(results)
    for part, (name, result) in zip(subfigures, results.items(), strict=False):
        grid = part.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        called = titles(result.classes, 20 if columns == 2 else 10)
        for axes, k in zip(grid.flat, order, strict=False):
            bins = result.bins.count[k], result.mean_score[k], result.frequency[k], result.thin[k]
            reliability_bars(axes, result.edges, *bins)
            axes.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
            axes.set_title(called[result.classes[k]], loc="left", fontsize=7)
            axes.set_title(number(result.error[k]), loc="right", fontsize=6, fontweight="normal")
        for axes in list(grid.flat)[count:]:
            axes.set_visible(False)
        for column in range(columns):
            grid[(count - 1 - column) // columns, column].tick_params(labelbottom=True)
        part.suptitle(
            f"{names[name]}\nECE, {_ordered(name, results)}; {_size(result)}", fontsize=7.5, fontweight="bold"
        )
        part.supxlabel("Predicted probability of the class", fontsize=7.5)
        part.supylabel("Observed frequency of the class", fontsize=7.5)
    handles = [*key(words("class-wise")), *thin_key(result.thin for result in results.values())]
    figure.legend(handles=handles, loc="outside upper center", ncols=3 if len(handles) == 3 else 2)
    return figure


def _size(result: ClassReliability) -> str:
    return f"n = {result.bins.count[0].sum():,}"


def _ordered(name: str, results: Mapping[str, ClassReliability]) -> str:
    return "largest first" if name == next(iter(results)) else "in the same order"


def _heat_maps(results: Mapping[str, ClassReliability], order: Positions) -> Figure:
    rows = len(order)
    figure, subfigures = _parts(len(results), 4.6, 1.5 + 0.085 * rows)
    limit = _range(results.values())
    names = titles(results)
    for part, (name, result) in zip(subfigures, results.items(), strict=False):
        axes = part.subplots()
        _cells(axes, result, order, limit)
        called = titles([result.classes[k] for k in order], 16)
        labels = [f"{called[result.classes[k]]}  {number(result.error[k])}" for k in order]
        axes.set_yticks(np.arange(rows) + 0.5, labels, fontsize=5)
        axes.set(xlim=(0, 1), ylim=(rows, 0), xlabel="Predicted probability of the class")
        axes.tick_params(axis="y", length=0)
        which = "All" if rows == len(result.classes) else f"{rows} of"
        ordered = f"{which} {len(result.classes):,} classes and their ECE, {_ordered(name, results)}"
        note = f"{ordered}\n{_counted(result)}"
        axes.set_title(names[name], loc="left", pad=24)
        look: Look = {"textcoords": "offset points", "fontsize": 6.5, "linespacing": 1.3}
        axes.annotate(note, (0, 1), (0, 4), "axes fraction", **look)
        colors = ScalarMappable(Normalize(-limit, limit), GAPS)
        place: Look = {"location": "bottom", "fraction": 0.03, "aspect": 40, "pad": 0.01}
        bar = part.colorbar(colors, ax=axes, extend="both", **place)
        bar.set_label("Predicted − observed, where beyond chance\n(dashes: over-predicted)")
        bar.ax.spines["outline"].set_linewidth(0.4)
    return figure


def _counted(result: ClassReliability) -> str:
    """Return the number of cells, and of colored cells, in words."""
    cells = np.count_nonzero(result.bins.count)
    return f"{_size(result)}; {np.count_nonzero(result.beyond_chance):,} of {cells:,} cells beyond chance"


def _parts(count: int, width: float, height: float) -> tuple[Figure, list[SubFigure]]:
    """Return a figure with a part of this size, in inches, for each system, two side by side."""
    rows, columns = math.ceil(count / 2), min(count, 2)
    figure = new_figure(width * columns, height * rows + 0.25)
    return figure, list(figure.subfigures(rows, columns, squeeze=False).flat)


def _range(results: Iterable[ClassReliability]) -> float:
    """Return the gap at which colors saturate: few cells beyond chance exceed it, and others are not pale."""
    gaps_beyond = [np.abs(result.gap)[result.beyond_chance] for result in results]
    gaps = np.append(np.concatenate(gaps_beyond), 0)
    return max(LEAST_RANGE, float(np.quantile(gaps, 0.95)))


def _cells(axes: Axes, result: ClassReliability, order: Positions, limit: float) -> None:
    gap, beyond = result.gap[order], result.beyond_chance[order]
    filled, middle = result.bins.count[order] > 0, (result.edges[:-1] + result.edges[1:]) / 2
    colored = np.clip(0.5 + 0.5 * gap / limit, 0, 1)
    for cells, color in ((filled & ~beyond, BAR), (beyond, GAPS(colored[beyond]))):
        row, column = np.nonzero(cells)
        x, y = (result.edges[column], result.edges[column + 1]), (row + 0.0, row + 1.0)
        boxes(axes, x, y, facecolor=color, edgecolor="white", linewidth=0.2)
    row, column = np.nonzero(filled)
    counts, scores, seen = (
        table[order][filled] for table in (result.bins.count, result.mean_score, result.frequency)
    )
    texts = [
        f"{result.classes[order[k]]}, {low:.4g} to {high:.4g}: {rows:,} rows\n{score_words(mean, frequency)}"
        for k, low, high, rows, mean, frequency in zip(
            row, result.edges[column], result.edges[column + 1], counts, scores, seen, strict=True
        )
    ]
    tell(axes, (result.edges[column], result.edges[column + 1]), (row, row + 1), texts)
    row, column = np.nonzero(beyond & (gap > 0))
    dash: Look = {"marker": "_", "markersize": 3.5, "color": "black", "markeredgewidth": 0.6}
    axes.plot(middle[column], row + 0.5, linestyle="", **dash)
