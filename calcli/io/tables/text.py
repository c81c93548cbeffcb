"""Inferring the types of text columns: numbers, booleans, or text."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from calcli.io.tables.table import Derived, Row, Table, derived, in_memory, is_held
from calcli.io.words import NULLS

TRUE, FALSE = "(1|True|TRUE|true)", "(0|False|FALSE|false)"
MISSING, TRUTH = f"^({'|'.join(map(re.escape, NULLS))})$", f"^({TRUE}|{FALSE})$"
BLANKS = " \t"
WHOLE = r"^[ \t]*[-+]?[0-9]+[ \t]*$"
CODE = r"^[ \t]*[-+]?0[0-9]"  # not a plain number, such as an id
NARROW = (pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string())  # each can hold the types before it
FEW = 16  # values tried before all values
LIMIT = 2.0**63  # beyond which whole numbers are names


def with_types(text: Table) -> Table:
    """Return a table of text columns with inferred types, keeping the text."""
    if len(set(text.columns)) < len(text.columns):  # refused later
        return text
    kinds, seen = dict.fromkeys(text.columns, pa.null()), list[Any]()
    for batch in text.batches(text.columns):
        columns = dict(zip(text.columns, map(_seen, batch.columns), strict=True))
        kinds = {name: _joint(kind, columns[name].type) for name, kind in kinds.items()}
        seen += [(batch, columns)] if is_held(text) else []
    if seen:
        chunks = []
        for name, kind in kinds.items():
            pairs = ((batch.column(name), parsed[name]) for batch, parsed in seen)
            typed_columns = [part if part.type == kind else _values(kind, column) for column, part in pairs]
            chunks.append(pa.chunked_array(typed_columns, kind))
        return replace(in_memory(text.place.name, pa.table(chunks, text.columns)), text=text)
    typed = {name: [Derived(name, kind, partial(_values, kind))] for name, kind in kinds.items()}
    return replace(derived(text, typed), text=text)


def has_codes(table: Table, name: str) -> bool:
    """Return whether a column of whole numbers has text with a leading zero, such as 0012."""
    text = table.text
    if text is None or name not in text.columns or not pa.types.is_integer(table.schema.field(name).type):
        return False
    columns = (batch.column(0) for batch in text.batches([name]))
    return any(pc.any(_matches(part, CODE)).as_py() for part in columns)


def _joint(so_far: Any, kind: Any) -> Any:
    """Return a type that can hold the values of two types."""
    kinds = {so_far, kind}
    if pa.bool_() in kinds and kinds & {pa.int64(), pa.float64()}:
        return pa.string()
    return max(kinds, key=NARROW.index)


def _seen(column: Any) -> Any:
    """Return a column of text in the type that fits all values."""
    for kind in (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            values = _cast(column, kind)
            if kind == pa.int64() and len(values):
                return values
            if kind == pa.float64() and not pc.any(pc.is_nan(values)).as_py():
                return column if _are_names(column, values) else values
    there = pc.ascii_trim(column.filter(pc.invert(_matches(column, MISSING))), BLANKS)
    if not len(there):
        return pa.nulls(len(column))
    for kind in (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            values = _cast(there, kind)
            return column if _are_names(there, values) else _values(kind, column)
    return _values(pa.bool_(), column) if pc.all(_matches(there, TRUTH)).as_py() else column


def _cast(column: Any, kind: Any) -> Any:
    column[:FEW].cast(kind)  # each failing value costs as much as many others
    return column.cast(kind)


def _are_names(column: Any, values: Any) -> bool:
    """Return whether numbers are names: all whole, and some with more digits than integers have."""
    if pa.types.is_integer(values.type):
        return False
    far = pc.max(pc.abs(values)).as_py() or 0
    return LIMIT <= far < math.inf and bool(pc.all(_matches(column, WHOLE)).as_py())


def _values(kind: Any, column: Any, _: Row | None = None) -> Any:
    """Return the values of a column of text in a type."""
    if pa.types.is_string(kind):
        return column
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    if pa.types.is_boolean(kind):
        column = pc.ascii_trim(column, BLANKS)
        return pc.if_else(_matches(column, TRUTH), _matches(column, f"^{TRUE}$"), pa.nulls(1, pa.bool_())[0])
    with suppress(pa.ArrowInvalid):
        return column.cast(kind)
    there = pc.if_else(_matches(column, MISSING), pa.nulls(1, pa.string())[0], column)
    return pc.ascii_trim(there, BLANKS).cast(kind)


def _matches(column: Any, pattern: str) -> Any:
    return pc.match_substring_regex(column, pattern)  # looking up words needs an array, which imports pandas
