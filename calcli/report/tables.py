"""Results -> tables: what was read, quality for decisions, calibration errors, classes, warnings."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.report.model import Column, Table
from calcli.report.numbers import counted, number, p_value, percent, some, span, spread
from calcli.report.sidebyside import comparison_tables
from calcli.report.summary import Result, short_names
from calcli.report.wording import DIAGNOSIS, ERRORS, NONE, NORMALIZED, NOT_TESTED, QUALITY, interval_head

BETTER = {"lower": "lower", "higher": "higher", "zero": "near 0", "none": ""}


def result_tables(results: Sequence[Result], per_class: bool = False) -> list[Table]:
    """Return the tables of one result, or of several side by side with a row each.

    Parameters
    ----------
    results
        At least one.
    per_class
        Whether to add a table of the classes of each.
    """
    if len(results) == 1:
        names = [""]
        tables = [_read(results[0]), _scores(results[0]), _errors(results[0])]
    else:
        names = short_names([result.input.path for result in results])
        tables = comparison_tables(results, names)
    if per_class:
        tables += [_per_class(result, name) for result, name in zip(results, names, strict=True)]
    warnings = [
        f"{name}: {warning.message}" if name else warning.message
        for result, name in zip(results, names, strict=True)
        for warning in result.warnings
    ]
    tables.append(Table("Warnings", notes=tuple(warnings)))
    return [table for table in tables if table.rows or table.notes]


def _read(result: Result) -> Table:
    read = result.input
    weighted = ", weighted" if read.weighted else ""
    rows = [
        ("rows", f"{read.rows:,}{weighted}"),
        ("classes", f"{read.classes:,}, {_balance(result)}"),
        *([("absent", some(read.absent_classes))] if read.absent_classes else []),
        ("labels", read.labels),
        ("scores", f"{read.kind}: {read.kind_reason}"),
        ("type", f"{read.dtype}, computed in {read.computed_in}"),
    ]
    if read.kind == "logits":
        rows.append(("exact", f"{counted(read.ones, 'row')} with a confidence of 1"))
    else:
        rows.append(("row sums", f"{read.worst_row_sum:.7g} is the one farthest from 1"))
        rows.append(("exact", f"{read.zeros:,} probabilities of 0, {counted(read.ones, 'row')} with a 1"))
    rows.append(("ties", f"{counted(read.tied_rows, 'row')} with more than one most probable class"))
    rows += [("note", note) for note in read.notes]
    title = "standard input" if read.path == "-" else read.path
    return Table(title, (Column("", "left"), Column("", "left")), tuple(rows))


def _balance(result: Result) -> str:
    least, *_, most = sorted(result.per_class, key=lambda row: row.rows)
    low, high = percent(least.rows / result.input.rows), percent(most.rows / result.input.rows)
    if least.rows == most.rows:
        return f"each {low} of the rows"
    return f"{low} ({least.name}) to {high} ({most.name}) of the rows"


def _scores(result: Result) -> Table:
    found = {name: e for name, e in result.metrics.items() if e.call.metric.family != "error"}
    columns = (
        Column("", "left"),
        Column("value"),
        Column(interval_head(found.values())),
        Column("better", "left"),
        Column("what it says", "left", optional=True),
    )
    notes = [result.verdict.sentence] if result.verdict else []
    if any(name.startswith("normalized_") for name in found):
        notes.append(NORMALIZED)
    rows = []
    for name, estimate in found.items():
        interval = estimate.interval
        ends = span(interval.low, interval.high, estimate.value) if interval else NONE
        metric = estimate.call.metric
        rows.append((name, number(estimate.value), ends, BETTER[metric.direction], metric.meaning))
    return Table(QUALITY, columns, tuple(rows), tuple(notes))


def _errors(result: Result) -> Table:
    found = {name: e for name, e in result.metrics.items() if e.call.metric.family == "error"}
    columns = (
        Column("", "left"),
        Column("value"),
        Column("if calibrated"),
        Column("p"),
        Column("what it says", "left", optional=True),
    )
    rows = []
    for name, estimate in found.items():
        null = estimate.if_calibrated
        expected = spread(null.mean, null.sd, estimate.value) if null else NONE
        p = p_value(null.p_value) if null else NONE
        rows.append((name, number(estimate.value), expected, p, estimate.call.metric.meaning))
    notes = [ERRORS] if found else []
    if any(estimate.call.lens == "class-wise" for estimate in found.values()):
        notes.append(NOT_TESTED)
    return Table(DIAGNOSIS, columns, tuple(rows), tuple(notes))


def _per_class(result: Result, name: str) -> Table:
    heads = ("rows", "frequency", "mean prob", "recall", "ece")
    rows = []
    for row in result.per_class:
        recall = number(row.recall) if row.rows else "no rows"
        shares = (number(row.frequency), number(row.mean_prob), recall, number(row.ece))
        rows.append((row.name, f"{row.rows:,}", *shares))
    title = f"Classes of {name}" if name else "Classes"
    return Table(title, (Column("class", "left"), *map(Column, heads)), tuple(rows))
