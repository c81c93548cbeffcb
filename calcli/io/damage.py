"""Data as pyarrow has them, and what it says of damaged ones, in a sentence that names the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.messages import listed


@contextmanager
def arrow_errors(name: str, what: str) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into an InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{name} is not a complete and valid {what}: {said.rstrip('.')}") from error


def column_of(values: Sequence[Any]) -> Any:
    """Return Python values as a pyarrow.Array, those of several types as JSON text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        texts = [one if isinstance(one, str) or one is None else json.dumps(one) for one in values]
        return pa.array(texts, pa.string())


def sound(data: Any) -> Any:
    """Return Arrow data after a look at all of it: damaged offsets, codes or text would crash later."""
    readable(data.schema)
    data.validate(full=True)
    return data


def readable(schema: Any) -> Any:
    """Return a schema once its names have been decoded: here what is damaged is told of, later it is not."""
    waiting = list(schema)
    while waiting:
        field = waiting.pop()
        waiting += _inner(field.type) if field.name is not None else ()
    return schema


def _inner(kind: Any) -> Iterable[Any]:
    """Return the fields within a type."""
    if pa.types.is_struct(kind):
        return [kind.field(k) for k in range(kind.num_fields)]
    inner = getattr(kind, "value_field", None)  # of lists
    return [] if inner is None else [inner]


def refuse_repeated_fields(schema: Any, name: str) -> None:
    """Raise an InputError if a struct, also one within a list, has two fields of the same name."""
    waiting = [(field.name, field.type) for field in schema if field.type.num_fields]
    for column, kind in waiting:
        inner = list(_inner(kind))
        repeated = [field for field, count in Counter(one.name for one in inner).items() if count > 1]
        if repeated:
            raise InputError(
                f"{name}: column {column} has more than one field named {listed(repeated)}; "
                "rename all but one"
            )
        waiting += [(column, one.type) for one in inner]
