"""Columns as Arrow has them: what they hold, their numbers, and those of several parts made alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError

Holds = Literal["float", "integer", "text", "list", "other"]


def decoded(kind: Any) -> Any:
    """Return the type of the values, whether they are stored as a dictionary or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def holds_of(kind: Any) -> Holds:
    """Return what values of an Arrow type are."""
    types = pa.types
    if types.is_dictionary(kind):
        return holds_of(kind.value_type)
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "float"
    if types.is_integer(kind) or types.is_boolean(kind):
        return "integer"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "list"
    return "other"


def numbers(batch: Any, by_row: bool) -> Array:
    """Return the (n, columns) numbers of a record batch, null as nan; booleans and decimals become float64.

    An Arrow tensor is made faster than a numpy array for each column, and does not import pandas.
    """
    if not all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in batch.schema.types):
        batch = pa.RecordBatch.from_arrays(list(map(_widened, batch.columns)), names=batch.schema.names)
        doubles = pa.schema([(name, pa.float64()) for name in batch.schema.names])
        batch = batch.cast(doubles, safe=False)  # integers beyond 2**53 are rounded
    missing = any(column.null_count for column in batch.columns)  # only then may integers become floats
    if missing or len(set(batch.schema.types)) > 1:
        batch = pa.RecordBatch.from_arrays(list(map(_widened, batch.columns)), names=batch.schema.names)
    return batch.to_tensor(null_to_nan=missing, row_major=by_row).to_numpy()


def of_numbers(values: Array) -> Any:
    """Return contiguous (n,) numbers as a pyarrow.Array of the same memory.

    pyarrow.array would import pandas, which takes longer than most files do.
    """
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _widened(column: Any) -> Any:
    """Return a column as pyarrow can cast it, which half-floats are not in all its versions."""
    if column.type != pa.float16():
        return column
    values = column.to_numpy(zero_copy_only=False).astype(np.float32)
    return pa.array(values, mask=column.is_null().to_numpy(zero_copy_only=False))


def aligned(values: Any, kind: Any) -> Any:
    """Return an array as one of another type, fields of structs by name; those that it lacks are null."""
    if values.type == kind:
        return values
    if pa.types.is_struct(values.type) and pa.types.is_struct(kind):
        known = {one.name for one in values.type}
        made = [
            aligned(values.field(one.name), one.type)
            if one.name in known
            else pa.nulls(len(values), one.type)
            for one in kind
        ]
        return pa.StructArray.from_arrays(made, fields=list(kind), mask=values.is_null())
    if any(is_list(values.type) and is_list(kind) for is_list in (pa.types.is_list, pa.types.is_large_list)):
        inner = aligned(values.values, kind.value_type)
        return pa.Array.from_buffers(
            kind, len(values), values.buffers()[:2], values.null_count, values.offset, [inner]
        )
    return values.cast(kind, safe=False)  # a type of all parts has room for any, but for large integers


def of_joined_type(values: Any, kind: Any, name: str, column: str) -> Any:
    """Return an array of a part as one of the type of all parts.

    Raises
    ------
    InputError
        If this has no room for a value; `name` is that of the data set.
    """
    try:
        return values.cast(kind)
    except pa.ArrowException as error:
        raise InputError(
            f"{name}: the column {column} is {values.type} in one part, with values that {kind}, the type "
            "of all parts together, cannot hold; save all parts with one type"
        ) from error


def aligned_table(table: Any, schema: Any) -> Any:
    """Return a table with the columns of a schema, null where it has none."""
    columns = [
        pa.chunked_array([aligned(part, field.type) for part in table.column(field.name).chunks], field.type)
        if field.name in table.schema.names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def joined_schema(schemas: Sequence[Any]) -> Any:
    """Return the schema of parts together: dictionaries are those of all parts, or what they hold.

    Raises
    ------
    pyarrow.ArrowException
        If a column is of types of which no one type can be made.
    """
    fields = {(field.name, field.type) for one in schemas for field in one}
    unlike = {name for name, times in Counter(name for name, _ in fields).items() if times > 1}
    plain = [
        pa.schema(
            [field.with_type(decoded(field.type)) if field.name in unlike else field for field in one],
            one.metadata,
        )
        for one in schemas
    ]
    return pa.unify_schemas(plain, promote_options="permissive")


def aligned_batches(batches: Iterable[Any], schema: Any, name: str) -> Iterator[Any]:
    """Yield batches of a part with nested columns of the fields of all parts, in one order, and plain text.

    Raises
    ------
    InputError
        If a column cannot be of the type in the schema; `name` is that of the data set.
    """
    for batch in batches:
        for place, column in enumerate(batch.schema.names):
            kind, own = schema.field(column).type, batch.column(place).type
            if own != kind and (kind.num_fields or pa.types.is_dictionary(own)):
                try:
                    batch = batch.set_column(place, column, aligned(batch.column(place), kind))
                except pa.ArrowException as error:
                    raise InputError(
                        f"{name}: the column {column} is of other types in other parts, of which no one type "
                        "can be made; parts of one data set must be alike"
                    ) from error
        yield batch


def joined_batch(batches: Sequence[Any], schema: Any) -> Any:
    """Return batches as one, their columns of the types in a schema."""
    columns = []
    for field in batches[0].schema:
        kind = schema.field(field.name).type
        parts = [batch.column(field.name) for batch in batches]
        columns.append(pa.concat_arrays([aligned(part, kind) for part in parts]))
    return pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)
