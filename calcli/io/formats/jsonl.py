"""JSON lines: an object per row, optionally compressed by gzip."""

from __future__ import annotations

import codecs
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io.formats.spooled import parsed, parts_of_text, reader_of
from calcli.io.formats.writer import Frame, Writer, refuse_bytes
from calcli.io.layouts import logs
from calcli.io.layouts.harness import FIRST_EVENT, MARKS, events_table, harness_table
from calcli.io.layouts.objects import HEAD_ROWS, with_orders
from calcli.io.places.archives import opened_text
from calcli.io.places.faults import arrow_errors, column_of, sound
from calcli.io.places.paths import AnyPath
from calcli.io.tables.table import Table, in_memory
from calcli.io.tables.values import are_rounded

BLOCK_BYTES = 1 << 24  # parsed at once; no line may be longer
LARGE_ROWS = 100  # rows that show whether a column has integers beyond 2^53
WHOLE = pa.decimal128(38, 0)
DEEPEST = 500  # levels of nesting
NULL_LINE = re.compile(rb"\n[ \t\r]*null")
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
OPENING, CLOSING = (np.frombuffer(signs, np.uint8) for signs in (b"[{", b"]}"))
LONGEST_SHOWN = 20  # characters of a line that is refused


def open_file(path: AnyPath, name: str) -> Table:
    """Parse a file of JSON lines.

    Raises
    ------
    InputError
        If a line is not a JSON object, or a field is of different types.
    """
    with arrow_errors(name, "file of JSON lines"):
        raw_blocks = _checked(parts_of_text(path), name)
        start = next(raw_blocks, b"")
        first_line = next(filter(None, map(bytes.strip, start.split(b"\n"))), b"")
        if any(f'"{mark}"'.encode() in first_line for mark in (*MARKS, *logs.MARKS, FIRST_EVENT)):
            every = (line for part in chain([start], raw_blocks) for line in part.split(b"\n"))
            records = _records(every, name)
            table = harness_table(records, name) or events_table(records)
            table = logs.log_table(records, name) if table is None else table
            if table is not None:
                return in_memory(name, table)
            raw_blocks = _checked(parts_of_text(path), name)
        else:
            raw_blocks = chain([start], raw_blocks)
        rows = []  # the first rows, as Python objects
        for line in start.split(b"\n", HEAD_ROWS)[:HEAD_ROWS]:
            if line.count(b"{") > 1:
                with suppress(ValueError, RecursionError):
                    rows.append(json.loads(line.removeprefix(codecs.BOM_UTF8)))
        rows = [row for row in rows if isinstance(row, dict)]
        ordered = partial(with_orders, values_of=lambda head: (row.get(head) for row in rows))
        try:
            return parsed(raw_blocks, name, lambda part, _: ordered(_parsed(partial(reader_of, part))))
        except pa.ArrowException:
            try:
                return in_memory(name, ordered(_parsed(partial(opened_text, path))))
            except pa.ArrowException:  # values of several types, which Python can hold
                with opened_text(path) as stream:
                    records = _records(io.BufferedReader(stream), name)
                return in_memory(name, table_of_records(records))


def table_of_records(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return a pyarrow.Table of objects; a column with values of several types becomes text."""
    heads = dict.fromkeys(str(head) for row in records for head in row)
    columns = {head: [row.get(head) for row in records] for head in heads}
    return with_orders(
        pa.table({head: column_of(values) for head, values in columns.items()}), columns.__getitem__
    )


def _records(lines: Iterable[bytes], name: str) -> list[dict[str, Any]]:
    """Return the objects of lines as Python objects.

    Raises
    ------
    InputError
        If a line is no object.
    """
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.removeprefix(codecs.BOM_UTF8))
        except ValueError as error:
            reason = str(error).partition(";")[0]
            raise InputError(f"{name}: line {number} is not complete and valid JSON: {reason}") from error
        if not isinstance(record, dict):
            raise InputError(f"{name}: line {number} is no JSON object; expected one on each line")
        records.append(record)
    return records


def _parsed(opened: Callable[[], Any]) -> Any:
    """Return the pyarrow.Table of a text, which is reopened for large integers."""

    def read(**parse: Any) -> Any:
        options = pa.json.ReadOptions(block_size=BLOCK_BYTES), pa.json.ParseOptions(**parse)
        return pa.json.read_json(opened(), *options)

    def again(schema: Any) -> Any:
        return read(explicit_schema=schema, unexpected_field_behavior="ignore")

    return sound(_with_large_numbers(_without_times(read(), again), again))


def _with_large_numbers(table: Any, again: Callable[[Any], Any]) -> Any:
    """Return a parsed table with large integers as decimals.

    Parameters
    ----------
    table
        A pyarrow.Table.
    again
        Returns the table with only the columns of a schema, parsed again as their types.
    """
    heads = table.slice(0, LARGE_ROWS).to_batches()[:1]
    names = [
        name
        for head in heads
        for name, column in zip(head.schema.names, head, strict=True)
        if column.type == pa.float64() and are_rounded(np.from_dlpack(column.drop_null()))
    ]  # `to_numpy` imports pandas
    if not names or len(set(table.schema.names)) < len(table.schema):  # which is refused
        return table
    try:
        parsed = again(pa.schema([(name, WHOLE) for name in names]))
    except pa.ArrowException:  # there are fractions further down
        return table
    for name in names:
        table = table.set_column(table.schema.get_field_index(name), name, parsed.column(name))
    return table


def _without_times(table: Any, again: Callable[[Any], Any]) -> Any:
    """Return a parsed table in which text that was parsed as times is text again.

    JSON has no times; written again they would change their form, and times of several zones lose these.
    """
    texts = [field.with_type(_as_text(field.type)) for field in table.schema]
    changed = pa.schema([new for new, old in zip(texts, table.schema, strict=True) if new != old])
    if not changed.names or len(set(table.schema.names)) < len(table.schema):  # which is refused
        return table
    parsed = again(changed)
    for field in changed:
        at = table.schema.get_field_index(field.name)
        table = table.set_column(at, field, parsed.column(field.name))
    return table


def _as_text(kind: Any) -> Any:
    """Return a type with text in place of times, also within lists and objects."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_as_text(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_as_text(field.type)) for field in kind])
    return kind


def _checked(raw_blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield parts of a file, and raise an error for text that would crash the parser.

    Raises
    ------
    InputError
        If the file does not begin with an object, or a line is null or nested too deeply.
    """
    number, begun = 1, False
    for part in raw_blocks:
        begins = part.removeprefix(codecs.BOM_UTF8).lstrip()
        odd = begins.startswith(b"null") or not (begun or begins.startswith(b"{"))
        if odd or NULL_LINE.search(part) or _most_opened(part) > DEEPEST:
            _refuse_lines(part.split(b"\n"), number, begun, name)
        begun = begun or bool(begins)
        number += part.count(b"\n")
        yield part


def _most_opened(part: bytes) -> int:
    """Return the largest number of lists and objects that begin in one line, texts included."""
    signs = np.frombuffer(part, np.uint8)
    opened = np.flatnonzero((signs | 0x20) == ord("{"))  # which makes one of the other
    ends = np.append(np.flatnonzero(signs == ord("\n")), len(signs))
    return int(np.diff(np.searchsorted(opened, ends), prepend=0).max(initial=0))


def _refuse_lines(lines: Iterable[bytes], start: int, begun: bool, name: str) -> None:
    """Raise an InputError that names the first line, numbered from `start`, that cannot be parsed."""
    for number, line in enumerate(lines, start):
        text = line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r\n")
        if text and (text.startswith(b"null") or not (begun or text.startswith(b"{"))):
            excerpt = " ".join(text[:LONGEST_SHOWN].decode(errors="replace").split())
            ellipsis = "..." if len(text) > LONGEST_SHOWN else ""
            raise InputError(
                f"{name}: line {number} is {excerpt}{ellipsis}; expected a JSON object on each line, such as "
                '{"label": 0, "probs": [0.9, 0.1]}'
            )
        if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(text) > DEEPEST:
            raise InputError(
                f"{name}: line {number} is nested more than {DEEPEST} levels deep; expected a row"
            )
        begun = begun or bool(text)


def _depth(text: bytes) -> int:
    """Return the nesting depth of lists and objects: the parser would overflow its stack."""
    signs = np.frombuffer(STRING.sub(b"", text), np.uint8)
    steps = np.isin(signs, OPENING).astype(np.int64) - np.isin(signs, CLOSING)
    return int(steps.cumsum().max(initial=0))


class JsonLinesWriter(Writer):
    """JSON lines; a missing number, also one in a list, is null."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._name = "standard output" if path is None else str(path)
        self._schema = frame.schema(decoded=True)
        for field in self._schema:
            refuse_bytes(field)

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Write a line per row."""
        for line in self.lines(kept_columns, scores):
            self.sink.write(f"{line}\n".encode())

    def lines(self, kept_columns: Any, scores: Doubles) -> Iterator[str]:
        """Yield each row as JSON text.

        Raises
        ------
        InputError
            If a number is infinite.
        """
        for row in self.frame.batch(kept_columns, scores, self._schema).to_pylist():
            try:
                yield _text({name: None if value != value else value for name, value in row.items()})
            except ValueError:  # of a number deeper down, or of an infinite one
                yield _text({name: self._finite(name, value) for name, value in row.items()})

    def _finite(self, column: str, value: Any) -> Any:
        """Return a value of a column with None for missing numbers, at any depth.

        Raises
        ------
        InputError
            If a number is infinite.
        """
        if isinstance(value, dict):
            return {key: self._finite(column, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._finite(column, item) for item in value]
        if isinstance(value, float) and math.isinf(value):
            mend = "choose another format"
            if column in self.frame.names:
                mend = f"as of the logarithm of a probability of 0; write probabilities, or {mend}"
            raise InputError(
                f"{self._name}: the column {column} holds {value}, and JSON has no infinity; {mend}"
            )
        return None if value != value else value


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return a value for JSON: numbers for decimals, with all digits of whole ones, and text for others."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return str(value)


writer = JsonLinesWriter
