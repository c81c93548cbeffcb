"""Arrow IPC (Feather): a record batch at a time; the streaming format whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import pyarrow as pa

from calcli.io.batches import BatchWriter
from calcli.io.damage import arrow_errors, readable, sound
from calcli.io.messages import Place
from calcli.io.remote import AnyPath, Remote
from calcli.io.tables import MemoryTable, Table
from calcli.io.writing import Frame, Writer


@dataclass(frozen=True)
class ArrowTable(Table):
    """An Arrow IPC (Feather) file, read one record batch at a time."""

    path: AnyPath
    name: str
    schema: Any

    @cached_property
    def place(self) -> Place:
        """The file."""
        nested = [field.type.num_fields for field in self.schema]
        narrow = [nested.index(min(nested))] if nested else []
        return Place(((self.name, sum(batch.num_rows for batch in self._batches(narrow))),))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the file's record batches."""
        names = list(columns)
        for batch in self._batches(sorted(self.schema.get_field_index(name) for name in names)):
            yield batch.select(names)

    def _batches(self, fields: list[int]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with arrow_errors(self.name, "Arrow file"), _opened(self.path) as source:
            reader = pa.ipc.open_file(source, options=options)
            for number in range(reader.num_record_batches):
                yield sound(reader.get_batch(number))


def open_file(path: AnyPath, name: str) -> Table:
    """Read the schema of an Arrow IPC file; one in the streaming format is read whole.

    Raises
    ------
    InputError
        If it is not one, or is truncated.
    """
    with path.open("rb", buffering=0) as file:
        streamed = file.read(6) != b"ARROW1"
    what = "Arrow file" if name == str(path) else "Arrow stream"  # through a pipe
    with arrow_errors(name, what), _opened(path) as source:
        if streamed:
            return MemoryTable(name, sound(pa.ipc.open_stream(source).read_all()))
        return ArrowTable(path, name, readable(pa.ipc.open_file(source).schema))


def _opened(path: AnyPath) -> Any:
    if isinstance(path, Remote):
        return pa.PythonFile(path.open("rb", buffering=0), "r")
    return pa.OSFile(str(path))


def writer(sink: BinaryIO, frame: Frame, path: AnyPath | None) -> Writer:
    """Return what writes a file, or a stream to standard output."""
    return BatchWriter(sink, frame, pa.ipc.new_stream if path is None else pa.ipc.new_file, decoded=True)
