"""Vectors of Spark ML: structs of type (0 sparse, 1 dense), size, indices, values; lists of one label."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.data.arrays import Doubles
from calcli.core.language.errors import InputError
from calcli.io.layouts.unpack import Head, Unpacked
from calcli.io.options import ReadOptions
from calcli.io.tables.labels import one_hot
from calcli.io.tables.table import Derived, Row, is_list
from calcli.io.words import is_called, may_be_label

MOST = 1_000_000  # values of a sparse vector: a few bytes may promise any number


def _listed(kind: Any, is_value: Callable[[Any], bool]) -> bool:
    return is_list(kind) and (pa.types.is_null(kind.value_type) or is_value(kind.value_type))


def _number(kind: Any) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


PARTS: dict[str, Callable[[Any], bool]] = {
    "type": pa.types.is_integer,
    "size": pa.types.is_integer,
    "indices": partial(_listed, is_value=_number),
    "values": partial(_listed, is_value=_number),
}


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return lists of numbers for vectors, and labels for lists of one label."""
    if is_list(field.type) and may_be_label(field.name):
        lists = head().drop_null()
        lengths = set(pc.list_value_length(lists).to_pylist())
        if lengths == {1}:
            return Unpacked((Derived(field.name, field.type.value_type, _first),))
        values = np.asarray(lists.flatten()) if _number(field.type.value_type) else np.empty(0)
        hot = len(lengths) == 1 and len(values) and one_hot(values.reshape(len(lists), -1)) is not None
        return Unpacked((Derived(field.name, pa.int64(), one_of),)) if hot else None
    if not pa.types.is_struct(field.type) or is_called("no scores", field.name):
        return None
    kinds = {child.name: child.type for child in field.type}
    if not {"type", "values"} <= kinds.keys() <= PARTS.keys():
        return None
    if not all(pa.types.is_null(kind) or PARTS[name](kind) for name, kind in kinds.items()):
        return None
    return Unpacked((Derived(field.name, pa.list_(pa.float64()), _dense),))


def one_of(lists: Any, row: Row) -> Any:
    """Return the position of the single 1 among the zeros of each list; null for missing lists.

    Raises
    ------
    InputError
        If a list has another form.
    """
    places = []
    for n, hot in enumerate(lists.to_pylist()):
        if hot and (hot.count(1) != 1 or hot.count(0) != len(hot) - 1):
            raise InputError(
                f"{row(n)} has {hot} among labels; expected one 1 and zeros beside it; where several classes "
                "may be true at once, evaluate each class by itself"
            )
        places.append(hot.index(1) if hot else None)
    return pa.array(places, pa.int64())


def _first(lists: Any, row: Row) -> Any:
    """Return the one value of each list; a missing value is null."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    if (n := pc.index(pc.greater(lengths, 1), True).as_py()) >= 0:
        raise InputError(f"{row(n)} has {lengths[n].as_py()} labels; expected one, as in other rows")
    return pc.list_element(pc.if_else(pc.equal(lengths, 1), lists, pa.scalar([None], lists.type)), 0)


def _dense(vectors: Any, row: Row) -> Any:
    """Return dense lists of vectors; entries missing from sparse ones are 0.

    Raises
    ------
    InputError
        If a row has a vector with indices beyond its size.
    """
    if vectors.null_count:  # rows without a vector have no list either
        there = np.asarray(vectors.is_valid())
        rows = np.flatnonzero(there)
        dense = _dense(vectors.filter(pa.array(there)), lambda n: row(int(rows[n])))
        return dense.take(pa.array(np.cumsum(there) - 1, mask=~there))
    values = vectors.field("values").cast(pa.list_(pa.float64()), safe=False)
    if (np.asarray(vectors.field("type")) == 1).all():
        return values
    missing = pa.nulls(len(vectors))
    stored = dict(zip((child.name for child in vectors.type), vectors.flatten(), strict=True))
    columns = (stored.get(part, missing).to_pylist() for part in PARTS)
    filled = [
        _entries(kind, size, indices, entries, row(n))
        for n, (kind, size, indices, entries) in enumerate(zip(*columns, strict=True))
    ]
    offsets = np.cumsum([0, *map(len, filled)])
    return pa.LargeListArray.from_arrays(offsets, np.concatenate(filled)).cast(pa.list_(pa.float64()))


def _entries(
    kind: int | None, size: int | None, indices: list[float] | None, values: list[float] | None, row: str
) -> Doubles:
    """Return the entries of one vector."""
    stored = np.array(values or [], np.float64)
    if kind == 1:
        return stored
    places = [index for index in indices or () if index is not None and not index % 1]
    within = all(0 <= place < (size or 0) for place in places) and len(places) == len(indices or ())
    if not size or indices is None or values is None or len(places) != len(stored) or not within:
        raise InputError(f"{row} has a sparse vector with other indices than its size allows")
    if size > MOST:
        raise InputError(f"{row} has a sparse vector of {size:,} values; expected {MOST:,} at most")
    entries = np.zeros(size)
    entries[np.array(places, np.intp)] = stored
    return entries
