"""Tables that were parsed from text, or are in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from calcli.io.codes import Written, whole
from calcli.io.messages import Place
from calcli.io.tables import Table


class TextTable(Table):
    """A table that was parsed from text, which may have to be read again for its codes."""

    written: Written | None

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of whole numbers holds codes."""
        found = self.written if whole(self.schema.field(name).type) else None
        return found is not None and found.has_codes(name)

    def texts(self, name: str) -> Iterator[Any]:
        """Yield a column as it is written."""
        found = self.written if whole(self.schema.field(name).type) else None
        yield from super().texts(name) if found is None else found.texts(name)

    def held(self) -> Table:
        """Return itself, for which the text is not needed any more."""
        if self.written is not None:
            self.written.hold(self.schema)
        return self


@dataclass(frozen=True)
class MemoryTable(TextTable):
    """A table that is in memory: text formats and standard input.

    Attributes
    ----------
    name
        Of the file.
    table
        A pyarrow.Table.
    as_texts
        Makes it anew, with these columns as text, where some hold nothing but words such as NA.
    written
        The columns as they are written, of CSV.
    """

    name: str
    table: Any
    as_texts: Callable[[Sequence[str]], Any] | None = None
    written: Written | None = None

    @property
    def place(self) -> Place:
        """The file."""
        return Place(((self.name, self.table.num_rows),))

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self.table.schema

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches it was parsed in."""
        yield from self.table.select(list(columns)).to_batches()

    def with_texts(self, names: Collection[str]) -> Table:
        """Return the table with text in columns that it reads as missing altogether."""
        missing = [one.name for one in self.schema if pa.types.is_null(one.type) and one.name in names]
        return (
            replace(self, table=self.as_texts(missing), as_texts=None) if self.as_texts and missing else self
        )
