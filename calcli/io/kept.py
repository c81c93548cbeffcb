"""Tables without the rows in which something is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.io.columnvalues import column_values
from calcli.io.ignored import dropped_note, ignored_note
from calcli.io.labels import is_missing
from calcli.io.layouts.answers import as_text
from calcli.io.layouts.unpacking import Unpacked
from calcli.io.messages import KeptPlace, Place
from calcli.io.tables import Table


@dataclass(frozen=True)
class KeptTable(Table):
    """Some rows of a table.

    Attributes
    ----------
    table
        All rows.
    kept
        (N,) which of them.
    note
        How many rows were left out, a sentence for the user.
    """

    table: Table
    kept: NDArray[np.bool_]
    note: str

    @cached_property
    def place(self) -> Place:
        """The files, in which rows have the numbers they are stored under."""
        whole, rows = self.table.place, np.flatnonzero(self.kept)
        return KeptPlace(((whole.name, len(rows)),), whole, tuple(rows.tolist()))

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self.table.schema

    @property
    def packed(self) -> Mapping[str, Unpacked]:
        """How columns came about that are stored in another form."""
        return self.table.packed

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the kept rows of each batch."""
        at = 0
        for batch in self.table.batches(columns):
            kept = self.kept[at : at + batch.num_rows]
            at += batch.num_rows
            yield batch if kept.all() else batch.filter(pa.array(kept))


def without_missing(table: Table, names: Sequence[str]) -> KeptTable:
    """Return the rows of a table in which none of these columns is missing."""
    missing = [is_missing(column_values(table, name)) for name in names]
    kept = ~np.logical_or.reduce(missing)
    return KeptTable(table, kept, dropped_note(kept))


def without_outcomes(table: Table, name: str, ignored: Sequence[str]) -> KeptTable:
    """Return the rows of a table in which a column does not hold what is to be ignored, such as a refusal."""
    kept = ~np.isin(as_text(column_values(table, name)), ignored)
    return KeptTable(table, kept, ignored_note(kept, ignored))
