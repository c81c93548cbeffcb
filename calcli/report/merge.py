"""What was merged: the parts of a state, in words and tables."""

from __future__ import annotations

from dataclasses import dataclass

from calcli.core.language.text import counted
from calcli.core.state.state import State, run_of, starts
from calcli.report.objects import MergeObject
from calcli.report.shown import Column, Shown, TextTable, table_of


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

    def tables(self) -> list[TextTable]:
        """Return the parts, and how their rows are told apart."""
        parts = self.state.parts
        key = self.state.head.key
        cells = {Column("rows"): lambda one: f"{one[0].rows:,}"}
        if not key:
            cells[Column("numbered from")] = lambda one: f"{one[1]:,}"
        found = [(part.name, (part, first)) for part, first in zip(parts, starts(parts), strict=True)]
        how = "are numbered in this order: to compare systems row by row, merge their parts in the same one."
        if run := run_of(parts):
            how = f"have the numbers of the run {run}: any order of its parts gives the same."
        if key:
            how = f"are known by {key}: any order of the states gives the same."
        rows, sets = counted(self.state.n_rows, "row"), counted(len(parts), "data set")
        notes = [f"{rows} of {sets} in {self.path}. Rows {how}"]
        return [table_of("What was merged", found, cells, notes)]

    def data(self) -> MergeObject:
        """Return the same as nested values."""
        parts = [vars(part) for part in self.state.parts]
        key = self.state.head.key or None
        return {"path": self.path, "rows": self.state.n_rows, "key": key, "parts": parts}
