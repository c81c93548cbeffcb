"""The values of single columns of tables, and tables without the rows in which something is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, streamed
from calcli.core.language.errors import InputError
from calcli.io.layouts.classlabels import class_labels
from calcli.io.messages import listed
from calcli.io.tables.labels import (
    SHARE,
    SHARES,
    Labels,
    is_missing,
    join_labels,
    labels_from_array,
)
from calcli.io.tables.table import Table, decoded, holds_of, numbers, of_joined_type
from calcli.io.tables.text import has_codes
from calcli.io.words import NULLS

SEVERAL = "where several classes may be true at once, evaluate each class by itself"
LONG, MOST_BYTES = 1000, 1 << 29  # characters of a name, and of all rows if padded to the longest

EXACT, MOST = 2**53, 1e38  # floats hold any integer up to the first; integers beyond the second are no counts


def column_values(table: Table, name: str) -> Array:
    """Return a column as a numpy array: missing numbers are nan, missing text is empty.

    Raises
    ------
    InputError
        If its values are neither numbers nor text nor times.
    """
    kind = table.schema.field(name).type
    holds = holds_of(kind)
    orderly = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)  # months have no length
    if holds == "list" or (holds == "other" and not orderly):
        raise InputError(
            f"{table.place.name}: the column {name} holds {kind}; expected one number, text or time in each "
            "row"
        )
    if holds in ("float", "integer"):
        return exact_numbers(table.batches([name]))
    column = table.column(name)
    if holds != "text":
        return column.to_numpy()
    encoded = pc.fill_null(column.cast(decoded(kind)), "").dictionary_encode().combine_chunks()
    values = encoded.dictionary.to_pylist()
    longest = max(map(len, values), default=0)
    if longest > LONG and 4 * longest * len(column) > MOST_BYTES:
        raise InputError(
            f"{table.place.name}: the column {name} holds texts of up to {longest:,} characters; "
            "expected names"
        )
    return np.array(values or [""], str)[encoded.indices.to_numpy()]


def weights_in(table: Table, name: str) -> Array:
    """Return a column of weights; weights of many rows are read again with each pass."""
    if holds_of(table.schema.field(name).type) not in ("float", "integer"):
        return column_values(table, name)
    return streamed(table.rows, partial(_doubles_of, table, name))


def _doubles_of(table: Table, name: str) -> Iterator[Array]:
    return (_floats(batch.column(0)).astype(np.float64) for batch in table.batches([name]))


def distinct_texts(table: Table, name: str) -> Array:
    """Return a column that identifies rows, such as ids; codes such as 0012 are text.

    Raises
    ------
    InputError
        If it holds integers that were rounded to floats.
    """
    if table.text and has_codes(table, name):
        values = column_values(table.text, name)
        return np.where(np.isin(values, NULLS), "", values)
    for batch in table.batches([name]):
        floating = pa.types.is_floating(decoded(batch.column(0).type))
        if floating and are_rounded(numbers(batch, by_row=False)[:, 0]):
            raise InputError(
                f"{table.place.name}: the column {name} holds integers beyond 2^53 as floats, which round "
                "them, so that different ones may be equal; save them as text or as integers"
            )
    return column_values(table, name)


def are_rounded(values: Array) -> bool:
    """Return whether floats are integers, perhaps rounded; nan and inf do not count."""
    finite = values[np.isfinite(values)]
    return EXACT <= float(np.abs(finite).max(initial=0)) < MOST and bool((finite == np.floor(finite)).all())


def worded(table: Table, name: str) -> Array:
    """Return a column with numbers replaced by their names in metadata; others, and missing ones, as text."""
    values, names = column_values(table, name), class_labels(table.schema).get(name)
    if names is None or values.dtype.kind not in "iuf":
        return values
    distinct, which = np.unique(values, return_inverse=True)
    name_of = {place: name for place, name in enumerate(names)}
    texts = ["" if value != value else name_of.get(int(value), f"{value:g}") for value in distinct.tolist()]
    return np.array(texts, str)[which]


def exact_numbers(batches: Iterable[Any]) -> Array:
    """Return the only column of record batches, numbers: missing values are nan, or empty as text."""
    return _together([numbers_in(batch.column(0)) for batch in batches])


def numbers_in(column: Any) -> Array:
    """Return an Arrow column of numbers; large integers and decimals stay distinct."""
    kind = decoded(column.type)
    if pa.types.is_decimal(kind):
        return _decimals(column.cast(kind))
    if pa.types.is_integer(kind) and kind.bit_width == 64:
        return _whole_numbers(column.cast(kind))
    return _floats(column)


def _whole_numbers(column: Any) -> Array:
    """Return integers; with missing values as floats, or as text if floats would round them."""
    if column.null_count:
        ends = [abs(end or 0) for end in pc.min_max(column).as_py().values()]
        if max(ends) > EXACT:
            return np.array(["" if value is None else str(value) for value in column.to_pylist()])
        column = pc.fill_null(column.cast(pa.float64()), np.nan)
    return np.from_dlpack(column)  # `to_numpy` imports pandas


def _decimals(column: Any) -> Array:
    """Return decimals: whole ones as integers, others as floats, or as text if too large."""
    with suppress(pa.ArrowInvalid):  # of a fraction, or more than 64 bits
        return _whole_numbers(column.cast(pa.int64()))
    floats = _floats(column)
    if np.abs(floats).max(where=np.isfinite(floats), initial=0) < EXACT:
        return floats
    return np.array(["" if value is None else _plain(f"{value:f}") for value in column.to_pylist()])


def _floats(column: Any) -> Array:
    return numbers(pa.RecordBatch.from_arrays([column], names=["it"]), by_row=False)[:, 0]


def _plain(text: str) -> str:
    """Return a decimal without trailing zeros."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _together(arrays: Sequence[Array]) -> Array:
    """Return numbers of parts as one array, or as text if no type holds all of them exactly."""
    if len({part.dtype for part in arrays}) < 2:
        return np.concatenate(arrays) if arrays else np.empty(0)
    kinds = {part.dtype.kind for part in arrays}
    largest = max(_most(part) for part in arrays if part.dtype.kind in "iu") if kinds & set("iu") else 0
    if kinds <= set("iu") and largest <= np.iinfo(np.int64).max:
        return np.concatenate([part.astype(np.int64) for part in arrays])
    if kinds == {"f"} or ("U" not in kinds and largest <= EXACT):
        return np.concatenate(arrays)
    return np.concatenate([_texts(part) for part in arrays])


def _most(part: Array) -> int:
    """Return the largest distance of integers from 0."""
    return max(-int(part.min(initial=0)), int(part.max(initial=0)))


def _texts(part: Array) -> Array:
    """Return whole numbers as the text of integers; missing ones are empty."""
    if part.dtype.kind == "U":
        return part
    return np.array(["" if n != n else str(int(n) if n % 1 == 0 else n) for n in part.tolist()], str)


def labels_in(table: Table, name: str) -> Labels:
    """Return a column of labels.

    Raises
    ------
    InputError
        If it does not hold one label in each row.
    """
    if holds_of(table.schema.field(name).type) not in ("float", "integer", "text"):
        return labels_from_array(column_values(table, name), table.place)  # which are refused
    return join_labels(partial(_labels_of, table, name), table.rows)


def _labels_of(table: Table, name: str) -> Iterator[Labels]:
    """Yield the labels of each record batch."""
    kind, start = decoded(table.schema.field(name).type), 0
    for batch in table.batches([name]):
        column = batch.column(0)
        if holds_of(kind) == "text":
            yield _texts_in(of_joined_type(column, pa.large_string(), table.place.name, name))
        else:
            labels = labels_from_array(numbers_in(column), table.place, start)
            yield replace(labels, meaning="booleans") if pa.types.is_boolean(kind) else labels
        start += batch.num_rows


def _texts_in(column: Any) -> Labels:
    encoded = column.dictionary_encode()
    texts, indices = encoded.dictionary.to_pylist(), encoded.indices
    codes: Array = np.from_dlpack(pc.fill_null(indices, len(texts)) if indices.null_count else indices)
    return Labels((*texts, *([None] if indices.null_count else [])), codes)


def one_true(table: Table, columns: Sequence[str], classes: Sequence[str]) -> Any:
    """Return the class of each row, a pyarrow.ChunkedArray: the class with 1 in its column, 0 in others.

    Raises
    ------
    InputError
        If a row has no such class, or several.
    """
    values = np.stack([column_values(table, column) for column in columns], axis=1)
    odd = ~((values == 1) | (values == 0)).all(axis=1) | ((values == 1).sum(axis=1) != 1)
    if odd.any():
        row = int(odd.argmax())
        cells = ", ".join(f"{value:g}" for value in values[row].tolist())
        raise InputError(
            f"{table.place.row(row)} has {cells} in {listed(columns)}; expected one 1 and zeros beside it: "
            + (SHARES if abs(values[row].sum() - 1) < SHARE and values[row].min() >= 0 else SEVERAL)
        )
    return pa.chunked_array([pa.array(np.array(classes, object)[values.argmax(axis=1)], pa.string())])


def missing_in(table: Table, names: Sequence[str], classes: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Return (N,) which rows lack a value in one of these columns; names of classes are not missing."""
    missing: NDArray[np.bool_] = np.logical_or.reduce([_missing(table, name, classes) for name in names])
    return missing


def _missing(table: Table, name: str, classes: Sequence[str]) -> Array:
    """Return (N,) whether a value is missing, or one in a list."""
    if holds_of(table.schema.field(name).type) != "list":
        return is_missing(column_values(table, name), classes)
    gone = [_missing_lists(batch.column(0)) for batch in table.batches([name])]
    return np.concatenate([np.zeros(0, np.bool_), *gone])


def _missing_lists(lists: Any) -> Array:
    """Return (n,) whether a list is missing or empty, or holds a missing value."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    missing: Array = lengths == 0
    values = lists.flatten()  # without values below missing lists
    wrong = pc.is_null(values, nan_is_null=pa.types.is_floating(values.type))
    missing[np.repeat(np.arange(len(lengths)), lengths)[wrong.to_numpy(zero_copy_only=False)]] = True
    return missing
