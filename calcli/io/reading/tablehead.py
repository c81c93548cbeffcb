"""A sample of rows of a table or of arrays, spread over all rows."""

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
from calcli.io.words import may_be_label, plain_text

LEAST = 50  # rows, where columns are many
MANY = 1 << 18  # rows, of which only the first ones are looked at


def all_rows(table: Table, options: ReadOptions, names: Collection[str]) -> Head | None:
    """Return some columns of a table in all rows; None if there are very many rows, or an unknown number."""
    total = table.rows
    return head_of_table(table, options, names, total) if 0 < total <= MANY else None


def head_of_table(
    table: Table, options: ReadOptions, names: Collection[str] | None = None, most_rows: int = ROWS
) -> Head:
    """Return some rows of a table, or of some of its columns."""
    fields = [field for field in table.schema if names is None or field.name in names]
    fields = [field for field in fields if field.name != options.weights or may_be_label(field.name)]
    fields = [field for field in fields if holds_of(field.type) != "other"]
    stored = [field.name for field in fields]
    wide = sum(1 for field in fields if holds_of(field.type) in ("float", "integer"))
    rows = max(LEAST, min(ROWS, ELEMENTS // max(1, wide))) if names is None else most_rows
    batches = _spread(table, stored, rows, options.limit) if stored else []
    batches = batches or [pa.RecordBatch.from_arrays([pa.array([], field.type) for field in fields], stored)]
    batch = joined_batch(batches, table.schema) if len(batches) > 1 else batches[0]
    columns: dict[str, Array] = {}
    lists: dict[str, Array] = {}
    for name, column in zip(stored, batch.columns, strict=True):
        if holds_of(column.type) != "list":
            columns[name] = looked_at(column)
        elif (values := list_values(column)) is not None:
            lists[name] = values
    packed = table.packed
    return Head(
        table.place.name,
        columns,
        lists,
        frozenset(name for name, unpacked in packed.items() if unpacked.percent),
        {name: unpacked.classes for name, unpacked in packed.items() if unpacked.classes and name in lists},
        frozenset(name for name, unpacked in packed.items() if not unpacked.ordered),
        frozenset(map(plain_text, options.named(()))),
        _fields(packed.values()),
        {field.name: str(field.type) for field in table.schema if _is_other(field.type)},
        within=tuple(path for field in table.schema for path in _numbers_within(field.type, field.name)),
        ordered={
            name: tuple(map(str, batch.column(0).dictionary.to_pylist()))  # of the first rows
            for name in (field.name for field in fields if getattr(field.type, "ordered", False))
            if (batch := table.head([name], 1)) is not None
        }
        | class_labels(table.schema),
    )


def _numbers_within(kind: Any, path: str) -> Iterator[str]:
    """Yield the paths of numbers in objects, those in lists as `stats[].mean`."""
    if holds_of(kind) == "list":
        yield from _numbers_within(kind.value_type, f"{path}[]")
    elif pa.types.is_struct(kind):
        for member in kind:
            yield from _numbers_within(member.type, f"{path}.{member.name}")
    elif "[]." in path and pa.types.is_floating(kind):
        yield path


def _is_other(kind: Any) -> bool:
    """Return whether a column can hold neither scores nor labels, such as lists of lists."""
    content = holds_of(kind)
    return content == "other" or (content == "list" and holds_of(kind.value_type) in ("list", "other"))


def _fields(packed: Iterable[Unpacked]) -> dict[str, tuple[str, ...]]:
    """Return the fields of objects, as one column each."""
    fields = {}
    for owner, columns in ((it.owner, it.made) for it in packed if it.owner):
        names = [member.name for member in columns if member.name.startswith(f"{owner}.")]
        fields[owner] = tuple(name.removeprefix(f"{owner}.") for name in names)
    return fields


def _spread(table: Table, names: Sequence[str], rows: int, limit: int | None) -> list[Any]:
    """Return pyarrow.RecordBatches of rows spread over a table, or over the first rows of a very long one."""
    total = table.rows
    has_size = 0 < total <= MANY
    batches, at = [], 0
    wanted = None if not has_size else spread_rows(min(total, limit or total), rows)
    for batch in table.batches(names) if has_size else [table.head(names, min(MANY, limit or MANY))]:
        if batch is None or not batch.num_rows:
            continue
        rows_of_batch = spread_rows(batch.num_rows, rows)
        if wanted is not None:
            rows_of_batch = wanted[(wanted >= at) & (wanted < at + batch.num_rows)] - at
        at += batch.num_rows
        if len(rows_of_batch):
            part = batch if len(rows_of_batch) == batch.num_rows else batch.take(of_numbers(rows_of_batch))
            batches.append(part)
    return batches


def looked_at(column: Any) -> Array:
    """Return the values of an Arrow column: numbers, missing ones nan, booleans, or text as objects."""
    column = column.cast(decoded(column.type)) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_boolean(column.type):
        values = column.to_pylist()
        missing = column.null_count > 0
        return np.array(
            [None if value is None else str(value).lower() for value in values] if missing else values
        )
    if holds_of(column.type) in ("float", "integer"):
        numbers = numbers_in(column)
        kind = numbers.dtype.kind
        return numbers if kind in "iu" else numbers.astype(object if kind == "U" else float)
    return np.array([None, *column.to_pylist()], object)[1:]


def list_values(column: Any) -> Array | None:
    """Return (n, K) values of lists, shorter lists filled up with 0 or -inf; None without lists."""
    kind = holds_of(column.type.value_type)
    if kind not in ("float", "integer", "text") or not len(column):
        return None
    lengths = np.from_dlpack(pc.fill_null(pc.list_value_length(column), 0))
    longest = int(lengths.max(initial=0))
    if longest < 1:
        return None
    flat = looked_at(column.flatten())
    there = lengths > 0
    if (lengths == longest).all():
        return flat.reshape(len(lengths), longest)
    if kind == "text":
        values = np.full((len(lengths), longest), "", object)
        values[np.arange(longest) < lengths[:, None]] = flat
        return values if (lengths[there] == longest).all() else None
    flat = flat.astype(np.float64)
    low = flat.min(initial=0, where=~np.isnan(flat))
    values = np.full((len(lengths), longest), -np.inf if low < 0 else 0.0)
    values[np.arange(longest) < lengths[:, None]] = flat
    values[~there] = np.nan
    return values
