"""Rows of a table or of arrays, spread over all of them, to be looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.data.arrays import Array
from calcli.io.layouts.classlabels import class_labels
from calcli.io.layouts.unpack import Unpacked
from calcli.io.options import ReadOptions
from calcli.io.reading.head import ELEMENTS, ROWS, Head, spread_rows
from calcli.io.tables.table import Table, decoded, holds_of, joined_batch, of_numbers
from calcli.io.tables.values import numbers_in
from calcli.io.words import named, plain_text

LEAST = 50  # rows, where columns are many
MANY = 1 << 18  # rows, of which only the first ones are looked at


def all_rows(table: Table, options: ReadOptions, names: Collection[str]) -> Head | None:
    """Return some columns of a table in all rows; None if these are very many, or not counted."""
    total = table.rows
    return head_of_table(table, options, names, total) if 0 < total <= MANY else None


def head_of_table(
    table: Table, options: ReadOptions, names: Collection[str] | None = None, most: int = ROWS
) -> Head:
    """Return some rows of a table, as it is seen, or of some of its columns."""
    fields = [
        one
        for one in table.schema
        if (one.name != options.weights or named("truth", one.name) or named("label", one.name))
        and holds_of(one.type) != "other"
        and (names is None or one.name in names)
    ]
    stored = [one.name for one in fields]
    wide = sum(1 for one in fields if holds_of(one.type) in ("float", "integer"))
    rows = max(LEAST, min(ROWS, ELEMENTS // max(1, wide))) if names is None else most
    parts = _spread(table, stored, rows, options.limit) if stored else []
    parts = parts or [pa.RecordBatch.from_arrays([pa.array([], one.type) for one in fields], stored)]
    some = joined_batch(parts, table.schema) if len(parts) > 1 else parts[0]
    columns: dict[str, Array] = {}
    lists: dict[str, Array] = {}
    for name, column in zip(stored, some.columns, strict=True):
        if holds_of(column.type) != "list":
            columns[name] = looked_at(column)
        elif (values := list_values(column)) is not None:
            lists[name] = values
    packed = table.packed
    return Head(
        table.place.name,
        columns,
        lists,
        frozenset(name for name, one in packed.items() if one.percent),
        {name: one.classes for name, one in packed.items() if one.classes and name in lists},
        frozenset(name for name, one in packed.items() if not one.ordered),
        frozenset(map(plain_text, options.named(()))),
        _fields(packed.values()),
        {one.name: str(one.type) for one in table.schema if _is_other(one.type)},
        within=tuple(path for one in table.schema for path in _numbers_within(one.type, one.name)),
        ordered={
            one.name: _categories(table, one.name) for one in fields if getattr(one.type, "ordered", False)
        }
        | class_labels(table.schema),
    )


def _numbers_within(kind: Any, path: str) -> Iterator[str]:
    """Yield the paths of numbers in objects, those in lists as `stats[].mean`."""
    if holds_of(kind) == "list":
        yield from _numbers_within(kind.value_type, f"{path}[]")
    elif pa.types.is_struct(kind):
        for one in kind:
            yield from _numbers_within(one.type, f"{path}.{one.name}")
    elif "[]." in path and pa.types.is_floating(kind):
        yield path


def _categories(table: Table, name: str) -> tuple[str, ...]:
    """Return the categories of a column in their order, as its first rows have them."""
    first = table.head([name], 1)
    return () if first is None else tuple(map(str, first.column(0).dictionary.to_pylist()))


def _is_other(kind: Any) -> bool:
    """Tell whether a column holds neither scores nor labels, as lists of lists."""
    held = holds_of(kind)
    return held == "other" or (held == "list" and holds_of(kind.value_type) in ("list", "other"))


def _fields(packed: Iterable[Unpacked]) -> dict[str, tuple[str, ...]]:
    """Return the fields of objects, each of which is a column."""
    by_owner = {it.owner: it for it in packed if it.owner}
    return {
        owner: tuple(one.name[len(owner) + 1 :] for one in it.made if one.name.startswith(f"{owner}."))
        for owner, it in by_owner.items()
    }


def _spread(table: Table, names: Sequence[str], rows: int, limit: int | None) -> list[Any]:
    """Return pyarrow.RecordBatches of rows spread over a table, of a very long one over its first ones."""
    total = table.rows
    known = 0 < total <= MANY
    parts, at = [], 0
    wanted = None if not known else spread_rows(min(total, limit or total), rows)
    for batch in table.batches(names) if known else [table.head(names, min(MANY, limit or MANY))]:
        if batch is None or not batch.num_rows:
            continue
        some = (
            spread_rows(batch.num_rows, rows)
            if wanted is None
            else wanted[(wanted >= at) & (wanted < at + batch.num_rows)] - at
        )
        at += batch.num_rows
        if len(some):
            part = batch if len(some) == batch.num_rows else batch.take(of_numbers(some))
            parts.append(part)
    return parts


def looked_at(column: Any) -> Array:
    """Return the values of an Arrow column: numbers, missing ones nan, booleans, or text as objects."""
    column = column.cast(decoded(column.type)) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_boolean(column.type):
        values = column.to_pylist()
        missing = column.null_count > 0
        return np.array([None if one is None else str(one).lower() for one in values] if missing else values)
    if holds_of(column.type) in ("float", "integer"):
        numbers = numbers_in(column)
        return (
            numbers
            if numbers.dtype.kind in "iu"
            else numbers.astype(object if numbers.dtype.kind == "U" else float)
        )
    return np.array([None, *column.to_pylist()], object)[1:]


def list_values(column: Any) -> Array | None:
    """Return (n, K) values of lists, what shorter ones lack as 0 or -inf; None if there are none."""
    kind = holds_of(column.type.value_type)
    if kind not in ("float", "integer", "text") or not len(column):
        return None
    lengths = np.from_dlpack(pc.fill_null(pc.list_value_length(column), 0))
    most = int(lengths.max(initial=0))
    if most < 1:
        return None
    flat = looked_at(column.flatten())
    there = lengths > 0
    if (lengths == most).all():
        return flat.reshape(len(lengths), most)
    if kind == "text":
        values = np.full((len(lengths), most), "", object)
        values[np.arange(most) < lengths[:, None]] = flat
        return values if (lengths[there] == most).all() else None
    flat = flat.astype(np.float64)
    low = flat.min(initial=0, where=~np.isnan(flat))
    values = np.full((len(lengths), most), -np.inf if low < 0 else 0.0)
    values[np.arange(most) < lengths[:, None]] = flat
    values[~there] = np.nan
    return values
