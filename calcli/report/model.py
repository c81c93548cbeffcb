"""The neutral table: rows of text that a terminal, Markdown or a test can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Mark = Literal["best", "second"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    head
        Its heading; may be empty.
    align
        Numbers to the right, words to the left.
    optional
        Left out where there is no room for it.
    """

    head: str
    align: Literal["left", "right"] = "right"
    optional: bool = False


@dataclass(frozen=True)
class Table:
    """A titled table of text cells with sentences below it.

    Attributes
    ----------
    title
        What it shows.
    columns
        Its columns; the first one names the row and is repeated where a wide table is folded.
    rows
        One cell a column.
    notes
        Sentences to be read with it.
    marks
        Cells that stand out, by row and column: the best, and the second best.
    """

    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)
