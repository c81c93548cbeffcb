"""Several results side by side: a row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from calcli.core.results import Estimate
from calcli.report.model import Column, Table
from calcli.report.numbers import number, p_value, span
from calcli.report.summary import Result
from calcli.report.wording import DIAGNOSIS, ERRORS, NONE, QUALITY, interval_head


def comparison_tables(results: Sequence[Result], names: Sequence[str]) -> list[Table]:
    """Return what was read, the scores and the errors of several results, a row each.

    Parameters
    ----------
    results
        Two or more.
    names
        What to call each of them.
    """
    interval = interval_head(estimate for result in results for estimate in result.metrics.values())
    tables = [
        _reads(results, names),
        _by_metric(results, names, "score", QUALITY, _score_cell, f"In brackets: {interval}."),
        _by_metric(results, names, "error", DIAGNOSIS, _error_cell, f"In brackets: mean if calibrated, p. {ERRORS}"),
    ]
    return [table for table in tables if len(table.columns) > 1]


def _reads(results: Sequence[Result], names: Sequence[str]) -> Table:
    heads = ("rows", "classes", "absent", "kind", "type", "row sum", "0s", "1s", "tied", "verdict")
    rows = []
    for name, result in zip(names, results, strict=True):
        read = result.input
        counts = (read.zeros, read.ones, read.tied_rows)
        rows.append(
            (
                name,
                f"{read.rows:,}",
                f"{read.classes:,}",
                f"{len(read.absent_classes):,}",
                read.kind,
                read.dtype,
                f"{read.worst_row_sum:.6g}",
                *(f"{count:,}" for count in counts),
                result.verdict.word if result.verdict else NONE,
            )
        )
    return Table("What was read", (Column("", "left"), *map(Column, heads)), tuple(rows))


def _by_metric(
    results: Sequence[Result],
    names: Sequence[str],
    family: str,
    title: str,
    cell: Callable[[Estimate], str],
    note: str,
) -> Table:
    metrics = {
        metric: None
        for result in results
        for metric, estimate in result.metrics.items()
        if estimate.call.metric.family == family
    }
    rows = [
        (name, *(cell(result.metrics[metric]) if metric in result.metrics else NONE for metric in metrics))
        for name, result in zip(names, results, strict=True)
    ]
    return Table(title, (Column("", "left"), *map(Column, metrics)), tuple(rows), (note,))


def _score_cell(estimate: Estimate) -> str:
    if estimate.interval is None:
        return number(estimate.value)
    return f"{number(estimate.value)} ({span(estimate.interval.low, estimate.interval.high, estimate.value)})"


def _error_cell(estimate: Estimate) -> str:
    null = estimate.if_calibrated
    if null is None:
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(null.mean)}, p {p_value(null.p_value)})"
