"""Merged states as shown: their parts, in words and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from calcli.core.language.text import counted
from calcli.core.state.state import Part, State
from calcli.report.shown import Column, Shown, TextTable, table_of


class MergeObject(TypedDict):
    """A report of `calcli merge`."""

    path: str
    rows: int
    key: str | None
    parts: list[Annotated[Any, Part]]


@dataclass(frozen=True)
class MergeReport(Shown):
    """The parts of a merged state.

    Attributes
    ----------
    path
        The path of the written state.
    state
        The state.
    """

    path: str
    state: State

    title = "Merged states"
    schema = "calcli.merge/1"

    def tables(self) -> list[TextTable]:
        """Return the parts, and the identity of their rows."""
        files = self.state.parts
        key = self.state.head.key
        how = f"by {key}" if key else "by their places in these parts"
        rows, sets = counted(self.state.n_rows, "row"), counted(len(files), "data set")
        notes = [f"{rows} of {sets} in {self.path}. Rows are known {how}."]
        cells = {Column("rows"): lambda part: f"{part.rows:,}"}
        return [table_of("What was merged", [(part.name, part) for part in files], cells, notes)]

    def data(self) -> MergeObject:
        """Return the same as nested values."""
        files = [vars(part) for part in self.state.parts]
        key = self.state.head.key or None
        return {"path": self.path, "rows": self.state.n_rows, "key": key, "parts": files}
