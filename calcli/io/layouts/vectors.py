"""Vectors of Spark ML: structs of type, size, indices and values; type 0 is sparse and type 1 dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.layouts.names import NO_SCORES
from calcli.io.layouts.unpacking import Derived, Head, Row, Unpacked
from calcli.io.options import ReadOptions


def unpack(field: Any, head: Head, options: ReadOptions) -> Unpacked | None:
    """Return lists of numbers for vectors."""
    if not pa.types.is_struct(field.type) or NO_SCORES.fullmatch(field.name):
        return None
    names = {one.name for one in field.type}
    if not {"type", "values"} <= names <= {"type", "size", "indices", "values"}:
        return None
    return Unpacked((Derived(field.name, pa.list_(pa.float64()), _dense),))


def _dense(vectors: Any, row: Row) -> Any:
    """Return dense lists of vectors; the entries that a sparse one does not name are 0.

    Raises
    ------
    InputError
        If a row has no vector, or one with indices beyond its size.
    """
    if vectors.null_count:
        raise InputError(f"{row(int(np.argmax(vectors.is_null())))} has no vector; expected one in each row")
    values = vectors.field("values").cast(pa.list_(pa.float64()))
    dense = np.asarray(vectors.field("type")) == 1
    if dense.all():
        return values
    found = []
    parts = ("values", "size", "indices")
    columns = zip(dense, *(vectors.field(part).to_pylist() for part in parts), strict=True)
    for n, (whole, stored, size, indices) in enumerate(columns):
        if whole:
            found.append(stored)
            continue
        sound = isinstance(size, int) and None not in (indices, stored) and len(indices) == len(stored)
        if not sound or any(one is None or one % 1 or not 0 <= one < size for one in indices):
            raise InputError(f"{row(n)} has a sparse vector with other indices than its size allows")
        entries = np.zeros(size)
        entries[np.array(indices, np.intp)] = stored
        found.append(entries.tolist())
    return pa.array(found, pa.list_(pa.float64()))
