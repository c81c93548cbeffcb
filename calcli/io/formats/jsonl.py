"""JSON lines: an object per row, parsed whole, perhaps compressed by gzip."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.json

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io.columns import ALONE
from calcli.io.tables import MemoryTable, Table, arrow_errors, sound
from calcli.io.writing import Frame, Writer

BLOCK_BYTES = 1 << 24  # parsed at once; no line may be longer
LONGEST_SHOWN = 20  # characters of a line that is refused


def open_file(path: Path, name: str) -> Table:
    """Parse a file of JSON lines.

    Raises
    ------
    InputError
        If a line is not a JSON object, or a field is of different types.
    """
    with arrow_errors(name, "file of JSON lines"):
        with pa.input_stream(str(path)) as stream:
            _refuse_other_json(io.BufferedReader(stream), name)
        table = pa.json.read_json(str(path), pa.json.ReadOptions(block_size=BLOCK_BYTES))
        return MemoryTable(name, _spread(sound(table)))


def _refuse_other_json(lines: Iterable[bytes], name: str) -> None:
    """Refuse a file that does not begin with an object, and a line of null, which would crash the parser."""
    begun = False
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r\n")
        if text and (text.startswith(b"null") or not (begun or text.startswith(b"{"))):
            shown = " ".join(text[:LONGEST_SHOWN].decode(errors="replace").split())
            more = "..." if len(text) > LONGEST_SHOWN else ""
            raise InputError(
                f"{name}: line {number} is {shown}{more}; expected a JSON object on each line, such as "
                '{"label": 0, "probs": [0.9, 0.1]}'
            )
        begun = begun or bool(text)


def _spread(table: Any) -> Any:
    """Give each class of an object of scores, `"probs": {"cat": 0.9, ...}`, a column such as `probs.cat`."""
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_struct(column.type) and ALONE.fullmatch(name):
            keys = [f"{name}.{field.name}" for field in column.type]
            columns |= dict(zip(keys, column.flatten(), strict=True))
        else:
            columns[name] = column
    return pa.table(columns)


class JsonLinesWriter(Writer):
    """JSON lines; a missing number in a kept column is null."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: Path | None) -> None:
        super().__init__(sink, frame, path)
        self._schema = frame.schema(decoded=True)

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write a line per row."""
        for row in self.frame.batch(beside, scores, self._schema).to_pylist():
            whole = {name: None if value != value else value for name, value in row.items()}
            try:
                line = json.dumps(whole, ensure_ascii=False, allow_nan=False, default=str)
            except ValueError as error:
                raise InputError(
                    "JSON has no infinity, such as the logarithm of a probability of 0; write probabilities, "
                    "or choose another format"
                ) from error
            self.sink.write(f"{line}\n".encode())


writer = JsonLinesWriter
