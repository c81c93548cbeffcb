"""Objects of scores, `"probs": {"cat": 0.9, ...}`, and other objects with labels or outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from calcli.io.layouts.unpack import Head, Unpacked, unpack_column
from calcli.io.options import ReadOptions
from calcli.io.tables.table import Derived, Row
from calcli.io.words import are_custom, differ_in_numbers, says, several_orders

DEEPEST = 3  # objects in objects in objects
HEAD_ROWS = 256  # by which the order of keys is known
SEVERAL = {b"calcli.keys": b"in several orders"}  # metadata of a column


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return a column for each field, named as in `probs.cat`, nested objects included."""
    if not pa.types.is_struct(field.type) or not field.type.num_fields or field.name.count(".") > DEEPEST:
        return None
    cells, names = head(), [child.name for child in field.type]
    if {"type", "values"} <= {*names} <= {"type", "size", "indices", "values"}:
        return None  # a vector, though of odd parts
    ordered_by_name = differ_in_numbers(names) or are_custom(names)
    columns: list[Derived] = []
    for place, child in enumerate(field.type):
        derived = Derived(f"{field.name}.{child.name}", child.type, partial(_field, place))
        part = partial(derived.make, cells, str) if len(cells) else partial(pa.array, [], child.type)
        within = unpack_column(child.with_name(derived.name), part, options)
        plain = within is None or within.percent or within.classes is not None
        columns += [derived] if plain or within is None else [_after(derived, it) for it in within.made]
    ordered = ordered_by_name or not SEVERAL.items() <= (field.metadata or {}).items()
    return Unpacked(tuple(columns), ordered=ordered, owner=field.name)


def with_orders(table: Any, values_of: Callable[[str], Iterable[Any]]) -> Any:
    """Return a pyarrow.Table with a mark on objects of scores with several orders of keys.

    Their type has the order of the first one only; `values_of` returns the values of a column as they were
    written, at least the first.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_struct(field.type) and says("score", field.name):
            values = islice(values_of(field.name), HEAD_ROWS)
            if several_orders(value for value in values if isinstance(value, dict)):
                table = table.set_column(place, field.with_metadata(SEVERAL), table.column(place))
    return table


def _after(outer: Derived, derived: Derived) -> Derived:
    """Return a column made from a field."""
    return Derived(derived.name, derived.type, lambda values, row: derived.make(outer.make(values, row), row))


def _field(place: int, values: Any, row: Row) -> Any:
    values_of_field = values.field(place)  # pc.struct_field would also make the other fields
    if values.null_count:
        values_of_field = pc.if_else(
            values.is_valid(), values_of_field, pa.scalar(None, values_of_field.type)
        )
    return values_of_field
