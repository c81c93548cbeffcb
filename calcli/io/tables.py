"""Tables: named columns on disk or in memory, read as Arrow record batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.io.alike import joined_batch, of_joined_type
from calcli.io.codes import Written, whole
from calcli.io.layouts.classlabels import names_alone
from calcli.io.messages import KeptPlace, Place
from calcli.io.source import Contents


class Table(Contents, ABC):
    """Rows and named columns."""

    what = "a table"
    schema: Any  # names and types of the columns, a pyarrow.Schema

    @property
    @abstractmethod
    def place(self) -> Place:
        """The files, for messages, with their numbers of rows; 0 where that is not known before reading."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        names: list[str] = self.schema.names
        return names

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield pyarrow.RecordBatches of these columns, in this order."""

    def slices(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield what `batches` does in smaller pieces, for those who stop soon."""
        return self.batches(columns)

    def head(self, columns: Sequence[str], rows: int) -> Any:
        """Return a pyarrow.RecordBatch of the first rows, reading little more; None if there are no rows."""
        found: list[Any] = []
        for batch in self.slices(columns):
            found += [batch.slice(0, rows)] if batch.num_rows else []
            rows -= batch.num_rows
            if rows <= 0:
                break
        return joined_batch(found, self.schema) if len(found) > 1 else next(iter(found), None)

    def column(self, name: str) -> Any:
        """Return one whole column as a pyarrow.ChunkedArray."""
        kind = self.schema.field(name).type
        columns = (batch.column(0) for batch in self.batches([name]))
        return pa.chunked_array([of_joined_type(one, kind, self.place.name, name) for one in columns], kind)

    def held(self) -> Table:
        """Return the same table without need of its file: in memory."""
        batches = list(self.batches(self.columns))
        return MemoryTable(self.place.name, pa.Table.from_batches(batches, self.schema))

    def with_texts(self, names: Collection[str]) -> Table:
        """Return the table for a data set in whose other parts these columns are text."""
        return self

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of numbers is text that begins with a zero somewhere, as 0012."""
        return False

    def texts(self, name: str) -> Iterator[Any]:
        """Yield pyarrow.RecordBatches of a column, numbers as they are written."""
        for batch in self.batches([name]):
            yield pa.RecordBatch.from_arrays([batch.column(0).cast(pa.string())], names=[name])

    def beside(self, values: Mapping[str, str]) -> Table:
        """Return the table with columns that have one value."""
        new = {name: value for name, value in values.items() if name not in self.schema.names}
        return ConstantTable(self, new) if new else self

    def settled(self, stored: Sequence[str], scores: Sequence[str], label: str | None) -> Table:
        """Return the table once it is known which columns hold scores: those alone, and with their ranks."""
        return self

    @property
    def packed(self) -> Mapping[str, Any]:
        """How those of its columns came about that are stored in another form."""
        return {}

    def only(self, names: Collection[str | None]) -> Table:
        """Return the table with these columns as they are seen, and others as they are stored."""
        return self


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


@dataclass(frozen=True)
class ConstantTable(Table):
    """A table with further columns, of one value each."""

    table: Table
    values: Mapping[str, str]

    @property
    def place(self) -> Place:
        """The files."""
        return self.table.place

    @cached_property
    def schema(self) -> Any:
        """Names and types of the columns, those of one value last."""
        fields = [*self.table.schema, *(pa.field(name, pa.string()) for name in self.values)]
        return pa.schema(fields, names_alone(self.table.schema.metadata))

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of numbers is text that begins with a zero somewhere."""
        return name not in self.values and self.table.has_codes(name)

    def texts(self, name: str) -> Iterator[Any]:
        """Yield a column as it is written."""
        yield from super().texts(name) if name in self.values else self.table.texts(name)

    def with_texts(self, names: Collection[str]) -> Table:
        """Return the table for a data set in whose other parts these columns are text."""
        return ConstantTable(self.table.with_texts(names), self.values)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of the table with these values."""
        yield from self._with_values(columns, self.table.batches)

    def slices(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the slices of the table with these values."""
        yield from self._with_values(columns, self.table.slices)

    def _with_values(
        self, columns: Sequence[str], read: Callable[[Sequence[str]], Iterator[Any]]
    ) -> Iterator[Any]:
        stored = [name for name in columns if name not in self.values]
        for batch in read(stored or self.table.schema.names[:1]):
            arrays = [
                pa.repeat(self.values[name], batch.num_rows) if name in self.values else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


@dataclass(frozen=True)
class KeptTable(Table):
    """Some rows of a table.

    Attributes
    ----------
    table
        All rows.
    kept
        (N,) which of them.
    note
        How many rows were left out, a sentence for the user.
    """

    table: Table
    kept: NDArray[np.bool_]
    note: str = ""

    @cached_property
    def place(self) -> Place:
        """The files, in which rows have the numbers they are stored under."""
        return KeptPlace.of(self.table.place, self.kept)

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self.table.schema

    def settled(self, stored: Sequence[str], scores: Sequence[str], label: str | None) -> Table:
        """Return the table once it is known which columns hold scores: those alone, and with their ranks."""
        return self

    @property
    def packed(self) -> Mapping[str, Any]:
        """How columns came about that are stored in another form."""
        return self.table.packed

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the kept rows of each batch."""
        yield from self._kept(self.table.batches(columns))

    def slices(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the kept rows of each slice."""
        yield from self._kept(self.table.slices(columns))

    def has_codes(self, name: str) -> bool:
        """Tell whether a column of numbers is text that begins with a zero somewhere."""
        return self.table.has_codes(name)

    def texts(self, name: str) -> Iterator[Any]:
        """Yield the kept rows of a column as it is written."""
        yield from self._kept(self.table.texts(name))

    def _kept(self, batches: Iterator[Any]) -> Iterator[Any]:
        at = 0
        for batch in batches:
            kept = self.kept[at : at + batch.num_rows]
            at += batch.num_rows
            yield batch if kept.all() else batch.filter(pa.array(kept))
