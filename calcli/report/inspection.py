"""How files are read, as shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calcli.core.data.predictions import Predictions
from calcli.core.language.text import some
from calcli.report.objects import InspectedObject, InspectionObject
from calcli.report.reading import considered_objects, considered_table, layout
from calcli.report.shown import Column, Shown, TextTable

NAMED = Column("", "left")


@dataclass(frozen=True)
class InspectionReport(Shown):
    """How files are read, and what else was considered.

    Attributes
    ----------
    files
        Predictions as they are understood.
    """

    files: Sequence[Predictions]

    title = "How files are read"
    schema = "calcli.inspection/1"

    def tables(self) -> list[TextTable]:
        """Return for each file what it is read as, and what else was considered."""
        return [table for one in self.files for table in _tables(one)]

    def content(self) -> InspectionObject:
        """Return the same for each file, all names in full."""
        return {"files": [_content(one) for one in self.files]}


def _tables(one: Predictions) -> list[TextTable]:
    origin, scores = one.provenance, one.scores
    rows = [
        ("read as", layout(origin.read_as, origin.taken)),
        *(("doubt", doubt) for doubt in origin.doubts),
        ("rows", f"{one.n_rows:,}{origin.joined}"),
        ("outcomes" if one.of_answers else "classes", f"{one.n_classes:,}: {some(one.classes)}"),
        ("right by" if one.of_answers else "labels", origin.labels),
        ("confidence" if one.of_answers else "scores", f"{one.kind}: {scores.kind_reason}")
        if one.has_probabilities
        else ("scores", "none: there are no probabilities"),
        ("type", str(scores.dtype)),
        *([("columns", f"kept beside them: {some(list(one.columns))}")] if one.columns else []),
        *(("note", note) for note in origin.notes),
    ]
    tables = [TextTable(origin.path, (NAMED, NAMED), tuple(rows))]
    return [*tables, *considered_table(origin)]


def _content(one: Predictions) -> InspectedObject:
    origin, scores = one.provenance, one.scores
    return {
        "path": origin.path,
        "read_as": origin.read_as,
        "taken": origin.taken,
        "rows": one.n_rows,
        "classes": one.classes,
        "labels": origin.labels,
        "kind": one.kind,
        "kind_reason": scores.kind_reason,
        "dtype": str(scores.dtype),
        "columns": tuple(one.columns),
        "doubts": origin.doubts,
        "notes": origin.notes,
        "considered": considered_objects(origin),
    }
