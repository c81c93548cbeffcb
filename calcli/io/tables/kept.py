"""Tables without the rows in which something is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.layouts.answers import as_text
from calcli.io.messages import listed
from calcli.io.tables.columns import decoded, holds_of
from calcli.io.tables.ignored import dropped_note, ignored_note
from calcli.io.tables.labels import is_missing, missing_words
from calcli.io.tables.table import Table, kept
from calcli.io.tables.values import column_values, worded


def without_missing(table: Table, names: Sequence[str], classes: Sequence[str] = ()) -> tuple[Table, str]:
    """Return the rows of a table in which none of these columns is missing; the name of a class is not."""
    there = ~missing_in(table, names, classes)
    return kept(table, there), dropped_note(there)


def missing_in(table: Table, names: Sequence[str], classes: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Return (N,) in which rows one of these columns is missing; the name of a class is not."""
    missing: NDArray[np.bool_] = np.logical_or.reduce([_missing(table, name, classes) for name in names])
    return missing


def without_unread(
    table: Table, names: Sequence[str], limit: int, classes: Sequence[str] = ()
) -> tuple[Table, str] | None:
    """Return a table without rows behind the first ones in which a label is missing; None if there are none.

    Parameters
    ----------
    table
        All rows; those that are read are found in it, but the others say which classes there are.
    names
        Columns that say what is right.
    limit
        Rows to be read.
    classes
        Names that only look as if something was missing.
    """
    gone = np.concatenate(
        [np.zeros(0, np.bool_)]
        + [
            np.logical_or.reduce([_missing_words(one, classes) for one in batch.columns])
            for batch in table.batches(names)
        ]
    )
    gone[:limit] = False
    if not gone.any():
        return None
    left = int(np.count_nonzero(gone))
    note = f"behind the first {limit:,} rows {left:,} without a label were passed over"
    return kept(table, ~gone), note


def _missing_words(column: Any, classes: Sequence[str]) -> Array:
    """Return (n,) whether a number or text is missing, as `is_missing` does, without a copy of it."""
    column = column.cast(decoded(column.type))
    found = np.asarray(pc.is_null(column, nan_is_null=True))
    if holds_of(column.type) == "text":
        words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        said_so = pc.is_in(words, pa.array(missing_words(classes), column.type))
        found = found | np.asarray(said_so)
    return found


def _missing(table: Table, name: str, classes: Sequence[str]) -> Array:
    """Return (N,) whether a value is missing, or one in a list."""
    if holds_of(table.schema.field(name).type) != "list":
        return is_missing(column_values(table, name), classes)
    parts = [_missing_lists(batch.column(0)) for batch in table.batches([name])]
    return np.concatenate([np.zeros(0, np.bool_), *parts])


def _missing_lists(lists: Any) -> Array:
    """Return (n,) whether a list is missing or empty, or holds what is missing."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    missing: Array = lengths == 0
    values = lists.flatten()  # without those that may stand below missing lists
    wrong = pc.is_null(values, nan_is_null=pa.types.is_floating(values.type))
    missing[np.repeat(np.arange(len(lengths)), lengths)[wrong.to_numpy(zero_copy_only=False)]] = True
    return missing


def without_outcomes(table: Table, name: str, ignored: Sequence[str]) -> tuple[Table, str]:
    """Return the rows of a table in which a column does not hold what is to be ignored, such as a refusal."""
    values = as_text(worded(table, name))
    there = ~np.isin(values, ignored)
    if not there.any():
        raise InputError(
            f"{table.place.name}: all {len(there):,} labels are to be ignored ({listed(ignored)})"
        )
    return kept(table, there), ignored_note(there, ignored, values)
