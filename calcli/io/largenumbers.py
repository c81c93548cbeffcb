"""Integers of more than 64 bits in text, of which parsers make floats that do not tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

EXACT = 2**53  # up to here a float holds any integer
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


def _is_large(column: Any) -> bool:
    if column.type != pa.float64():
        return False
    known = np.from_dlpack(column.drop_null())  # `to_numpy` imports pandas
    return EXACT <= np.abs(known).max(initial=0) < 1e38 and bool((known == np.floor(known)).all())
