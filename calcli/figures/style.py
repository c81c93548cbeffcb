"""The style of all figures: sizes for a paper's column, colors for gray print and color blindness."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.data.arrays import Bools, Doubles, Floats
from calcli.core.language.errors import InputError, UsageError

COLUMN = 3.3  # inches: one column of a two-column paper
PANEL = 2.9  # width of each further system drawn beside the first
ABREAST = 4  # systems in a line

# Okabe & Ito 2008, in an order whose lightness differs as well
INK = "#222222"
MUTED = "#6b6b6b"
GRID = "#e4e4e4"
BAR = "#d3d7dc"
OVER = "#d55e00"  # scores higher than outcomes; also hatched
UNDER = "#0072b2"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
CHANCE: Look = {"facecolor": "#9aa3ad", "linewidth": 0}  # the range for calibrated probabilities

STYLE: Look = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6.8,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.columnspacing": 1.2,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "hatch.linewidth": 0.7,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "calcli",
}

ROOM = 5  # ticks in log-odds that fit
TICKS = (
    0.00001, 0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999,
)  # fmt: skip
FAINT = 0.3  # opacity of bins with too few rows
MOST_SEAMS = 60  # bars
MANY = 1000  # shapes above which vector formats keep them as an image

P = ParamSpec("P")
Look = dict[str, Any]  # properties of an artist


OWN = re.compile(r"font\.|mathtext\.|(figure|savefig)\.dpi|legend.fontsize|.*\.(title|label)(size|weight)")


@dataclass(frozen=True)
class Appearance:
    """The appearance of figures as the user wants it.

    Attributes
    ----------
    title
        Above each; "" for none.
    width, height
        Size of each in inches; None for the defaults.
    look
        Settings of matplotlib that replace calcli's.
    """

    title: str = ""
    width: float | None = None
    height: float | None = None
    look: Look = field(default_factory=dict)


WANTED: ContextVar[Appearance] = ContextVar("wanted", default=Appearance())  # noqa: B039 (it is frozen)


@contextmanager
def appearing(wanted: Appearance) -> Iterator[None]:
    """Draw figures with an appearance."""
    token = WANTED.set(wanted)
    try:
        yield
    finally:
        WANTED.reset(token)


def style_of(path: str | None) -> Look:
    """Return the settings in a file such as paper.mplstyle; none for None.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if path is None:
        return {}
    try:
        settings_in_file = matplotlib.rc_params_from_file(path, use_default_template=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--style {path} cannot be read: {error}") from error
    return {str(key): value for key, value in settings_in_file.items()}


def settings() -> list[Any]:
    """Return the style of calcli with the user's fonts and dots per inch."""
    usual = matplotlib.rcParamsDefault
    changed = {key: matplotlib.rcParams[key] for key in usual if OWN.match(key)}
    changed = {key: value for key, value in changed.items() if value != usual[key]}
    larger = changed.get("font.size", STYLE["font.size"]) / STYLE["font.size"]
    sizes = {key: value * larger for key, value in STYLE.items() if "size" in key and OWN.match(key)}
    return ["default", STYLE, sizes, changed | WANTED.get().look]


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function draw in the style of calcli with the user's fonts, and restore the settings."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.style.context(settings()):
            return draw(*args, **kwargs)

    return drawn


@styled
def headed(figure: Figure) -> Figure:
    """Write the requested title above a figure, and above its key if it has one."""
    if title := WANTED.get().title:
        bold = FontProperties(weight="bold", size=STYLE["axes.titlesize"] + 1)
        if figure.legends:
            figure.legends[0].set_title(title, prop=bold)
        else:
            figure.suptitle(title, fontproperties=bold)
    return figure


@styled
def footed(figure: Figure, text: str) -> Figure:
    """Write a line below a figure without one."""
    if not figure.get_supxlabel():
        figure.supxlabel(text, fontsize=6.5)
    return figure


PLACE: ContextVar[Any] = ContextVar("place", default=None)  # the part of a user's figure to draw into


@contextmanager
def drawn_in(axes: Axes) -> Iterator[None]:
    """Draw the next figure in place of axes."""
    place, figure = axes.get_subplotspec(), axes.figure
    if place is None:
        raise UsageError("ax has no place in a grid of plots; expected axes of pyplot.subplots")
    axes.remove()
    if figure.get_figure(root=True).get_layout_engine() is None:  # else titles and keys would overlap
        figure.get_figure(root=True).set_layout_engine("constrained")
    token = PLACE.set(figure.add_subfigure(place))
    try:
        yield
    finally:
        PLACE.reset(token)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches that keeps its labels inside."""
    if (place := PLACE.get()) is not None:
        return place
    wanted = WANTED.get()
    figure = Figure(figsize=(wanted.width or width, wanted.height or height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.04)  # type: ignore[union-attr, call-arg]
    return figure


def unit_square(axes: Axes) -> None:
    """Make both axes run from 0 to 1."""
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")


def log_odds_axes(axes: Axes, low: float, high: float, *, horizontal: bool = False) -> None:
    """Scale both axes, or only the horizontal one, in log-odds between two probabilities."""
    wide = [t for t in TICKS if low <= t <= high]
    if len(wide) > ROOM:  # for labels of the horizontal axis: every second tick, from the middle
        wide = wide[len(wide) // 2 % 2 :: 2]
    scaled = [(axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)]
    for axis, scale in scaled[:1] if horizontal else scaled:
        scale("logit")
        axis.set_major_locator(FixedLocator(wide))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(
            FuncFormatter(lambda t, _: f"{t:g}" if t <= 0.5 else f"{1 - round(1 - t, 9):.9g}")
        )
    axes.set_xlim(low, high)
    if not horizontal:
        axes.set_ylim(low, high)


def zoom(figure: Figure, x: tuple[float, float], y: tuple[float, float] | None = None) -> None:
    """Limit the horizontal axes and, if given, the vertical ones."""
    for axes in figure.axes:
        axes.set_xlim(x)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        if y is not None:
            axes.set_ylim(y)
            axes.yaxis.set_major_locator(MaxNLocator(5))


def boxes(axes: Axes, x: tuple[Floats, Floats], y: tuple[Floats, Floats], **look: Any) -> PolyCollection:
    """Draw axis-parallel boxes as one artist: a thousand bins are as fast as ten.

    Parameters
    ----------
    axes
        Where.
    x, y
        Lower and upper ends, each (n,).
    **look
        How: properties of a PolyCollection.
    """
    corners = [(x[0], y[0]), (x[0], y[1]), (x[1], y[1]), (x[1], y[0])]
    vertices = np.stack([np.stack(np.broadcast_arrays(*corner), axis=-1) for corner in corners], axis=1)
    collection = PolyCollection(list(vertices), rasterized=len(vertices) > MANY, **look)
    axes.add_collection(collection, autolim=False)
    return collection


def thin_key(thin: Iterable[Bools]) -> list[Patch]:
    """Return the key of faint bins, if any of several systems has one."""
    label = f"faint: fewer than {FEW_ROWS} rows"
    return [Patch(facecolor=BAR, alpha=FAINT, label=label)] if any(mask.any() for mask in thin) else []


def distribution(
    axes: Axes, edges: Doubles, share: Doubles, tallest: float, ends: tuple[float, float] = (0, 1)
) -> None:
    """Draw the share of the rows in each bin of the score, in a separate panel.

    Parameters
    ----------
    axes
        Where.
    edges, share
        (b + 1,) and (b,).
    tallest
        The largest share over all systems.
    ends
        Ends of the horizontal axis: 0 and 1, or the range shown in log-odds.
    """
    seams = 0.4 if len(share) <= MOST_SEAMS else 0  # seams would hide thin bars
    look: Look = {"facecolor": BAR, "edgecolor": "white", "linewidth": seams}
    inside = np.clip(edges, *ends)
    boxes(axes, (inside[:-1], inside[1:]), (0 * share, share), **look)
    if ends == (0, 1):
        axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter(percent_tick)
    axes.set(xlim=ends, ylim=(0, tallest * 1.05))


def percent_tick(value: float, _: object = None) -> str:
    """Format a fraction, for the ticks of an axis."""
    return f"{100 * value:.4g}%"


def panels(systems: int, heights: tuple[float, ...], height: float) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with a column of panels for each system, and its axes from top to bottom.

    More than four systems are folded into lines of equal length.

    Parameters
    ----------
    systems
        Number of systems.
    heights
        Relative heights of the panels of one system.
    height
        Of a line of systems, in inches.
    """
    lines, rows = math.ceil(systems / ABREAST), len(heights)
    columns = math.ceil(systems / lines)
    figure = new_figure(COLUMN + PANEL * (columns - 1), height * lines)
    grid = figure.subplots(
        rows * lines, columns, sharex=True, sharey="row", squeeze=False, height_ratios=list(heights) * lines
    )
    stacks = [list(stack) for line in np.split(grid, lines) for stack in line.T]
    for axes in (axes for stack in stacks[systems:] for axes in stack):
        axes.set_visible(False)
    for stack in stacks:
        stack[-1].tick_params(labelbottom=True)
    return figure, stacks[:systems]


def size_of(axes: Axes) -> tuple[float, float]:
    """Return the approximate width and height in inches of a panel's part of its figure."""
    figure, place = axes.figure, axes.get_subplotspec()
    rows, columns = place.get_gridspec().get_geometry() if place else (1, 1)
    return figure.bbox.width / figure.dpi / columns, figure.bbox.height / figure.dpi / rows


def is_leftmost(axes: Axes) -> bool:
    """Return whether a panel is the first of its line, where the vertical axis is labeled."""
    place = axes.get_subplotspec()
    return place is not None and place.is_first_col()


def label_panels(axes: Axes, below: Axes, title: str, score: str, heights: tuple[str, str]) -> None:
    """Label the two panels of a system: a title, the score below both, and on the left their heights."""
    axes.set_title(title, loc="left")
    axes.tick_params(labelbottom=False)
    below.set_xlabel(score)
    if is_leftmost(axes):
        axes.set_ylabel(heights[0])
        below.set_ylabel(heights[1])
