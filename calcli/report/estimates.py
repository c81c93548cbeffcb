"""Estimates as text: a row each, or a cell each."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping

from calcli.core.evaluating.results import Estimate, Input
from calcli.core.language.declaring import number_in
from calcli.core.language.text import number, p_value, plus_minus, span
from calcli.report.shown import Column, TextTable, table_of
from calcli.report.wording import NONE, OF_SAMPLE, SAMPLED, interval_head


def of_section(metrics: Mapping[str, Estimate], section: str) -> dict[str, Estimate]:
    """Return the estimates whose families belong to a section of the report."""
    return {name: one for name, one in metrics.items() if one.call.entry.family.section == section}


def meaning(one: Estimate, read: Input) -> str:
    """Return what a metric says, in the words of answers or of the class it is looked at through."""
    entry, names = one.call.entry, read.class_names
    if read.of_answers and entry.of_answers:
        return entry.of_answers
    kind, _, place = one.call.lens.rpartition("-")
    own = number_in(place)
    if kind == "class" and 0 <= own < len(names):
        probability = f"probability of {names[own]}"
        return entry.meaning.replace("confidence", probability).replace("accuracy", "frequency")
    return entry.meaning


def estimates_table(
    title: str,
    found: Mapping[str, Estimate],
    cells: dict[Column, Callable[[Estimate], str]],
    notes: Iterable[str] = (),
    *,
    head: str = "",
) -> TextTable:
    """Return a row for each estimate: its value, the standard deviation where there are some, and more.

    Parameters
    ----------
    title
        Of the table.
    found
        Estimates by name.
    cells
        The other columns, each with what makes its cell.
    notes
        Sentences below the table.
    head
        Of the column of names.
    """
    columns: dict[Column, Callable[[Estimate], str]] = {Column("value"): value}
    if any(one.rows for one in found.values()):
        columns[Column(SAMPLED)] = sampled
        notes = [*notes, OF_SAMPLE]
    return table_of(title, found.items(), columns | cells, notes, head=head)


def sampled(one: Estimate) -> str:
    """Return how many rows the sample has that an estimate comes from, if it comes from one."""
    return f"{one.rows:,}" if one.rows else ""


def value(one: Estimate) -> str:
    """Return a value, as fine as what stands beside it."""
    return number(one.value, digits=one.digits)


def ends(one: Estimate) -> str:
    """Return the ends of an interval."""
    return span(one.interval.low, one.interval.high, digits=one.digits) if one.interval else NONE


def bounds(found: Collection[Estimate]) -> dict[Column, Callable[[Estimate], str]]:
    """Return the column of the intervals of calibration errors, if there are any."""
    shown = any(one.interval is not None for one in found)
    return {Column(interval_head(found)): ends} if shown else {}


def if_calibrated(one: Estimate) -> str:
    """Return the value under perfect calibration with its standard deviation."""
    null = one.if_calibrated
    return plus_minus(null.mean, null.sd, one.digits) if null else NONE


def tested_p(one: Estimate) -> str:
    """Return the p-value of perfect calibration."""
    return p_value(one.if_calibrated.p_value) if one.if_calibrated else NONE


def half_width(estimates: Collection[Estimate]) -> list[str]:
    """Return what the second number of a score's cell is, if there is any."""
    if all(estimate.interval is None for estimate in estimates):
        return []
    interval = interval_head(estimates)
    return [f"±, or the ends in brackets: the {interval}."]


def cell(estimate: Estimate) -> str:
    """Return a value with its interval, its standard deviation and its p-value."""
    interval, null = estimate.interval, estimate.if_calibrated
    parts = [value(estimate)]
    bound = estimate.call.entry.family.has_null  # to one side, as no error is below 0
    if interval is not None and not (bound or math.isinf(estimate.value)):
        above, below = interval.high - estimate.value, estimate.value - interval.low
        half, other = (number(one, digits=estimate.digits) for one in (above, below))
        parts.append(f"±{half}" if half == other else f"({ends(estimate)})")
    if null is not None:
        parts.append(f"p {p_value(null.p_value if null.corrected_p is None else null.corrected_p)}")
    return " ".join(parts)
