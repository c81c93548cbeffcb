"""What pyarrow says of damaged data, in a sentence that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError


@contextmanager
def arrow_errors(name: str, what: str) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into an InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{name} is not a complete and valid {what}: {said.rstrip('.')}") from error


def sound(data: Any) -> Any:
    """Return Arrow data after a look at all of it: damaged offsets, codes or text would crash later."""
    readable(data.schema)
    data.validate(full=True)
    return data


def readable(schema: Any) -> Any:
    """Return a schema once its names have been decoded: here what is damaged is told of, later it is not."""
    tuple(schema.names)
    return schema
