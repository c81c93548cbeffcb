"""The findings of an evaluation in words: the verdict on the confidence, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import Estimate, Evaluation, Summary
from calcli.core.evaluating.usual import COST, OPERATING
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.text import apart, counted, number, p_value, percent, some, span
from calcli.report.estimates import ends, positive_class, tested_p, value
from calcli.report.recalibration import Gain, recalibration_gains
from calcli.report.shown import TextTable

BACKWARDS, NOT_DRAWN = "backwards", "no_random_sample"  # codes of warnings
FIRST = (BACKWARDS, NOT_DRAWN)  # codes shown before the numbers
OF_SOME = "An option applies to all files; if the others are right, save this one anew."
ALARM = 0.01  # p-value below which a sample is not random
MOST_SAID = 4  # most data sets that are named one by one
CLIP = "1e-6"  # a small probability that costs at most 14 nats
ROWS_A_BIN = 10  # rows per bin below which errors are mostly noise


FITTING: dict[str, str] = {  # a mean that is right, and whether all is
    "consistent": "consistent",
    "miscalibrated": "right on average, miscalibrated",
    "right on average": "right on average",
}
Word = Literal[
    "over-confident",
    "under-confident",
    "over-predicted",
    "under-predicted",
    "miscalibrated",
    "consistent",
    "right on average",
    "untested",
]


@dataclass(frozen=True)
class Verdict:
    """Whether probabilities are right on average: of the second of two classes, or the confidence.

    Attributes
    ----------
    word
        Over- or under-confident, for two classes over- or under-predicted, if the interval of the gap
        excludes 0. Otherwise the test of `ks` decides between consistent and miscalibrated; without it they
        are right on average. "untested" without an interval.
    gap
        Mean confidence minus accuracy, or mean probability minus frequency.
    sentence
        The same in plain words.
    """

    word: Word
    gap: float
    sentence: str


@dataclass(frozen=True)
class Warning:
    """Something that the reader must know before trusting a number.

    Attributes
    ----------
    code
        A code for programs.
    message
        A sentence.
    """

    code: str
    message: str


def verdict(summary: Summary) -> Verdict | None:
    """Return the verdict, or None if the probabilities are unknown, as in some states."""
    gap = summary.gap
    if gap is None:
        return None
    if summary.input.of_two:
        row, name = summary.per_class[1], positive_class(summary.input)
        frequency, fine = row.frequency, _fineness(gap)
        predicted, observed = percent(frequency + gap.value, digits=fine), percent(frequency, digits=fine)
        facts = f"{predicted} on average, {observed} observed"
        word, tested = _word(summary, gap, "over-predicted", "under-predicted")
        if gap.interval is None:
            sentence = f"{name} is predicted {facts}; not tested, as there is no interval."
            return Verdict(word, gap.value, sentence)
        between = span(gap.interval.low, gap.interval.high, percent, unit="")
        level = level_percent(gap.interval.level)
        of_difference = f"({level} interval of the difference {between} points{tested})"
        how = f"predicted {facts}: {FITTING[word]}" if word in FITTING else f"{word}: {facts}"
        return Verdict(word, gap.value, f"{name} is {how} {of_difference}.")
    hits = summary.accuracy
    interval = gap.interval
    fine = _fineness(gap)
    facts = f"mean confidence {percent(hits + gap.value, digits=fine)}, accuracy {percent(hits, digits=fine)}"
    word, tested = _word(summary, gap, "over-confident", "under-confident")
    if interval is None:
        return Verdict(word, gap.value, f"Not tested, as there is no interval: {facts}.")
    low, high, level = interval.low, interval.high, level_percent(interval.level)
    if word == "under-confident":
        low, high = -high, -low
    between = f"({level} interval {span(low, high, percent, unit='')})"
    if word in FITTING:
        points = percent(gap.value, digits=fine, unit="")
        chance = f"the gap of {points} points {between} can be chance{tested}"
        return Verdict(word, gap.value, f"{FITTING[word].capitalize()}: {facts}; {chance}.")
    points = percent(abs(gap.value), digits=fine, unit="")
    return Verdict(word, gap.value, f"{word.capitalize()} by {points} points {between}: {facts}.")


def _word(summary: Summary, gap: Estimate, above: Word, below: Word) -> tuple[Word, str]:
    """Return the word for a gap or, without one, for the test of `ks`, with its p-value in words."""
    if gap.interval is None:
        return "untested", ""
    if not gap.interval.contains(0):
        return above if gap.interval.low > 0 else below, ""
    alike = (e for e in summary.estimates.values() if e.metric.entry.name == "ks" and e.if_calibrated)
    test = next((ks for ks in alike if (ks.metric.lens, ks.metric.region) == (gap.metric.lens, "all")), None)
    if test is None or test.if_calibrated is None:
        return "right on average", ""
    null = test.if_calibrated
    p = null.p_value if summary.slice or null.corrected_p is None else null.corrected_p
    if p > 1 - gap.interval.level + 1e-12:
        return "consistent", ""
    return "miscalibrated", f"; ks: p {tested_p(test)}"


def _fineness(gap: Estimate) -> int | None:
    """Return the number of digits for shares that differ by a gap, from the width of its interval."""
    return apart(gap.value if gap.interval is None else gap.interval.high - gap.interval.low)


def backwards(area: float | None, classes: Sequence[str]) -> list[Warning]:
    """Return the warning on scores that rank the wrong way round, and what to do.

    Parameters
    ----------
    area
        Their area under the ROC curve; None if scores rank the right way.
    classes
        Of the predictions.
    """
    if area is None:
        return []
    text = f"The scores rank in the wrong direction, beyond chance: AUROC {number(area)}."
    if tuple(classes) == WRONG_RIGHT:
        text += " The more confident an answer, the more often it is wrong."
        mend = "Check whether the confidence is an uncertainty, and which answers are right"
    elif len(classes) > 2:
        text += " On average a class has lower scores in its own rows than in others."
        mend = (
            "Check whether columns and labels have the same order of classes, and whether low scores are "
            "good, as with distances, which must be negated"
        )
    else:
        negative, positive = classes
        text += f" The higher the probability of {positive}, the rarer it is."
        mend = f"Check whether these are scores of {negative}, or whether the labels are swapped"
    return [Warning(BACKWARDS, f"{text} {mend}. Recalibration would only hide this.")]


def of_order(summary: Summary) -> list[Warning]:
    """Return the same for a summary; nothing for slices, of which there may be many."""
    area = None if summary.slice else summary.backwards_area
    return backwards(area, summary.input.class_names)


def backwards_table(warnings_of_systems: Sequence[tuple[str, Sequence[Warning]]]) -> list[TextTable]:
    """Return the table of data sets that rank the wrong way round, which comes first.

    Parameters
    ----------
    warnings_of_systems
        Names of data sets, "" for the only one, and the warnings about each.
    """
    messages = [
        f"{name}: {warning.message}" if name else warning.message
        for name, warnings in warnings_of_systems
        for warning in warnings
        if warning.code in FIRST
    ]
    notes = [f"So do {len(messages) - MOST_SAID:,} more."] if len(messages) > MOST_SAID else []
    notes += [OF_SOME] if len(messages) < len(warnings_of_systems) else []
    return [TextTable("Before anything else", notes=(*messages[:MOST_SAID], *notes))] if messages else []


def warnings(summary: Summary) -> list[Warning]:
    """Return the warnings, the gravest first."""
    kinds = (of_order, of_sampling, _useless, _infinite, _clipped, _classes, _untested, _few_rows, _undefined)
    listed = [warning for kind in kinds for warning in kind(summary)]
    if summary.recalibration_notes:
        listed.append(Warning("recalibration", f"Recalibration by {'; '.join(summary.recalibration_notes)}."))
    return listed + [Warning("left_out", f"{sentence}.") for sentence in summary.skipped]


def of_sampling(summary: Summary) -> Iterator[Warning]:
    """Warn that a judge, or probabilities, expect other outcomes of labelled rows than of all rows."""
    estimate = by_proxy(summary)
    if estimate is not None and (p := estimate.parts["p_random"]) < ALARM:
        labelled, everywhere = (percent(estimate.parts[of]) for of in ("expected_of_labelled", "expected"))
        expects = f"{summary.input.judge} gives" if summary.input.judge else "the probabilities expect"
        mend = "Label rows drawn at random."
        if "false_passes" in estimate.parts:
            mend = "The figure holds only if rows were chosen by the verdict alone."
        message = (
            f"The labelled rows are no random sample: {expects} {labelled} there, {everywhere} in all rows"
        )
        yield Warning(NOT_DRAWN, f"{message} (p {p_value(p)}). {mend}")


def by_proxy(summary: Summary) -> Estimate | None:
    """Return the first estimate from few labels and a proxy of all rows, if there is one."""
    return next((e for e in summary.estimates.values() if "p_random" in e.parts), None)


def proxy_sentences(summary: Summary) -> Iterator[str]:
    """Yield sentences on the estimate from labels and a proxy, their agreement, and the assumptions."""
    estimate, read = by_proxy(summary), summary.input
    if estimate is None:
        return
    facts, between = estimate.parts, "no interval"
    if estimate.interval is not None:
        between = f"{level_percent(estimate.interval.level)} interval "
        between += span(estimate.interval.low, estimate.interval.high, percent, unit="")
    share, labels = percent(estimate.value), f"{facts['labels']:,.0f} labels"
    result = f"{share} right" if str(estimate.metric) == "accuracy" else f"{estimate.metric} {share}"
    proxies = f"{facts['unlabelled']:,.0f} {'verdicts of ' + read.judge if read.judge else 'probabilities'}"
    alone = "all other figures come from the labelled rows"
    alone = f"the judge alone says {percent(facts['expected'])}" if read.judge else alone
    if "worth" in facts:
        worth = f" The labels count as {facts['worth']:,.0f}." if facts["p_random"] >= ALARM else ""
        yield f"{result} ({between}), from {labels} and {proxies}; {alone}.{worth}"
    elif estimate.interval is not None:
        clause = f"the {proxies} make it no narrower (correlation {number(facts['correlation'])})"
        yield f"{result} ({between}), from {labels} alone: {clause}; {alone}."
    if "false_passes" in facts and read.judge:
        passes, fails = (int(facts[name]) for name in ("false_passes", "false_fails"))
        agreed = percent(1 - (passes + fails) / facts["labels"])
        counts = f"{counted(passes, 'false pass')}, {counted(fails, 'false fail')}"
        yield f"{read.judge} agrees on {agreed} of the labelled rows: {counts}."
    if "unseen" in facts:
        yield "Few rows disagree: one unseen disagreement each way is counted."
    tuned = "the judge was not" if read.judge else "nothing was"
    yield f"This holds if rows were labelled at random, and {tuned} tuned on them."


def _useless(summary: Summary) -> Iterator[Warning]:
    """Warn of scores that are worse, with their whole interval, than one answer for all rows."""
    worse = []
    for name, estimate in summary.estimates.items():
        if (
            estimate.metric.entry.name.startswith("normalized_")
            and estimate.interval
            and estimate.interval.low > 1
        ):
            level = level_percent(estimate.interval.level)
            worse.append(f"{name} {value(estimate)}, {level} interval {ends(estimate)}")
    if worse:
        mend = "Recalibration may correct this; otherwise i" if summary.backwards_area is None else "I"
        yield Warning(
            "worse_than_constant",
            f"Worse than {_constant(summary)}: {'; '.join(worse)}. {mend}gnore these probabilities.",
        )


def _constant(summary: Summary) -> str:
    if summary.input.of_answers:
        return "always stating the accuracy"
    return "always answering with the class frequencies, or with the most frequent class"


def _infinite(summary: Summary) -> Iterator[Warning]:
    infinite = summary.infinite_log_loss
    if infinite is not None:
        without = infinite.value_without
        ending = "" if np.isnan(without) else f"; without them it is {number(without)}"
        clause = f"{'gives its' if infinite.rows == 1 else 'give their'} label probability 0"
        if summary.input.of_answers:
            clause = f"{'is' if infinite.rows == 1 else 'are'} wrong with the confidence 1, or right with 0"
        yield Warning(
            "infinite_log_loss",
            f"{counted(infinite.rows, 'row')} {clause}, which makes the log-loss infinite{ending}. Counted "
            f"from 0: {some(infinite.first, infinite.rows)}. --clip {CLIP} makes it finite.",
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
        if summary.accuracy in (0, 1) and not summary.input.outcomes:
            same = "right" if summary.accuracy else "wrong"
            yield Warning("one_outcome", f"Every answer is {same}, so discrimination is not tested.")
        return
    present = [row.name for row in summary.per_class if row.rows]
    absent = [row.name for row in summary.per_class if not row.rows]
    if len(present) == 1:
        yield Warning("one_class", f"Every row has the label {present[0]}; so other classes are not tested.")
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
            f"Rows of one {cluster} depend on each other: intervals are those of whole clusters, and "
            "calibration is not tested, as its tests assume independent outcomes."
            if not summary.input.outcomes
            else f"Rows of one {cluster} depend on each other: intervals are those of whole clusters.",
        )
    elif not summary.settings.draws_outcomes:
        yield Warning(
            "untested",
            "Rows are weighted by their labels to other class priors, so calibration is not tested.",
        )


def _undefined(summary: Summary) -> Iterator[Warning]:
    asks = summary.settings.metrics  # default metrics show in the report that they are undefined
    undefined = {
        name: estimate for name, estimate in summary.estimates.items() if asks and np.isnan(estimate.value)
    }
    regions = [name for name, estimate in undefined.items() if estimate.metric.region != "all"]
    names_by_reason: dict[str, list[str]] = {}
    for name, estimate in undefined.items():
        if name not in regions:
            names_by_reason.setdefault(_why_undefined(estimate), []).append(name)
    if names_by_reason:
        clauses = [f"{', '.join(names)} ({why})" for why, names in names_by_reason.items()]
        yield Warning("undefined", f"Not defined on these rows and labels: {'; '.join(clauses)}.")
    if regions:
        yield Warning("empty_region", f"No rows, or too few, have a score there: {', '.join(regions)}.")


def _why_undefined(estimate: Estimate) -> str:
    """Return why a value is nan, as a clause."""
    undefined, before = estimate.metric.entry.family.undefined, estimate.parts.get("before")
    if undefined and before is None:
        return undefined
    if before == 0:
        return "a score of 0 has no shares"
    if estimate.metric.entry.name.startswith("normalized_"):
        return "the best constant answer, by which it is divided, has a loss of 0"
    return "a score is infinite"


def _few_rows(summary: Summary) -> Iterator[Warning]:
    rows, bins = summary.input.rows, summary.settings.bins
    errors = any(estimate.metric.entry.family.has_null for estimate in summary.estimates.values())
    if errors and rows < ROWS_A_BIN * bins:
        yield Warning(
            "few_rows",
            f"{counted(rows, 'row')} for {counted(bins, 'bin')}, fewer than {ROWS_A_BIN} per bin: "
            "calibration errors are mostly noise. Compare them with their values if calibrated.",
        )


class Result(Summary):
    """The report on one evaluation: its numbers, and sentences about them."""

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether the confidence is right on average; None if unknown."""
        return verdict(self)

    @cached_property
    def points(self) -> dict[str, Estimate]:
        """The estimates at the requested thresholds, shown in a separate table."""
        thresholds = self.settings.thresholds
        return {
            name: estimate
            for name, estimate in self.metrics.items()
            if estimate.metric.entry.name in (*OPERATING, COST)
            and estimate.metric.arguments["threshold"] in thresholds
        }

    @cached_property
    def listed(self) -> dict[str, Estimate]:
        """The estimates that tables of metrics list."""
        return {name: estimate for name, estimate in self.metrics.items() if name not in self.points}

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """The warnings."""
        return tuple(warnings(self))

    @cached_property
    def recalibration(self) -> tuple[Gain, ...]:
        """The gain of recalibration, by each way that was tried."""
        one_class = not self.input.of_answers and sum(row.rows > 0 for row in self.per_class) == 1
        return recalibration_gains(
            self.estimates, self.input.classes, one_class=one_class, backwards=self.backwards_area is not None
        )

    @property
    def gain(self) -> Gain | None:
        """The gain of recalibration on rows to which it was not fitted; None if unknown."""
        return next((gain for gain in self.recalibration if gain.on_unseen), None)


def summarize(evaluation: Evaluation) -> Result:
    """Return the report on an evaluation, without its rows."""
    return Result(**vars(evaluation.summary))
