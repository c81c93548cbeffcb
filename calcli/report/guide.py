"""Pages of the manual -> the terminal; loads without numpy."""

from __future__ import annotations

import io
from collections.abc import Mapping

from rich.console import Console
from rich.markdown import Markdown

from calcli.report.shown import Column, Table
from calcli.report.terminal import UNKNOWN

MORE = "calcli guide PAGE prints a page, such as calcli guide metrics."


def pages_table(summaries: Mapping[str, str]) -> Table:
    """Return a table of all pages, a line each."""
    columns = (Column("page", "left"), Column("what it tells", "left"))
    return Table("The guide", columns, tuple(summaries.items()), (MORE,))


def page_on_terminal(markdown: str, width: int | None = None, color: bool = False) -> str:
    """Return a page set for a terminal.

    Parameters
    ----------
    markdown
        The page.
    width
        In characters; that of the terminal if None.
    color
        Whether to emphasize with escape sequences.
    """
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=color, no_color=not color)
    console.width = console.width or UNKNOWN
    console.print(Markdown(markdown, code_theme="ansi_dark", hyperlinks=False))
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())
