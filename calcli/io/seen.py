"""Columns that are stored in another form than they are seen: packed ones, numbers with decimal commas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from calcli.core.language.errors import InputError
from calcli.io.layouts.names import label_names
from calcli.io.layouts.texts import with_decimal_comma
from calcli.io.layouts.unpacking import Unpacked, unpack_column
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.tables.columns import holds_of
from calcli.io.tables.table import Table, derived

HEAD_ROWS = 256  # by which a packed column is known
LOOKED_AT = 100  # columns, for decimal commas


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


def refuse_decimal_commas(table: Table, options: ReadOptions) -> None:
    """Raise an InputError if some of the first columns that may be scores hold numbers such as "0,5"."""
    labels = set(label_names(table.schema.names))
    texts = [one for one in table.schema if holds_of(one.type) == "text" and one.name not in labels]
    found = {
        field.name: with_decimal_comma(field, partial(_first, table, field), options)
        for field in texts[:LOOKED_AT]
    }
    if commas := {name: said for name, said in found.items() if said}:
        raise InputError(
            f"{table.place.name} has numbers with decimal commas in {listed(tuple(commas))}, such as "
            f'"{next(iter(commas.values()))[:60]}"; write decimal points'
        )


def _first(table: Table, field: Any) -> Any:
    batch = table.head([field.name], HEAD_ROWS)
    return pa.array([], field.type) if batch is None else batch.column(0)
