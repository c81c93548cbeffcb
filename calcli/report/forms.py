"""Tables -> text in the form asked for; loads without numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from calcli.report.markdown import CALIBRATION_REPORT, markdown_text
from calcli.report.model import Table


def tables_text(
    tables: Sequence[Table],
    format: Literal["table", "markdown"],
    *,
    title: str = CALIBRATION_REPORT,
    color: bool = False,
) -> str:
    """Return tables for a terminal, where `color` may emphasize, or as a Markdown page with a title."""
    if format == "markdown":
        return markdown_text(tables, title=title)
    from calcli.report.terminal import terminal_text

    return terminal_text(tables, color=color)
