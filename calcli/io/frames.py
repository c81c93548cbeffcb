"""Data frames and other Python tables: predictions in, results out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from calcli.core.data.arrays import Array
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError
from calcli.io.layouts.objects import with_orders
from calcli.io.options import ReadOptions
from calcli.io.places.faults import by_keys, sound
from calcli.io.read import read_part
from calcli.io.tables.table import in_memory

if TYPE_CHECKING:
    import pandas


def from_table(data: Any, options: ReadOptions, extra: Mapping[str, Array] | None = None) -> Predictions:
    """Return the predictions in a Python table, read like a file with the same columns.

    Parameters
    ----------
    data
        A table of pandas, polars or pyarrow, or another object with the Arrow stream interface.
    options
        Options of reading.
    extra
        Further columns by name, (N,) each.

    Raises
    ------
    InputError
        If the table holds no predictions.
    UsageError
        If an option does not fit it.
    """
    name = type(data).__name__
    try:
        table = _of_pandas(data) if type(data).__module__.startswith("pandas") else pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as a table: {error}") from error
    for called, values in (extra or {}).items():
        if values.shape != (len(table),):
            raise InputError(f"{called} of shape {values.shape} for {len(table)} rows; expected one for each")
        table = table.append_column(called, pa.array(values, from_pandas=True))
    return read_part(in_memory(name, sound(table)), name, options)


def _of_pandas(data: Any) -> Any:
    """Return a data frame without its index; names become text, objects keep the order of keys."""
    renamed = data.set_axis([str(name) for name in data.columns], axis="columns")
    table = pa.Table.from_pandas(renamed, preserve_index=False).replace_schema_metadata()
    for place, field in enumerate(table.schema):
        values = renamed[field.name]
        if (kind := by_keys(field.type, values)) != field.type:
            table = table.set_column(place, field.with_type(kind), pa.array(values, kind, from_pandas=True))
    return with_orders(table, renamed.__getitem__)


def to_frame(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return a table with a row for each record; columns in the order of first occurrence."""
    import pandas

    return pandas.DataFrame(list(records))
