"""JSON lines: an object per row, parsed whole, perhaps compressed by gzip."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.json

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io.damage import arrow_errors, sound
from calcli.io.layouts.events import FIRST, events_table
from calcli.io.layouts.harness import MARKS, harness_table
from calcli.io.remote import AnyPath, on_disk
from calcli.io.tables import MemoryTable, Table
from calcli.io.writing import Frame, Writer

BLOCK_BYTES = 1 << 24  # parsed at once; no line may be longer
DEEPEST = 500  # levels of nesting
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
        with pa.input_stream(str(on_disk(path))) as stream:
            first = _refuse_other_json(io.BufferedReader(stream), name)
        if any(f'"{mark}"'.encode() in first for mark in (*MARKS, FIRST)):
            with pa.input_stream(str(on_disk(path))) as stream:
                records = [json.loads(line) for line in io.BufferedReader(stream) if line.strip()]
            found = harness_table(records, name) or events_table(records)
            if found is not None:
                return MemoryTable(name, found)
        table = pa.json.read_json(str(on_disk(path)), pa.json.ReadOptions(block_size=BLOCK_BYTES))
        return MemoryTable(name, sound(table))


def _refuse_other_json(lines: Iterable[bytes], name: str) -> bytes:
    """Refuse a file that does not begin with an object, and a line of null, which would crash the parser.

    Returns
    -------
    The first line.
    """
    begun = b""
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r\n")
        if text and (text.startswith(b"null") or not (begun or text.startswith(b"{"))):
            shown = " ".join(text[:LONGEST_SHOWN].decode(errors="replace").split())
            more = "..." if len(text) > LONGEST_SHOWN else ""
            raise InputError(
                f"{name}: line {number} is {shown}{more}; expected a JSON object on each line, such as "
                '{"label": 0, "probs": [0.9, 0.1]}'
            )
        if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(text) > DEEPEST:
            raise InputError(
                f"{name}: line {number} is nested more than {DEEPEST} levels deep; expected a row"
            )
        begun = begun or text
    return begun


def _depth(text: bytes) -> int:
    """Return how deeply lists and objects stand in each other: the parser would overrun its stack."""
    signs = np.frombuffer(STRING.sub(b"", text), np.uint8)
    steps = np.isin(signs, OPENING).astype(np.int64) - np.isin(signs, CLOSING)
    return int(steps.cumsum().max(initial=0))


class JsonLinesWriter(Writer):
    """JSON lines; a missing number in a kept column is null."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._schema = frame.schema(decoded=True)

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write a line per row."""
        for line in lines(self.frame.batch(beside, scores, self._schema)):
            self.sink.write(f"{line}\n".encode())


def lines(batch: Any) -> Iterator[str]:
    """Yield each row of a pyarrow.RecordBatch as JSON text.

    Raises
    ------
    InputError
        If a number is infinite.
    """
    for row in batch.to_pylist():
        whole = {name: None if value != value else value for name, value in row.items()}
        try:
            yield json.dumps(whole, ensure_ascii=False, allow_nan=False, default=str)
        except ValueError as error:
            raise InputError(
                "JSON has no infinity, such as the logarithm of a probability of 0; write probabilities, "
                "or choose another format"
            ) from error


writer = JsonLinesWriter
