"""Pages of the manual -> the terminal; loads without numpy."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.syntax import Syntax

from calcli.report.shown import Column, TextTable
from calcli.report.terminal import UNKNOWN

MORE = "calcli guide PAGE prints a page, such as calcli guide metrics."


class _Code(CodeBlock):
    """An example, as wide as the terminal: what it prints is."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(
            str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0)
        )


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
    }


def pages_table(summaries: Mapping[str, str]) -> TextTable:
    """Return a table of all pages, a line each."""
    columns = (Column("page", "left"), Column("what it covers", "left"))
    return TextTable("The guide", columns, tuple(summaries.items()), (MORE,))


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
    console.print(_Page(markdown, code_theme="ansi_dark", hyperlinks=False))
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())
