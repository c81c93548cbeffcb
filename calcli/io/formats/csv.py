"""CSV with commas or tabs, optionally compressed by gzip: parsed once, as text.

It is cut at ends of rows, outside quotes, and each part is parsed separately: streaming parsers hang
if no memory is left for a thread.
"""

from __future__ import annotations

import csv as text_csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io.formats import spooled
from calcli.io.formats.spooled import parsed, reader_of
from calcli.io.formats.writer import Frame, Writer
from calcli.io.places.archives import opened_text
from calcli.io.places.faults import arrow_errors
from calcli.io.places.paths import AnyPath
from calcli.io.tables.table import Table, in_memory
from calcli.io.tables.text import with_types

BLOCK_BYTES = 1 << 24  # parsed at once; no line may be longer
MOST_COLUMNS = 50_000  # the parser needs 10 kB for each
QUOTE, NEWLINE, RETURN = (ord(mark) for mark in '"\n\r')
DISTRIBUTION = "distribution"  # Weka's name of the probabilities of all classes
COLUMN = "column_{}"  # column name by position, in a file without headings
NO_HEADINGS = "the file has no line of headings; its columns are numbered"
HEAD_BYTES, HEAD_ROWS = 1 << 16, 64  # lines that show whether there are headings
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
NOT_UTF8 = "is not text in UTF-8; save the file in this encoding, in spreadsheets called CSV UTF-8"


def open_file(path: AnyPath, name: str) -> Table:
    """Parse a file as text, and infer the types of its columns.

    Raises
    ------
    InputError
        If a line has more or fewer fields than the header, or is not text in UTF-8.
    """
    delimiter = _delimiter(path, name)
    with arrow_errors(name, "CSV file"):
        raw_blocks = blocks(path, name, delimiter, spooled.PART_BYTES, spooled.LONGEST)
        try:
            text = parsed(raw_blocks, name, partial(_parsed, name, delimiter))
        except pa.ArrowInvalid:
            _refuse_ragged(path, name, delimiter)
            raise
        note = NO_HEADINGS if text.columns[0] == COLUMN.format(1) else ""
        return replace(with_types(_of_weka(text)), delimiter=delimiter, note=note)


def _parsed(name: str, delimiter: str, part: bytes, earlier: Any) -> Any:
    """Return the pyarrow.Table of a part of a file; only the first part has headings."""
    part += b"\n" * bool(part and not part.endswith((b"\n", b"\r")))
    names, headed = earlier.names if earlier else _headings(part, name, delimiter), earlier is None
    if headed and _is_row(names, part, delimiter):
        names, headed = [COLUMN.format(place) for place in range(1, len(names) + 1)], False
    if headed and names[-1] == DISTRIBUTION:
        rows = part.partition(b"\n")[2]
        absent = rows.partition(b"\n")[0].count(delimiter.encode()) + 2 - len(names)
        if absent > 1:  # numbers of all classes below one name
            part, headed = rows, False
            names = [*names[:-1], *(f"{DISTRIBUTION}{k}" for k in range(1, absent + 1))]
    try:
        return _of_type(pa.string(), part, names, delimiter, headed=headed)
    except pa.ArrowInvalid:
        table = _of_type(pa.binary(), part, names, delimiter, headed=headed)
        for head, column in zip(names, table.columns, strict=True):
            try:
                column.cast(pa.string())
            except pa.ArrowInvalid as error:
                refuse_bytes(name, f"the column {head}", error)
        raise


def _of_type(kind: Any, part: bytes, names: Sequence[str], delimiter: str, *, headed: bool) -> Any:
    quoted = b'"' in part  # otherwise threads split it at any newline, which is faster
    return csv.read_csv(
        reader_of(part),
        csv.ReadOptions(block_size=BLOCK_BYTES, column_names=[] if headed else list(names)),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted),
        csv.ConvertOptions(column_types=dict.fromkeys(names, kind)),
    )


def _headings(part: bytes, name: str, delimiter: str) -> list[str]:
    """Return the names of the columns.

    Raises
    ------
    InputError
        If one is not in UTF-8, as in headings of several lines.
    """
    lines, head = io.BytesIO(part), b""
    while (line := lines.readline()) and (not head.strip() or head.count(b'"') % 2):
        head += line
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        schema = csv.read_csv(reader_of(head), csv.ReadOptions(use_threads=False), parse).schema
        return list(schema.names)
    except UnicodeDecodeError as error:
        refuse_bytes(name, "the line of headings", error)


def _is_row(names: Sequence[str], part: bytes, delimiter: str) -> bool:
    """Return whether the first line is a row: its cells above numbers are numbers, and one is a fraction."""
    lines = part[:HEAD_BYTES].decode(errors="replace").splitlines()[: HEAD_ROWS + 1]
    rows = list(text_csv.reader(lines, delimiter=delimiter))[1:-1]
    numeric = [
        all(len(row) == len(names) and NUMBER.fullmatch(row[place]) for row in rows)
        for place in range(len(names))
    ]
    cells = [cell for cell, is_number in zip(names, numeric, strict=True) if is_number and rows]
    return all(map(NUMBER.fullmatch, cells)) and any("." in cell for cell in cells)


def _of_weka(text: Table) -> Table:
    """Return predictions from Weka's output, 3:c for a class and *0.9 for the predicted one."""
    if not {"actual", f"{DISTRIBUTION}1"} <= set(text.columns):
        return text
    rows = pa.Table.from_batches(list(text.batches(text.columns)))
    class_names = dict(text.split(":", 1) for text in pc.unique(rows["actual"]).to_pylist() if ":" in text)
    heads = {f"{DISTRIBUTION}{k}": f"prob_{class_name}" for k, class_name in class_names.items()}
    columns = {heads.get(head, head): pc.replace_substring(rows[head], "*", "") for head in text.columns}
    for key in columns.keys() & {"actual", "predicted"}:
        columns[key] = pc.replace_substring_regex(columns[key], r"^\d+:", "")
    return in_memory(text.place.name, pa.table(columns))


def refuse_bytes(name: str, place: str, error: Exception) -> NoReturn:
    """Raise an InputError: a value is not text."""
    raise InputError(f"{name}: {place} {NOT_UTF8}") from error


def delimiter_of(path: AnyPath) -> str:
    """Return the delimiter, by the ending of the file."""
    return "\t" if ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:]) else ","


def _delimiter(path: AnyPath, name: str) -> str:
    """Return the delimiter: by the ending of the file, or the one that splits its first lines alike."""
    with arrow_errors(name, "CSV file"):
        lines = [line for line in islice(_lines(path, name), 100) if line.strip()] or [b""]
    header, delimiter = lines[0], delimiter_of(path)
    if delimiter.encode() not in header:
        counts = {mark: {line.count(mark.encode()) for line in lines} for mark in SEPARATORS}
        alike = (mark for mark, count in counts.items() if len(count) == 1 and count != {0})
        delimiter = next(alike, "\t" if not path.suffix and b"\t" in header else delimiter)
    _refuse_header(header, name, delimiter)
    return delimiter


def _lines(path: AnyPath, name: str) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends.

    Raises
    ------
    InputError
        If one is too long; it is not read to its end.
    """
    with opened_text(path) as stream:
        reader, number = io.BufferedReader(stream), 0
        while line := reader.readline(BLOCK_BYTES + 1):
            number += 1
            if len(line) > BLOCK_BYTES:
                raise InputError(
                    f"{name}: line {number} is longer than {BLOCK_BYTES / 1e6:.0f} MB; expected a line for "
                    "each row"
                )
            yield line


def _refuse_header(header: bytes, name: str, delimiter: str) -> None:
    """Refuse CSV with semicolons, and more columns than memory can hold.

    Raises
    ------
    InputError
        If its fields are too many or separated by something else.
    """
    if (columns := header.count(delimiter.encode()) + 1) > MOST_COLUMNS:
        raise InputError(
            f"{name} has {columns:,} columns; expected at most {MOST_COLUMNS:,} in CSV; save the scores of "
            "so many classes as .npy or .npz, or as a column of lists in parquet"
        )
    if columns > 1:
        return
    for mark, word in SEPARATORS.items():
        if mark.encode() in header:
            raise InputError(f"{name}: the fields are separated by {word}, expected {SEPARATORS[delimiter]}")


def _refuse_ragged(path: AnyPath, name: str, delimiter: str) -> None:
    """Raise an InputError that names the first line with too few or too many fields, if there is one.

    It may also name a line that is not UTF-8, which pyarrow does not report.
    """
    for number, line in enumerate(_lines(path, name), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            refuse_bytes(name, f"line {number}", error)
    ragged = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        csv.read_csv(  # in one thread: several count no rows, and must run no Python code (see reader_of)
            opened_text(path),
            csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
        )
    except pa.ArrowInvalid as error:
        if ragged:
            row = ragged[0]
            raise InputError(
                f"{name}: line {row.number} has {row.actual_columns} fields; "
                f"expected {row.expected_columns}, as in the header; put fields that hold a comma in quotes"
            ) from error


def blocks(path: AnyPath, name: str, delimiter: str, size: int, cap: int) -> Iterator[bytes]:
    """Yield the text of a file, compressed or not, in blocks of whole rows.

    Parameters
    ----------
    path, name
        The file, and what to call it.
    delimiter
        Between fields.
    size
        Bytes of a block, apart from the end of its last row.
    cap
        Largest number of bytes of a row.

    Raises
    ------
    InputError
        If a row has more.
    """
    empty = True
    with opened_text(path) as stream:
        text = stream.read(size)
        while part := stream.read(size):  # the last one stays whole
            if end := _end_of_rows(text, delimiter):
                yield text[:end]
                empty = False
                text = text[end:]
            text += part
            if len(text) > cap + size:
                raise InputError(f"{name}: a row is longer than {cap / 1e6:.0f} MB; expected rows of fields")
    if text or empty:
        yield text


def _end_of_rows(text: bytes, delimiter: str) -> int:
    """Return where the last whole row ends; 0 if there is none."""
    if b'"' not in text:
        end = text.rfind(b"\n") + 1
        return end or text.rfind(b"\r", 0, -1) + 1  # a newline may follow
    marks = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(marks == QUOTE)
    before = marks[quotes[::2] - 1]  # what stands before those that open
    opens = np.isin(before, (ord(delimiter), NEWLINE, RETURN, QUOTE))
    opens[0] |= quotes[0] == 0
    if not opens.all():
        d = re.escape(delimiter.encode())
        plain = rb'(?:[^"%b\r\n][^%b\r\n]*)?' % (d, d)  # quotes within fields are ordinary characters
        field = rb'(?:"[^"]*(?:""[^"]*)*"%b|%b)' % (plain, plain)
        row = re.compile(rb"%b(?:%b%b)*(?:\r\n|\n|\r(?!\n|\Z))" % (field, d, field))
        end = 0
        while match := row.match(text, end):
            end = match.end()
        return end
    for marked in (marks == NEWLINE, marks[:-1] == RETURN):  # newlines may all be within quotes
        ends = np.flatnonzero(marked)
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        if len(outside):
            return int(outside[-1]) + 1
    return 0


class CsvWriter(Writer):
    """CSV: text is quoted only where necessary; a pipe keeps the delimiter of the input."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._delimiter = delimiter = frame.delimiter if path is None else delimiter_of(path)
        self._schema = frame.schema(decoded=True)
        head = io.StringIO()
        text_csv.writer(head, delimiter=delimiter).writerow(self._schema.names)  # quotes lone returns too
        sink.write(head.getvalue().removesuffix("\r\n").encode() + b"\n")

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Write lines."""
        batch = self.frame.batch(kept_columns, scores, self._schema)
        marks = (self._delimiter.encode(), b'"', b"\r", b"\n")
        texts = [c for c in batch.columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)]
        special = any(mark in text for text in map(_bytes_of, texts) for mark in marks)
        style = "needed" if special else "none"
        options = csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=style)
        csv.write_csv(batch, self.sink, options)


def _bytes_of(column: Any) -> bytes:
    """Return the bytes of a text column, row by row in one array."""
    _, ends, letters = column.buffers()
    if not len(column) or letters is None:
        return b""
    kind = np.int32 if pa.types.is_string(column.type) else np.int64
    offsets = np.frombuffer(ends, kind)[column.offset : column.offset + len(column) + 1]
    return bytes(memoryview(letters)[offsets[0] : offsets[-1]])


writer = CsvWriter
