"""CSV, JSON lines and standard input: parsed whole, into an Arrow table in memory."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, json

from calcli.core.language.errors import InputError
from calcli.io.columns import ALONE
from calcli.io.files import sniff
from calcli.io.tables import MemoryTable, Table, arrow_errors, sound

BLOCK_BYTES = 1 << 24  # parsed at once; no line may be longer
LONGEST_SHOWN = 20  # characters of a line that is refused
STDIN = "standard input"
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
NOT_UTF8 = "is not text in UTF-8; save the file in this encoding, in spreadsheets called CSV UTF-8"


def open_csv(path: Path) -> Table:
    """Parse a .csv or .tsv file, perhaps compressed by gzip.

    Raises
    ------
    InputError
        If a line has more or fewer fields than the header, or is not text in UTF-8.
    """
    name, delimiter = str(path), delimiter_of(path)
    refuse_header(header_of(path), name, delimiter)
    return MemoryTable(name, _parse_csv(lambda: name, name, delimiter))


def delimiter_of(path: Path) -> str:
    """Return what stands between fields, by the ending of the file."""
    return "\t" if ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:]) else ","


def delimiter_in(header: bytes) -> str:
    """Return what stands between the fields of a line of headings."""
    return "\t" if b"\t" in header and b"," not in header else ","


def header_of(path: Path) -> bytes:
    """Return the first line of a CSV file, perhaps compressed by gzip."""
    with arrow_errors(str(path), "CSV file"), pa.input_stream(str(path)) as stream:
        return io.BufferedReader(stream).readline()


def refuse_header(header: bytes, name: str, delimiter: str) -> None:
    """Refuse CSV as spreadsheets write it in some countries: other separators, other encodings.

    Raises
    ------
    InputError
        If the line of headings is not in UTF-8, or its fields are separated by something else.
    """
    try:
        header.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: the line of headings {NOT_UTF8}") from error
    if delimiter.encode() in header:
        return
    for mark, word in SEPARATORS.items():
        if mark.encode() in header:
            raise InputError(
                f"{name}: the fields are separated by {word}, expected {SEPARATORS[delimiter]}; save them "
                "with commas as .csv or with tabs as .tsv, and numbers with decimal points"
            )


def open_jsonl(path: Path) -> Table:
    """Parse a file of JSON lines, perhaps compressed by gzip.

    Raises
    ------
    InputError
        If a line is not a JSON object, or a field is of different types.
    """
    name = str(path)
    with arrow_errors(name, "file of JSON lines"), pa.input_stream(name) as stream:
        _refuse_other_json(io.BufferedReader(stream), name)
    return MemoryTable(name, _parse_json(name, name))


def open_stdin() -> Table:
    """Read standard input: an Arrow stream or file, JSON lines or CSV, told apart by the first bytes.

    Raises
    ------
    InputError
        If it is empty, or in a format that cannot be piped.
    """
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise InputError(f"{STDIN} is empty; expected CSV, JSON lines or an Arrow stream")
    found = sniff(data)
    if found == "arrow":
        with arrow_errors(STDIN, "Arrow stream"):
            opened = pa.ipc.open_file(data) if data.startswith(b"ARROW1") else pa.ipc.open_stream(data)
            return MemoryTable(STDIN, sound(opened.read_all()))
    if found == "jsonl":
        _refuse_other_json(io.BytesIO(data), STDIN)
        return MemoryTable(STDIN, _parse_json(_native(data), STDIN))
    if found == "csv":
        header = data.split(b"\n", 1)[0]
        delimiter = delimiter_in(header)
        refuse_header(header, STDIN, delimiter)
        return MemoryTable(STDIN, _parse_csv(lambda: _native(data), STDIN, delimiter))
    raise InputError(
        f"{STDIN} is {found}; expected CSV, JSON lines or an Arrow stream; give other formats as files"
    )


def _native(data: bytes) -> Any:
    """Copy into memory of Arrow's own.

    A thread of its pool may be the last to hold what it parses, and Python objects cannot be let go of by
    threads once the interpreter is ending: the process would abort.
    """
    stream = pa.BufferOutputStream()
    stream.write(data)
    return pa.BufferReader(stream.getvalue())


def _parse_csv(source: Callable[[], Any], name: str, delimiter: str) -> Any:
    with arrow_errors(name, "CSV file"):
        try:
            table = csv.read_csv(
                source(), csv.ReadOptions(block_size=BLOCK_BYTES), csv.ParseOptions(delimiter=delimiter)
            )
        except pa.ArrowInvalid:
            _refuse_ragged(source(), name, delimiter)
            raise
    return _refuse_bytes(table, name)


def _refuse_ragged(source: Any, name: str, delimiter: str) -> None:
    """Raise an InputError that names the first line with too few or too many fields, if there is one."""
    ragged = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        csv.read_csv(  # in one thread: others count no rows, and must hold no Python code (see _native)
            source,
            csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, invalid_row_handler=note),
        )
    except pa.ArrowInvalid as error:
        if ragged:
            row = ragged[0]
            raise InputError(
                f"{name}: line {row.number} has {row.actual_columns} fields; "
                f"expected {row.expected_columns}, as in the header; put fields that hold a comma in quotes"
            ) from error


def _refuse_bytes(table: Any, name: str) -> Any:
    for column in table.schema:
        if pa.types.is_binary(column.type):
            raise InputError(f"{name}: the column {column.name} {NOT_UTF8}")
    return table


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


def _parse_json(source: Any, name: str) -> Any:
    with arrow_errors(name, "file of JSON lines"):
        return _spread(sound(json.read_json(source, json.ReadOptions(block_size=BLOCK_BYTES))))


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
