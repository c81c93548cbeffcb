"""Large text files: parsed a part at a time into a temporary file of Arrow data, then read as any table."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.messages import Place
from calcli.io.places.archives import opened_text
from calcli.io.places.paths import AnyPath
from calcli.io.tables.table import Table, aligned_table, in_memory

PART_BYTES = 1 << 25  # bytes of text parsed at once; smaller files are one part, and stay in memory
LONGEST = 1 << 25  # bytes of a line; the parser refuses longer ones


@dataclass(frozen=True)
class Part:
    """Rows in the temporary file, as an Arrow stream with separate types.

    Attributes
    ----------
    start, size
        Where they are, in bytes.
    rows
        Their number.
    """

    start: int
    size: int
    rows: int


class _Spool:
    """A temporary file, which is gone with this object."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it is open as long as the table is there)

    def __del__(self) -> None:
        self._file.close()

    def written(self, table: Any) -> Part:
        """Append a pyarrow.Table."""
        start = self._file.tell()
        with pa.ipc.new_stream(pa.PythonFile(self._file, "w"), table.schema) as stream:
            stream.write_table(table)
        self._file.flush()
        return Part(start, self._file.tell() - start, table.num_rows)

    def read(self, part: Part) -> Any:
        """Return a part as a pyarrow.Table."""
        return pa.ipc.open_stream(reader_of(os.pread(self._file.fileno(), part.size, part.start))).read_all()


def parts_of_text(path: AnyPath) -> Iterator[bytes]:
    """Yield the lines of a text file, compressed or not, many at a time."""
    with opened_text(path) as stream:
        lines = io.BufferedReader(stream)
        while part := lines.read(PART_BYTES):
            yield part if part.endswith(b"\n") else part + lines.readline(LONGEST)


def reader_of(data: bytes) -> Any:
    """Return a pyarrow.BufferReader of a copy of bytes that Arrow owns.

    Threads of a parser release their input slightly after returning the result. A Python object in it
    aborts the process if the interpreter is ending by then.
    """
    copy = pa.allocate_buffer(len(data))
    memoryview(copy).cast("B")[:] = data
    return pa.BufferReader(copy)


def parsed(blocks: Iterator[bytes], name: str, parse: Callable[[bytes, Any], Any]) -> Table:
    """Return the table of a text: in memory if it is one part, else in a temporary file, gone with the table.

    Parameters
    ----------
    blocks
        Blocks of the text.
    name
        Its name in messages.
    parse
        Returns a pyarrow.Table of a part, given the schema of the first one, or None for the first.

    Raises
    ------
    InputError
        If there is no room for the temporary file.
    pyarrow.ArrowException
        If a part cannot be parsed, or only all parts together may tell what they are.
    """
    try:
        table = parse(next(blocks, b""), None)
        second = next(blocks, None)
        if second is None:
            return in_memory(name, table)
        file, schema_of_first = _Spool(), table.schema
        written, schemas = [file.written(table)], {schema_of_first: None}
        for block in chain([second], blocks):
            table = parse(block, schema_of_first)
            schemas[table.schema] = None
            written.append(file.written(table))
        schema = pa.unify_schemas([*schemas], promote_options="permissive")
        for stored in schemas:
            aligned_table(pa.Table.from_batches([], stored), schema)
    except OSError as error:
        if error.errno is None:  # for damaged compressed files
            raise
        where = tempfile.gettempdir()
        raise InputError(
            f"{name} is too large to be parsed in memory, and {where} has no room for what is parsed: "
            f"{error.strerror}; set TMPDIR to a folder that has"
        ) from error

    def read(columns: Sequence[str], _: int | None) -> Iterator[Any]:
        wanted = pa.schema([schema.field(name) for name in columns])
        for part in written:
            yield from aligned_table(file.read(part), wanted).to_batches()

    return Table(Place(((name, sum(part.rows for part in written)),)), schema, read)
