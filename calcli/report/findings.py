"""What the numbers say, in words: the verdict on the confidence, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from calcli.core.data.predictions import Provenance
from calcli.core.estimators.interval import level_percent
from calcli.core.evaluating.results import Estimate, Summary
from calcli.core.language.answers import WRONG_RIGHT
from calcli.core.language.numbers import apart, counted, number, percent, some, span
from calcli.report.estimates import ends, value
from calcli.report.shown import TextTable

BACKWARDS = "backwards"  # code of the warning that comes first
OF_SOME = "An option holds for all files: where the others are right, save these scores anew."
MOST_SAID = 4  # data sets of which that is said one by one
ROWS_A_BIN = 10  # fewer than that on average, and errors are mostly noise


@dataclass(frozen=True)
class ConfidenceVerdict:
    """Whether the confidence keeps what it promises.

    Attributes
    ----------
    word
        Over- or under-confident if the interval of the gap excludes 0, else consistent; "untested"
        without an interval.
    gap
        Mean confidence minus accuracy.
    sentence
        The same in plain words.
    """

    word: Literal["over-confident", "under-confident", "consistent", "untested"]
    gap: float
    sentence: str


@dataclass(frozen=True)
class Warning:
    """Something the reader must know before trusting a number.

    Attributes
    ----------
    code
        For programs.
    message
        A sentence.
    """

    code: str
    message: str


def verdict(summary: Summary) -> ConfidenceVerdict | None:
    """Return the verdict, or None where nothing is known of the confidence, as in some states."""
    gap = summary.gap
    if gap is None:
        return None
    hits, second = summary.accuracy, _of_second(summary)
    confidence, interval = hits + gap.value, gap.interval
    fine = apart(gap.value) if interval is None else apart(interval.high - interval.low)
    facts = f"mean confidence {percent(confidence, digits=fine)}, accuracy {percent(hits, digits=fine)}"
    if interval is None:
        sentence = f"Not tested, as there is no interval: {facts}.{second}"
        return ConfidenceVerdict("untested", gap.value, sentence)
    low, high, level = interval.low, interval.high, level_percent(interval.level)
    if low <= 0 <= high:
        own = percent(gap.value, digits=fine, unit="")
        between = f"({level} interval {span(low, high, percent, unit='')})"
        chance = f"the gap of {own} points {between} can be chance"
        sentence = f"Consistent: {facts}; {chance}.{second}"
        return ConfidenceVerdict("consistent", gap.value, sentence)
    word: Literal["over-confident", "under-confident"] = "over-confident"
    if high < 0:
        word, low, high = "under-confident", -high, -low
    own = percent(abs(gap.value), digits=fine, unit="")
    between = f"({level} interval {span(low, high, percent, unit='')})"
    sentence = f"{word.capitalize()} by {own} points {between}: {facts}.{second}"
    return ConfidenceVerdict(word, gap.value, sentence)


def _of_second(summary: Summary) -> str:
    """Say what is predicted of the second of two classes, which is too little if the first gets too much."""
    if summary.input.of_answers or len(summary.per_class) != 2:
        return ""
    row = summary.per_class[1]
    if not isfinite(row.mean_prob + row.frequency):
        return ""
    predicted, occurs = percent(row.mean_prob, row.frequency), percent(row.frequency, row.mean_prob)
    return f" The mean probability of {row.name} is {predicted}, its frequency {occurs}."


def backwards(area: float | None, classes: Sequence[str], read: Provenance) -> list[Warning]:
    """Return what is to be said of scores that rank the wrong way round, and what to do.

    Parameters
    ----------
    area
        Their area under the ROC curve; None of scores that do not.
    classes, read
        Of the predictions.
    """
    if area is None:
        return []
    said = f"The scores rank the wrong way round, beyond chance: AUROC {number(area)}."
    if tuple(classes) == WRONG_RIGHT:
        said += " The surer an answer is, the more often it is wrong."
        mend = "Check whether the confidence is an uncertainty, and which answers are right"
    elif len(classes) > 2:
        said += " On average a class gets less in its own rows than in others."
        order = f", which {read.other_way} says of columns" if read.other_way else ""
        mend = (
            f"Check whether columns and labels count the classes alike{order}, and whether low scores are "
            "good, as of distances, which have to be negated"
        )
    else:
        first, second = classes
        said += f" The more probable {second} is said to be, the rarer it is."
        mend = f"Check whether these are scores of {first}, or the labels are exchanged"
        if read.other_way:
            mend = f"If these are scores of {first}, read them with {read.other_way}; else check the labels"
    return [Warning(BACKWARDS, f"{said} {mend}. A recalibration would only hide it.")]


def of_order(summary: Summary) -> list[Warning]:
    """Return the same of what was found out; of slices, which are many, nothing."""
    area = None if summary.slice else summary.backwards_area
    return backwards(area, summary.input.class_names, summary.input)


def backwards_table(found: Sequence[tuple[str, Sequence[Warning]]]) -> list[TextTable]:
    """Return first of all what ranks the wrong way round, if something does.

    Parameters
    ----------
    found
        Names of data sets, "" for the only one, and the warnings about each.
    """
    said = [
        f"{name}: {one.message}" if name else one.message
        for name, warnings in found
        for one in warnings
        if one.code == BACKWARDS
    ]
    more = [f"So do {len(said) - MOST_SAID:,} more."] if len(said) > MOST_SAID else []
    more += [OF_SOME] if len(said) < len(found) else []
    return [TextTable("Before anything else", notes=(*said[:MOST_SAID], *more))] if said else []


def warnings(summary: Summary) -> list[Warning]:
    """Return what stands in the way of trusting the numbers, the gravest first."""
    kinds = (of_order, _useless, _infinite, _clipped, _classes, _untested, _few_rows, _undefined)
    found = [warning for kind in kinds for warning in kind(summary)]
    if summary.recalibration_notes:
        notes = "; ".join(summary.recalibration_notes)
        found.append(Warning("recalibration", f"Of the recalibrations: {notes}."))
    return found + [Warning("left_out", f"{sentence}.") for sentence in summary.skipped]


def _useless(summary: Summary) -> Iterator[Warning]:
    """Say which scores are worse than one answer for all rows, with the whole of their intervals."""
    worse = []
    for name, found in summary.estimates.items():
        if found.call.entry.name.startswith("normalized_") and found.interval and found.interval.low > 1:
            level = level_percent(found.interval.level)
            worse.append(f"{name} {value(found)}, {level} interval {ends(found)}")
    if worse:
        mend = "A recalibration may mend it; as they are, i" if summary.backwards_area is None else "I"
        yield Warning(
            "worse_than_constant",
            f"Worse than {_constant(summary)}: {'; '.join(worse)}. {mend}gnore these probabilities.",
        )


def _constant(summary: Summary) -> str:
    if summary.input.of_answers:
        return "always stating the accuracy"
    return "answering with the class frequencies, or always with the best of them"


def _infinite(summary: Summary) -> Iterator[Warning]:
    infinite = summary.infinite_log_loss
    if infinite is not None:
        without = infinite.value_without
        rest = "" if np.isnan(without) else f"; without them it is {number(without)}"
        what = f"{'gives its' if infinite.rows == 1 else 'give their'} label probability 0"
        if summary.input.of_answers:
            what = f"{'is' if infinite.rows == 1 else 'are'} wrong with the confidence 1, or right with 0"
        yield Warning(
            "infinite_log_loss",
            f"{counted(infinite.rows, 'row')} {what}, which makes the log-loss infinite{rest}. Counted from "
            f"0: {some(infinite.first, infinite.rows)}. --clip makes it finite.",
        )


def _clipped(summary: Summary) -> Iterator[Warning]:
    if summary.clipped_rows:
        yield Warning(
            "clipped",
            f"The log-loss of {counted(summary.clipped_rows, 'row')} was clipped: the label's probability "
            f"counts as {summary.settings.clip:g}.",
        )


def _classes(summary: Summary) -> Iterator[Warning]:
    if summary.input.of_answers:
        if summary.accuracy in (0, 1):
            same = "right" if summary.accuracy else "wrong"
            yield Warning("one_outcome", f"Every answer is {same}: telling right from wrong is untested.")
        return
    present = [row.name for row in summary.per_class if row.rows]
    absent = [row.name for row in summary.per_class if not row.rows]
    if len(present) == 1:
        yield Warning("one_class", f"Every row has the label {present[0]}; other classes remain untested.")
    elif absent:
        yield Warning(
            "absent_classes",
            f"{counted(len(absent), 'class')} of {len(summary.per_class)} never "
            f"{'occurs' if len(absent) == 1 else 'occur'} as label: {some(absent)}.",
        )


def _untested(summary: Summary) -> Iterator[Warning]:
    cluster = summary.settings.cluster
    if cluster is not None:
        yield Warning(
            "untested",
            f"Rows of one {cluster} depend on each other: intervals take them together, and calibration is "
            "not tested, because the tests assume independent outcomes.",
        )
    elif not summary.settings.draws_outcomes:
        yield Warning(
            "untested",
            "Rows are weighted to other class priors, by their labels: calibration is not tested, because "
            "the tests draw other labels.",
        )


def _undefined(summary: Summary) -> Iterator[Warning]:
    undefined = {name: found for name, found in summary.estimates.items() if np.isnan(found.value)}
    regions = [name for name, found in undefined.items() if found.call.region != "all"]
    names_by_reason: dict[str, list[str]] = {}
    for name, found in undefined.items():
        if name not in regions:
            names_by_reason.setdefault(_why_undefined(found), []).append(name)
    if names_by_reason:
        clauses = [f"{', '.join(names)} ({why})" for why, names in names_by_reason.items()]
        yield Warning("undefined", f"Not defined on these rows and labels: {'; '.join(clauses)}.")
    if regions:
        yield Warning("empty_region", f"No rows, or too few, have a score there: {', '.join(regions)}.")


def _why_undefined(found: Estimate) -> str:
    """Return why a value is nan, as a clause."""
    undefined, before = found.call.entry.family.undefined, found.parts.get("before")
    if undefined and before is None:
        return undefined
    if before == 0:
        return "there is no share of a score that is 0"
    if found.call.entry.name.startswith("normalized_"):
        return "the best constant answer, which it is divided by, loses nothing"
    return "a score is infinite"


def _few_rows(summary: Summary) -> Iterator[Warning]:
    rows, bins = summary.input.rows, summary.settings.bins
    errors = any(found.call.entry.family.beside_null for found in summary.estimates.values())
    if errors and rows < ROWS_A_BIN * bins:
        yield Warning(
            "few_rows",
            f"{counted(rows, 'row')} for {counted(bins, 'bin')}, fewer than {ROWS_A_BIN} a bin: calibration "
            "errors are mostly noise. Compare them with their values if calibrated.",
        )
