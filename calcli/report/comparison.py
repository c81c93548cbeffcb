"""Comparisons as shown: differences, rankings, slices, and choices by criteria on another set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict, cast

from calcli.core.comparing.averaging import LABEL
from calcli.core.comparing.comparison import (
    Choice,
    Comparison,
    Difference,
    Flips,
    Verdict,
    relative_change,
    why_none_is_best,
)
from calcli.core.data.derived import ENOUGH_ROWS
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.intervals import level_percent
from calcli.core.estimators.power import POWER, Power
from calcli.core.evaluating.results import Summary
from calcli.core.language.expressions import Measure
from calcli.core.language.schemas import Fields
from calcli.core.language.settings import Settings
from calcli.core.language.text import apart, counted, number, p_value, percent, relative, span
from calcli.report.estimates import (
    NONE,
    assumed_bins,
    if_calibrated,
    interval_head,
    of_class,
    superlative,
    tested_p,
    value,
    without_interval,
)
from calcli.report.evaluation import input_object
from calcli.report.files import system_names
from calcli.report.findings import CLIP, Warning, backwards_table, of_order, of_sampling
from calcli.report.objects import IntervalObject, PowerObject, SystemObject
from calcli.report.overview import MANY
from calcli.report.reading import reading_sentences, reading_table
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, table_of
from calcli.report.systems import System, systems_table

if TYPE_CHECKING:
    from calcli.report.page import Picture


class DifferenceObject(IntervalObject, PowerObject):
    """The difference of a metric between a baseline and a candidate."""

    baseline: float
    candidate: float
    difference: float
    relative_change: float
    no_interval: NotRequired[str]
    p_value: float
    corrected_p: float
    p_over_metrics: float
    margin: float
    verdict: Verdict
    sampled_rows: NotRequired[list[int]]
    signature: str


DIFFERENCE = Fields(DifferenceObject, (), (IntervalObject,))


class RankObject(TypedDict):
    """A place in a ranking."""

    system: int
    to_best: Annotated[Any, DIFFERENCE, None]
    among_best: bool


class FlipsObject(TypedDict):
    """The questions in which a candidate differs from the baseline."""

    worse: list[str]
    better: list[str]
    same: int
    columns: list[str]
    values: dict[str, list[str]]


class PartComparisonObject(TypedDict):
    """The systems on all rows, or on a slice."""

    slice: str | None
    rows: int
    differences: list[dict[str, Annotated[DifferenceObject, DIFFERENCE]]]
    ranked_by: str
    ranking: list[RankObject]
    accuracy_cost: Annotated[Any, DIFFERENCE, None]
    most_accurate: int | None
    flips: list[FlipsObject]


class SystemWarningObject(TypedDict):
    """A warning about one of several systems."""

    system: str
    code: str
    message: str


class ComparisonObject(TypedDict):
    """A report of `calcli compare`."""

    settings: Annotated[Any, Fields(Settings, ("workers",))]
    paired: bool
    unpaired_because: str | None
    systems: list[SystemObject]
    comparisons: list[PartComparisonObject]
    selection: str
    warnings: list[Annotated[Any, SystemWarningObject]]


class SetsObject(TypedDict):
    """The names of two sets."""

    chosen_on: str
    reported_on: str


class ChoiceObject(TypedDict):
    """The epoch that a criterion chooses."""

    criterion: str
    number: int
    chosen_on: dict[str, float]
    reported_on: dict[str, float]
    relative_change: dict[str, float]


class SelectionObject(TypedDict):
    """A report of `calcli compare --select`."""

    sets: SetsObject
    files: int
    warnings: list[str]
    choices: list[ChoiceObject]


PAIRED = "Intervals: of the differences, row by row."
UNPAIRED = (
    "Unpaired: the files hold different cases. A comparison on the same cases detects much smaller "
    "differences."
)
BY_PROXY = (
    "By labels and verdicts the change is estimated row by row: it is not the difference of both values. "
    "Below an agreement of 95% a judge adds little to labels here."
)
ERRORS = (
    "No test compares two calibration errors: each p is that of one system being calibrated. To compare "
    "systems, take proper scores, or calibration_loss."
)
NEAREST = (
    "{} {} best at {:g}, and nearer to it is better: p tests whether both are as near; the interval is that "
    "of the change."
)
MOST_FLIPS = 1_000  # rows to list
PROVEN = ("better", "worse", "different")
VERDICTS = {
    "equal": "equal: the same but for rounding, row by row.",
    "equivalent": "equivalent: the whole interval lies within the margin.",
    "different": "different: a significant difference in a metric without a better direction.",
    "undecided": "undecided: the interval straddles the margin, or 0 where there is none.",
    "untested": "untested: the change is undefined, too few rows carry it, or no test of it is known.",
}


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonReport(Shown):
    """Differences of systems; printed, the report shows the tables of the command line.

    Attributes
    ----------
    comparisons
        On all rows, then on each slice.
    settings
        How they were compared.
    paired
        Whether row i is the same case in all systems.
    unmatched
        Rows of each system that were left out.
    selecting
        Whether one of the systems is to be chosen: the ranking comes first in the tables, and differences to
        the baseline are not in them.
    unlike
        Why states are not paired, although pairing was requested.
    details
        Whether tables list the rows that one system gets right and the other wrong.
    systems
        The compared rows, for the figures of a page.
    """

    comparisons: Sequence[Comparison]
    settings: Settings
    paired: bool
    unmatched: Sequence[int]
    selecting: bool = False
    unlike: str = ""
    details: bool = False
    systems: Sequence[Predictions] = ()

    title = "Comparison"
    schema = "calcli.comparison/1"

    def tables(self) -> list[TextTable]:
        """Return how systems were read, their ranking, their differences, also in slices, and notes."""
        overall, slices, names = self.comparisons[0], self.comparisons[1:], self.names()
        tables = backwards_table(self._backwards())
        tables += reading_table(zip(names, (s.input.reading for s in overall.summaries), strict=True))
        if self.selecting or len(names) > 2:
            tables.append(_ranking(overall, names, self.selecting))
        if not self.selecting:
            if len(names) == 2:
                of = of_class("", [summary.input for summary in overall.summaries]).strip()
                tables.append(_pair(overall, names, "macro mean" if _of_labels(slices) else of))
                tables += [_flipped(flip) for flip in overall.flips if self.details]
            else:
                tables.append(_grid([overall], names, f"Differences to {names[0]}"))
            tables += _errors(overall, names)
            if slices:
                column = slices[0].part.column if slices[0].part else ""
                tables.append(_grid(slices, names, f"Differences by {column}"))
        notes = tuple(_notes(self.comparisons, names, self.paired, self.unmatched))
        if self.unlike:
            notes = (f"The rows of the states could not be paired: {self.unlike}.", *notes)
        return [*tables, TextTable("How to read this", notes=notes)]

    def of_systems(self) -> tuple[TextTable, Sequence[Mapping[str, Any]]] | None:
        """Return one table of the systems on all rows: their values, and changes to the baseline."""
        overall, names = self.comparisons[0], self.names()
        if self.details or len(self.comparisons) > 1:
            return None
        metrics = list(overall.differences[0])
        estimates = [{e.metric.text: e for e in s.estimates.values()} for s in overall.summaries]
        systems = [System(name, [of_file]) for name, of_file in zip(names, estimates, strict=True)]
        table = systems_table(systems, self.title, metrics)
        columns = [
            *table.columns,
            *(Column(f"{metric}, change") for metric in _judged(overall.differences[0])),
        ]
        records = [systems[0].record(metrics)]
        rows = [(*table.rows[0], *("" for _ in columns[len(table.columns) :]))]
        for system, row, differences in zip(systems[1:], table.rows[1:], overall.differences, strict=True):
            scores = _judged(differences)
            rows.append(
                (*row, *(f"{signed(d)} ({ends(d)})" if d.interval else signed(d) for d in scores.values()))
            )
            records.append(system.record(metrics))
            for metric, difference in scores.items():
                low, high = (
                    (difference.interval.low, difference.interval.high) if difference.interval else ("", "")
                )
                changes = {"": difference.value, " low": low, " high": high, " p": difference.p_value}
                records[-1] |= {f"{metric} change{end}": number for end, number in changes.items()}
        return replace(table, columns=tuple(columns), rows=tuple(rows)), records

    def headline(self) -> Headline:
        """Return the compared systems, and the result for the metric that ranks them."""
        overall, names = self.comparisons[0], self.names()
        read = f"{', '.join(names[1:])} against {names[0]}"
        alarm = "".join(f"{name}: {w.message} " for name, warnings in self._backwards() for w in warnings)
        if self.selecting or len(names) > 2:
            sentence = alarm + selection_sentence(overall, names)
            return Headline(read, sentence, "bad" if alarm else "plain", systems=names)
        differences = overall.differences[0]
        ranking = differences[overall.ranked_by.text]
        before, now = ranking.baseline, ranking.candidate
        change = f"{number(before, now)} to {number(now, before)}"
        sentence = f"{alarm}{ranking.metric.text}: {ranking.verdict}, {change}."
        unranked = [d for d in differences.values() if d is not ranking]
        proven = [d for d in unranked if d.p_over_metrics <= 1 - self.settings.level]
        if proven:
            listed = ", ".join(f"{d.metric.text} {d.verdict}" for d in proven)
            sentence += f" Corrected for all metrics shown: {listed}."
        verdicts = {d.verdict for d in (ranking, *proven)}
        bad, good = bool(alarm) or "worse" in verdicts, "better" in verdicts
        numbers = [
            Number(metric, signed(d), f"{ends(d)} ({level_percent(d.interval.level)})")
            for metric, d in differences.items()
            if d.interval
        ]
        return Headline(read, sentence, "bad" if bad else "good" if good else "plain", numbers[:3])

    def pictures(self) -> Sequence[Picture]:
        """Return the changes with their intervals, and the reliability curves of all systems."""
        from calcli.report.pictures import comparison_pictures

        return comparison_pictures(self.comparisons[0], self.systems, self.settings, self.names())

    def how_read(self) -> list[str]:
        """Return how each file was read, in sentences."""
        readings = (summary.input.reading for summary in self.comparisons[0].summaries)
        return reading_sentences(zip(self.names(), readings, strict=True))

    def data(self) -> ComparisonObject:
        """Return settings, systems, and comparisons in full."""
        overall = self.comparisons[0]
        return {
            "settings": self.settings.recorded,
            "paired": self.paired,
            "unpaired_because": self.unlike or None,
            "systems": systems_object(overall.summaries, self.unmatched),
            "comparisons": [_comparison(comparison) for comparison in self.comparisons],
            "selection": selection_sentence(overall, self.names()),
            "warnings": [
                {"system": name, **asdict(warning)} for name, ws in self._backwards() for warning in ws
            ],
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every difference, on all rows and then on slices."""
        names = self.names()[1:]
        for comparison in self.comparisons:
            part = str(comparison.part) if comparison.part else None
            for name, differences in zip(names, comparison.differences, strict=True):
                for metric, difference in differences.items():
                    yield {"slice": part, "candidate": name, "metric": metric} | difference_object(difference)

    def __repr__(self) -> str:
        verdicts = [
            ", ".join(f"{name} {difference.verdict}" for name, difference in differences.items())
            for differences in self.comparisons[0].differences
        ]
        return f"<ComparisonReport: {'; '.join(verdicts)}>"

    def names(self) -> list[str]:
        """Return the names of the systems."""
        return system_names([summary.input for summary in self.comparisons[0].summaries])

    def _backwards(self) -> list[tuple[str, list[Warning]]]:
        summaries = self.comparisons[0].summaries
        warnings = ([*of_order(summary), *of_sampling(summary)] for summary in summaries)
        return [*zip(self.names(), warnings, strict=True)]


def _pair(overall: Comparison, names: Sequence[str], head: str) -> TextTable:
    differences = overall.differences[0]
    cells: dict[Column, Callable[[Difference], str]] = {
        Column("verdict", "left"): lambda d: d.verdict,  # beside the name, even if other columns are folded
        Column("baseline"): lambda d: number(d.baseline, d.candidate),
        Column("candidate"): lambda d: number(d.candidate, d.baseline),
        Column("change"): signed,
        Column("in percent", optional=True): _relative,
        Column(interval_head(differences.values())): ends,
        Column("p"): lambda d: shown_p(d.p_value),
    }
    rows_used = overall.summaries[0].input.rows, overall.summaries[1].input.rows
    read = [*_flips(overall)] + [
        f"{role}: {name}, {counted(n, 'row')}"
        for role, name, n in zip(("baseline", "candidate"), names, rows_used, strict=True)
    ]
    return table_of(f"{names[1]} against {names[0]}", _judged(differences).items(), cells, read, head=head)


def _of_labels(slices: Sequence[Comparison]) -> bool:
    """Return whether slices are labels in a row, and all rows a mean over the labels."""
    return any(slice.part and slice.part.column == LABEL for slice in slices)


def _judged(differences: Mapping[str, Difference]) -> dict[str, Difference]:
    """Return the differences that may have a verdict, unlike calibration errors."""
    return {name: d for name, d in differences.items() if not d.metric.entry.family.has_null}


def _errors(overall: Comparison, names: Sequence[str]) -> list[TextTable]:
    """Return the calibration errors of each system beside their values if calibrated."""
    rows = []
    for metric in (d.metric for d in overall.differences[0].values() if d.metric.entry.family.has_null):
        for n, (name, summary) in enumerate(zip(names, overall.summaries, strict=True)):
            estimate = summary.estimates[str(metric)]
            cells = value(estimate), if_calibrated(estimate), tested_p(estimate)
            rows.append(("" if n else metric.text, name, *cells))
    heads = Column("", "left"), Column("", "left"), Column("value"), Column("if calibrated"), Column("p")
    return [TextTable("Calibration errors", heads, tuple(rows), (ERRORS,))] * bool(rows)


def _flips(overall: Comparison) -> Iterator[str]:
    """Return how many rows got worse and better, and which difference the rows can detect."""
    for flips, differences in zip(overall.flips, overall.differences, strict=False):
        read = overall.summaries[0].input
        unit = "question" if read.identity else "row"
        counts = f"{counted(len(flips.worse), unit)} got worse, {len(flips.better):,} better"
        difference = differences.get(overall.ranked_by.text)
        detect = ""
        if difference is not None and difference.power is not None:
            points = percent(difference.power.detectable, unit="")
            detect = f"; these rows detect {points} points (power {POWER:.0%})"
        yield f"{counts}, {flips.same:,} as before{detect}."


def _flipped(flips: Flips) -> TextTable:
    """Return the differing questions, one per row, with the columns to show."""
    ways = ("worse", flips.worse[:MOST_FLIPS]), ("better", flips.better[:MOST_FLIPS])
    rows: list[tuple[str, ...]] = [(way, ", ".join(names)) for way, names in ways if names]
    if flips.columns:
        rows = [(way, name, *flips.values[name]) for way, names in ways for name in names]
    heads = [Column(head, "left") for head in ("", "", *flips.columns)]
    return TextTable("What changed", tuple(heads), tuple(rows))


def _grid(comparisons: Sequence[Comparison], names: Sequence[str], title: str) -> TextTable:
    """Return a row for each candidate, or slice and candidate, and a column for each metric."""
    metrics = list(_judged(comparisons[0].differences[0]))
    rows = []
    if len(comparisons) > MANY:
        comparisons = sorted(comparisons, key=lambda comparison: not _differs(comparison))
    for comparison in comparisons:
        count = comparison.summaries[0].input.rows
        for name, differences in zip(names[1:], comparison.differences, strict=True):
            place = [comparison.part.shown] if comparison.part else []
            head = ", ".join(place + ([name] if len(names) > 2 else []))
            few = " (few)" if comparison.part and count < ENOUGH_ROWS else ""
            cells = [f"{signed(differences[metric])} {differences[metric].verdict}" for metric in metrics]
            rows.append((head, f"{count:,}{few}", *cells))
    notes = []
    if comparisons[0].part:
        notes.append("Verdicts are corrected for the number of slices (Holm).")
    columns = (Column("", "left"), Column("rows"), *(Column(metric, "left") for metric in metrics))
    return TextTable(title, columns, tuple(rows), tuple(notes))


def _differs(comparison: Comparison) -> bool:
    """Return whether a difference exceeds chance, by the corrected verdicts."""
    return any(d.verdict in PROVEN for differences in comparison.differences for d in differences.values())


def _ranking(overall: Comparison, names: Sequence[str], selecting: bool) -> TextTable:
    metric, key = overall.ranked_by.text, str(overall.ranked_by)
    values = [summary.estimates[key].value for summary in overall.summaries]
    to_bests = [ranked.to_best for ranked in overall.ranking if ranked.to_best]
    columns = [Column("", "left"), Column("", "left"), Column(metric), Column("to the best")]
    columns += [Column(interval_head(to_bests)), Column("p")]
    accurate = "accuracy" in overall.summaries[0].estimates and key != "accuracy"
    if accurate:
        columns.append(Column("accuracy"))
        accuracies = [summary.estimates["accuracy"].value for summary in overall.summaries]
    rows = []
    for ranked in overall.ranking:
        estimates = overall.summaries[ranked.system].estimates
        difference = ranked.to_best
        best = "best" if ranked.among_best else "untested"
        cells = [names[ranked.system], best if difference is None else difference.verdict]
        cells.append(number(estimates[key].value, *values))
        cells += (
            ["", "", ""]
            if difference is None
            else [signed(difference), ends(difference), shown_p(difference.corrected_p)]
        )
        rows.append((*cells, *([number(estimates["accuracy"].value, *accuracies)] if accurate else [])))
    notes = [selection_sentence(overall, names)] if selecting else []
    notes.append("undecided: not significantly worse than the best.")
    return TextTable(f"Ranked by {metric}", tuple(columns), tuple(rows), tuple(notes))


def no_best(overall: Comparison) -> str:
    """Return why no system is the best; "" if one is."""
    key = str(overall.ranked_by)
    return why_none_is_best([s.estimates[key].value for s in overall.summaries], overall.ranked_by)


def selection_sentence(overall: Comparison, names: Sequence[str]) -> str:
    """Return which system to ship, if any, which others are as good, and the cost in accuracy."""
    if reason := no_best(overall):
        return f"None of them is the best: {reason}."
    best = overall.ranking[0].system
    value = overall.summaries[best].estimates[str(overall.ranked_by)].value
    goal = superlative(overall.ranked_by.entry, overall.ranked_by.text)
    sentences = [f"Ship {names[best]}: the {goal}, {number(value)}."]
    like = [names[ranked.system] for ranked in overall.ranking[1:] if ranked.among_best]
    if like:
        sentences.append(f"Not significantly worse: {', '.join(like)}.")
    cost = overall.accuracy_cost
    if cost is not None and overall.most_accurate != best:
        accuracy_here = percent(cost.candidate, cost.baseline)
        below = percent(-cost.value, digits=_digits(cost), unit="")
        accuracy = f"Its accuracy of {accuracy_here} is {below} points below that of"
        spread = ""
        if cost.interval:
            between = span(-cost.interval.high, -cost.interval.low, percent, unit="")
            spread = f" ({level_percent(cost.interval.level)} interval {between})"
        sentences.append(f"{accuracy} {names[overall.most_accurate]}, the most accurate{spread}.")
    return " ".join(sentences)


def _notes(
    comparisons: Sequence[Comparison], names: Sequence[str], paired: bool, unmatched: Sequence[int]
) -> list[str]:
    every = [
        difference
        for comparison in comparisons
        for differences in comparison.differences
        for difference in differences.values()
    ]
    notes = [PAIRED if paired else UNPAIRED]
    if _of_labels(comparisons):
        notes.append(
            f"Values are means over {len(comparisons) - 1} labels; {LABEL}= stands before one of them."
        )
    if len(names) > 2:
        notes.append("Intervals and p are corrected for the number of files (max-T).")
    if cluster := comparisons[0].summaries[0].settings.cluster:
        notes.append(f"Rows of one {cluster} depend on each other: they count as one.")
    notes += without_interval(d for difference in comparisons[0].differences for d in difference.values())
    for target in sorted({d.metric.entry.target for d in every if d.metric.entry.target is not None}):
        nearest = list(dict.fromkeys(d.metric.text for d in every if d.metric.entry.target == target))
        notes.append(NEAREST.format(", ".join(nearest), "is" if len(nearest) == 1 else "are", target))
    notes += assumed_bins(d.metric for d in every)
    if sizes := sorted({rows for d in every for rows in d.rows}):
        sampled = ", ".join(dict.fromkeys(d.metric.text for d in every if d.rows))
        notes.append(f"{sampled}: from {' or '.join(f'{n:,}' for n in sizes)} rows, chosen at random.")
    verdicts = {d.verdict for d in every if not d.metric.entry.family.has_null}
    notes += [BY_PROXY] * any(d.change is not None for d in every)
    notes += [note for verdict, note in VERDICTS.items() if verdict in verdicts]
    notes += _undecided(comparisons[0])
    if idle := dict.fromkeys(d.metric.text for d in every if d.margin and d.interval is None):
        without = ", ".join(idle)
        notes.append(f"The margin of {without} is not used, as there is no interval.")
    for name, count, summary in zip(names, unmatched, comparisons[0].summaries, strict=True):
        if count:
            notes.append(f"{name}: {counted(count, 'row')} without a counterpart left out.")
        if infinite := summary.infinite_log_loss:
            finite = f"--clip {CLIP} makes it finite"
            notes.append(f"{name}: {counted(infinite.rows, 'row')} of infinite log-loss; {finite}.")
    return notes


def _undecided(overall: Comparison) -> list[str]:
    """Return the detectable differences of two systems, and the rows that margins need."""
    differences = overall.differences[0] if len(overall.differences) == 1 else {}
    open = [
        (name, difference, difference.power)
        for name, difference in differences.items()
        if difference.verdict == "undecided" and difference.power
    ]
    detectable = [f"{name} {number(power.detectable)}" for name, _, power in open]
    needed = [
        f"{name} {power.equivalent(d.margin):,} (margin {d.margin:g})" for name, d, power in open if d.margin
    ]
    notes = [f"Detectable on these rows (power {POWER:.0%}): {', '.join(detectable)}."] if detectable else []
    return notes + (
        [f"Rows needed to prove an equal system equivalent: {', '.join(needed)}."] if needed else []
    )


def signed(difference: Difference) -> str:
    """Return a difference with its sign."""
    return number(difference.value, digits=_digits(difference), sign=True)


def ends(difference: Difference) -> str:
    """Return the ends of the interval of a difference, with their signs."""
    if difference.interval is None:
        return NONE
    return span(difference.interval.low, difference.interval.high, sign=True)


def _digits(difference: Difference) -> int | None:
    """Return the number of decimals that matches the precision of a difference; None if unknown."""
    return apart(difference.interval.high - difference.interval.low) if difference.interval else None


def _relative(difference: Difference) -> str:
    """Return the change in percent of the baseline; `-` if meaningless, as for a metric that is best at 0."""
    idle = math.isnan(difference.relative) or difference.metric.entry.direction not in ("lower", "higher")
    return NONE if idle else relative(difference.relative)


def shown_p(p: float) -> str:
    """Return a p-value as text, `-` without a test."""
    return NONE if math.isnan(p) else p_value(p)


def systems_object(summaries: Sequence[Summary], unmatched: Sequence[int]) -> list[SystemObject]:
    """Return systems as JSON values, with the numbers of unmatched rows."""
    return [
        {
            "input": input_object(summary.input),
            "unmatched_rows": count,
            "metrics": {estimate.metric.text: estimate.value for estimate in summary.estimates.values()},
            "tests": {
                estimate.metric.text: {"mean": null.mean, "sd": null.sd, "p_value": null.p_value}
                for estimate in summary.estimates.values()
                if (null := estimate.if_calibrated)
            },
        }
        for summary, count in zip(summaries, unmatched, strict=True)
    ]


def _comparison(comparison: Comparison) -> PartComparisonObject:
    return {
        "slice": str(comparison.part) if comparison.part else None,
        "rows": comparison.summaries[0].input.rows,
        "differences": [
            {metric: difference_object(difference) for metric, difference in differences.items()}
            for differences in comparison.differences
        ],
        "ranked_by": comparison.ranked_by.text,
        "ranking": [
            {
                "system": ranked.system,
                "to_best": ranked.to_best and difference_object(ranked.to_best),
                "among_best": ranked.among_best,
            }
            for ranked in comparison.ranking
        ],
        "accuracy_cost": comparison.accuracy_cost and difference_object(comparison.accuracy_cost),
        "most_accurate": comparison.most_accurate,
        "flips": [cast(FlipsObject, asdict(flip)) for flip in comparison.flips],
    }


def power_object(power: Power | None, margin: float) -> PowerObject:
    """Return the detectable difference, and the rows that the margin needs, as JSON values."""
    if power is None:
        return {}
    document: PowerObject = {"detectable_difference": power.detectable}
    if margin:
        document["rows_needed"] = {
            "not_worse": power.not_worse(margin),
            "equivalent": power.equivalent(margin),
        }
    return document


def difference_object(difference: Difference) -> DifferenceObject:
    """Return a difference as JSON values."""
    written = {
        "baseline": difference.baseline,
        "candidate": difference.candidate,
        "difference": difference.value,
        "relative_change": difference.relative,
        **(asdict(difference.interval) if difference.interval else {}),
        **({"no_interval": difference.no_interval} if difference.no_interval else {}),
        "p_value": difference.p_value,
        "corrected_p": difference.corrected_p,
        "margin": difference.margin,
        "verdict": difference.verdict,
        **power_object(difference.power, difference.margin),
        "p_over_metrics": difference.p_over_metrics,
        **({"sampled_rows": list(difference.rows)} if difference.rows else {}),
        "signature": difference.signature,
    }
    return cast(DifferenceObject, written)


ARROWS = {"lower": " ↓", "higher": " ↑", "zero": " → 0", "one": " → 1", "none": ""}


@dataclass(frozen=True, repr=False)
class SelectionReport(Shown):
    """Choices by several criteria (van de Waterlaat 2021, table 5.1).

    Attributes
    ----------
    choices
        One per criterion.
    sets
        Names of the set of the choice, and of the other set.
    metrics
        The comparison to report.
    files
        Number of files to choose from.
    same
        Whether files of both sets are the same.
    """

    choices: Sequence[Choice]
    sets: tuple[str, str]
    metrics: Sequence[Measure]
    files: int
    same: bool = False

    title = "Selection"
    schema = "calcli.selection/1"

    def tables(self) -> list[TextTable]:
        """Return the values of every choice, and the changes against the first one."""
        columns = [Column("chosen by", "left"), Column("number"), Column("set", "left")]
        columns += [Column(metric.text + ARROWS[metric.entry.direction]) for metric in self.metrics]
        rows = [
            (choice.criterion.text, str(choice.number), name, *map(number, values))
            for choice in self.choices
            for name, values in self._values(choice)
        ]
        notes = (
            f"Each criterion chose the best of {self.files} files on {self.sets[0]}, where its own values "
            f"are optimistic; {self._of_the_other}.",
        )
        tables = [TextTable("Selection", tuple(columns), tuple(rows), notes)]
        if len(self.choices) > 1:
            tables.append(self._changes(columns))
        return tables

    @property
    def _of_the_other(self) -> str:
        """Return what the values on the other set show."""
        if self.same:
            return f"files on {self.sets[1]} are the same, so values there are optimistic as well"
        return f"those on {self.sets[1]} played no part in the choice"

    def _changes(self, columns: Sequence[Column]) -> TextTable:
        rows = []
        for choice in self.choices[1:]:
            for n, (name, values) in enumerate(self._values(choice)):
                reference = self._values(self.choices[0])[n][1]
                changes = [relative(relative_change(*pair)) for pair in zip(reference, values, strict=True)]
                rows.append((choice.criterion.text, name, *changes))
        heads = (columns[0], *columns[2:])
        return TextTable(f"Change against {self.choices[0].criterion.text}, in percent", heads, tuple(rows))

    def _values(self, choice: Choice) -> list[tuple[str, list[float]]]:
        """Return the name and the values on both sets."""
        pairs = zip(self.sets, (choice.chosen, choice.reported), strict=True)
        return [(name, [by_name[str(metric)].value for metric in self.metrics]) for name, by_name in pairs]

    def data(self) -> SelectionObject:
        """Return the choices with their values on both sets."""
        reference = self.choices[0].reported
        return {
            "sets": {"chosen_on": self.sets[0], "reported_on": self.sets[1]},
            "files": self.files,
            "warnings": [f"{self._of_the_other[0].upper()}{self._of_the_other[1:]}"] if self.same else [],
            "choices": [
                {
                    "criterion": choice.criterion.text,
                    "number": choice.number,
                    "chosen_on": {metric.text: choice.chosen[str(metric)].value for metric in self.metrics},
                    "reported_on": {
                        metric.text: choice.reported[str(metric)].value for metric in self.metrics
                    },
                    "relative_change": {
                        metric.text: relative_change(
                            reference[str(metric)].value, choice.reported[str(metric)].value
                        )
                        for metric in self.metrics
                    },
                }
                for choice in self.choices
            ],
        }
