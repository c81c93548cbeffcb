"""Several results side by side: a row each."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.core.language.text import some
from calcli.report.decisions import decisions_side_by_side
from calcli.report.estimates import cell, half_width
from calcli.report.shown import Column, TextTable
from calcli.report.summary import Result
from calcli.report.wording import DIAGNOSIS, NONE, QUALITY, TESTED, error_notes


def comparison_tables(results: Sequence[Result], names: Sequence[str]) -> list[TextTable]:
    """Return what was read, the scores, the decisions and the errors of several results, a row each.

    Parameters
    ----------
    results
        Two or more.
    names
        What to call each of them.
    """
    estimates = [estimate for result in results for estimate in result.metrics.values()]
    tables = [
        _reads(results, names),
        _by_metric(results, names, False, QUALITY, half_width(estimates)),
        *decisions_side_by_side(results, names),
        _by_metric(results, names, True, DIAGNOSIS, error_notes(estimates, TESTED)),
    ]
    return [table for table in tables if len(table.columns) > 1]


def _reads(results: Sequence[Result], names: Sequence[str]) -> TextTable:
    columns = [Column(head) for head in ("rows", "classes", "absent")]
    columns += [Column(head, "left") for head in ("verdict", "kind", "type")]
    columns += [Column(head) for head in ("row sum", "0s", "1s", "ties")]
    columns += [Column("labels", "left"), Column("scores", "left")]
    rows, notes = [], []
    for name, result in zip(names, results, strict=True):
        read = result.input
        notes += [f"{name}: {note}" for note in read.notes]
        counts = [f"{count:,}" for count in (read.rows, read.classes, len(read.absent_classes))]
        if read.of_answers:
            counts[1] = "answers"
        words = [result.verdict.word if result.verdict else NONE, read.kind, read.dtype]
        exact = [f"{count:,}" for count in (read.zeros, read.ones, read.tied_rows)]
        rows.append(
            (name, *counts, *words, f"{read.worst_row_sum:.6g}", *exact, read.labels, some(read.taken))
        )
    return TextTable("What was read", (Column("", "left"), *columns), tuple(rows), tuple(notes))


def _by_metric(
    results: Sequence[Result],
    names: Sequence[str],
    errors: bool,
    title: str,
    notes: Sequence[str],
) -> TextTable:
    metrics = {
        metric: None
        for result in results
        for metric, estimate in result.metrics.items()
        if estimate.call.entry.family.has_null == errors
    }
    rows = [
        (name, *(cell(result.metrics[metric]) if metric in result.metrics else NONE for metric in metrics))
        for name, result in zip(names, results, strict=True)
    ]
    return TextTable(title, (Column("", "left"), *map(Column, metrics)), tuple(rows), tuple(notes))
