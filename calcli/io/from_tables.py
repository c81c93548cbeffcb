"""From a table to what is found in it: scores, labels, weights and the other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.assemble import Found, LazyColumns
from calcli.io.columns import Holds, Layout, find_layout, refuse_duplicates
from calcli.io.labels import Labels, labels_from_array, missing_label
from calcli.io.options import ReadOptions
from calcli.io.places import Place
from calcli.io.ranked import RankedScores, read_through_ranks
from calcli.io.rawscores import rows_and_columns
from calcli.io.tables import Table, read_column

SLICE_BYTES = 1 << 22  # turned from columns to rows at once: long enough runs, and still in the cache
FEW_CLASSES = 64  # up to here blocks stay class by class in memory


@dataclass(frozen=True)
class ColumnScores:
    """Scores in one column a class."""

    table: Table
    names: tuple[str, ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) blocks, class by class in memory if there are few classes, row by row otherwise."""
        step = max(rows, SLICE_BYTES // (len(self.names) * self.dtype.itemsize))
        for batch in self.table.batches(self.names):
            for start in range(0, batch.num_rows, step):
                block = self.values(batch.slice(start, step), start)
                for first in range(0, len(block), rows):
                    yield block[first : first + rows]

    def values(self, batch: Any, at: int) -> Array:
        """Return the (n, K) scores of a record batch of the columns `names`, which begins at row `at`."""
        return _numbers(batch, by_row=len(self.names) > FEW_CLASSES).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class ListScores:
    """Scores in one column whose values are lists with one entry a class."""

    table: Table
    names: tuple[str]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) views of the lists' values."""
        at = 0
        for batch in self.table.batches(self.names):
            values = self.values(batch, at)
            at += len(values)
            for first in range(0, len(values), rows):
                yield values[first : first + rows]

    def values(self, batch: Any, at: int) -> Array:
        """Return the (n, K) scores of a record batch of the one column, which begins at row `at`.

        Raises
        ------
        InputError
            If a list has another length than the first one.
        """
        lists = batch.column(0)
        self._check_lengths(lists, at)
        flat = _numbers(pa.RecordBatch.from_arrays([lists.flatten()], names=self.names), by_row=True)
        return flat.reshape(len(lists), self.shape[1]).astype(self.dtype, copy=False)

    def _check_lengths(self, lists: Any, at: int) -> None:
        lengths = pc.fill_null(pc.list_value_length(lists), 0)
        different = pc.not_equal(lengths, self.shape[1])
        if pc.any(different).as_py():
            row = pc.index(different, True).as_py()
            raise InputError(
                f"{self.table.place.row(at + row)} has {lengths[row].as_py()} scores in {self.names[0]}; "
                f"expected {self.shape[1]}, as in the first row; if only the largest scores of each row were "
                "saved (a sparse top-k dump), save the scores of all classes"
            )


def found_in_table(table: Table, options: ReadOptions) -> Found:
    """Find out what the columns of a table are, and read the labels and weights.

    Raises
    ------
    InputError
        If labels or scores are not found, are ambiguous, missing or not numbers.
    UsageError
        If an option names what is not there.
    """
    place, schema = table.place, table.schema
    refuse_duplicates(schema.names, place.parts[0][0])
    holds = contents(schema)
    layout = find_layout(holds, lambda column: _distinct(table, column), options, place.name)
    scores = table_scores(table, layout, holds, options)
    ranked = scores if isinstance(scores, RankedScores) else None
    taken = {*scores.names, layout.label}
    return Found(
        place,
        scores,
        None if layout.label is None else _labels(table, layout.label),
        f'column "{layout.label}"',
        ranked.classes if ranked else layout.classes,
        layout.kind,
        layout.kind_reason,
        None if options.weights is None else column_values(table, options.weights),
        LazyColumns({name: _reader(table, name) for name in schema.names if name not in taken}),
        notes=(ranked.note,) if ranked else (),
    )


def contents(schema: Any) -> dict[str, Holds]:
    """Return what each column of a pyarrow.Schema holds."""
    return {field.name: _holds(field.type) for field in schema}


def column_values(table: Table, name: str) -> Array:
    """Return a column as a numpy array: missing numbers are nan, missing text is empty."""
    holds = _holds(table.schema.field(name).type)
    if holds in ("float", "integer"):
        parts = [_numbers(batch, by_row=False)[:, 0] for batch in table.batches([name])]
        return np.concatenate(parts) if parts else np.empty(0)
    column = read_column(table, name)
    if holds == "text":
        return np.array([value or "" for value in column.to_pylist()], dtype=str)
    return column.to_numpy()


def _reader(table: Table, name: str) -> Callable[[], Array]:
    return lambda: column_values(table, name)


def _holds(kind: Any) -> Holds:
    types = pa.types
    if types.is_dictionary(kind):
        return _holds(kind.value_type)
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "float"
    if types.is_integer(kind) or types.is_boolean(kind):
        return "integer"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "list"
    return "other"


def table_scores(
    table: Table, layout: Layout, holds: dict[str, Holds], options: ReadOptions
) -> ColumnScores | ListScores | RankedScores:
    """Return the scores in a table; if they are stored by class, unread.

    Parameters
    ----------
    table
        The table.
    layout
        What its columns are: the scores are columns of numbers, or one list column.
    holds
        What each column holds.
    options
        `positive` allows lists of length 1.

    Raises
    ------
    InputError
        If a column does not hold numbers, or columns of ranks do not name every class.
    UsageError
        If `--classes` are others than the ranks name.
    """
    return read_through_ranks(_stored_scores(table, layout.scores, holds, options), layout, options)


def _stored_scores(
    table: Table, names: tuple[str, ...], holds: dict[str, Holds], options: ReadOptions
) -> ColumnScores | ListScores:
    place, schema = table.place, table.schema
    rows = sum(count for _, count in place.parts)
    if holds[names[0]] == "list":
        dtype = _numpy_type(schema.field(names[0]).type.value_type, place, names[0])
        head = table.head(names)
        columns = 0 if head is None else pc.list_value_length(head.column(0))[0].as_py() or 0
        shape = rows_and_columns((rows, columns), place.name, options.positive)
        return ListScores(table, (names[0],), shape, dtype)
    for name in names:
        if holds[name] not in ("float", "integer"):
            raise InputError(_not_numbers(table, name))
    dtypes = {_numpy_type(schema.field(name).type, place, name) for name in names}
    return ColumnScores(
        table, names, (rows, len(names)), dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)
    )


def _numpy_type(kind: Any, place: Place, name: str) -> np.dtype[Any]:
    if _holds(kind) not in ("float", "integer"):
        raise InputError(f"{place.name}: the lists in column {name} hold {kind}; expected numbers")
    types = pa.types
    if types.is_floating(kind):
        return np.dtype(f"f{kind.bit_width // 8}")
    if types.is_integer(kind):
        return np.dtype(f"{'i' if types.is_signed_integer(kind) else 'u'}{kind.bit_width // 8}")
    return np.dtype(np.float64)


def _numbers(batch: Any, by_row: bool) -> Array:
    """Return the (n, columns) numbers of a record batch, null as nan; booleans and decimals become float64.

    An Arrow tensor is made faster than a numpy array for each column, and does not import pandas.
    """
    if not all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in batch.schema.types):
        batch = batch.cast(pa.schema([(name, pa.float64()) for name in batch.schema.names]))
    missing = any(column.null_count for column in batch.columns)  # only then may integers become floats
    return batch.to_tensor(null_to_nan=missing, row_major=by_row).to_numpy()


def _not_numbers(table: Table, name: str) -> str:
    column = read_column(table, name)
    row, value = 0, None
    if _holds(column.type) == "text":
        row, value = next(((i, v) for i, v in enumerate(column.to_pylist()) if not _is_number(v)), (0, None))
    found = f'"{value}"' if value is not None else f"type {column.type}"
    where = f"{table.place.row(row)} has {found} in the score column {name}"
    return f"{where}; expected numbers; choose the scores with --scores"


def _is_number(text: str | None) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _labels(table: Table, name: str) -> Labels:
    place, kind = table.place, table.schema.field(name).type
    holds = _holds(kind)
    if holds == "list":
        raise InputError(
            f"{place.name}: the label column {name} holds lists: these are one-hot or multi-label "
            "indicators; expected one class per row; where several classes may be true at once, evaluate "
            "each class by itself"
        )
    if holds == "other":
        raise InputError(f"{place.name}: the label column {name} holds {kind}; expected integers or text")
    if holds != "text":
        return labels_from_array(column_values(table, name), place)
    column = read_column(table, name)
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InputError(missing_label(place, row, "null"))
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    return Labels(np.from_dlpack(encoded.indices), tuple(encoded.dictionary.to_pylist()))


def _distinct(table: Table, name: str) -> Sequence[str]:
    return [str(value) for value in pc.unique(read_column(table, name)).to_pylist() if value is not None]
