"""Writing scores to files, part by part: tables in all formats that can be read, and arrays.

Scores are written in double precision, which keeps distinct probabilities distinct.
"""

from __future__ import annotations

import gzip
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import InputError, UsageError
from calcli.io.formats import BY_NAME, Format, named_format
from calcli.io.layouts.classlabels import metadata_with
from calcli.io.places.outputs import atomic_path, together
from calcli.io.places.paths import AnyPath, path_of
from calcli.io.tables.source import MARK

PREFIXES: dict[Kind, str] = {"probs": "prob_", "log-probs": "log_prob_", "logits": "logit_"}
ARRAYS: dict[Kind, str] = {"probs": "probs", "log-probs": "log_probs", "logits": "logits"}


DOUBLE = np.dtype("f8")


@dataclass(frozen=True)
class Frame:
    """The columns to write.

    Attributes
    ----------
    whole
        All columns, a pyarrow.Schema; columns of numbers or one of lists for the scores.
    names
        Names of the score columns.
    array_name
        Name of the array of scores, if there is one.
    classes
        Class names, to be stored beside an array; none for the confidence in answers.
    delimiter
        Between the fields of CSV on standard output; in a file its ending decides.
    new
        Which of the score columns are new.
    dtype
        Type of the array of scores.
    mark
        The applied calibrators, kept by formats with metadata.
    """

    whole: Any
    names: tuple[str, ...]
    array_name: str
    classes: tuple[str, ...]
    delimiter: str = ","
    new: tuple[str, ...] = ()
    dtype: np.dtype[Any] = DOUBLE
    mark: str = ""

    @property
    def others(self) -> Any:
        """The kept columns, a pyarrow.Schema."""
        import pyarrow as pa

        return pa.schema([field for field in self.whole if field.name not in self.names], self.whole.metadata)

    def schema(self, *, decoded: bool) -> Any:
        """Return the pyarrow.Schema of the output, columns of codes (dictionaries) decoded or not."""
        import pyarrow as pa

        mark = {MARK: self.mark.encode()} if self.mark else {}
        if not decoded:
            metadata = metadata_with(self.whole.metadata, self.whole.names, self.new)
            return self.whole.with_metadata({**(metadata or {}), **mark} or None)
        return pa.schema(
            [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in self.whole],
            {**(self.whole.metadata or {}), **mark} or None,
        )

    def batch(self, stored: Any, scores: Doubles, schema: Any) -> Any:
        """Return a pyarrow.RecordBatch of kept columns and (n, K) scores."""
        import pyarrow as pa

        from calcli.io.tables.table import of_numbers

        if pa.types.is_nested(schema.field(self.names[0]).type):
            flat = of_numbers(np.ascontiguousarray(scores).reshape(-1))
            if pa.types.is_fixed_size_list(schema.field(self.names[0]).type):
                columns = [pa.FixedSizeListArray.from_arrays(flat, scores.shape[1])]
            else:
                ends = of_numbers(np.arange(0, scores.size + 1, scores.shape[1], dtype=np.int32))
                columns = [pa.ListArray.from_arrays(ends, flat)]
        else:
            columns = [of_numbers(column) for column in np.ascontiguousarray(scores.T)]
        new = dict(zip(self.names, columns, strict=True))
        written = [new[field.name] if field.name in new else stored.column(field.name) for field in schema]
        cast = [column.cast(field.type) for column, field in zip(written, schema, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=schema)


def inserted(fields: Any, at: int, names: Sequence[str]) -> Any:
    """Return a pyarrow.Schema of kept columns, with new number columns after the first `at`."""
    import pyarrow as pa

    new = [pa.field(name, pa.float64()) for name in names]
    return pa.schema([*list(fields)[:at], *new, *list(fields)[at:]], fields.metadata)


class Writer(ABC):
    """A writer of kept columns and scores in one format: to a file, or without path to a pipe."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        self.sink, self.frame = sink, frame

    @abstractmethod
    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Write kept columns, a pyarrow.RecordBatch, and (n, K) scores."""

    def end(self) -> None:  # noqa: B027 (text has nothing there)
        """Write what follows the rows."""

    def abandon(self) -> None:  # noqa: B027 (most hold no resources)
        """Release open resources; the file will not appear."""


def refuse_bytes(field: Any) -> None:
    """Raise an InputError if a kept column holds bytes, which only Arrow tables support."""
    import pyarrow as pa

    types, kind = pa.types, field.type
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        raise InputError(
            f"the column {field.name} holds bytes, which this format has no way to write; choose .parquet or "
            ".arrow with -o, or leave the column out of the input"
        )


def output_format(target: str, stored: str) -> Format:
    """Return the format to write: by the ending of a file, to standard output as it was stored.

    Raises
    ------
    InputError
        If the ending is unknown, or the target is a folder.
    UsageError
        If standard output is a terminal and the format is not text.
    """
    if target == "-":
        form = BY_NAME[stored] if BY_NAME[stored].text else BY_NAME["arrow"]
        if not form.text and sys.stdout.isatty():
            raise UsageError(
                "an Arrow stream cannot be shown on a terminal; name a file with -o, or pipe it on"
            )
        return form
    path = path_of(target)
    if path.is_dir():
        raise InputError(f"{target} is a folder; expected the name of a file after -o")
    file_format = named_format(path)
    if file_format.log:
        raise UsageError(f"{path}: {path.suffix} files are logs, which are read and not written")
    return file_format


@contextmanager
def open_writer(target: str, form: Format, frame: Frame) -> Iterator[Writer]:
    """Yield a writer to a file that appears whole or not at all, or to standard output.

    Parameters
    ----------
    target
        The file, or `-`.
    form
        From `output_format`.
    frame
        The columns.

    Raises
    ------
    InputError
        If the target cannot be written, or its format does not support a column.
    """
    import pyarrow as pa

    path = None if target == "-" else path_of(target)
    try:
        with ExitStack() as opened:
            if path is None:
                sink = sys.stdout.buffer
            else:
                opened.enter_context(together())  # labels may have a separate file
                sink = opened.enter_context(_opened(opened.enter_context(atomic_path(path))))
            writer = form.module.writer(sink, frame, path)
            try:
                yield writer
            except BaseException:
                writer.abandon()
                raise
            writer.end()
            sink.flush()
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        fault = f"{target} cannot be written as {form.name}"
        if path is None:
            fault = f"standard output cannot be written as {form.name if form.text else 'Arrow stream'}"
        raise InputError(f"{fault}: {reason}; choose another format with -o") from error


def _opened(path: Path) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.GzipFile(path, "wb"))
    return path.open("wb")
