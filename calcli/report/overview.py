"""Evaluations on a screen: one in a few tables, several side by side, or many in a line each."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from calcli.core.evaluating.results import Decision, Estimate
from calcli.core.evaluating.usual import CLASSICAL_OF_TWO
from calcli.core.language.text import counted, number, percent, some
from calcli.report.estimates import (
    CALIBRATION,
    DIAGNOSIS,
    NONE,
    SCORES,
    TESTED,
    bounds,
    cell,
    ends,
    error_notes,
    estimates_table,
    half_width,
    if_calibrated,
    interval_head,
    of_class,
    of_section,
    tested_p,
    without_interval,
)
from calcli.report.findings import Result, proxy_sentences
from calcli.report.recalibration import share_won
from calcli.report.shown import Column, TextTable, hint

USUAL = ("log_loss", "brier", "accuracy", "auroc", "ece", "ks")
SCORES_OF_TWO = ("log_loss", "brier", "auroc", "average_precision")


def overview(result: Result) -> list[TextTable]:
    """Return the few tables for one data set, with the requested or the default metrics."""
    requested = bool(result.settings.metrics)
    names = result.listed if requested or result.input.outcomes else usual_metrics([result])
    metrics = {name: result.listed[name] for name in names if name in result.listed}
    scores = of_section(metrics, "scores")
    errors = of_section(metrics, "classical") | of_section(metrics, "errors")
    read = TextTable(_read(result), notes=tuple(_verdicts(result)))
    cells: dict[Column, Callable[[Estimate], str]] = {Column(interval_head(scores.values())): ends}
    if any("constant" in score.parts for score in scores.values()):
        cells[Column("of best constant")] = _of_constant
    tests = {**bounds(errors.values()), Column("if calibrated"): if_calibrated, Column("p"): tested_p}
    heads = [of_class(title, [result.input]) for title in (SCORES, CALIBRATION)]
    notes = [without_interval(part.values()) if requested else () for part in (scores, errors)]
    return [
        read,
        estimates_table("", scores, cells, notes[0], head=heads[0]),
        estimates_table("", errors, tests, notes[1], head=heads[1]),
    ]


def usual_metrics(results: Sequence[Result]) -> Sequence[str]:
    """Return the default metrics in tables of data sets."""
    of_two = all(result.input.of_two for result in results)
    return (*SCORES_OF_TWO, *CLASSICAL_OF_TWO, "ece") if of_two else USUAL


def further(result: Result) -> str:
    """Return how to see more, and the command to run next."""
    following = f"calcli check --init {in_command(result)}"
    if any(gain.advice for gain in result.recalibration):
        following = "calcli fit VALIDATION -o calibrator.json"
    return hint(f"--details and --html FILE show more. Next: `{following}`")


def in_command(result: Result) -> str:
    """Return the data set of a result as an argument of a command."""
    return "FILE" if result.input.path == "-" else shlex.quote(result.input.path)


def _read(result: Result) -> str:
    read = result.input
    place = "standard input" if read.path == "-" else read.path
    place = f"{read.name} ({place})" if read.name else place
    size = counted(read.classes, "class")
    if read.outcomes:
        quality = {"outcomes": f"{percent(result.accuracy)} right", "grades": "grades", "predictions": size}
        rows = read.questions or counted(read.rows, "row")
        if read.judge and read.without_label:
            rows = read.questions or counted(read.rows + read.without_label, "row")
            labels = f"verdicts of {read.judge}, {counted(read.rows, 'label')} in {some(read.taken)}"
            return f"{place}: {rows}, {labels}; no probabilities"
        labels = f", labels: {read.labels}" if read.outcomes == "predictions" else ""
        return f"{place}: {rows}, {quality[read.outcomes]} by {some(read.taken)}{labels}; no probabilities"
    if read.of_answers:
        size = f"answers, {percent(result.accuracy)} right"
    scores = f"{read.kind} in {some(read.taken)}" if read.taken else f"{read.kind} from {read.read_as}"
    rows = read.questions or counted(read.rows, "row")
    return f"{place}: {rows}, {size}, {scores}, labels: {read.labels}"


def _verdicts(result: Result) -> Iterator[str]:
    yield from (f"Doubt: {doubt}." for doubt in result.input.doubts)
    yield from proxy_sentences(result)
    if result.input.outcomes and not result.input.without_label:
        yield "Log-loss, Brier score, calibration and AUROC are left out: they need probabilities."
    if result.mixed:
        yield f"{counted(len(result.mixed), 'question')} are right in some epochs only."
    if result.settings.cluster is None:
        yield from (f"{repeat}." for repeat in result.input.repeats)
    if result.verdict:
        yield result.verdict.sentence
    if result.gain and not result.settings.metrics:  # then a table has it
        yield result.gain.sentence


def _of_constant(estimate: Estimate) -> str:
    """Return the value of the best constant answer, and a loss as a share of it."""
    constant = estimate.parts.get("constant")
    if constant is None:
        return NONE
    if estimate.metric.entry.direction != "lower" or not constant or not isfinite(estimate.value):
        return number(constant)
    return f"{percent(estimate.value / constant)} of {number(constant)}"


MANY = 20  # data sets from which details are left out by default
LEADING = ("log_loss", "accuracy")
LEADING_OF_TWO = ("log_loss", "auroc")  # always predicting the more frequent class is accurate, too
MOST_METRICS = 2  # to keep a single line
TITLE = "At a glance"
WON = "gain: the share of the log-loss that recalibration removes on unseen rows, ± se."
FAILED, NOT_READ = "FAILED", "not read"


@dataclass(frozen=True)
class Unread:
    """A file that could not be read.

    Attributes
    ----------
    path
        Its name.
    reason
        The reason, as a sentence.
    """

    path: str
    reason: str


def glance_table(
    results: Sequence[Result],
    names: Sequence[str],
    unread: Sequence[Unread],
    broken: Mapping[str, Sequence[str]],
    hidden: int = 0,
) -> TextTable:
    """Return a line for each data set, unread ones and ones that break a rule first.

    Parameters
    ----------
    results, names
        The results, and their names.
    unread
        Files that could not be read.
    broken
        The rules that a data set breaks, by path.
    hidden
        Data sets without details below.
    """
    leading = LEADING_OF_TWO if all(result.input.of_two for result in results) else LEADING
    order = sorted(range(len(results)), key=lambda place: results[place].input.path not in broken)
    every = list(dict.fromkeys(metric for result in results for metric in result.metrics))
    metrics = [name for name in leading if name in every][:MOST_METRICS] or every[:1]
    failing = any(broken.values()) or bool(unread)
    heads = [Column("", "left"), *([Column("", "left")] * failing), Column("rows"), Column("verdict", "left")]
    won = any(share_won(result.metrics) != NONE for result in results)
    column = {name: [r.metrics[name].value for r in results if name in r.metrics] for name in metrics}
    rows = [(r.path, NOT_READ, *[NONE] * (2 + len(metrics) + won)) for r in unread]
    for place in order:
        result = results[place]
        failed = [FAILED if broken.get(result.input.path) else ""] * failing
        estimates = result.metrics
        values = [
            number(estimates[name].value, *column[name]) if name in estimates else NONE for name in metrics
        ]
        words = result.verdict.word if result.verdict else NONE
        values += [share_won(estimates)] * won
        rows.append((names[place], *failed, f"{result.input.rows:,}", words, *values))
    notes = [*_notes(results, unread, broken), *([WON] * won), *hidden_note(hidden)]
    notes += [
        f"{name}: {r}." for name, result in zip(names, results, strict=True) for r in result.input.doubts
    ]
    columns = (*heads, *map(Column, metrics), *([Column("gain")] * won))
    return TextTable(TITLE, columns, tuple(rows), tuple(notes))


def hidden_note(hidden: int) -> list[str]:
    """Return the line below a short report that points to the details."""
    return [f"{counted(hidden, 'file')} without details here{hint('; --details shows all')}."] * (hidden > 0)


def _notes(
    results: Sequence[Result], unread: Sequence[Unread], broken: Mapping[str, Sequence[str]]
) -> list[str]:
    failing = [result.input.path for result in results if broken.get(result.input.path)]
    every = len(results) + len(unread)
    notes = [file.reason for file in unread]
    if failing or unread:
        counts = [f"{len(failing)} broke a rule"] * bool(failing) + [f"{len(unread)} not read"] * bool(unread)
        notes.insert(0, f"{len(failing) + len(unread)} of {every} files failed: {', '.join(counts)}.")
    return notes


def comparison_tables(results: Sequence[Result], names: Sequence[str]) -> list[TextTable]:
    """Return the input, the scores, the decisions and the errors of several results, one row each.

    Parameters
    ----------
    results
        Two or more.
    names
        Names for them.
    """
    estimates = [estimate for result in results for estimate in result.listed.values()]
    reads = [result.input for result in results]
    every = dict.fromkeys(costs for result in results for costs in result.decisions)
    tables = [
        _input_table(results, names),
        _by_metric(results, names, False, of_class(SCORES, reads), half_width(estimates)),
        *[_abreast(costs, results, names) for costs in every],
        _by_metric(results, names, True, of_class(DIAGNOSIS, reads), error_notes(estimates, TESTED)),
    ]
    return [table for table in tables if len(table.columns) > 1]


def _input_table(results: Sequence[Result], names: Sequence[str]) -> TextTable:
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
    results: Sequence[Result], names: Sequence[str], errors: bool, title: str, notes: Sequence[str]
) -> TextTable:
    metrics = {
        metric: None
        for result in results
        for metric, estimate in result.listed.items()
        if estimate.metric.entry.family.has_null == errors
    }
    rows = [
        (name, *(cell(result.listed[metric]) if metric in result.listed else NONE for metric in metrics))
        for name, result in zip(names, results, strict=True)
    ]
    return TextTable(title, (Column("", "left"), *map(Column, metrics)), tuple(rows), tuple(notes))


MOST_DECISIONS = 12
MOST_ABREAST = 6  # columns of several results side by side
FEW_CLASSES = 4  # most classes with a column each


def decision_table(
    name: str, decisions: Sequence[Decision], classes: Sequence[str] = (), threshold: float | None = None
) -> TextTable:
    """Return the decisions under costs, the most frequent first, with a column for each of few classes."""
    ranked = sorted((row for row in decisions if row.rows), key=lambda row: -row.rows)
    listed = classes if len(classes) <= FEW_CLASSES else ()
    rows = tuple(
        (row.name, f"{row.rows:,}", percent(row.share), number(row.mean_cost), *_of_classes(row, listed))
        for row in ranked[:MOST_DECISIONS]
    )
    notes = _left_out(len(ranked) - len(rows))
    if listed:
        notes.append("of a class: the share of its rows with this decision.")
    if threshold is not None:
        second = decisions[1].name
        notes.append(f"{second} is decided where the probability of {classes[1]} is above {threshold:.4g}.")
    heads = ["rows", "share", "mean cost", *(f"of {name}" for name in listed)]
    return TextTable(_title(name), (Column("decision", "left"), *map(Column, heads)), rows, tuple(notes))


def _abreast(costs: str, results: Sequence[Result], names: Sequence[str]) -> TextTable:
    shares = [{row.name: row.share for row in result.decisions.get(costs, ())} for result in results]
    largest = {name: max(share.get(name, 0.0) for share in shares) for share in shares for name in share}
    ranked = sorted((name for name, share in largest.items() if share), key=lambda name: -largest[name])
    columns = ranked[:MOST_ABREAST]
    rows = tuple(
        (name, *(percent(share[decision]) if decision in share else NONE for decision in columns))
        for name, share in zip(names, shares, strict=True)
    )
    notes = ("Share of the rows with each decision.", *_left_out(len(ranked) - len(columns)))
    return TextTable(_title(costs), (Column("", "left"), *map(Column, columns)), rows, notes)


def _title(costs: str) -> str:
    return f"Decisions under {costs}"


def _left_out(count: int) -> list[str]:
    return [f"{count:,} more decisions were taken; JSON has them all."] if count else []


def _of_classes(decision: Decision, classes: Sequence[str]) -> list[str]:
    shares = [decision.by_class[name].share if name in decision.by_class else 0.0 for name in classes]
    return [percent(share) for share in shares]
