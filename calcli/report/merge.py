"""What was merged: the parts of a state, in words and tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from calcli.core.state.state import State
from calcli.report.numbers import counted
from calcli.report.shown import Column, Shown, Table, table_of


@dataclass(frozen=True)
class MergeReport(Shown):
    """The parts of a merged state.

    Attributes
    ----------
    path
        Where it was written.
    state
        The state.
    """

    path: str
    state: State

    title = "Merged states"
    schema = "calcli.merge/1"

    def tables(self) -> list[Table]:
        """Return the parts, and how their rows are numbered."""
        parts = self.state.parts
        firsts = [0, *accumulate(part.rows for part in parts)]
        cells = {
            Column("rows"): lambda one: f"{one[0].rows:,}",
            Column("numbered from"): lambda one: f"{one[1]:,}",
        }
        found = [(part.name, (part, first)) for part, first in zip(parts, firsts, strict=False)]
        notes = [
            f"{counted(self.state.n_rows, 'row')} of {counted(len(parts), 'data set')} in {self.path}. Rows "
            "are numbered on in this order: to compare systems pairwise, merge their parts in the same one."
        ]
        return [table_of("", found, cells, notes)]

    def content(self) -> dict[str, Any]:
        """Return the same as nested values."""
        parts = [vars(part) for part in self.state.parts]
        return {"path": self.path, "rows": self.state.n_rows, "parts": parts}
