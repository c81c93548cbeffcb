"""How files were read: the first lines of a report, and all readings considered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from calcli.core.data.predictions import Predictions, Provenance
from calcli.core.evaluating.results import Input
from calcli.core.language.text import counted, percent, some
from calcli.report.findings import Result
from calcli.report.objects import ConsideredObject, InspectedObject, InspectionObject
from calcli.report.shown import Column, Shown, TextTable, hint

READ = "What was read"
SEVERAL = 4  # most files read alike that are reported together


def reading_sentences(read: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return how each file was read, and the doubts.

    Parameters
    ----------
    read
        Names, and sentences on how each was read.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, reading in read:
        alike.setdefault(tuple(reading), []).append(name)
    return [
        f"{name}: {sentence}."
        for reading, names in alike.items()
        for name in (names if len(names) < SEVERAL else [f"{names[0]} and {len(names) - 1} more"])
        for sentence in reading
    ]


def reading_table(read: Iterable[tuple[str, Sequence[str]]]) -> list[TextTable]:
    """Return these sentences as a table, if there are any."""
    notes = tuple(reading_sentences(read))
    return [TextTable(READ, notes=notes)] if notes else []


def considered_table(origin: Provenance, limit: int | None = None) -> list[TextTable]:
    """Return other possible scores, and why they were not chosen; perhaps only the first of many."""
    rows = origin.considered[:limit]
    hidden = len(origin.considered) - len(rows)
    notes = (f"{counted(hidden, 'more reading')}{hint(': calcli inspect')}",) if hidden else ()
    heads = (Column("", "left"), Column("why they are not the scores", "left"))
    return [TextTable("Also considered", heads, rows, notes, on_pages=False)] if rows else []


def considered_objects(origin: Provenance) -> list[ConsideredObject]:
    """Return the content of `considered_table` as JSON values."""
    return [{"scores": scores, "reason": why} for scores, why in origin.considered]


def layout(read_as: str, columns: Sequence[str]) -> str:
    """Return the layout of a file, with the columns or arrays of the scores; none for a state."""
    return f"{read_as}: {some(columns)}" if columns else read_as


def read_table(result: Result) -> TextTable:
    """Return how a file was read, and unusual facts about its scores."""
    read = result.input
    weighted = ", weighted" if read.weighted else ""
    rows = [
        ("read as", layout(read.read_as, read.taken)),
        *(("doubt", doubt) for doubt in read.doubts),
        *(("repeats", repeat) for repeat in (read.repeats if result.settings.cluster is None else ())),
        ("rows", f"{read.rows:,}{read.joined}{weighted}"),
        _outcomes(result),
        *([("absent", some(read.absent_classes))] if read.absent_classes else []),
        ("right by" if read.of_answers else "labels", read.labels),
    ]
    again = read.questions if read.clustered else f"{read.questions}; a row is their mean"
    rows += [("repeats", again)] if read.questions else []
    if read.outcomes:
        rows += [("scores", "none: there are no probabilities")]
    else:
        rows += _probabilities(read)
    rows += [("note", note) for note in read.notes]
    title = "standard input" if read.path == "-" else read.path
    return TextTable(title, (Column("", "left"), Column("", "left")), tuple(rows))


def _probabilities(read: Input) -> Iterator[tuple[str, str]]:
    yield "confidence" if read.of_answers else "scores", f"{read.kind}: {read.kind_reason}"
    yield "type", f"{read.dtype}, computed in {read.computed_in}"
    if read.of_answers:
        yield "exact", f"{counted(read.zeros, 'row')} with a confidence of 0, {read.ones:,} with 1"
        return
    if read.kind == "logits":
        yield "exact", f"{counted(read.ones, 'row')} with a confidence of 1"
    else:
        worst = f"{read.worst_row_sum:.7g}"
        far = f"the farthest from 1 is {worst}; each row is divided by its sum"
        yield "row sums", "1 in all rows" if worst == "1" else far
        yield "exact", f"{read.zeros:,} probabilities of 0, {counted(read.ones, 'row')} with a 1"
    yield "ties", f"{counted(read.tied_rows, 'row')} with more than one most probable class"


def _outcomes(result: Result) -> tuple[str, str]:
    if result.input.of_answers:
        return "answers", f"{percent(result.accuracy)} are right"
    return "classes", f"{result.input.classes:,}, {_balance(result)}"


def _balance(result: Result) -> str:
    least, *_, largest = sorted(result.per_class, key=lambda row: row.rows)
    low, high = percent(least.rows / result.input.rows), percent(largest.rows / result.input.rows)
    if least.rows == largest.rows:
        return f"each {low} of the rows"
    return f"{low} ({least.name}) to {high} ({largest.name}) of the rows"


def warnings_table(warnings: Sequence[str]) -> list[TextTable]:
    """Return a table of sentences that lack their full stop, or none."""
    return [TextTable("Warnings", notes=tuple(f"{warning}." for warning in warnings))] if warnings else []


NAMED = Column("", "left")


@dataclass(frozen=True)
class InspectionReport(Shown):
    """How files are read, and what else was considered.

    Attributes
    ----------
    files
        The predictions as read.
    """

    files: Sequence[Predictions]

    title = "How files are read"
    schema = "calcli.inspection/1"

    def tables(self) -> list[TextTable]:
        """Return the reading of each file, and the other readings considered."""
        return [table for file in self.files for table in _tables(file)]

    def data(self) -> InspectionObject:
        """Return the same for each file, all names in full."""
        return {"files": [_data(file) for file in self.files]}


def _tables(p: Predictions) -> list[TextTable]:
    origin, scores = p.provenance, p.scores
    rows = [
        ("read as", layout(origin.read_as, origin.taken)),
        *(("doubt", doubt) for doubt in origin.doubts),
        ("rows", f"{p.n_rows:,}{origin.joined}"),
        ("outcomes" if p.of_answers else "classes", f"{p.n_classes:,}: {some(p.classes)}"),
        ("right by" if p.of_answers else "labels", origin.labels),
        ("confidence" if p.of_answers else "scores", f"{p.kind}: {scores.kind_reason}")
        if p.has_probabilities
        else ("scores", "none: there are no probabilities"),
        ("type", str(scores.dtype)),
        *([("columns", f"kept beside them: {some(list(p.columns))}")] if p.columns else []),
        *(("note", note) for note in origin.notes),
    ]
    tables = [TextTable(origin.path, (NAMED, NAMED), tuple(rows))]
    return [*tables, *considered_table(origin)]


def _data(predictions: Predictions) -> InspectedObject:
    origin, scores = predictions.provenance, predictions.scores
    return {
        "path": origin.path,
        "read_as": origin.read_as,
        "taken": origin.taken,
        "rows": predictions.n_rows,
        "classes": predictions.classes,
        "labels": origin.labels,
        "kind": predictions.kind,
        "kind_reason": scores.kind_reason,
        "dtype": str(scores.dtype),
        "columns": tuple(predictions.columns),
        "doubts": origin.doubts,
        "notes": origin.notes,
        "considered": considered_objects(origin),
    }
