"""Pages of the manual -> the terminal; loads without numpy."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, ListItem, Markdown, MarkdownElement, Paragraph, TableElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from calcli.report.shown import Column, TextTable
from calcli.report.terminal import UNKNOWN

MORE = "calcli guide PAGE prints a page, such as calcli guide metrics."
JOINT, TAB = "\ue000", "\ue001"  # stand for blanks and tabs of code until all is broken into lines
SENTENCE = 40  # characters; what is longer is one
NARROWEST = 18  # characters of a column in which sentences can still be read
GAP = 2  # blanks between columns, and before what belongs to a line above


class _Paragraph(Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _lines(self.text, options.max_width)


class _Code(CodeBlock):
    """An example: its lines are as they are, however long."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = str(self.text).rstrip().replace("\t", TAB)
        code = Syntax("", self.lexer_name, theme=self.theme).highlight(text)
        code.plain = code.plain.replace(" ", JOINT)
        yield from _lines(code, options.max_width)


class _Item(ListItem):
    """An item of a list, whose lines may be longer than the terminal is wide."""

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        own = options.update(width=options.max_width - 3)
        for number, line in enumerate(Segment.split_lines(console.render(self.elements, own))):
            yield Segment("   " if number else " • ")
            yield from line
            yield Segment.line()


class _Table(TableElement):
    """A table, or where its columns are too narrow for that, its rows one below the other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        widths = _widths([*zip(heads, *rows, strict=True)], options.max_width)
        if not widths:
            yield from _listed(heads, rows, options.max_width)
            return
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for head, width in zip(heads, widths, strict=True):
            table.add_column(head, width=width, header_style="bold")
        for row in rows:
            table.add_row(*row)
        yield table


class _Page(Markdown):
    """A page none of whose code is broken into lines or cut: what can be copied is what can be run."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _Paragraph,
        "fence": _Code,
        "code_block": _Code,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        super().__init__(markup, code_theme="ansi_dark", hyperlinks=False)
        for token in self._flatten_tokens(self.parsed):
            if token.type == "code_inline":
                token.content = token.content.replace(" ", JOINT)


def _widths(columns: Sequence[Sequence[Text]], width: int) -> list[int]:
    """Return how wide the columns of a table are; none if words would be broken, or sentences unreadable."""
    widths = [max(cell.cell_len for cell in column) for column in columns]
    least = [max(cell_len(word) for cell in column for word in cell.plain.split(" ")) for column in columns]
    least = [max(own, NARROWEST) if wide > SENTENCE else own for own, wide in zip(least, widths, strict=True)]
    room = width - GAP * (len(columns) - 1)
    if sum(least) > room:
        return []
    while sum(widths) > room:  # the widest of those that can be narrower
        _, widest = max((own, n) for n, own in enumerate(widths) if own > least[n])
        widths[widest] -= 1
    return widths


def _listed(heads: Sequence[Text], rows: Sequence[Sequence[Text]], width: int) -> RenderResult:
    """Yield the rows of a table one below the other: the first cell, then the others by their heads."""
    for number, (first, *others) in enumerate(rows):
        if number:
            yield Text()
        yield from _lines(Text.assemble(first, style="bold"), width)
        for head, cell in zip(heads[1:], others, strict=True):
            named = Text.assemble(head, ": ") if len(others) > 1 and head else Text()
            for line in _lines(named + cell, width - GAP) if cell else ():
                yield Text.assemble(" " * GAP, line, no_wrap=True, overflow="ignore")


def _lines(text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text, which is broken between words; a longer word stays whole."""
    for part in text.split("\n", allow_blank=True):
        ends, used = [], 0
        for word in re.finditer(r"[^ ]+ ?", part.plain):
            length = cell_len(word[0].rstrip(" "))
            if used and used + length > width:
                ends.append(word.start())
                used = 0
            used += length + 1
        for line in part.divide(ends):
            line.rstrip()
            yield Text.assemble(line, no_wrap=True, overflow="ignore")


def pages_table(summaries: Mapping[str, str]) -> TextTable:
    """Return a table of all pages, a line each."""
    columns = (Column("page", "left"), Column("what it covers", "left"))
    return TextTable("The guide", columns, tuple(summaries.items()), (MORE,))


def page_on_terminal(markdown: str, width: int | None = None, color: bool = False) -> str:
    """Return a page set for a terminal, whose code is in one piece: the terminal itself breaks long lines.

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
    console.print(_Page(markdown), crop=False)
    lines = text.getvalue().replace(JOINT, " ").replace(TAB, "\t").split("\n")[:-1]
    return "".join(line.rstrip() + "\n" for line in lines)
