"""Figures to files: the same figure gives the same bytes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import IO, Literal, get_args

import matplotlib.style
from matplotlib.figure import Figure

from calcli.core.language.errors import UsageError
from calcli.figures.style import STYLE

Format = Literal["png", "svg", "pdf"]
DPI = 200
UNDATED: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save(figure: Figure, target: Path | IO[bytes], format: Format | None = None) -> None:
    """Write a figure, without a date or the version of what drew it.

    Parameters
    ----------
    figure
        What to write.
    target
        A path, whose suffix decides unless `format` does, or an open binary file.
    format
        "png" at 200 dots an inch, "svg" or "pdf".

    Raises
    ------
    UsageError
        If the format is none of these.
    """
    chosen = format or (target.suffix.lstrip(".").lower() if isinstance(target, Path) else "png")
    if chosen not in UNDATED:
        raise UsageError(f"figures are written as {', '.join(get_args(Format))}, not as {chosen!r}")
    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a box in its place is seen
        figure.savefig(target, format=chosen, dpi=DPI, metadata=UNDATED[chosen])
