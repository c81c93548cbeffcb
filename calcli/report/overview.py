"""An evaluation on one screen: the verdict, what a recalibration would win, scores, calibration errors."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from math import isfinite

from calcli.core.evaluating.results import Estimate
from calcli.core.language.text import counted, number, percent, some
from calcli.report.estimates import bounds, ends, estimates_table, if_calibrated, of_section, tested_p
from calcli.report.shown import Column, TextTable
from calcli.report.summary import Result
from calcli.report.wording import NONE, interval_head, without_interval

SCORES = ("log_loss", "brier", "accuracy", "auroc")
ERRORS = ("ece", "ks", "kuiper")
SCORES_OF_TWO = ("log_loss", "brier", "auroc", "average_precision")
ERRORS_OF_TWO = ("ece:lens=class-1", "ks:lens=class-1", "kuiper:lens=class-1")
NO_PROBABILITIES = "Log-loss, Brier score, calibration and AUROC are left out: they need probabilities."
TWICE = "; brier is twice scikit-learn's"


def overview(result: Result) -> list[TextTable]:
    """Return the few tables that answer for one data set, of the metrics asked for or the usual ones."""
    usual = (*SCORES_OF_TWO, *ERRORS_OF_TWO) if result.of_two else (*SCORES, *ERRORS)
    asked = bool(result.settings.metrics)
    names = result.metrics if asked or result.input.outcomes else usual
    shown = {name: result.metrics[name] for name in names if name in result.metrics}
    scores, errors = (of_section(shown, section) for section in ("scores", "errors"))
    read = TextTable(_read(result), notes=tuple(_verdicts(result)))
    return [read, _scores(scores, asked), _errors(errors, asked)]


def further(result: Result) -> str:
    """Return how to see more of it, and the command that is worth running next."""
    path = "FILE" if result.input.path == "-" else shlex.quote(result.input.path)
    following = f"calcli check --init {path}"
    if any(gain.advice for gain in result.recalibration):
        following = "calcli fit VALIDATION -o calibrator.json"
    twice = TWICE if result.of_two and "brier" in result.metrics else ""
    return f"--details and --html FILE show more{twice}. Next: `{following}`"


def _read(result: Result) -> str:
    read = result.input
    place = "standard input" if read.path == "-" else read.path
    what = counted(read.classes, "class")
    if read.outcomes:
        told = {"outcomes": f"{percent(result.accuracy)} right", "grades": "grades", "predictions": what}
        rows = read.questions or counted(read.rows, "row")
        labels = f", labels: {read.labels}" if read.outcomes == "predictions" else ""
        return f"{place}: {rows}, {told[read.outcomes]} by {some(read.taken)}{labels}; no probabilities"
    if read.of_answers:
        what = f"answers, {percent(result.accuracy)} right"
    scores = f"{read.kind} in {some(read.taken)}" if read.taken else f"{read.kind} from {read.read_as}"
    return f"{place}: {counted(read.rows, 'row')}, {what}, {scores}, labels: {read.labels}"


def _verdicts(result: Result) -> Iterator[str]:
    yield from (f"Doubt: {doubt}." for doubt in result.input.doubts)
    if result.input.outcomes:
        yield NO_PROBABILITIES
    if result.settings.cluster is None:
        yield from (f"{one}." for one in result.input.repeats)
    if result.verdict:
        yield result.verdict.sentence
    if result.gain and not result.settings.metrics:  # then a table has it
        yield result.gain.sentence


def _scores(found: Mapping[str, Estimate], asked: bool) -> TextTable:
    cells: dict[Column, Callable[[Estimate], str]] = {Column(interval_head(found.values())): ends}
    if any("constant" in one.parts for one in found.values()):
        cells[Column("of best constant")] = _of_constant
    notes = without_interval(found.values()) if asked else ()
    return estimates_table("", found, cells, notes, head="Scores")


def _of_constant(one: Estimate) -> str:
    """Return the value of the best constant answer, and what a loss is of it."""
    constant = one.parts.get("constant")
    if constant is None:
        return NONE
    if one.call.entry.direction != "lower" or not constant or not isfinite(one.value):
        return number(constant)
    return f"{percent(one.value / constant)} of {number(constant)}"


def _errors(found: Mapping[str, Estimate], asked: bool) -> TextTable:
    cells: dict[Column, Callable[[Estimate], str]] = {
        Column("if calibrated"): if_calibrated,
        Column("p"): tested_p,
        **bounds(found.values()),
    }
    notes = without_interval(found.values()) if asked else ()
    return estimates_table("", found, cells, notes, head="Calibration errors")
