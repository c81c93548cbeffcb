"""Tables: named columns on disk or in memory, read as Arrow record batches, and the scores in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.data.arrays import Array, Doubles
from calcli.core.language.errors import InputError
from calcli.io.columns import find_layout, refuse_duplicates
from calcli.io.columnscores import TableScores, holds_of, numbers, stored_scores
from calcli.io.labels import Labels, labels_from_array, missing_label
from calcli.io.options import ReadOptions
from calcli.io.places import Place, listed
from calcli.io.ranked import RankedScores, ranked_scores
from calcli.io.source import Contents, LazyColumns, Source
from calcli.io.writing import Frame, Writer


@contextmanager
def arrow_errors(name: str, what: str) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into an InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{name} is not a complete and valid {what}: {said.rstrip('.')}") from error


def sound(data: Any) -> Any:
    """Return Arrow data after a look at all of it: damaged offsets, codes or text would crash later."""
    readable(data.schema)
    data.validate(full=True)
    return data


def readable(schema: Any) -> Any:
    """Return a schema once its names have been decoded: here what is damaged is told of, later it is not."""
    tuple(schema.names)
    return schema


class Table(Contents):
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

    def head(self, columns: Sequence[str]) -> Any:
        """Return a pyarrow.RecordBatch of the first rows, reading little more; None if there are no rows."""
        return next((batch for batch in self.batches(columns) if batch.num_rows), None)

    def column(self, name: str) -> Any:
        """Return one whole column as a pyarrow.ChunkedArray."""
        kind = self.schema.field(name).type
        return pa.chunked_array([batch.column(0).cast(kind) for batch in self.batches([name])], kind)

    def held(self) -> MemoryTable:
        """Return the same table in memory."""
        batches = list(self.batches(self.columns))
        return MemoryTable(self.place.name, pa.Table.from_batches(batches, self.schema))

    def find(self, options: ReadOptions, *, labelled: bool = True) -> TableSource:
        """Find out what the columns are, and read the labels and weights."""
        place, schema = self.place, self.schema
        refuse_duplicates(schema.names, place.parts[0][0])
        holds = {field.name: holds_of(field.type) for field in schema}
        layout = find_layout(
            holds, lambda column: _distinct(self, column), options, place.name, labelled=labelled
        )
        scores = ranked_scores(stored_scores(self, layout.scores, holds, options), layout, options)
        ranked = scores if isinstance(scores, RankedScores) else None
        taken = {*scores.names, layout.label}
        columns = {name: partial(column_values, self, name) for name in schema.names if name not in taken}
        return TableSource(
            table=self,
            place=place,
            scores=scores,
            classes=ranked.classes if ranked else layout.classes,
            kind=layout.kind,
            kind_reason=layout.kind_reason,
            labels=None if layout.label is None else _labels(self, layout.label),
            labels_from=f'column "{layout.label}"',
            weights=None if options.weights is None else column_values(self, options.weights),
            columns=LazyColumns(columns),
            files=tuple(name for name, _ in place.parts),
            notes=(ranked.note,) if ranked else (),
        )

    @classmethod
    def find_in_all(cls, parts: Sequence[Table], options: ReadOptions) -> Source:
        """Put tables one after the other.

        Raises
        ------
        InputError
            If they do not have the same columns, of types that go together.
        """
        return _join(parts).find(options)


@dataclass(frozen=True, kw_only=True)
class TableSource(Source):
    """A table with columns of scores."""

    table: Table
    scores: TableScores

    @property
    def stored(self) -> tuple[str, ...]:
        """Columns of scores alone, without those of ranks."""
        return self.scores.by_rank.names if isinstance(self.scores, RankedScores) else self.scores.names

    def others(self, kept: Sequence[str]) -> tuple[Any, int]:
        """Return the columns to be kept, in the order of the table."""
        schema = self.table.schema
        fields = [field for field in schema if field.name in kept]
        first = min(schema.names.index(name) for name in self.scores.names if name not in kept)
        before = sum(schema.names.index(field.name) < first for field in fields)
        return pa.schema(fields, schema.metadata), before

    def passing(self, kept: Sequence[str], rows: int) -> Iterator[tuple[Array, Any]]:
        """Yield scores with the same rows of the other columns."""
        return self.scores.passing(kept, rows)


@dataclass(frozen=True)
class MemoryTable(Table):
    """A table that is in memory: text formats and standard input."""

    name: str
    table: Any

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

    def held(self) -> MemoryTable:
        """Return itself."""
        return self


@dataclass(frozen=True)
class JoinedTable(Table):
    """Several tables with the same columns, one after the other."""

    parts: tuple[Table, ...]
    schema: Any

    @property
    def place(self) -> Place:
        """The files in reading order."""
        return Place(tuple(entry for part in self.parts for entry in part.place.parts))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the batches of each part in turn."""
        for part in self.parts:
            yield from part.batches(columns)

    def head(self, columns: Sequence[str]) -> Any:
        """Return the first rows of the first part that has any."""
        heads = (part.head(columns) for part in self.parts)
        return next((head for head in heads if head is not None), None)


def _join(parts: Sequence[Table]) -> Table:
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts[1:]:
        different = set(first.schema.names) ^ set(part.schema.names)
        if different:
            raise InputError(
                f"{part.place.name} and {first.place.name} do not have the same columns: "
                f"{listed(sorted(different))} in one only; parts of one data set must be alike; without "
                "--concat files are evaluated one by one"
            )
    try:
        schema = pa.unify_schemas([part.schema for part in parts], promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(
            f"{first.place.name} and the {len(parts) - 1} files joined to it have columns of different "
            f"types: {' '.join(str(error).split())}; parts of one data set must be alike"
        ) from error
    return JoinedTable(tuple(parts), schema)


def column_values(table: Table, name: str) -> Array:
    """Return a column as a numpy array: missing numbers are nan, missing text is empty."""
    holds = holds_of(table.schema.field(name).type)
    if holds in ("float", "integer"):
        parts = [numbers(batch, by_row=False)[:, 0] for batch in table.batches([name])]
        return np.concatenate(parts) if parts else np.empty(0)
    column = table.column(name)
    if holds == "text":
        return np.array([value or "" for value in column.to_pylist()], dtype=str)
    return column.to_numpy()


def _labels(table: Table, name: str) -> Labels:
    place, kind = table.place, table.schema.field(name).type
    holds = holds_of(kind)
    if holds == "list":
        raise InputError(
            f"{place.name}: the label column {name} holds lists: these are one-hot or multi-label "
            "indicators; expected one class per row; where several classes may be true at once, evaluate "
            "each class by itself"
        )
    if holds == "other":
        raise InputError(f"{place.name}: the label column {name} holds {kind}; expected integers or text")
    if holds != "text":
        return labels_from_array(column_values(table, name), place)
    column = table.column(name)
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InputError(missing_label(place, row, "null"))
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    return Labels(np.from_dlpack(encoded.indices), tuple(encoded.dictionary.to_pylist()))


def _distinct(table: Table, name: str) -> Sequence[str]:
    return [str(value) for value in pc.unique(table.column(name)).to_pylist() if value is not None]


class BatchWriter(Writer):
    """Formats that pyarrow writes a record batch at a time."""

    def __init__(
        self, sink: BinaryIO, frame: Frame, opened: Callable[[BinaryIO, Any], Any], *, decoded: bool
    ) -> None:
        super().__init__(sink, frame, None)
        self._schema = frame.schema(decoded=decoded)
        self._opened = opened(sink, self._schema)

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write a record batch, in parquet a row group."""
        self._opened.write_batch(self.frame.batch(beside, scores, self._schema))

    def end(self) -> None:
        """Write the foot of the file."""
        self._opened.close()

    def abandon(self) -> None:
        """Close what pyarrow would otherwise try to close later, behind the sink."""
        with suppress(OSError, pa.ArrowException):
            self._opened.close()
