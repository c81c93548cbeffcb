"""Columns of text files that hold codes: whole numbers, of which one begins with a zero, as 0012."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from calcli.io.remote import AnyPath

CODE = r"^[ \t]*[-+]?0[0-9]"  # what is no plain number, as an id


def any_code(column: Any) -> bool:
    """Tell whether a text of a column is a code."""
    return bool(pc.any(pc.match_substring_regex(column, CODE)).as_py())


def whole(kind: Any) -> bool:
    """Tell whether a column of this type may have been read from codes."""
    return bool(pa.types.is_int64(kind) or pa.types.is_decimal(kind))


@dataclass(frozen=True)
class Written:
    """The columns of a text file as they are written.

    Attributes
    ----------
    path
        The file.
    read
        Yields record batches of a column as text.
    known
        Columns that were looked at, and whether they hold codes.
    held
        Those with codes, if the file will not be there any more.
    """

    path: AnyPath
    read: Callable[[str], Iterator[Any]]
    known: dict[str, bool] = field(default_factory=dict)
    held: dict[str, list[Any]] = field(default_factory=dict)

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of whole numbers holds codes; it has none where the file is gone."""
        if name not in self.known:
            self.known[name] = self.path.exists() and any(
                any_code(batch.column(0)) for batch in self.read(name)
            )
        return self.known[name]

    def texts(self, name: str) -> Iterator[Any]:
        """Yield batches of a column."""
        yield from self.held[name] if name in self.held else self.read(name)

    def hold(self, schema: Any) -> None:
        """Read what may be asked for."""
        for one in schema:
            if whole(one.type) and self.has_codes(one.name):
                self.held[one.name] = list(self.read(one.name))
