"""The simplex: three or four outcomes at once, with arrows from predicted to observed frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure

from calcli.core.curves.needs import outcomes_lens
from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.curves.simplex import TRIANGLES, Simplex, outcomes, simplexes
from calcli.core.data.arrays import Doubles
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.settings import Settings
from calcli.core.language.text import numbers
from calcli.core.problems.problem import Recursive
from calcli.figures.drawing import Evaluations, Made, View, chance_note
from calcli.figures.inline import tell
from calcli.figures.style import GRID, INK, MUTED, new_figure, percent_tick, styled
from calcli.figures.wording import short, titles

CORNERS = np.array([[0, 0], [1, 0], [0.5, math.sqrt(3) / 2]])
MASS = LinearSegmentedColormap.from_list("mass", ["#6aa5cc", "#0072b2", "#08263d"])  # darkens: prints in gray
PALE = 0.5  # opacity of arrows within chance
PANEL_WIDTH = 3.1
# the tetrahedron of four outcomes, corner by corner, and how it is turned in its two panels
TETRAHEDRON = np.array(
    [[0, 0, 0], [1, 0, 0], [0.5, math.sqrt(3) / 2, 0], [0.5, math.sqrt(3) / 6, math.sqrt(2 / 3)]]
)
TURNS = {"": 20, "turned": 80}  # degrees
TILT = 14


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and a simplex for each system or face."""
    alone = len(evaluations) == 1  # its faces need no other name
    results = {
        (face or system) if alone else f"{system} {face}".strip(): result
        for system, evaluation in evaluations.items()
        for face, result in _simplexes(evaluation, view).items()
    }
    figure = simplex(results)
    return figure, results, caption(results) + chance_note(figure, evaluations)


def caption(results: Mapping[str, Simplex]) -> str:
    """Describe the figure."""
    simplex = next(iter(results.values()))
    return (
        f"Each corner is an outcome: {', '.join(simplex.names)}. An arrow leads from the mean prediction of "
        f"a bin, its dot, to the observed frequencies, its head; the darker, the more rows. {simplex.binned}."
        " Faint: within chance if calibrated, corrected for all outcomes of all bins (5%). Bins of fewer "
        f"than {FEW_ROWS} rows that are within chance are a dot alone."
    )


def _simplexes(evaluation: Evaluation, view: View) -> dict[str, Simplex]:
    settings = evaluation.settings
    binning: int | Recursive | None = TRIANGLES if settings.bins == Settings.bins else settings.bins
    if view.binning == "recursive":
        binning = None if view.min_rows is None else Recursive(view.min_rows)
    return simplexes(outcomes(evaluation, outcomes_lens(view.lens, settings)), binning)


@styled
def simplex(results: Mapping[str, Simplex]) -> Figure:
    """Draw simplexes side by side; for four outcomes the tetrahedron from two sides, then its faces.

    A dot is the mean prediction of a bin and the head of its arrow the observed frequencies; the darker, the
    more rows. Arrows within chance are faint, and bins with fewer than ten rows are only dots (Vaicenavicius
    et al. 2019, fig. 1).

    Parameters
    ----------
    results
        Simplexes by title.
    """
    panels = [(name, result, turn) for name, result in results.items() for turn in _turns(result)]
    columns = min(len(panels), 4 if len(panels) % 4 == 0 else 3)
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(PANEL_WIDTH * columns + 0.4, 3.2 * rows + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False)
    scale = PowerNorm(0.5, 0, max(float(result.share.max()) for result in results.values()))
    names = titles(results)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, result, turn) in zip(grid.flat, panels, strict=False):
        corners = CORNERS if len(result.names) == 3 else _tetrahedron(axes, result, TURNS[turn])
        if len(result.names) == 3:
            _triangle(axes, result)
        _arrows(axes, result, corners, scale)
        axes.set_title(turn or names[name], loc="left")
    bar = figure.colorbar(ScalarMappable(scale, MASS), ax=grid, shrink=0.6, aspect=30, pad=0.02)
    bar.set_label("Share of rows in the bin")
    bar.ax.yaxis.set_major_formatter(percent_tick)
    bar.ax.spines["outline"].set_linewidth(0.4)
    return figure


def _turns(result: Simplex) -> Iterable[str]:
    return TURNS if len(result.names) == 4 else [""]


def _tetrahedron(axes: Axes, result: Simplex, turn: float) -> Doubles:
    """Draw the edges of a tetrahedron, hidden ones dashed, and return the places of its corners."""
    angle, tilt = math.radians(turn), math.radians(TILT)
    x, y, z = (TETRAHEDRON - TETRAHEDRON.mean(0)).T
    across, depth = math.cos(angle) * x - math.sin(angle) * y, math.sin(angle) * x + math.cos(angle) * y
    up, depth = math.cos(tilt) * z + math.sin(tilt) * depth, math.cos(tilt) * depth - math.sin(tilt) * z
    solid, corners = np.stack([across, up, depth], axis=1), np.stack([across, up], axis=1)
    for a, b in combinations(range(4), 2):
        away = []  # seen by the viewer, an edge is behind if both adjacent sides are
        for side in (solid[[a, b, c]] for c in range(4) if c not in (a, b)):
            normal = np.cross(side[1] - side[0], side[2] - side[0])
            away.append(normal[2] * (normal @ side.mean(0)) > 0)
        dashes = (0, (4, 3)) if all(away) else "-"
        axes.plot(*corners[[a, b]].T, color=MUTED, linewidth=0.8, linestyle=dashes, zorder=0)
    middle = corners.mean(0)
    for name, corner in zip(result.names, corners, strict=True):
        right, above = corner - middle
        axes.annotate(
            short(name, 18), corner, (3 * np.sign(right), 5 * np.sign(above)), textcoords="offset points",
            ha="left" if right > 0 else "right", va="bottom" if above > 0 else "top", fontsize=7, color=INK,
        )  # fmt: skip
    low, high = corners.min(0), corners.max(0)
    _say(axes, (middle[0], low[1] - 0.12), result)
    axes.set(xlim=(low[0] - 0.12, high[0] + 0.12), ylim=(low[1] - 0.28, high[1] + 0.09), aspect="equal")
    axes.axis("off")
    return corners


def _triangle(axes: Axes, result: Simplex) -> None:
    outline = np.vstack([CORNERS, CORNERS[:1]])
    axes.plot(*outline.T, color=MUTED, linewidth=0.8)
    lines = [border @ CORNERS for border in result.borders]
    axes.add_collection(LineCollection(lines, colors=GRID, linewidths=0.6, zorder=0))
    _say(axes, (0.5, -0.1), result)
    places = (("left", "top", (0, -5)), ("right", "top", (0, -5)), ("center", "bottom", (0, 4)))
    for name, corner, (ha, va, offset) in zip(result.names, CORNERS, places, strict=True):
        axes.annotate(
            short(name, 18), corner, offset, textcoords="offset points", ha=ha, va=va, fontsize=7, color=INK
        )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.25, CORNERS[2, 1] + 0.09), aspect="equal")
    axes.axis("off")


def _say(axes: Axes, place: tuple[float, float], result: Simplex) -> None:
    """Write the counts below a simplex."""
    lines = (
        f"n = {result.count.sum():,}, {result.binned}",
        "dot: predicted, head: observed; faint: within chance",
        f"dot alone: fewer than {FEW_ROWS} rows",
    )
    note = axes.text(*place, "\n".join(lines), ha="center", va="top", fontsize=6, color=MUTED)
    note.set_in_layout(False)  # the limits of the axes leave room for it


def _arrows(axes: Axes, result: Simplex, corners: Doubles, scale: Normalize) -> None:
    start, end = result.mean @ corners, result.frequency @ corners
    heavy_last = np.argsort(result.share)
    thin = (result.count < FEW_ROWS) & ~result.beyond
    x, y = start[thin].T
    axes.scatter(x, y, s=8, color=MUTED, alpha=PALE, linewidth=0)
    for alpha, bins in ((PALE, ~result.beyond & ~thin), (1.0, result.beyond)):
        b = heavy_last[bins[heavy_last]]
        _draw(axes, start[b], end[b], MASS(scale(result.share[b])), alpha)
    b = heavy_last[result.count[heavy_last] > 0]  # the heaviest in front
    ends = np.stack([start[b], end[b]])
    texts = [_numbers_of(result, place) for place in b]
    tell(
        axes,
        (ends[..., 0].min(0), ends[..., 0].max(0)),
        (ends[..., 1].min(0), ends[..., 1].max(0)),
        texts,
        1.0,
    )


def _numbers_of(result: Simplex, place: int) -> str:
    """Return the numbers of a bin."""
    pairs = zip(result.names, result.mean[place], result.frequency[place], strict=True)
    lines = ["{}: predicted {}, observed {}".format(name, *numbers(mean, seen)) for name, mean, seen in pairs]
    return "\n".join([f"{result.count[place]:,} rows", *lines])


def _draw(axes: Axes, start: Doubles, end: Doubles, color: Doubles, alpha: float) -> None:
    axes.scatter(start[:, 0], start[:, 1], s=7, color=color, alpha=alpha, linewidth=0, zorder=3)
    axes.quiver(
        *start.T, *(end - start).T, color=color, alpha=alpha, angles="xy", scale_units="xy", scale=1,
        width=0.007, headwidth=4, headlength=5, headaxislength=4.5, minlength=0, zorder=2,
    )  # fmt: skip
