"""Estimates as text, in rows or cells, and the standard notes below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from calcli.core.data.predictions import event_name
from calcli.core.estimators.calibrationerror import SIGNIFICANT, Null, enough_draws
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import Estimate, Input
from calcli.core.language.declaring import number_in
from calcli.core.language.entries import Metric
from calcli.core.language.expressions import AUTO_LENS, Measure
from calcli.core.language.text import number, p_value, plus_minus, some, span
from calcli.report.shown import Column, TextTable, table_of

if TYPE_CHECKING:
    from calcli.core.comparing.comparison import Difference


CONFIDENCE = "Confidence"
SCORES = "Scores"
WON_BACK = "What recalibration would gain"
PARTS = "Parts of scores"
CALIBRATION = "Calibration"
DIAGNOSIS = "Calibration errors"

NORMALIZED = "normalized_*: 1 is as good as always answering with the class frequencies, 0 is perfect."
NORMALIZED_ANSWERS = "normalized_*: 1 is as good as always stating the accuracy, 0 is perfect."
CONSTANT = "constant: the value of the best constant answer."
ORACLE = "oracle: the value if all wrong rows had less confidence than any right one."
CHANCE = "chance: the value if the confidence said nothing."
P = "p: probability of an error at least as large if the probabilities are calibrated."
BIASED = "Errors other than kuiper have no interval, as they are biased upward near zero."
ERRORS = (
    f"{BIASED} Compare each with its value if calibrated (mean ± sd over outcomes drawn from the "
    f"probabilities); {P}"
)
TESTED = f"{P} Errors are biased upward near zero, and all but kuiper have no interval."
SAMPLED = "sampled rows"
OF_SAMPLE = "sampled rows: the size of the random sample, where not all rows are used."
CORRECTED = "It is corrected for the number of tests (Holm)."
NONE = "-"


def superlative(entry: Metric, name: str) -> str:
    """Return the words for the best value of a metric: the lowest, the highest, or the nearest to 1."""
    if entry.target is not None:
        return f"{name} nearest to {entry.target:g}"
    return f"{'highest' if entry.direction == 'higher' else 'lowest'} {name}"


def error_notes(estimates: Iterable[Estimate], tested: str) -> list[str]:
    """Return how to read calibration errors: tested ones, and the reason for untested ones.

    Parameters
    ----------
    estimates
        Estimates of any family.
    tested
        The note if some were tested.
    """
    errors = [estimate for estimate in estimates if estimate.metric.entry.family.has_null]
    if not errors:
        return []
    bins = assumed_bins(estimate.metric for estimate in errors)
    if all(estimate.if_calibrated is None for estimate in errors):
        return [BIASED, *bins]
    left_out = any(e.if_calibrated is None and e.metric.is_class_wise for e in errors)
    return [tested, *(["Class-wise errors are not tested; --test does."] if left_out else []), *bins]


def assumed_bins(metrics: Iterable[Measure]) -> list[str]:
    """Return the number of bins, if it is neither the default nor in the expression."""
    for metric in metrics:
        usual, bins = (arguments.get("bins") for arguments in (metric.entry.defaults, metric.arguments))
        if bins != usual and "bins=" not in metric.text:
            return [f"{bins:,} bins, unless the name says otherwise."]
    return []


def without_interval(estimates: Iterable[Estimate | Difference]) -> list[str]:
    """Return why metrics that may have an interval have none."""
    reasons: dict[str, list[str]] = {}
    for estimate in estimates:
        if estimate.no_interval and estimate.metric.text not in reasons.setdefault(estimate.no_interval, []):
            reasons[estimate.no_interval].append(estimate.metric.text)
    return [f"No interval for {some(names)}: {reason}." for reason, names in reasons.items()]


def few_draws(nulls: Iterable[Null | None]) -> list[str]:
    """Return a note if more draws could make more corrected tests significant."""
    corrected = [null for null in nulls if null is not None and null.corrected_p is not None]
    for null in corrected:
        none_as_large = null.p_value < 1.5 / (1 + (null.draws or math.inf))
        if none_as_large and null.draws and (null.corrected_p or 0) > SIGNIFICANT:
            return [
                f"{null.draws:,} draws cannot give a p below {len(corrected) / (1 + null.draws):.2g} for "
                f"{len(corrected)} tests; --draws {enough_draws(len(corrected))} would be enough."
            ]
    return []


def interval_head(estimates: Iterable[Estimate | Difference]) -> str:
    """Return the head of intervals of estimates or differences, such as `95% interval`."""
    for estimate in estimates:
        if estimate.interval is not None:
            return f"{level_percent(estimate.interval.level)} interval"
    return "interval"


def of_section(metrics: Mapping[str, Estimate], section: str) -> dict[str, Estimate]:
    """Return the estimates of a section of the report, by family."""
    return {name: metric for name, metric in metrics.items() if metric.metric.entry.family.section == section}


def positive_class(read: Input) -> str:
    """Return the name of the second of two classes in a sentence."""
    name = event_name(read.class_names[1], read.labels)
    return f"class {name}" if name.isdigit() else name


def of_class(title: str, reads: Iterable[Input]) -> str:
    """Return a title that names the positive class, if all data have the same one."""
    names = {positive_class(read) if read.of_two else "" for read in reads}
    return f"{title} of {name}" if len(names) == 1 and (name := names.pop()) else title


def meaning(estimate: Estimate, read: Input) -> str:
    """Return the meaning of a metric, in words for answers or for the class of its lens."""
    entry, names = estimate.metric.entry, read.class_names
    if read.of_answers and entry.of_answers:
        return entry.of_answers
    lens = "class-1" if estimate.metric.lens == AUTO_LENS and read.of_two else estimate.metric.lens
    kind, _, place = lens.rpartition("-")
    place_of_class = number_in(place)
    if kind == "class" and 0 <= place_of_class < len(names):
        return entry.of_class(names[place_of_class])
    return entry.meaning


def estimates_table(
    title: str,
    estimates: Mapping[str, Estimate],
    cells: dict[Column, Callable[[Estimate], str]],
    notes: Iterable[str] = (),
    *,
    head: str = "",
) -> TextTable:
    """Return a row for each estimate: its value, any standard deviation, and further cells.

    Parameters
    ----------
    title
        Of the table.
    estimates
        Estimates by name.
    cells
        The other columns, each with the function that returns its cell.
    notes
        Sentences below the table.
    head
        Of the column of names.
    """
    columns: dict[Column, Callable[[Estimate], str]] = {Column("value"): value}
    if any(estimate.rows for estimate in estimates.values()):
        columns[Column(SAMPLED)] = sampled
        notes = [*notes, OF_SAMPLE]
    return table_of(title, estimates.items(), columns | cells, notes, head=head)


def sampled(estimate: Estimate) -> str:
    """Return the number of rows in the sample behind an estimate, if there is one."""
    return f"{estimate.rows:,}" if estimate.rows else ""


def value(estimate: Estimate) -> str:
    """Return a value with the precision of its neighbours."""
    return number(estimate.value, digits=estimate.digits)


def ends(e: Estimate) -> str:
    """Return the ends of an interval."""
    return span(e.interval.low, e.interval.high, digits=e.digits) if e.interval else NONE


def bounds(estimates: Collection[Estimate]) -> dict[Column, Callable[[Estimate], str]]:
    """Return the column of the intervals of calibration errors, if there are any."""
    has_interval = any(estimate.interval is not None for estimate in estimates)
    return {Column(interval_head(estimates)): ends} if has_interval else {}


def if_calibrated(estimate: Estimate) -> str:
    """Return the value under perfect calibration with its standard deviation."""
    null, entry = estimate.if_calibrated, estimate.metric.entry
    if null:
        return plus_minus(null.mean, null.sd, estimate.digits)
    return f"{entry.target:g}" if entry.family.section == "classical" and entry.target is not None else NONE


def tested_p(estimate: Estimate) -> str:
    """Return the p-value of perfect calibration."""
    return p_value(estimate.if_calibrated.p_value) if estimate.if_calibrated else NONE


def half_width(estimates: Collection[Estimate]) -> list[str]:
    """Return the meaning of the second number in a score's cell, if there is one."""
    if all(estimate.interval is None for estimate in estimates):
        return []
    interval = interval_head(estimates)
    return [f"±, or the ends in brackets: the {interval}."]


def cell(estimate: Estimate, *, tested: bool = True) -> str:
    """Return a value with its interval and, on request, its p-value."""
    interval, null = estimate.interval, estimate.if_calibrated
    texts = [value(estimate)]
    bound = estimate.metric.entry.family.has_null  # one-sided, as no error is below 0
    if interval is not None and not (bound or math.isinf(estimate.value)):
        above, below = interval.high - estimate.value, estimate.value - interval.low
        half, half_below = (number(width, digits=estimate.digits) for width in (above, below))
        texts.append(f"± {half}" if half == half_below else f"({ends(estimate)})")
    if null is not None and tested:
        texts.append(f"p {p_value(null.p_value if null.corrected_p is None else null.corrected_p)}")
    return " ".join(texts)
