"""Columns that are stored in another form than they are seen: packed ones, numbers with decimal commas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from calcli.io.layouts.unpacking import Unpacked, unpack_column
from calcli.io.options import ReadOptions
from calcli.io.tables.table import Table, derived

HEAD_ROWS = 256  # by which a packed column is known


def packed_columns(table: Table, options: ReadOptions) -> dict[str, Unpacked]:
    """Return what becomes of the packed columns of a table that a layout knows."""
    found = {
        field.name: unpack_column(field, partial(_first, table, field), options) for field in table.schema
    }
    return {name: one for name, one in found.items() if one is not None}


def unpacked(table: Table, known: Mapping[str, Unpacked]) -> Table:
    """Return a table with its packed columns unpacked."""
    packed = {one.name: it for it in known.values() for one in it.made}
    made = {name: it.made for name, it in known.items()}
    return replace(derived(table, made), packed=packed) if known else table


def _first(table: Table, field: Any) -> Any:
    batch = table.head([field.name], HEAD_ROWS)
    return pa.array([], field.type) if batch is None else batch.column(0)
