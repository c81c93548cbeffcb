"""Slices beside all rows: the worst slices, and a table with a row for every slice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from math import isnan, nan

from calcli.core.data.derived import ENOUGH_ROWS
from calcli.core.estimators.calibrationerror import SIGNIFICANT
from calcli.core.evaluating.evaluate import slice_p_values
from calcli.core.evaluating.results import Estimate
from calcli.core.language.text import counted, numbers, some
from calcli.report.estimates import CORRECTED, NONE, P, cell, few_draws, half_width, of_class, positive_class
from calcli.report.findings import Result
from calcli.report.overview import MANY, in_command
from calcli.report.shown import Column, TextTable, hint

SHOWN = ("log_loss", "accuracy", "mean_gap", "ece")  # of the metrics of the default report
SHOWN_OF_TWO = ("log_loss", "ece")  # in addition to the observed and predicted frequency
OBSERVED = ("oe_ratio", "calibration_slope")
USUALLY_RANKED_BY = "log_loss"
FEW = " *"
EXCESS = "The worst error is the one farthest above its value if calibrated."


def with_slices(results: Iterable[Result]) -> list[tuple[Result, list[Result]]]:
    """Return each result on all rows with the results on its slices, which follow it."""
    groups: list[tuple[Result, list[Result]]] = []
    for result in results:
        if result.slice is None:
            groups.append((result, []))
        else:
            groups[-1][1].append(result)
    return groups


def is_compared(part: Result) -> bool:
    """Return whether a slice has enough rows to be compared with others."""
    return part.input.rows >= ENOUGH_ROWS


def ranked_by(result: Result) -> str | None:
    """Return the metric that defines the worst slice.

    It is the log-loss if computed, else the first score with a direction, else the first calibration error;
    None without any.
    """
    families = {name: estimate.metric.entry.family for name, estimate in result.metrics.items()}
    scores = [
        name
        for name, estimate in result.metrics.items()
        if families[name].section == "scores" and estimate.metric.entry.direction in ("lower", "higher")
    ]
    if USUALLY_RANKED_BY in scores:
        return USUALLY_RANKED_BY
    errors = [name for name, family in families.items() if family.has_null]
    return next(iter([*scores, *errors]), None)


def _badness(estimate: Estimate) -> float:
    """Return how bad a value is: for an error, its excess over the value if calibrated."""
    null = estimate.if_calibrated
    return estimate.metric.entry.cost(estimate.value) - (null.mean if null else 0)


def worst_slices(overall: Result, slices: Sequence[Result]) -> dict[str, Result]:
    """Return the worst slice of each column by its ranking metric, if it exceeds chance.

    A score must be worse than the score of all rows, an error larger than if calibrated, corrected for the
    number of compared slices.
    """
    return {column: worst for column, (worst, p) in _worst(overall, slices).items() if p <= SIGNIFICANT}


def _worst(overall: Result, results: Sequence[Result]) -> dict[str, tuple[Result, float]]:
    """Return the worst slice of each column that has two or more to compare, and its corrected p-value."""
    deviations = {column: _ranked(overall, of_column) for column, of_column in by_column(results).items()}
    return {column: ranked[0] for column, ranked in deviations.items() if ranked}


def _ranked(overall: Result, results: Sequence[Result]) -> list[tuple[Result, float]]:
    """Return the compared slices of a column, the worst first, with their corrected p-values.

    There are none if fewer than two can be compared; a slice no worse than all rows has p-value 1.
    """
    name = ranked_by(results[0]) if results else None
    if name is None:
        return []
    compared = [part for part in results if is_compared(part) and not isnan(part.metrics[name].value)]
    if len(compared) < 2:
        return []
    of_all, n = overall.metrics[name], overall.input.rows
    if compared[0].metrics[name].if_calibrated is None:
        p_values = slice_p_values((part.metrics[name], of_all, part.input.rows / n) for part in compared)
        better = [_badness(part.metrics[name]) <= _badness(of_all) for part in compared]
        p_values = [1.0 if less else p for less, p in zip(better, p_values, strict=True)]
    else:
        nulls = [part.metrics[name].if_calibrated for part in compared]
        p_values = [nan if null is None or null.corrected_p is None else null.corrected_p for null in nulls]
    pairs = zip(compared, p_values, strict=True)
    return sorted(pairs, key=lambda pair: _badness(pair[0].metrics[name]), reverse=True)


def by_column(slices: Iterable[Result]) -> dict[str, list[Result]]:
    """Return slices by their column."""
    columns: dict[str, list[Result]] = {}
    for part in slices:
        if part.slice is not None:
            columns.setdefault(part.slice.column, []).append(part)
    return columns


def slice_tables(
    overall: Result, results: Sequence[Result], name: str, *, details: bool = True
) -> list[TextTable]:
    """Return a table for each column of slices.

    Parameters
    ----------
    overall, results
        All rows, and their slices.
    name
        Name of the data if there are several; else "".
    details
        Whether all of many slices have a row, or only slices worse beyond chance.
    """
    tables = []
    for column, slices in by_column(results).items():
        tables.append(_table(overall, slices, column, name, details))
        if overall.input.of_two and all(part.metrics.keys() >= {*OBSERVED} for part in [overall, *slices]):
            tables.append(_observed(overall, slices, column, name, details))
    return tables


def _in_order(overall: Result, results: Sequence[Result], details: bool) -> list[Result]:
    """Return slices to show; of many, the slices worse beyond chance first, or these alone."""
    if len(results) <= MANY:
        return list(results)
    beyond = [part for part, p in _ranked(overall, results) if p <= SIGNIFICANT]
    return beyond + [part for part in results if details and part not in beyond]


def _table(overall: Result, results: Sequence[Result], column: str, name: str, details: bool) -> TextTable:
    usual = all(metric in overall.metrics for metric in SHOWN)
    of_two = usual and overall.input.of_two
    metrics = SHOWN_OF_TWO if of_two else SHOWN if usual else tuple(results[0].metrics)
    rows = []
    listed = _in_order(overall, results, details)
    for part in [*listed, overall]:
        compared = is_compared(part) or part is overall
        value = (part.slice.shown if part.slice else "all rows") + ("" if compared else FEW)
        estimates = [part.metrics[metric] for metric in metrics]
        cells = [cell(e if compared else replace(e, if_calibrated=None)) for e in estimates]
        if of_two:
            cells = [*numbers(part.per_class[1].frequency, part.per_class[1].mean_prob), *cells]
        rows.append((value, f"{part.input.rows:,}", *cells))
    shares = ("observed", "predicted") if of_two else ()
    heads = (Column(column, "left"), Column("rows"), *map(Column, (*shares, *metrics)))
    title = f"Slices by {column} of {name}" if name else of_class(f"Slices by {column}", [overall.input])
    return TextTable(title, heads, tuple(rows), tuple(_notes(overall, results, metrics, listed)))


def _observed(overall: Result, results: Sequence[Result], column: str, name: str, details: bool) -> TextTable:
    """Return the table of observed and expected rows of the positive class, with the calibration slope."""
    rows, untold, listed = [], dict[str, list[str]](), _in_order(overall, results, details)
    for part in [*listed, overall]:
        value, row = part.slice.shown if part.slice else "all rows", part.per_class[1]
        ratio, slope = (part.metrics[metric] for metric in OBSERVED)
        reason = slope.no_interval if is_compared(part) else f"fewer than {ENOUGH_ROWS} rows"
        if slope.interval is None or not is_compared(part):
            untold.setdefault(reason or "it is not defined", []).append(value)
        observed, expected = row.frequency * part.input.rows, row.mean_prob * part.input.rows
        cells = [cell(ratio), NONE if value in chain(*untold.values()) else cell(slope)]
        rows.append((value, f"{observed:,.0f}", f"{expected:,.1f}", *cells))
    title = f"Observed and expected by {column}" + (f" of {name}" if name else "")
    heads = (Column(column, "left"), *map(Column, ("O", "E", "O:E", "slope")))
    notes = [f"O, E: rows of {positive_class(overall.input)}, observed and expected by the probabilities."]
    notes += half_width([overall.metrics[metric] for metric in OBSERVED])
    notes += [f"No slope for {some(values)}: {reason}." for reason, values in untold.items()]
    command = hint(f": calcli segments {in_command(overall)} --columns {column}")
    notes.append(f"`segments` tells which slices differ beyond chance{command}")
    return TextTable(title, heads, tuple(rows), tuple(notes))


def _notes(
    overall: Result, results: Sequence[Result], metrics: Iterable[str], listed: Sequence[Result]
) -> list[str]:
    notes = []
    name = ranked_by(overall) or ""
    if listed and len(results) > MANY:
        beyond = sum(p <= SIGNIFICANT for _, p in _ranked(overall, results))
        notes.append(f"{beyond} of {len(results)} slices are worse by {name} than chance explains.")
    seen = {id(part) for part in listed}
    if hidden := [part for part in results if id(part) not in seen]:
        few = sum(not is_compared(part) for part in hidden)
        why = f", {few} of them with fewer than {ENOUGH_ROWS} rows and not compared" if few else ""
        notes.append(f"{counted(len(hidden), 'slice')} not shown here{why}{hint('; --details shows all')}.")
    for worst, p in _worst(overall, results).values():
        if p > SIGNIFICANT:
            notes.append(f"No slice is worse by {name} than chance explains.")
        if not p <= SIGNIFICANT:
            continue
        value, everywhere = numbers(worst.metrics[name].value, overall.metrics[name].value)
        part = f"{worst.slice.column}={worst.slice.shown}" if worst.slice else ""
        notes.append(f"The worst by {name} is {part}: {value}, {everywhere} on all rows.")
        if worst.metrics[name].if_calibrated:
            notes.append(EXCESS)
    if not all(map(is_compared, listed)):
        notes.append(f"{FEW.strip()} not compared with others; {ENOUGH_ROWS} rows would be enough.")
    notes += half_width(overall.metrics.values())
    if any(part.metrics[metric].if_calibrated for part in [*results, overall] for metric in metrics):
        notes.append(f"{P} {CORRECTED}")
    for metric in metrics:
        limited = few_draws(part.metrics[metric].if_calibrated for part in results)
        notes += [note for note in limited if note not in notes]
    return notes
