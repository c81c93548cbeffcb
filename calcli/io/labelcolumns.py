"""Label columns of very many rows: their values are looked at once, and read again with the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from calcli.core.data.arrays import Array
from calcli.io.labels import Labels
from calcli.io.labelstreams import MANY_ROWS, WIDEST, LabelColumn, integer_labels
from calcli.io.tables.columns import holds_of

if TYPE_CHECKING:
    from calcli.io.tables.table import Table


def label_column(table: Table, name: str, held: Callable[[], Labels]) -> LabelColumn | None:
    """Return a column of very many labels that are integers or text, unless one is missing; else None."""
    rows, kind = sum(count for _, count in table.place.parts), table.schema.field(name).type
    if rows <= MANY_ROWS or pa.types.is_dictionary(kind):
        return None
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        boolean = pa.types.is_boolean(kind)
        return integer_labels(rows, lambda: map(_integers, _columns(table, name)), held, boolean=boolean)
    return _of_text(table, name, rows, held) if holds_of(kind) == "text" else None


def _of_text(table: Table, name: str, rows: int, held: Callable[[], Labels]) -> LabelColumn | None:
    found: dict[str, int] = {}
    for column in _columns(table, name):
        if column.null_count or len(found) >= WIDEST:
            return None
        for value in pc.unique(column).to_pylist():
            found.setdefault(value, len(found))
    values = pa.array(list(found), pa.large_string())

    def read() -> Iterator[Array]:
        for column in _columns(table, name):
            yield pc.index_in(column.cast(pa.large_string()), values).to_numpy()

    return LabelColumn(rows, Labels(np.arange(len(found)), tuple(found)), held, read)


def _integers(column: Any) -> Array | None:
    if column.null_count:
        return None
    codes = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    found: Array = codes.to_numpy().astype(np.int64)
    return found


def _columns(table: Table, name: str) -> Iterator[Any]:
    return (batch.column(0) for batch in table.batches([name]))
