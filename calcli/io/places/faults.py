"""Data of pyarrow, and its errors on damaged data, as a sentence that names the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.messages import listed

LEVELS = 20  # nesting depth of objects in search of scores
PLAIN: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_string_view, lambda kind: pa.large_string()),
    (pa.types.is_binary_view, lambda kind: pa.large_binary()),
    (pa.types.is_null, lambda kind: pa.float64()),  # lists of null type lose their values in a cast by Arrow
    (pa.types.is_list, lambda kind: pa.list_(_without_views(kind.value_field))),
    (pa.types.is_large_list, lambda kind: pa.large_list(_without_views(kind.value_field))),
)  # types that are or hold views, and the types without them


@contextmanager
def arrow_errors(name: str, kind: str) -> Iterator[None]:
    """Turn errors of pyarrow on a damaged file into an InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name} is not a complete and valid {kind}: {reason.rstrip('.')}") from error


def column_of(values: Sequence[Any]) -> Any:
    """Return Python values as a pyarrow.Array, mixed types as JSON text."""
    try:
        column = pa.array(values)
        kind = by_keys(column.type, values)
        return column if kind == column.type else pa.array(values, kind)
    except (pa.ArrowException, OverflowError):
        texts = [value if isinstance(value, str) or value is None else json.dumps(value) for value in values]
        return pa.array(texts, pa.string())


def by_keys(kind: Any, values: Iterable[Any], levels: int = LEVELS) -> Any:
    """Return a type with fields in the order of the Python values, since pyarrow 23 sorts them."""
    if not levels:
        return kind
    if pa.types.is_struct(kind):
        objects = [value for value in values if isinstance(value, dict)]
        places = {key: place for place, key in enumerate(dict.fromkeys(chain.from_iterable(objects)))}
        fields = sorted(kind, key=lambda field: places.get(field.name, 0))
        types = [
            by_keys(field.type, (item.get(field.name) for item in objects), levels - 1) for field in fields
        ]
        return pa.struct([field.with_type(type_) for field, type_ in zip(fields, types, strict=True)])
    if pa.types.is_list(kind) and pa.types.is_nested(kind.value_type):
        lists = (value for value in values if isinstance(value, list | np.ndarray))
        return pa.list_(by_keys(kind.value_type, chain.from_iterable(lists), levels - 1))
    return kind


def sound(data: Any) -> Any:
    """Return Arrow data after a full validation: damaged offsets, codes or text would crash later.

    Views of text become text.
    """
    schema = readable(data.schema)
    data.validate(full=True)
    if schema != data.schema:
        for place, (field, stored) in enumerate(zip(schema, data.schema, strict=True)):
            if field.type != stored.type:
                data = data.set_column(place, field, data.column(place).cast(field.type))
    return data


def readable(schema: Any) -> Any:
    """Return a schema after decoding its names: damage is reported here, not later.

    Views of text become text, as Arrow does not fully support them.
    """
    return pa.schema(
        [_without_views(field) if _has_views(field) else field for field in schema], schema.metadata
    )


def _has_views(field: Any) -> bool:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    within = [_has_views(inner) for inner in _inner(kind)] if field.name is not None else []
    return pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) or any(within)


def _without_views(field: Any) -> Any:
    kind, types = field.type, pa.types
    if types.is_primitive(kind):
        return field
    if types.is_dictionary(kind):
        value = _without_views(pa.field("", kind.value_type)).type
        return field.with_type(pa.dictionary(kind.index_type, value, kind.ordered))
    if types.is_struct(kind):
        return field.with_type(pa.struct([_without_views(inner) for inner in _inner(kind)]))
    if types.is_fixed_size_list(kind):
        return field.with_type(pa.list_(_without_views(kind.value_field), kind.list_size))
    for is_view, plain in PLAIN:
        if is_view(kind):
            return field.with_type(plain(kind))
    return field


def _inner(kind: Any) -> Iterable[Any]:
    """Return the fields within a type."""
    if pa.types.is_struct(kind):
        return [kind.field(k) for k in range(kind.num_fields)]
    inner = getattr(kind, "value_field", None)  # of lists
    return [] if inner is None else [inner]


def refuse_repeated_fields(schema: Any, name: str) -> None:
    """Raise an InputError if a struct, even within a list, has two fields with the same name."""
    waiting = [(field.name, field.type) for field in schema if field.type.num_fields]
    for column, kind in waiting:
        inner = list(_inner(kind))
        repeated = [field for field, count in Counter(child.name for child in inner).items() if count > 1]
        if repeated:
            raise InputError(
                f"{name}: column {column} has more than one field named {listed(repeated)}; "
                "rename all but one"
            )
        waiting += [(column, child.type) for child in inner]
