"""Arrow IPC (Feather), read by record batch; the streaming format is read as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa

from calcli.core.data.arrays import Doubles
from calcli.io.formats.writer import Frame, Writer
from calcli.io.messages import Place
from calcli.io.places.faults import arrow_errors, readable, sound
from calcli.io.places.paths import AnyPath, Remote
from calcli.io.tables.table import Table, in_memory


def open_file(path: AnyPath, name: str) -> Table:
    """Read the schema of an Arrow IPC file; a stream, or a pipe, is read whole.

    Raises
    ------
    InputError
        If it is not one, or is truncated.
    """
    with path.open("rb", buffering=0) as file:
        streamed = file.read(6) != b"ARROW1"
    piped = name != str(path)
    with arrow_errors(name, "Arrow stream" if piped else "Arrow file"), _opened(path) as source:
        if streamed or piped:
            reader = pa.ipc.open_stream(source) if streamed else pa.ipc.open_file(source)
            return in_memory(name, sound(reader.read_all()))
        schema = readable(pa.ipc.open_file(source).schema)
    nested = [field.type.num_fields for field in schema]
    narrow = [nested.index(min(nested))] if nested else []
    place = Place(((name, sum(batch.num_rows for batch in _batches(path, name, narrow))),))
    return Table(place, schema, partial(_columns, path, name, schema))


def _columns(
    path: AnyPath, name: str, schema: Any, columns: Sequence[str], at_once: int | None
) -> Iterator[Any]:
    for batch in _batches(path, name, sorted(map(schema.get_field_index, columns))):
        yield batch.select(list(columns))


def _batches(path: AnyPath, name: str, fields: list[int]) -> Iterator[Any]:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    with arrow_errors(name, "Arrow file"), _opened(path) as source:
        reader = pa.ipc.open_file(source, options=options)
        for number in range(reader.num_record_batches):
            yield sound(reader.get_batch(number))


def _opened(path: AnyPath) -> Any:
    if isinstance(path, Remote):
        return pa.PythonFile(path.open("rb", buffering=0), "r")
    return pa.OSFile(str(path))


class BatchWriter(Writer):
    """Formats that pyarrow writes a record batch at a time."""

    def __init__(
        self, sink: BinaryIO, frame: Frame, opened: Callable[[BinaryIO, Any], Any], *, decoded: bool
    ) -> None:
        super().__init__(sink, frame, None)
        self._schema = frame.schema(decoded=decoded)
        self._opened = opened(sink, self._schema)

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Write a record batch, in parquet a row group."""
        batch = self.frame.batch(kept_columns, scores, self._schema)
        self._opened.write(pa.Table.from_batches([batch]))

    def end(self) -> None:
        """Write the foot of the file."""
        self._opened.close()

    def abandon(self) -> None:
        """Close the writer before pyarrow tries to, after the sink is closed."""
        with suppress(OSError, pa.ArrowException):
            self._opened.close()


def writer(sink: BinaryIO, frame: Frame, path: AnyPath | None) -> Writer:
    """Return the writer of a file, or of a stream to standard output."""
    return BatchWriter(sink, frame, pa.ipc.new_stream if path is None else pa.ipc.new_file, decoded=True)
