"""Figures to files: the same figure gives the same bytes."""

from __future__ import annotations

import io
import os
import re
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, Literal, cast, get_args
from xml.sax.saxutils import escape

import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from calcli.core.language.declaring import PATH
from calcli.core.language.errors import UsageError
from calcli.figures.style import settings

Format = Literal["png", "svg", "pdf"]
DPI = 200
UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
MISSING = re.compile(r"Glyph (\d+)")


def save(
    figure: Figure,
    target: str | os.PathLike[str] | IO[bytes],
    format: Format | None = None,
    title: str = "",
    caption: str = "",
) -> list[str]:
    """Write a figure, without a date or a version of software.

    Parameters
    ----------
    figure
        What to write.
    target
        A path, with the format as its ending unless `format` names one, or an open binary file.
    format
        "png" at 200 dots per inch unless rcParams say otherwise, "svg" or "pdf".
    title, caption
        Title and description in the file, for a reader without the image.

    Returns
    -------
    The characters that the font lacks, each once; a box stands for each, except in SVG.

    Raises
    ------
    UsageError
        If the format is unknown, or the target is neither a path nor a file.
    """
    path = None if hasattr(target, "write") else Path(PATH.checked("path", target))
    chosen = format or ("png" if path is None else path.suffix.lstrip(".").lower())
    if chosen not in UNDATED:
        raise UsageError(f"figures are written as {', '.join(get_args(Format))}, not as {chosen!r}")
    described = "Subject" if chosen == "pdf" else "Description"
    words = {name: text for name, text in (("Title", title), (described, caption)) if text}
    stream = io.BytesIO()
    context = settings()
    dots = context[-1].get("savefig.dpi", context[-1].get("figure.dpi", DPI))
    with matplotlib.style.context(context), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if chosen == "png":
            _write_png(figure, stream, dots, UNDATED[chosen] | words)
        else:
            figure.savefig(stream, format=chosen, dpi=dots, metadata=UNDATED[chosen] | words)
    content = stream.getvalue()
    if chosen == "svg" and caption:  # screen readers look for it beside the title
        content = content.replace(b"</title>", b"</title>\n <desc>%s</desc>" % escape(caption).encode(), 1)
    with nullcontext(target) if path is None else path.open("wb") as file:
        cast(IO[bytes], file).write(content)
    missing: dict[str, None] = {}
    for warning in caught:
        if match := MISSING.match(str(warning.message)):
            missing[chr(int(match[1]))] = None
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return [] if chosen == "svg" else list(missing)  # the viewer of the SVG may have them


def _write_png(figure: Figure, stream: IO[bytes], dpi: float, metadata: dict[str, Any]) -> None:
    """Write a PNG with one draw; `savefig` would draw everything twice for the layout."""
    dots, figure.dpi = figure.dpi, dpi
    FigureCanvasAgg(figure).print_png(stream, metadata=metadata)  # type: ignore[no-untyped-call]
    figure.dpi = dots
