"""CSV with commas or tabs, perhaps compressed by gzip: parsed to be read, or streamed to be passed on."""

from __future__ import annotations

import csv as text_csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io import spooled
from calcli.io.archives import opened_text
from calcli.io.codes import Written, any_code
from calcli.io.columnscores import holds_of
from calcli.io.csvblocks import blocks
from calcli.io.damage import arrow_errors
from calcli.io.largenumbers import with_large_numbers
from calcli.io.layouts.names import label_names
from calcli.io.messages import Place
from calcli.io.remote import AnyPath
from calcli.io.spooled import parsed, reader_of
from calcli.io.tables import MemoryTable, Table
from calcli.io.writing import Frame, Writer

STREAMED_BYTES = 1 << 22  # the same where the file is streamed
BLOCK_BYTES = 1 << 24  # parsed at once; no line may be longer
MOST_COLUMNS = 50_000  # the parser takes 10 kB for each
WORDS = {b"calcli": b"words for what is missing"}  # metadata of columns that hold nothing else
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
NOT_UTF8 = "is not text in UTF-8; save the file in this encoding, in spreadsheets called CSV UTF-8"


def open_file(path: AnyPath, name: str) -> Table:
    """Parse a file.

    Raises
    ------
    InputError
        If a line has more or fewer fields than the header, or is not text in UTF-8.
    """
    delimiter = _delimiter(path, name)
    with arrow_errors(name, "CSV file"):
        parts = blocks(path, name, delimiter, spooled.PART_BYTES, spooled.LONGEST)
        found = parsed(parts, name, partial(_parsed, name, delimiter))
        whole = partial(_whole, path, name, delimiter)
        if not isinstance(found, MemoryTable) and (found is None or _of_words(found.schema)):
            found = MemoryTable(name, whole())
        if isinstance(found, MemoryTable) and _of_words(found.schema):
            found = replace(found, as_texts=whole)
    for column in found.schema:
        if pa.types.is_binary(column.type):
            raise InputError(f"{name}: the column {column.name} {NOT_UTF8}")
    return replace(found, written=Written(path, partial(_texts, path, name, delimiter, found.schema.names)))


def _texts(path: AnyPath, name: str, delimiter: str, names: Sequence[str], column: str) -> Iterator[Any]:
    """Yield a pyarrow.RecordBatch of a column as it is written for each block of a file."""
    options = _only(pa.schema([(column, pa.string())]))
    options.strings_can_be_null = True  # as numbers are
    with arrow_errors(name, "CSV file"):
        for table in _streamed(path, name, delimiter, names, options):
            yield from table.to_batches()


def _whole(path: AnyPath, name: str, delimiter: str, texts: Sequence[str] = ()) -> Any:
    """Return the pyarrow.Table of a file, of which some columns are text whatever they hold."""
    options = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        return _typed(partial(opened_text, path), name, _blocks(), options, texts)
    except pa.ArrowInvalid:
        _refuse_ragged(path, name, delimiter)
        raise


def _parsed(name: str, delimiter: str, part: bytes, first: Any) -> Any:
    """Return the pyarrow.Table of a part of a file; but for the first one it has no line of headings."""
    quoted = b'"' in part  # else it is cut for the threads at any newline, which is faster
    options = csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted)
    return _typed(partial(reader_of, part), name, _blocks(first.names if first else ()), options)


def _typed(opened: Callable[[], Any], name: str, read: Any, parse: Any, texts: Sequence[str] = ()) -> Any:
    """Return the pyarrow.Table of a text, which is opened anew for large integers."""

    def again(wanted: Any) -> Any:
        return csv.read_csv(opened(), read, parse, _only(wanted))

    given = csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
    table = csv.read_csv(opened(), read, parse, given)
    _refuse_names(table.schema, name)
    return _with_words(with_large_numbers(table, again), again)


def _with_words(table: Any, again: Callable[[Any], Any]) -> Any:
    """Return a table whose columns without values are marked if they hold words, as NA, which may be text."""
    empty = [field.name for field in table.schema if pa.types.is_null(field.type)]
    if not empty or len(set(table.schema.names)) < len(table.schema):  # which is refused
        return table
    texts = again(pa.schema([(name, pa.string()) for name in empty]))
    for name in empty:
        if pc.any(pc.not_equal(texts.column(name), "")).as_py():
            at = table.schema.get_field_index(name)
            table = table.set_column(at, pa.field(name, pa.null(), metadata=WORDS), table.column(name))
    return table


def _of_words(schema: Any) -> bool:
    """Tell whether a column has no values, but words for missing ones."""
    return any(pa.types.is_null(field.type) and field.metadata for field in schema)


def _only(wanted: Any) -> Any:
    return csv.ConvertOptions(column_types=wanted, include_columns=wanted.names)


def _blocks(names: Sequence[str] = ()) -> Any:
    return csv.ReadOptions(block_size=BLOCK_BYTES, column_names=list(names))


def open_stream(path: AnyPath, name: str, *, as_text: bool) -> Table:
    """Look at a file that is to be passed on; see `CsvStream`."""
    delimiter = _delimiter(path, name)
    with arrow_errors(name, "CSV file"):
        first = next(_streamed(path, name, delimiter))
        _refuse_names(first.schema, name)
        again = partial(_streamed, path, name, delimiter, ())
        schema = with_large_numbers(first, lambda wanted: next(again(_only(wanted)))).schema
    return CsvStream(path, name, as_text, schema, delimiter)


@dataclass(frozen=True)
class CsvStream(Table):
    """A CSV file that is read anew for each pass, a block at a time.

    Attributes
    ----------
    path
        The file.
    name
        What to call it.
    as_text
        Whether columns that are neither scores nor ranks stay the text they are.
    schema
        Names and types of the columns, by the first block.
    delimiter
        Between fields.
    """

    path: AnyPath
    name: str
    as_text: bool
    schema: Any
    delimiter: str = ","

    @property
    def place(self) -> Place:
        """The file; how many rows it has is not known before it is read."""
        return Place(((self.name, 0),))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield a pyarrow.RecordBatch of these columns for each block of the file."""
        options = _only(pa.schema([self.schema.field(name) for name in dict.fromkeys(columns)]))
        with arrow_errors(self.name, "CSV file"):
            for table in _streamed(self.path, self.name, self.delimiter, self.schema.names, options):
                yield from table.to_batches()

    def settled(self, stored: Sequence[str], scores: Sequence[str], label: str | None) -> Table:
        """Return the table with types for all blocks: scores were found by those of the first one."""
        types, open_types = {}, []
        for column in self.schema:
            text = pa.types.is_string(column.type)  # scores may be packed in it
            if column.name in stored and not text:
                types[column.name] = pa.float64()
            elif column.name in scores and not text:
                continue
            elif self.as_text or pa.types.is_decimal(column.type):  # these are long integers so far
                types[column.name] = pa.string()
            elif not text:  # a later block may hold other values
                open_types.append(column.name)
        types |= self._types_in_all(open_types, [*label_names(self.columns), label])
        fields = [pa.field(one.name, types.get(one.name, one.type)) for one in self.schema]
        return replace(self, schema=pa.schema(fields))

    def _types_in_all(self, names: Sequence[str], labels: Sequence[str | None]) -> dict[str, Any]:
        """Return types of columns with room for the values of all blocks, of which these alone are parsed."""
        types = {name: self.schema.field(name).type for name in names}
        if not types:
            return {}
        options = csv.ConvertOptions(include_columns=list(types))
        with arrow_errors(self.name, "CSV file"):
            for table in _streamed(self.path, self.name, self.delimiter, self.schema.names, options):
                types = {name: _joint(kind, table.schema.field(name).type) for name, kind in types.items()}
        unknown = {pa.null(), pa.binary()}  # without values, or to be refused as no UTF-8
        numbers = [name for name in types if holds_of(types[name]) in ("integer", "float")]
        texts = self._codes(set(numbers) - {*labels})  # labels are looked up by value
        return {
            name: pa.string() if kind in unknown or name in texts else kind for name, kind in types.items()
        }

    def _codes(self, names: Collection[str]) -> set[str]:
        """Return columns of numbers of which one begins with a zero: they are codes, and would lose it."""
        found: set[str] = set()
        if not names:
            return found
        options = _only(pa.schema([(name, pa.string()) for name in sorted(names)]))
        with arrow_errors(self.name, "CSV file"):
            for table in _streamed(self.path, self.name, self.delimiter, self.schema.names, options):
                for name in {*table.schema.names} - found:
                    if any_code(table.column(name)):
                        found.add(name)
        return found


def _joint(one: Any, other: Any) -> Any:
    """Return a type with room for the values of two; text if there is no other."""
    try:
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string()


def _streamed(
    path: AnyPath, name: str, delimiter: str, names: Sequence[str] = (), options: Any = None
) -> Iterator[Any]:
    """Yield a pyarrow.Table of each block of a file, of which the first has the names of the columns."""
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    known: list[str] = []
    for text in blocks(path, name, delimiter, STREAMED_BYTES, BLOCK_BYTES):
        read = csv.ReadOptions(block_size=2 * BLOCK_BYTES, use_threads=False, column_names=known)
        yield csv.read_csv(reader_of(text), read, parse, options)
        known = list(names)


def delimiter_of(path: AnyPath) -> str:
    """Return what stands between fields, by the ending of the file."""
    return "\t" if ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:]) else ","


def _delimiter(path: AnyPath, name: str) -> str:
    """Return what stands between fields: by the ending of the file, or by its headings if it has none."""
    with arrow_errors(name, "CSV file"):
        header = next(_lines(path, name), b"")
    delimiter = delimiter_of(path)
    if not path.suffix and b"\t" in header and b"," not in header:
        delimiter = "\t"
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
    """Refuse CSV as spreadsheets write it in some countries, and more columns than memory may hold.

    Raises
    ------
    InputError
        If the line of headings is not in UTF-8, or its fields are too many or separated by something else.
    """
    try:
        header.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: the line of headings {NOT_UTF8}") from error
    if (columns := header.count(delimiter.encode()) + 1) > MOST_COLUMNS:
        raise InputError(
            f"{name} has {columns:,} columns; expected at most {MOST_COLUMNS:,} in CSV; save the scores of "
            "so many classes as .npy or .npz, or as a column of lists in parquet"
        )
    if columns > 1:
        return
    for mark, word in SEPARATORS.items():
        if mark.encode() in header:
            raise InputError(
                f"{name}: the fields are separated by {word}, expected {SEPARATORS[delimiter]}; save them "
                "with commas as .csv or with tabs as .tsv, and numbers with decimal points"
            )


def _refuse_names(schema: Any, name: str) -> None:
    """Raise an InputError if a name is not in UTF-8, as in headings of several lines."""
    try:
        schema.names  # noqa: B018
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: the line of headings {NOT_UTF8}") from error


def _refuse_ragged(path: AnyPath, name: str, delimiter: str) -> None:
    """Raise an InputError that names the first line with too few or too many fields, if there is one.

    Or one that is not in UTF-8, of which pyarrow could not tell.
    """
    for number, line in enumerate(_lines(path, name), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: line {number} {NOT_UTF8}") from error
    ragged = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        csv.read_csv(  # in one thread: others count no rows, and must hold no Python code (see reader_of)
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


class CsvWriter(Writer):
    """CSV: text is quoted only in parts where it must be; a pipe keeps what stood between the fields read."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._delimiter = delimiter = frame.delimiter if path is None else delimiter_of(path)
        self._schema = frame.schema(decoded=True)
        head = io.StringIO()
        text_csv.writer(head, delimiter=delimiter, lineterminator="\n").writerow(self._schema.names)
        sink.write(head.getvalue().encode())

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write lines."""
        batch = self.frame.batch(beside, scores, self._schema)
        style = "needed" if self._has_special(batch) else "none"
        options = csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=style)
        csv.write_csv(batch, self.sink, options)

    def _has_special(self, batch: Any) -> bool:
        special = rf'[{re.escape(self._delimiter)}"\r\n]'
        texts = [c for c in batch.columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)]
        return any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts)


writer = CsvWriter
