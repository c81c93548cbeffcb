"""Integers beyond 2^53 as floats, which do not tell them apart; from text they are read as decimals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from calcli.core.data.arrays import Array

EXACT, MOST = 2**53, 1e38  # up to the first a float holds any integer; beyond the second nobody counted one
WHOLE = pa.decimal128(38, 0)
HEAD_ROWS = 100  # that show whether a column has such integers


def with_large_numbers(table: Any, again: Callable[[Any], Any]) -> Any:
    """Return a table as it was parsed, but for large integers, which are decimals.

    Parameters
    ----------
    table
        A pyarrow.Table.
    again
        Returns it with the columns of a schema alone, parsed anew as their types.
    """
    heads = table.slice(0, HEAD_ROWS).to_batches()[:1]
    names = [
        name for head in heads for name, one in zip(head.schema.names, head, strict=True) if _is_large(one)
    ]
    if not names or len(set(table.schema.names)) < len(table.schema):  # which is refused
        return table
    try:
        parsed = again(pa.schema([(name, WHOLE) for name in names]))
    except pa.ArrowException:  # there are fractions further down
        return table
    for name in names:
        table = table.set_column(table.schema.get_field_index(name), name, parsed.column(name))
    return table


def are_rounded(values: Array) -> bool:
    """Tell whether floats are integers, of which some may have been rounded; nan and inf do not count."""
    known = values[np.isfinite(values)]
    return EXACT <= float(np.abs(known).max(initial=0)) < MOST and bool((known == np.floor(known)).all())


def _is_large(column: Any) -> bool:
    # `to_numpy` imports pandas
    return column.type == pa.float64() and are_rounded(np.from_dlpack(column.drop_null()))
