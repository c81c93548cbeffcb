"""Scores into files, part by part: tables in the formats that can be read, and arrays.

Scores are written in double precision, so that probabilities that differ stay different.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.lib import format as npy_format
from pyarrow import csv as arrow_csv

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError, UsageError
from calcli.io.atomic import atomic_path
from calcli.io.files import named_format
from calcli.io.text import delimiter_of

PREFIXES: dict[Kind, str] = {"probs": "prob_", "log-probs": "log_prob_", "logits": "logit_"}
ARRAYS: dict[Kind, str] = {"probs": "probs", "log-probs": "log_probs", "logits": "logits"}
STREAM = "Arrow stream"
STREAMED = {"csv": "csv", "jsonl": "jsonl"}  # to standard output; everything else as an Arrow stream


@dataclass(frozen=True)
class Frame:
    """Where new score columns stand among the columns that are kept.

    Attributes
    ----------
    others
        The kept columns, a pyarrow.Schema.
    at
        How many of them stand before the scores.
    names
        Names of the score columns.
    array_name
        Name of the array of scores, where they are one.
    classes
        Class names, to be stored beside an array.
    """

    others: Any
    at: int
    names: tuple[str, ...]
    array_name: str
    classes: tuple[str, ...]

    def schema(self, *, decoded: bool) -> Any:
        """Return the pyarrow.Schema of the output, columns of codes (dictionaries) decoded or not."""
        kept = [_decoded(one) if decoded else one for one in self.others]
        new = [pa.field(name, pa.float64()) for name in self.names]
        return pa.schema(
            [*kept[: self.at], *new, *kept[self.at :]], None if decoded else self.others.metadata
        )

    def batch(self, beside: Any, scores: Doubles, schema: Any) -> Any:
        """Return a pyarrow.RecordBatch of kept columns and (n, K) scores."""
        kept = list(beside.columns)
        new = [pa.array(column) for column in np.ascontiguousarray(scores.T)]
        columns = [*kept[: self.at], *new, *kept[self.at :]]
        cast = [column.cast(one.type) for column, one in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=schema)


class Writer(ABC):
    """What puts parts, kept columns and scores, into one format."""

    def __init__(self, sink: BinaryIO, frame: Frame) -> None:
        self.sink, self.frame = sink, frame

    @abstractmethod
    def write(self, beside: Any, scores: Doubles) -> None:
        """Write kept columns, a pyarrow.RecordBatch, and (n, K) scores."""

    @abstractmethod
    def end(self) -> None:
        """Write what stands behind the rows."""

    def abandon(self) -> None:  # noqa: B027 (most have nothing to let go of)
        """Let go of what is open; the file is not going to appear."""


class CsvWriter(Writer):
    """CSV: text is quoted only in parts where it must be."""

    def __init__(self, sink: BinaryIO, frame: Frame, delimiter: str) -> None:
        super().__init__(sink, frame)
        self._schema, self._delimiter = frame.schema(decoded=True), delimiter
        head = io.StringIO()
        csv.writer(head, delimiter=delimiter, lineterminator="\n").writerow(self._schema.names)
        sink.write(head.getvalue().encode())

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write lines."""
        batch = self.frame.batch(beside, scores, self._schema)
        style = "needed" if self._has_special(batch) else "none"
        options = arrow_csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=style)
        arrow_csv.write_csv(batch, self.sink, options)

    def _has_special(self, batch: Any) -> bool:
        special = rf'[{re.escape(self._delimiter)}"\r\n]'
        texts = [c for c in batch.columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)]
        return any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts)

    def end(self) -> None:
        """Nothing stands behind the lines."""


class JsonLinesWriter(Writer):
    """JSON lines; a missing number in a kept column is null."""

    def __init__(self, sink: BinaryIO, frame: Frame) -> None:
        super().__init__(sink, frame)
        self._schema = frame.schema(decoded=True)

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write a line a row."""
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

    def end(self) -> None:
        """Nothing stands behind the lines."""


class BatchWriter(Writer):
    """Formats that pyarrow writes a record batch at a time."""

    def __init__(
        self, sink: BinaryIO, frame: Frame, opened: Callable[[BinaryIO, Any], Any], *, decoded: bool
    ) -> None:
        super().__init__(sink, frame)
        self._schema = frame.schema(decoded=decoded)
        self._opened = opened(sink, self._schema)

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write a record batch, in parquet a row group."""
        self._opened.write_batch(self.frame.batch(beside, scores, self._schema))

    def end(self) -> None:
        """Write the foot of the file."""
        self._opened.close()

    def abandon(self) -> None:
        """Close what pyarrow would otherwise try to close later, behind the sink."""
        with suppress(OSError, pa.ArrowException):
            self._opened.close()


class NpyWriter(Writer):
    """The (N, K) array alone; the head is written again at the end, when the number of rows is known."""

    def __init__(self, sink: BinaryIO, frame: Frame) -> None:
        super().__init__(sink, frame)
        self._rows = 0
        self._head()

    def _head(self) -> None:
        shape = (self._rows, len(self.frame.names))
        head = {"descr": "<f8", "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(self.sink, head)  # leaves room for the number to grow

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write rows."""
        self.sink.write(np.ascontiguousarray(scores, "<f8").tobytes())
        self._rows += len(scores)

    def end(self) -> None:
        """Write the number of rows."""
        self.sink.seek(0)
        self._head()


class NpzWriter(Writer):
    """An archive of the array, the class names and the kept columns; gathered in memory."""

    def __init__(self, sink: BinaryIO, frame: Frame) -> None:
        super().__init__(sink, frame)
        self._beside: list[Any] = []
        self._scores: list[Doubles] = []

    def write(self, beside: Any, scores: Doubles) -> None:
        """Keep rows."""
        self._beside.append(beside)
        self._scores.append(scores)

    def end(self) -> None:
        """Write all arrays."""
        table = pa.Table.from_batches(self._beside, self.frame.others)
        arrays: dict[str, Any] = {name: _array(table.column(name)) for name in table.column_names}
        arrays[self.frame.array_name] = np.concatenate(self._scores)
        arrays["classes"] = np.array(self.frame.classes)
        np.savez(self.sink, **arrays)


def output_format(target: str, stored: str) -> str:
    """Return the format to write: by the ending of a file, to standard output as it was stored.

    Raises
    ------
    InputError
        If the ending is not known, or the target is a folder.
    UsageError
        If standard output is a terminal and the format is not text.
    """
    if target == "-":
        form = STREAMED.get(stored, STREAM)
        if form == STREAM and sys.stdout.isatty():
            raise UsageError(
                "an Arrow stream cannot be shown on a terminal; name a file with -o, or pipe it on"
            )
        return form
    path = Path(target)
    if path.is_dir():
        raise InputError(f"{target} is a folder; expected the name of a file after -o")
    return named_format(path)


@contextmanager
def open_writer(target: str, form: str, delimiter: str, frame: Frame) -> Iterator[Writer]:
    """Give a writer to a file that appears whole or not at all, or to standard output.

    Parameters
    ----------
    target
        The file, or `-`.
    form
        From `output_format`.
    delimiter
        Between fields on standard output; in a file its ending decides.
    frame
        What the columns are.

    Raises
    ------
    InputError
        If the target cannot be written, or a column cannot be in its format.
    """
    name = "standard output" if target == "-" else target
    try:
        if target == "-":
            with _writing(sys.stdout.buffer, form, delimiter, frame) as writer:
                yield writer
            sys.stdout.buffer.flush()
            return
        path = Path(target)
        with (
            atomic_path(path) as temporary,
            _opened(temporary) as sink,
            _writing(sink, form, delimiter_of(path), frame) as writer,
        ):
            yield writer
    except pa.ArrowException as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"{name} cannot be written as {form}: {said}; choose another format with -o"
        ) from error


def _opened(path: Path) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.GzipFile(path, "wb"))
    return path.open("wb")


@contextmanager
def _writing(sink: BinaryIO, form: str, delimiter: str, frame: Frame) -> Iterator[Writer]:
    makers: dict[str, Callable[[], Writer]] = {
        "csv": lambda: CsvWriter(sink, frame, delimiter),
        "jsonl": lambda: JsonLinesWriter(sink, frame),
        "parquet": lambda: BatchWriter(sink, frame, pq.ParquetWriter, decoded=False),
        "arrow": lambda: BatchWriter(sink, frame, pa.ipc.new_file, decoded=True),
        STREAM: lambda: BatchWriter(sink, frame, pa.ipc.new_stream, decoded=True),
        "npy": lambda: NpyWriter(sink, frame),
        "npz": lambda: NpzWriter(sink, frame),
    }
    writer = makers[form]()
    try:
        yield writer
    except BaseException:
        writer.abandon()
        raise
    writer.end()


def _decoded(column: Any) -> Any:
    return column.with_type(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _array(column: Any) -> Any:
    """Return a kept column as an array that needs no pickle: numbers, or text."""
    values = column.to_numpy()
    if values.dtype.kind == "O":
        return np.array(["" if value is None else str(value) for value in column.to_pylist()])
    return values
