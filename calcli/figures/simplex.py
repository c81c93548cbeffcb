"""The simplex: three outcomes at once, with an arrow from what was predicted to what was observed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure

from calcli.core.curves.simplex import TRIANGLES, Simplex, simplexes
from calcli.core.data.arrays import Doubles
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import Recursive
from calcli.figures.drawing import Evaluations, Made, View
from calcli.figures.style import FAINT, GRID, INK, MUTED, new_figure, percent, short, styled

CORNERS = np.array([[0, 0], [1, 0], [0.5, math.sqrt(3) / 2]])
MASS = LinearSegmentedColormap.from_list("mass", ["#9fc3dd", "#0072b2", "#08263d"])  # darkens: prints in gray
PANEL_WIDTH = 3.1


def make(evaluations: Evaluations, view: View) -> Made:
    """Return the figure, and a simplex for each system or face."""
    results = {
        f"{system} {face}".strip(): result
        for system, evaluation in evaluations.items()
        for face, result in _simplexes(evaluation, view).items()
    }
    return simplex(results), results


def _simplexes(evaluation: Evaluation, view: View) -> dict[str, Simplex]:
    settings = evaluation.settings
    binning: int | Recursive | None = TRIANGLES if settings.bins == Settings.bins else settings.bins
    if view.binning == "recursive":
        binning = None if settings.min_rows is None else Recursive(settings.min_rows)
    lens = outcomes_lens(view.lens, settings)
    return simplexes(evaluation.predictions, lens, settings.groups, binning)


def outcomes_lens(lens: str, settings: Settings) -> str:
    """Return the lens of a figure of several outcomes: the only groups, or all classes, if none is asked for.

    Raises
    ------
    UsageError
        If there are several partitions to choose from.
    """
    if lens != View.lens:
        return lens
    known = settings.groups
    if len(known) > 1:
        raise UsageError(f"a simplex shows one of the class groups; choose with --lens: {', '.join(known)}")
    return next(iter(known), "canonical")


@styled
def simplex(results: Mapping[str, Simplex]) -> Figure:
    """Draw simplexes side by side, the faces of four classes in a square or a row.

    A dot is the mean prediction of a bin and the head of its arrow the observed frequencies; the darker, the
    more rows. Bins of fewer than ten rows are faint (Vaicenavicius et al. 2019, fig. 1).

    Parameters
    ----------
    results
        Simplexes by title.
    """
    columns = 2 if len(results) == 4 else 4 if len(results) % 4 == 0 else min(len(results), 3)
    rows = math.ceil(len(results) / columns)
    figure = new_figure(PANEL_WIDTH * columns + 0.4, 3.05 * rows + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False)
    scale = PowerNorm(0.5, 0, max(float(result.share.max()) for result in results.values()))
    for axes in list(grid.flat)[len(results) :]:
        axes.set_visible(False)
    for axes, (name, result) in zip(grid.flat, results.items(), strict=False):
        _triangle(axes, result)
        _arrows(axes, result, scale)
        axes.set_title(short(name), loc="left")
    bar = figure.colorbar(ScalarMappable(scale, MASS), ax=grid, shrink=0.6, aspect=30, pad=0.02)
    bar.set_label("Share of rows in the bin")
    bar.ax.yaxis.set_major_formatter(percent)
    bar.ax.spines["outline"].set_linewidth(0.4)
    return figure


def _triangle(axes: Axes, result: Simplex) -> None:
    outline = np.vstack([CORNERS, CORNERS[:1]])
    axes.plot(*outline.T, color=MUTED, linewidth=0.8)
    lines = [border @ CORNERS for border in result.borders]
    axes.add_collection(LineCollection(lines, colors=GRID, linewidths=0.6, zorder=0))
    axes.text(0.5, -0.1, result.binned, ha="center", va="top", fontsize=6, color=MUTED)
    places = (("left", "top", (0, -5)), ("right", "top", (0, -5)), ("center", "bottom", (0, 4)))
    for name, corner, (ha, va, offset) in zip(result.names, CORNERS, places, strict=True):
        axes.annotate(
            short(name, 18), corner, offset, textcoords="offset points", ha=ha, va=va, fontsize=7, color=INK
        )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.15, CORNERS[2, 1] + 0.09), aspect="equal")
    axes.axis("off")


def _arrows(axes: Axes, result: Simplex, scale: Normalize) -> None:
    start, end = result.mean @ CORNERS, result.frequency @ CORNERS
    heavy_last = np.argsort(result.share)
    for alpha, bins in ((FAINT, result.thin), (1.0, ~result.thin)):
        b = heavy_last[bins[heavy_last]]
        _draw(axes, start[b], end[b], MASS(scale(result.share[b])), alpha)


def _draw(axes: Axes, start: Doubles, end: Doubles, color: Doubles, alpha: float) -> None:
    axes.scatter(start[:, 0], start[:, 1], s=7, color=color, alpha=alpha, linewidth=0, zorder=3)
    axes.quiver(
        *start.T, *(end - start).T, color=color, alpha=alpha, angles="xy", scale_units="xy", scale=1,
        width=0.006, headwidth=4, headlength=5, headaxislength=4.5, minlength=0, zorder=2,
    )  # fmt: skip
