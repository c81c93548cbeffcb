"""Files to recalibrate, as tables that can be passed through in parts: no labels needed, nothing lost.

CSV is streamed; arrays appear as a table with a list column of scores.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.files import known_format, sniff
from calcli.io.npy import open_npy, read_labels
from calcli.io.npz import open_archive
from calcli.io.options import ReadOptions
from calcli.io.places import Place
from calcli.io.rawscores import HeldScores, RawScores
from calcli.io.read import labels_of_same_stem
from calcli.io.tables import Table, arrow_errors, open_arrow, open_parquet
from calcli.io.text import STDIN, delimiter_in, delimiter_of, header_of, open_jsonl, open_stdin, refuse_header

BLOCK_BYTES = 1 << 22  # of CSV parsed at once; no line may be longer
PART_BYTES = 1 << 24  # of scores in a part of an array
SCORES = "scores"


@dataclass(frozen=True)
class Source:
    """Something to recalibrate.

    Attributes
    ----------
    table
        Its columns.
    format
        What it is stored as, such as "csv".
    delimiter
        Between the fields of CSV.
    classes
        Class names that are stored beside the scores, not in the names of their columns.
    left_out
        What cannot be passed on: arrays that do not have one value a row.
    """

    table: Table
    format: str
    delimiter: str = ","
    classes: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class CsvTable:
    """A CSV file that is read anew for each pass, a block at a time.

    Attributes
    ----------
    path
        The file.
    name
        What to call it.
    delimiter
        Between fields.
    schema
        Names and types of the columns, by the first block; types may be overruled by `with_types`.
    """

    path: Path
    name: str
    delimiter: str
    schema: Any

    @property
    def place(self) -> Place:
        """The file; how many rows it has is not known before it is read."""
        return Place(((self.name, 0),))

    def with_types(self, types: Mapping[str, Any]) -> CsvTable:
        """Return the same file with other types of some columns."""
        fields = [pa.field(one.name, types.get(one.name, one.type)) for one in self.schema]
        return replace(self, schema=pa.schema(fields))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield a pyarrow.RecordBatch of these columns for each block of the file."""
        types = {name: self.schema.field(name).type for name in columns}
        with arrow_errors(self.name, "CSV file"):
            yield from _open_csv(self.path, self.delimiter, types)

    def head(self, columns: Sequence[str]) -> Any:
        """Return the first block; None if there are no rows."""
        return next((batch for batch in self.batches(columns) if batch.num_rows), None)


@dataclass(frozen=True)
class ArrayTable:
    """Scores with a row each in a list column, and arrays with a value a row beside them."""

    name: str
    scores: RawScores
    scores_name: str
    columns: dict[str, Array] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """The file."""
        return Place(((self.name, self.scores.shape[0]),))

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        lists = pa.list_(pa.from_numpy_dtype(self.scores.dtype), self.scores.shape[1])
        others = {name: pa.array(values[:0]).type for name, values in self.columns.items()}
        return pa.schema({self.scores_name: lists, **others})

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield parts of about 16 MB."""
        width, start = self.scores.shape[1], 0
        for block in self.scores.blocks(max(1, PART_BYTES // (width * self.scores.dtype.itemsize))):
            stop = start + len(block)
            part = {name: pa.array(values[start:stop]) for name, values in self.columns.items()}
            flat = pa.array(np.ascontiguousarray(block).reshape(-1).copy())
            part[self.scores_name] = pa.FixedSizeListArray.from_arrays(flat, width)
            yield pa.RecordBatch.from_pydict({name: part[name] for name in columns})
            start = stop

    def head(self, columns: Sequence[str]) -> Any:
        """Return the first part."""
        return next(self.batches(columns))


@contextmanager
def open_source(path: str, options: ReadOptions) -> Iterator[Source]:
    """Look at a file to recalibrate, or at standard input; rows are read later.

    Raises
    ------
    InputError
        If it is missing, damaged or of no known format.
    UsageError
        If an option names what is not there.
    """
    if options.labels is not None and not path.endswith(".npy"):
        raise UsageError(f"--labels {options.labels}: {path} keeps its labels by itself; leave it out")
    if path == "-":
        with _standard_input() as source:
            yield source
        return
    file = Path(path)
    form = known_format(file)
    if form == "csv":
        yield _csv(file, path, header_of(file), delimiter_of(file))
    elif form == "parquet":
        yield Source(open_parquet(file), form)
    elif form == "arrow":
        yield Source(open_arrow(file), form)
    elif form == "jsonl":
        yield Source(open_jsonl(file), form)
    elif form == "npz":
        yield _npz(file, options)
    else:
        yield _npy(file, options)


@contextmanager
def _standard_input() -> Iterator[Source]:
    start = sys.stdin.buffer.peek(16)  # type: ignore[union-attr]
    found = sniff(start)
    if not start.strip() or found != "csv":
        yield Source(open_stdin(), "jsonl" if found == "jsonl" else "arrow")
        return
    with tempfile.NamedTemporaryFile(suffix=".csv") as spooled:  # the columns must be known before the types
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.flush()
        spooled.seek(0)
        header = spooled.readline()
        yield _csv(Path(spooled.name), STDIN, header, delimiter_in(header))


def _csv(path: Path, name: str, header: bytes, delimiter: str) -> Source:
    refuse_header(header, name, delimiter)
    with arrow_errors(name, "CSV file"), _open_csv(path, delimiter, None) as reader:
        schema = reader.schema
    return Source(CsvTable(path, name, delimiter, schema), "csv", delimiter)


def _open_csv(path: Path, delimiter: str, types: Mapping[str, Any] | None) -> Any:
    """Open CSV for reading in blocks: all columns with types by the first block, or some of given types."""
    conversion = csv.ConvertOptions()
    if types is not None:
        conversion = csv.ConvertOptions(column_types=types, include_columns=list(types))
    return csv.open_csv(
        str(path),
        csv.ReadOptions(block_size=BLOCK_BYTES),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        conversion,
    )


def _npy(path: Path, options: ReadOptions) -> Source:
    if options.scores is not None:
        raise UsageError(f"--scores {options.scores}: {path} has no columns; leave it out")
    scores = open_npy(path, options.positive)
    labels = Path(options.labels) if options.labels is not None else labels_of_same_stem(path)
    columns: dict[str, Array] = {}
    if labels is not None:
        found = read_labels(labels, scores.shape)
        if len(found) != scores.shape[0]:
            raise InputError(
                f"{path} has {scores.shape[0]} rows of scores, but {labels} has {len(found)} labels; "
                "name the right labels with --labels"
            )
        columns["label"] = found.codes if found.names is None else np.array(found.names)[found.codes]
    return Source(ArrayTable(str(path), scores, SCORES, columns), "npy")


def _npz(path: Path, options: ReadOptions) -> Source:
    archive = open_archive(path, options)
    columns: dict[str, Array] = {}
    left_out = []
    for name in archive.others:
        array = archive.read(name)
        if array.size == len(archive.scores):
            columns[name] = array.reshape(-1)
        else:
            left_out.append(name)
    table = ArrayTable(str(path), HeldScores(archive.scores), archive.scores_name, columns)
    return Source(table, "npz", classes=archive.classes, left_out=tuple(left_out))
