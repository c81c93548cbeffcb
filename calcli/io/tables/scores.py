"""Scores in the columns of tables, a column for each class or lists, as Arrow has them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.tables.source import StoredScores, rows_and_columns
from calcli.io.tables.table import Table, holds_of, in_memory, numbers
from calcli.io.tables.table import kept as kept_rows
from calcli.io.tables.values import missing_in

HEAD_ROWS = 256  # rows in which one without missing scores is sought

SLICE_BYTES = 1 << 22  # rows transposed at once: long enough runs, and still in the cache
FEW_CLASSES = 64  # classes up to which blocks stay class by class in memory


@dataclass(frozen=True)
class TableScores(StoredScores):
    """Scores in some columns of a table.

    Attributes
    ----------
    table
        The table.
    names
        The columns to be read.
    width, of_type
        Number of scores in a row, and their type.
    """

    table: Table
    names: tuple[str, ...]
    width: int
    of_type: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return self.table.rows, self.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type as stored."""
        return self.of_type

    @abstractmethod
    def values(self, batch: Any, at: int) -> Array:
        """Return the (n, K) scores of a record batch of the columns `names`, which begins at row `at`."""

    def within(self, table: Table) -> Self:
        """Return the scores in the same columns of another table."""
        return replace(self, table=table)

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Return some rows, without looking at the others."""
        return self.within(kept_rows(self.table, mask))

    def missing(self) -> NDArray[np.bool_]:
        """Return (N,) which rows lack a score."""
        return missing_in(self.table, self.names)

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) blocks, class by class in memory if they are few and in columns."""
        step = max(rows, SLICE_BYTES // (self.shape[1] * self.dtype.itemsize))
        for block, _ in self.passing((), step):
            for start in range(0, len(block), rows):
                yield block[start : start + rows]

    def head(self, rows: int) -> Array:
        """Return the first rows."""
        batch = self.table.head(self.names, rows)
        return np.empty((0, self.shape[1])) if batch is None else self.values(batch, 0)

    def passing(self, more_columns: Sequence[str], rows: int) -> Iterator[tuple[Array, Any]]:
        """Yield (n, K) scores and the same rows of other columns, a pyarrow.RecordBatch."""
        at, names = 0, list(self.names)
        for batch in self.table.batches(list(dict.fromkeys([*names, *more_columns]))):
            for start in range(0, batch.num_rows, rows):
                part = batch.slice(start, rows)
                yield self.values(part.select(names), at + start), part.select(list(more_columns))
            at += batch.num_rows


class ColumnScores(TableScores):
    """Scores in one column per class."""

    def values(self, batch: Any, at: int) -> Array:
        """Return the columns side by side; class by class in memory if they are few."""
        return numbers(batch, by_row=len(self.names) > FEW_CLASSES).astype(self.dtype, copy=False)


class ListScores(TableScores):
    """Scores in one column, as lists with one entry per class."""

    def values(self, batch: Any, at: int) -> Array:
        """Return the values of the lists.

        Raises
        ------
        InputError
            If the length of a list differs from the first one's.
        """
        lists = batch.column(0)
        if (row := first_of_other_length(lists, self.shape[1])) is not None:
            length = len(lists[row].as_py() or ())
            mend = "leave such rows out with --drop-missing"
            if length:
                mend = (
                    "if these are the largest of a row (a sparse top-k dump), save the scores of all classes"
                )
            raise InputError(
                f"{self.table.place.row(at + row)} has {length} scores in {self.names[0]}; expected "
                f"{self.shape[1]}, as in the first row; {mend}"
            )
        flat = numbers(pa.RecordBatch.from_arrays([lists.flatten()], names=self.names), by_row=True)
        return flat.reshape(len(lists), self.shape[1]).astype(self.dtype, copy=False)


def first_of_other_length(lists: Any, length: int) -> int | None:
    """Return the row of the first Arrow list without this length; null has no length."""
    different = pc.not_equal(pc.fill_null(pc.list_value_length(lists), 0), length)
    row: int = pc.index(different, True).as_py()
    return None if row < 0 else row


def stored_scores(table: Table, names: tuple[str, ...]) -> ColumnScores | ListScores:
    """Return the scores in columns of numbers, or in one list column; unread.

    Raises
    ------
    InputError
        If a column does not hold numbers.
    """
    place, schema = table.place, table.schema
    rows = sum(count for _, count in place.parts)
    holds = {name: holds_of(schema.field(name).type) for name in names}
    if holds[names[0]] == "list":
        dtype = _numpy_type(schema.field(names[0]).type.value_type)
        head = first_whole(table, names)
        columns = 0 if head is None else pc.list_value_length(head.column(0))[0].as_py() or 0
        _, columns = rows_and_columns((rows or head is not None, columns), place.name)
        return ListScores(table, (names[0],), columns, dtype)
    dtypes = {_numpy_type(schema.field(name).type) for name in names}
    return ColumnScores(table, names, len(names), dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64))


def first_whole(table: Table, names: Sequence[str]) -> Any:
    """Return a pyarrow.RecordBatch of the first complete row, or of the first row."""
    batch = table.head(names, HEAD_ROWS)
    if batch is None:
        return None
    gone = missing_in(in_memory(table.place.name, pa.Table.from_batches([batch])), names)
    return batch.slice(0 if gone.all() else int(gone.argmin()), 1)


def _numpy_type(kind: Any) -> np.dtype[Any]:
    types = pa.types
    if types.is_floating(kind):
        return np.dtype(f"f{kind.bit_width // 8}")
    if types.is_integer(kind):
        return np.dtype(f"{'i' if types.is_signed_integer(kind) else 'u'}{kind.bit_width // 8}")
    return np.dtype(np.float64)
