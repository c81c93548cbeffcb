"""Figures for pages: SVG with real text, in the colors of the page, with values on hover."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from weakref import WeakKeyDictionary

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import Estimate
from calcli.core.language.text import number, numbers, span
from calcli.figures.style import BAR, GRID, INK, MUTED, STYLE
from calcli.figures.wording import drawn

POINTS = 72  # an inch, the unit of SVG from matplotlib
PIXELS = 120  # an inch on a page
STRIPS = 50  # of a panel, at most
LEAST = 3.0  # points: a smaller area could not be hit
PAPER = {INK: "ink", MUTED: "muted", GRID: "grid", BAR: "bar", "#ffffff": "paper", "#000000": "ink"}


@dataclass(frozen=True)
class Area:
    """Boxes of a panel with text on hover.

    Attributes
    ----------
    axes
        The panel.
    corners
        (n, 2, 2) two opposite corners of each, in its coordinates.
    texts
        The text of each.
    around
        Points to add on every side.
    """

    axes: Axes
    corners: Doubles
    texts: Sequence[str]
    around: float = 0.0


AREAS: WeakKeyDictionary[Figure, list[Area]] = WeakKeyDictionary()


MARK = 5.0  # points: radius around the middle of a mark that shows its text


def tell(
    axes: Axes,
    x: tuple[ArrayLike, ArrayLike],
    y: tuple[ArrayLike, ArrayLike],
    texts: Sequence[str],
    around: float = 0.0,
) -> None:
    """Let boxes of a panel show text on hover, on a page.

    Parameters
    ----------
    axes
        The panel.
    x, y
        Lower and upper ends, each (n,) or a number.
    texts
        The text of each of the n boxes.
    around
        Points to add on every side.
    """
    ends = [np.broadcast_to(np.asarray(end, np.float64), len(texts)) for end in (*x, *y)]
    corners = np.stack(ends, axis=-1).reshape(len(texts), 2, 2).transpose(0, 2, 1)
    figure = axes.get_figure(root=True)
    if figure is not None and len(texts):
        AREAS.setdefault(figure, []).append(Area(axes, corners, texts, around))


def tell_curves(
    axes: Axes, quantity: str, curves: Mapping[str, tuple[ArrayLike, Mapping[str, ArrayLike]]]
) -> None:
    """Let vertical strips of a panel show the values of its curves on hover.

    Parameters
    ----------
    axes
        The panel, with the limits of its y axis.
    quantity
        Name of the x axis.
    curves
        Ascending x of each system, and its values by name, nan where missing.
    """
    systems = [
        (
            f"{name}: " if len(curves) > 1 else "",
            np.asarray(x, np.float64),
            {k: np.asarray(v) for k, v in ys.items()},
        )
        for name, (x, ys) in curves.items()
    ]
    x = np.unique(np.concatenate([places for _, places, _ in systems]))
    x = x[np.unique(np.linspace(0, len(x) - 1, min(STRIPS, len(x))).round().astype(np.intp))]
    between = (x[:-1] + x[1:]) / 2
    texts = []
    for at in x:
        lines = [f"{quantity} {at:.4g}"]
        for system, points, values in systems:
            place = int(np.abs(points - at).argmin())
            near = points[0] <= at <= points[-1]
            heights = {label: float(value[place]) for label, value in values.items()} if near else {}
            readings = [f"{label} {number(y)}".strip() for label, y in heights.items() if not np.isnan(y)]
            lines += [system + ", ".join(readings)] if readings else []
        texts.append("\n".join(lines))
    tell(axes, (np.append(x[:1], between), np.append(between, x[-1:])), axes.get_ylim(), texts)


def bin_texts(edges: Doubles, count: NDArray[np.int64], score: Doubles, frequency: Doubles) -> list[str]:
    """Return the words for each bin with rows; arguments as for `reliability_bars`."""
    b = count > 0
    bins = zip(edges[:-1][b], edges[1:][b], count[b], score[b], frequency[b], strict=True)
    return [
        f"{low:.4g} to {high:.4g}: {rows:,} rows\n{score_words(mean, observed)}"
        for low, high, rows, mean, observed in bins
    ]


def score_words(mean: float, frequency: float) -> str:
    """Return the words for a mean score and the frequency of its outcome."""
    return "mean score {}, frequency {}".format(*numbers(mean, frequency))


def estimate_words(estimate: Estimate) -> str:
    """Return the words for an estimate."""
    words = f"{estimate.metric.text} {drawn(estimate.value, digits=estimate.digits)}"
    interval = estimate.interval
    if interval is None:
        return words
    return f"{words}, {level_percent(interval.level)} interval {span(interval.low, interval.high)}"


def inline_svg(figure: Figure, name: str, label: str) -> str:
    """Return a figure as an SVG element for a page.

    Parameters
    ----------
    figure
        What to show.
    name
        Name of the figure, unique within the page: it prefixes the names in the element.
    label
        The description, for a reader without the image.
    """
    text = io.StringIO()
    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") : svg.rindex("</svg>")]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", svg)
    for color, variable in PAPER.items():
        svg = svg.replace(f": {color}", f": var(--{variable}, {color})")
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    wide = round(figure.get_figwidth() * PIXELS)
    head = f'<svg role="img" aria-label="{escape(label)}" style="width: {wide}px"'
    return svg.replace("<svg", head, 1) + "".join(_hovers(figure)) + "</svg>"


def _hovers(figure: Figure) -> Iterator[str]:
    """Yield an invisible box with its text for everything that a figure shows on hover."""
    scale, height = POINTS / figure.dpi, figure.get_figheight() * POINTS
    for area in AREAS.get(figure, ()):
        flat = area.axes.transData.transform(area.corners.reshape(-1, 2)) * scale
        frame = area.axes.bbox.get_points() * scale
        places = np.clip(flat.reshape(-1, 2, 2), frame[0] - LEAST, frame[1] + LEAST)
        low, high = places.min(axis=1), places.max(axis=1)
        room = np.maximum(LEAST - (high - low), 0) / 2 + area.around
        for (start, bottom), (right, top), text in zip(low - room, high + room, area.texts, strict=True):
            yield (
                f'<rect class="tip" x="{start:.1f}" y="{height - top:.1f}" width="{right - start:.1f}" '
                f'height="{top - bottom:.1f}" fill="transparent"><title>{escape(text)}</title></rect>'
            )
