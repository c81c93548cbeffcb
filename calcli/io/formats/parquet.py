"""Parquet, read by row group, only the requested columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from calcli.core.language.errors import InputError
from calcli.io.formats.arrow import BatchWriter
from calcli.io.formats.writer import Frame, Writer
from calcli.io.messages import Place
from calcli.io.places.faults import arrow_errors, readable, sound
from calcli.io.places.paths import AnyPath, Remote
from calcli.io.tables.table import Table, holds_of

GROUP_BYTES = 1 << 26  # a row group up to this size is decoded at once, a larger one in slices
SLICE_ROWS, SLICE_VALUES = 8192, 1 << 18  # rows of a slice, at least
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class RowGroups:
    """Row groups of a file, reopened for each pass, without open handles."""

    path: AnyPath
    metadata: Any
    columns: int
    groups: range

    def read(self, columns: Sequence[str], at_once: int | None) -> Iterator[Any]:
        """Yield row groups, or slices if they are large or few rows are requested, without copies."""
        names = list(columns)
        with arrow_errors(str(self.path), "parquet file"):
            for group in self.groups:
                facts = self.metadata.row_group(group)
                wanted = facts.total_byte_size * len(names)  # over all columns: an estimate, once decoded
                at_a_time = at_once is None and wanted <= GROUP_BYTES * self.columns
                rows, read = facts.num_rows, 0
                for batch in self._whole(group, names) if at_a_time else self._slices(group, names):
                    read += batch.num_rows
                    yield batch
                if names and read != rows:  # as of pages that say so
                    raise InputError(
                        f"{self.path} is damaged: row group {group} has {read:,} rows; expected {rows:,}"
                    )

    def _whole(self, group: int, names: list[str]) -> Iterator[Any]:
        # mapped for one row group only: no more than its pages count as our memory
        with _opened(self.path, self.metadata, memory_map=True) as file:
            group_table = file.read_row_group(group, names, use_threads=len(names) > 1)
            yield from sound(group_table).select(names).to_batches()

    def _slices(self, group: int, names: list[str]) -> Iterator[Any]:
        # a buffer would be as large as a page claims, but a map is no larger than the file
        small = isinstance(self.path, Path) and self.path.stat().st_size <= GROUP_BYTES
        local = {"memory_map": True} if small else {"buffer_size": READ_BYTES}
        with _opened(self.path, self.metadata, **local) as file:
            rows = max(SLICE_ROWS, SLICE_VALUES // max(1, len(names)))
            for batch in file.iter_batches(rows, [group], names):
                yield sound(batch).select(names)


def metadata_of(path: AnyPath, name: str) -> Any:
    """Return the metadata of row groups from the footer of a file."""
    with arrow_errors(name, "parquet file"), _opened(path) as file:
        return file.metadata


def open_file(path: AnyPath, name: str, groups: tuple[int, int] | None = None) -> Table:
    """Read the schema of a parquet file, or of some of its row groups, under a name.

    Raises
    ------
    InputError
        If it is not one, or is truncated.
    """
    with arrow_errors(name, "parquet file"), _opened(path) as file:
        metadata, schema = file.metadata, readable(file.schema_arrow)
    every = range(*(groups or (0, metadata.num_row_groups)))
    rows = sum(metadata.row_group(group).num_rows for group in every)
    return Table(Place(((name, rows),)), schema, RowGroups(path, metadata, len(schema), every).read)


def _opened(path: AnyPath, metadata: Any = None, **local: Any) -> Any:
    """Return an open file; the columns of a row group in a remote file are requested together."""
    if isinstance(path, Remote):
        return pq.ParquetFile(path.open("rb", buffering=0), metadata=metadata, pre_buffer=True)
    return pq.ParquetFile(path, metadata=metadata, pre_buffer=False, **local)


def writer(sink: BinaryIO, frame: Frame, path: Path | None) -> Writer:
    """Return the writer of a file, with dictionaries only for text: for distinct numbers they are slow."""
    kinds = frame.schema(decoded=True)
    texts = [kind.name for kind in kinds if holds_of(kind.type) == "text"]
    return BatchWriter(sink, frame, partial(pq.ParquetWriter, use_dictionary=texts), decoded=False)
