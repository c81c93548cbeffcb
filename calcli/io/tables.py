"""Tables on disk or in memory, read as Arrow record batches: only the columns asked for, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from calcli.core.language.errors import InputError
from calcli.io.files import refuse_wrong_content
from calcli.io.places import Place, listed

GROUP_BYTES = 1 << 29  # a row group up to this size is decoded at once, a larger one in slices
SLICE_ROWS = 8192
READ_BYTES = 1 << 16


class Table(Protocol):
    """Rows and named columns of one or several files."""

    @property
    def place(self) -> Place:
        """The files, for messages."""

    @property
    def schema(self) -> Any:
        """Names and types of the columns, a pyarrow.Schema."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield pyarrow.RecordBatches of these columns, in this order."""

    def head(self, columns: Sequence[str]) -> Any:
        """Return a pyarrow.RecordBatch of the first rows, reading little more; None if there are no rows."""


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


@dataclass(frozen=True)
class MemoryTable:
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

    def head(self, columns: Sequence[str]) -> Any:
        """Return its first batch."""
        return next((batch for batch in self.batches(columns) if batch.num_rows), None)


@dataclass(frozen=True)
class ParquetTable:
    """A parquet file, opened anew for each pass so that thousands of them hold no handles."""

    path: Path
    metadata: Any
    schema: Any

    @property
    def place(self) -> Place:
        """The file."""
        return Place(((str(self.path), self.metadata.num_rows),))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield a row group at a time, zero-copy columns; slices of it if it is large."""
        names = list(columns)
        with arrow_errors(str(self.path), "parquet file"):
            for group in range(self.metadata.num_row_groups):
                whole = self._bytes(group, names) <= GROUP_BYTES
                yield from self._whole(group, names) if whole else self._slices(group, names)

    def head(self, columns: Sequence[str]) -> Any:
        """Return the first slice of the first row group."""
        with arrow_errors(str(self.path), "parquet file"):
            return next(self._slices(0, list(columns)), None) if self.metadata.num_rows else None

    def _whole(self, group: int, names: list[str]) -> Iterator[Any]:
        # mapped for one row group only, so that no more than its pages count as our memory
        with pq.ParquetFile(self.path, metadata=self.metadata, pre_buffer=False, memory_map=True) as file:
            yield from sound(file.read_row_group(group, names)).select(names).to_batches()

    def _slices(self, group: int, names: list[str]) -> Iterator[Any]:
        with pq.ParquetFile(
            self.path, metadata=self.metadata, pre_buffer=False, buffer_size=READ_BYTES
        ) as file:
            for batch in file.iter_batches(SLICE_ROWS, [group], names):
                yield sound(batch).select(names)

    def _bytes(self, group: int, names: list[str]) -> float:
        """Estimate the decoded size of some columns of a row group from that of all."""
        share = len(names) / len(self.schema)
        return float(self.metadata.row_group(group).total_byte_size) * share


@dataclass(frozen=True)
class ArrowTable:
    """An Arrow IPC (Feather) file, read one record batch at a time."""

    path: Path
    schema: Any

    @cached_property
    def place(self) -> Place:
        """The file."""
        nested = [field.type.num_fields for field in self.schema]
        narrow = [nested.index(min(nested))] if nested else []
        return Place(((str(self.path), sum(batch.num_rows for batch in self._batches(narrow))),))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the file's record batches."""
        names = list(columns)
        for batch in self._batches(sorted(self.schema.get_field_index(name) for name in names)):
            yield batch.select(names)

    def _batches(self, fields: list[int]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with arrow_errors(str(self.path), "Arrow file"), pa.OSFile(str(self.path)) as source:
            reader = pa.ipc.open_file(source, options=options)
            for number in range(reader.num_record_batches):
                yield sound(reader.get_batch(number))

    def head(self, columns: Sequence[str]) -> Any:
        """Return its first batch."""
        return next((batch for batch in self.batches(columns) if batch.num_rows), None)


@dataclass(frozen=True)
class JoinedTable:
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


def join_tables(parts: Sequence[Table]) -> Table:
    """Put tables one after the other.

    Raises
    ------
    InputError
        If they do not have the same columns, of types that go together.
    """
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


def open_parquet(path: Path) -> Table:
    """Read the schema of a parquet file.

    Raises
    ------
    InputError
        If it is not one, or is truncated.
    """
    refuse_wrong_content(path, "parquet")
    with arrow_errors(str(path), "parquet file"), pq.ParquetFile(path) as file:
        return ParquetTable(path, file.metadata, readable(file.schema_arrow))


def open_arrow(path: Path) -> Table:
    """Read the schema of an Arrow IPC file; one in the streaming format is read whole.

    Raises
    ------
    InputError
        If it is not one, or is truncated.
    """
    refuse_wrong_content(path, "arrow")
    with arrow_errors(str(path), "Arrow file"), pa.OSFile(str(path)) as source:
        if source.read(6) != b"ARROW1":
            source.seek(0)
            return MemoryTable(str(path), sound(pa.ipc.open_stream(source).read_all()))
        source.seek(0)
        return ArrowTable(path, readable(pa.ipc.open_file(source).schema))


def read_column(table: Table, name: str) -> Any:
    """Return one whole column as a pyarrow.ChunkedArray."""
    kind = table.schema.field(name).type
    return pa.chunked_array([batch.column(0).cast(kind) for batch in table.batches([name])], kind)
