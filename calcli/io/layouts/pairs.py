"""Lists of {label, score}, or lists of classes beside lists of scores, in one column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.language.errors import InputError
from calcli.io.layouts.unpack import Head, Unpacked
from calcli.io.options import ReadOptions
from calcli.io.tables.table import Derived, Row, is_list
from calcli.io.words import is_called, plain

UNLIKE = (pa.ArrowInvalid, pa.ArrowNotImplementedError)  # of values of another kind


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return a column of lists of classes and one of lists of their scores."""
    kind = field.type
    wrapped = pa.types.is_struct(kind) and kind.num_fields == 1 and kind.field(0).name == "list"
    if wrapped:
        kind = kind.field(0).type  # as BigQuery exports lists to parquet
    if is_list(kind) and pa.types.is_struct(kind.value_type):
        inner = kind.value_type
        deeper = inner.num_fields == 1 and pa.types.is_struct(inner.field(0).type)
        names = _parts({child.name: child.type for child in (inner.field(0).type if deeper else inner)})
        if names is None:
            return None

        def make(part: str, values: Any) -> Any:
            lists = pc.struct_field(values, 0) if wrapped else values  # null where the struct is
            flat = lists.flatten()
            return _relisted(lists, pc.struct_field(flat, [0, part] if deeper else part))

    elif pa.types.is_struct(kind) and all(is_list(child.type) for child in kind):
        names = _parts({child.name: child.type.value_type for child in kind})
        if names is None:
            return None

        def make(part: str, values: Any) -> Any:
            return pc.struct_field(values, part)

    else:
        return None
    label, score = names
    classes = Derived(
        f"{field.name}.{label}",
        pa.list_(pa.large_string()),
        lambda values, row: _cast(make(label, values), pa.large_string(), f"{field.name}.{label}", row),
    )
    scores = Derived(
        f"{field.name}.{score}",
        pa.list_(pa.float64()),
        lambda values, row: _cast(make(score, values), pa.float64(), f"{field.name}.{score}", row),
    )
    return Unpacked((classes, scores))


def _parts(fields: dict[str, Any]) -> tuple[str, str] | None:
    """Return the fields of class and score among fields of single values, if there is one of each."""
    names = [name for name, kind in fields.items() if not pa.types.is_nested(kind)]
    label = [name for name in names if is_called("class", plain(name))]
    score = [name for name in names if is_called("its score", plain(name))]
    return (label[0], score[0]) if label and len(score) == 1 else None


def _cast(lists: Any, kind: Any, name: str, row: Row) -> Any:
    """Return lists with their values as numbers or text."""
    numeric = pa.types.is_floating(kind)  # that of an integer beyond 2**53 is rounded
    try:
        return _relisted(lists, lists.flatten().cast(kind, safe=not numeric))
    except UNLIKE as error:
        for n in range(len(lists)) if len(lists) > 1 else ():
            _cast(lists.slice(n, 1), kind, name, lambda _, n=n: row(n))  # type: ignore[misc]
        expected = "a number" if numeric else "text"
        raise InputError(f"{row(0)} has {lists.type.value_type} in {name} that is not {expected}") from error


def _relisted(lists: Any, flat: Any) -> Any:
    """Return lists of the same lengths of the values in `flat`; a list that is missing is empty.

    What an array holds below a missing list is not among the values.
    """
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int32()))
    return pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), flat)
