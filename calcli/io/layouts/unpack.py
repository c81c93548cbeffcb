"""Columns of scores that are packed in structs, lists of structs or text, as plain columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calcli.io.layouts import UNPACKED, Layout
from calcli.io.options import ReadOptions

if TYPE_CHECKING:
    from calcli.io.tables.table import Derived

Head = Callable[[], Any]  # reads the first values, a pyarrow.Array


@dataclass(frozen=True)
class Unpacked:
    """What becomes of a packed column.

    Attributes
    ----------
    made
        The new columns, in place of it.
    scores
        Which of them are scores by their form alone, whatever their names; "" if names decide.
    layout
        What this is called.
    note
        What to say of it.
    percent
        Whether they are percentages with their sign.
    classes
        Names of the classes, where it says them.
    ordered
        Whether the order of the columns made is that of the classes, as far as it knows.
    owner
        Of what objects their fields are made columns.
    """

    made: tuple[Derived, ...]
    scores: str = ""
    layout: Layout | None = None
    note: str = ""
    percent: bool = False
    classes: tuple[str, ...] | None = None
    ordered: bool = True
    owner: str = ""


def unpack_column(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return what becomes of a column, a pyarrow.Field; None if it stays.

    Parameters
    ----------
    field
        Name and type.
    head
        Reads its first values.
    options
        How the file is to be understood.
    """
    for layout in UNPACKED:
        found: Unpacked | None = layout.unpacker.unpack(field, head, options)
        if found is not None:
            return replace(found, layout=found.layout or layout)
    return None
