"""Tables as text for the terminal, in its width."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from calcli.core.language.text import plain
from calcli.report.shown import TextTable, spelled

GAP = 2  # blanks between columns
STYLES = {"best": "bold", "second": "underline", "both": "bold underline", None: ""}
SIGNS = {"best": "*", "second": "+", "both": "*+", None: " "}  # without styles
UNKNOWN = 80  # width in characters if COLUMNS=0 marks it as unknown
ROOM = 60  # least width of an optional column
NAME = 16  # least width of names, which break before a table does


def terminal_text(tables: Sequence[TextTable], width: int | None = None, color: bool = False) -> str:
    """Return tables as text for a terminal.

    Parameters
    ----------
    tables
        What to show.
    width
        In characters; the terminal's width if None.
    color
        Whether to emphasize with escape sequences.
    """
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=color, no_color=not color, highlight=False)
    console.width = console.width or UNKNOWN
    for number, table in enumerate(tables):
        if number:
            console.print()
        columns = tuple(replace(column, head=plain(column.head)) for column in table.columns)
        rows = tuple(tuple(map(plain, row)) for row in table.rows)
        notes = tuple(plain(spelled(note)) for note in table.notes)
        _show(replace(table, title=plain(table.title), columns=columns, rows=rows, notes=notes), console)
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())


def _show(table: TextTable, console: Console) -> None:
    if table.title:
        console.print(Text(table.title, style="bold"), overflow="fold")
    if table.rows:
        for number, part in enumerate(_folded(_fitting(table, console.width), console.width)):
            if number:
                console.print()
            console.print(_rich(part, console))
    for note in table.notes:
        console.print(Padding(Text(note), (0, 0, 0, GAP)))


def _rich(table: TextTable, console: Console) -> RichTable:
    plain, widths = console.no_color, _widths(table)
    headed = any(column.head for column in table.columns)
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_header=headed, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    marked = {column for _, column in table.marks} if plain else set()
    for n, column in enumerate(table.columns):
        head = column.head + (" " if n in marked else "")
        limit = _room_for_names(widths, console.width) if n == 0 else None
        grid.add_column(Text(head), justify=column.align, overflow="fold", max_width=limit)
    for n, row in enumerate(table.rows):
        marks = [table.marks.get((n, place)) for place in range(len(row))]
        signs = [SIGNS[mark] if place in marked else "" for place, mark in enumerate(marks)]
        cells = zip(row, signs, marks, strict=True)
        grid.add_row(*(Text(cell + sign, "" if plain else STYLES[mark]) for cell, sign, mark in cells))
    return grid


def _fitting(table: TextTable, width: int) -> TextTable:
    """Return a table without the optional columns that do not fit."""
    needed = [n for n, column in enumerate(table.columns) if not column.optional]
    widths = _widths(table)
    room = width - sum(widths[n] + GAP for n in needed)
    return table if room >= ROOM else _pick(table, needed)


def _folded(table: TextTable, width: int) -> Iterator[TextTable]:
    """Yield the table in parts that fit, each with the first column; the last one has the notes."""
    widths = _widths(table)
    widths[0] = _room_for_names(widths, width) or widths[0]
    part, total = [0], widths[0]
    for n in range(1, len(table.columns)):
        if len(part) > 1 and total + GAP + widths[n] > width and not table.columns[n].optional:
            yield _pick(table, part)
            part, total = [0], widths[0]
        part.append(n)
        total += GAP + widths[n]
    yield _pick(table, part)


def _room_for_names(widths: Sequence[int], width: int) -> int | None:
    """Return the width at which names break to leave room for other columns; None if it does not help."""
    room = width - sum(width + GAP for width in widths[1:])
    return room if NAME <= room < widths[0] else None


def _widths(table: TextTable) -> list[int]:
    cells = [tuple(column.head for column in table.columns), *table.rows]
    marked = {column for _, column in table.marks}
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    return [width + (column in marked) for column, width in enumerate(widths)]


def _pick(table: TextTable, numbers: Sequence[int]) -> TextTable:
    columns = tuple(table.columns[n] for n in numbers)
    rows = tuple(tuple(row[n] for n in numbers) for row in table.rows)
    place = {n: column for column, n in enumerate(numbers)}
    marks = {(row, place[n]): mark for (row, n), mark in table.marks.items() if n in place}
    return replace(table, columns=columns, rows=rows, marks=marks)
