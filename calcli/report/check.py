"""Checks as shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from calcli.core.comparing.policy import (
    Bound,
    Checked,
    NoWorse,
    Outcome,
    Policy,
    Result,
    Severity,
    exit_status,
)
from calcli.core.language.schemas import Fields
from calcli.core.language.settings import Settings
from calcli.core.language.text import counted, number
from calcli.report.ci import annotations_text, junit_text
from calcli.report.comparison import power_object
from calcli.report.estimates import NONE
from calcli.report.files import short_names
from calcli.report.objects import PowerObject
from calcli.report.overview import MANY, TITLE, hidden_note
from calcli.report.reading import reading_sentences, reading_table
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, table_of


class ConditionObject(TypedDict):
    """The kind of a condition."""

    kind: Literal["bound", "no_worse"]


class OutcomeObject(PowerObject):
    """The outcome of a rule."""

    title: str
    metric: str
    slice: str | None
    severity: Severity
    min_rows: int | None
    condition: Annotated[Any, Fields(Bound, (), (ConditionObject,)), Fields(NoWorse, (), (ConditionObject,))]
    value: float | None
    limit: float | None
    left: float | None
    baseline: float | None
    p_value: float | None
    result: Result
    undecided: bool
    reason: str
    sampled_rows: NotRequired[int]
    signature: str


class ReadObject(TypedDict):
    """How a file was read, in sentences."""

    reading: list[str]


class CheckedObject(TypedDict):
    """The outcomes of the rules on one file."""

    path: str
    rows: int
    input: ReadObject
    fault: str | None
    notes: list[str]
    warnings: list[str]
    rules: list[OutcomeObject]


class CheckObject(TypedDict):
    """A report of `calcli check`."""

    policy: str
    settings: Annotated[Any, Fields(Settings, ("workers",))]
    exit_status: int
    results: list[CheckedObject]


SHOWN_BY_PYTEST = 240  # characters of what is beside an assertion
WORDS: dict[Result, str] = {
    "failed": "failed", "not judged": "could not be judged", "warning": "with a warning", "passed": "passed",
}  # fmt: skip
OPEN: dict[Result, str] = {
    "failed": ", which fails the check",
    "warning": ", which is a warning",
    "passed": "",
}
RESULTS = {"passed": "passed", "warning": "WARNING", "failed": "FAILED", "not judged": "NOT JUDGED"}


@dataclass(frozen=True, repr=False, eq=False)
class CheckReport(Shown):
    """Predictions judged by a policy; printed, it shows the tables of the command line.

    Attributes
    ----------
    files
        The outcomes of the rules, one entry per file.
    policy, path
        The rules, and their file.
    strict
        Whether a warning is an error.
    details
        Whether tables show all of many files; else only failures.
    """

    files: Sequence[Checked]
    policy: Policy
    path: str
    strict: bool = False
    details: bool = False

    title = "Check"
    schema = "calcli.check/1"

    @property
    def checked(self) -> Checked:
        """The outcomes of the rules on the only file."""
        return self.files[0]

    @property
    def exit_status(self) -> int:
        """Exit status: 1 if a rule is broken, 2 if one could not be judged, 0 otherwise."""
        return exit_status(self.files, strict=self.strict)

    def tables(self) -> list[TextTable]:
        """Return how files were read, a line for each of several, and a table of the rules for each."""
        files = [file for file in self.files if len(self.files) <= MANY or self.details or _failed(file)]
        reading = reading_table([(file.path, file.reading) for file in files])
        glance = [_glance(self.files, len(self.files) - len(files))] if len(self.files) > 1 else []
        return [*glance, *reading, *(_table(file) for file in files)]

    def how_read(self) -> list[str]:
        """Return how each file was read, in sentences."""
        return reading_sentences((file.path, file.reading) for file in self.files)

    def headline(self) -> Headline:
        """Return the numbers of files and rules, and whether all rules hold."""
        rules = [outcome for file in self.files for outcome in file.outcomes]
        times = Counter(_result(outcome) for outcome in rules)
        faults = sum(bool(file.fault) for file in self.files)
        numbers = [Number(result.lower(), str(n)) for result, n in times.items()]
        broken, undecided = times[RESULTS["failed"]], times["undecided"]
        failed = f"{broken:,} of {counted(len(rules), 'rule')} failed" if broken else "No rule failed"
        passed = "All rules hold" if not undecided else "No rule failed"
        open = f"; {undecided:,} undecided." if undecided else "."
        verdict = (f"{passed}{open}", f"{failed}{open}", "A file or a rule could not be judged.")
        read = f"{counted(len(self.files), 'file')}, judged by {self.path}"
        numbers += [Number("files at fault", str(faults))] if faults else []
        return Headline(read, verdict[self.exit_status], "bad" if self.exit_status else "good", numbers)

    def data(self) -> CheckObject:
        """Return the outcomes of the rules, and the exit status."""
        return {
            "policy": self.path,
            "settings": self.policy.settings.recorded,
            "exit_status": self.exit_status,
            "results": [
                {
                    "path": file.path,
                    "rows": file.rows,
                    "input": {"reading": list(file.reading)},
                    "fault": file.fault or None,
                    "notes": list(file.notes),
                    "warnings": list(file.warnings),
                    "rules": [_outcome(outcome) for outcome in file.outcomes],
                }
                for file in self.files
            ],
        }

    def faults(self) -> Iterable[str]:
        """Return the warnings about files, each once."""
        return dict.fromkeys(warning for file in self.files for warning in file.warnings)

    def verdicts(self, format: Literal["junit", "github"]) -> str:
        """Return JUnit XML, or the annotations of GitHub's workflows."""
        if format == "junit":
            return junit_text(self.files, strict=self.strict)
        return annotations_text(self.files, self.path, strict=self.strict)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every rule on every file."""
        for f in self.files:
            for outcome in f.outcomes:
                record = _outcome(outcome)
                yield {"path": f.path} | {key: value for key, value in record.items() if key != "condition"}

    def __repr__(self) -> str:
        """Return the failures, short enough for pytest to show in full."""
        failed = [file for file in self.files if _failed(file)] or list(self.files)
        tail = f"; and {len(failed) - 1} more" if len(failed) > 1 else ""
        worst = failed[0]
        lines = [f"{worst.path}: {verdict_sentence(worst)}{tail}"]
        broken = [outcome for outcome in worst.outcomes if outcome.result in ("failed", "not judged")]
        for outcome in broken:
            line = f"  {outcome.rule.title}: {_result(outcome)}, {_number(outcome.value)}"
            if sum(map(len, (*lines, line))) > SHOWN_BY_PYTEST - 10:
                return "\n".join([*lines, "  ..."])
            lines.append(line)
        return "\n".join(lines)


def _failed(checked: Checked) -> bool:
    return bool(checked.fault or checked.count("failed") or checked.count("not judged"))


def _glance(files: Sequence[Checked], hidden: int) -> TextTable:
    """Return a line for each file, failed ones first."""
    pairs = zip(short_names([file.path for file in files]), files, strict=True)
    rows = tuple(
        (name, f"{judged_file.rows:,}" if judged_file.rows else NONE, _word(judged_file))
        for name, judged_file in sorted(pairs, key=lambda pair: not _failed(pair[1]))
    )
    failing = sum(map(_failed, files))
    notes = [f"{failing} of {counted(len(files), 'file')} failed."] if failing else []
    heads = Column("", "left"), Column("rows"), Column("", "left")
    return TextTable(TITLE, heads, rows, (*notes, *hidden_note(hidden)))


def _word(checked: Checked) -> str:
    rules = len(checked.outcomes)
    if checked.fault:
        return "NOT JUDGED"
    times = Counter(_result(outcome) for outcome in checked.outcomes if outcome.result != "passed")
    for result in (RESULTS["failed"], RESULTS["not judged"], "undecided"):
        if times[result]:
            return f"{result}: {times[result]} of {counted(rules, 'rule')}"
    return "passed"


def _result(outcome: Outcome) -> str:
    return "undecided" if outcome.status == "undecided" else RESULTS[outcome.result]


def _number(value: float, *peers: float) -> str:
    return NONE if math.isnan(value) else number(value, *peers)


CELLS: dict[Column, Callable[[Outcome], str]] = {
    Column("result", "left"): _result,
    Column("value"): lambda outcome: _number(outcome.value, outcome.limit),
    Column("limit"): lambda outcome: _number(outcome.limit, outcome.value),
    Column("headroom"): lambda o: NONE if math.isnan(o.left) else number(o.left, sign=True),
}


def _table(checked: Checked) -> TextTable:
    outcomes = ((outcome.rule.title, outcome) for outcome in checked.outcomes)
    return table_of(checked.path, outcomes, CELLS, (*_notes(checked), verdict_sentence(checked)), head="rule")


def _notes(checked: Checked) -> Iterator[str]:
    yield from (f"WARNING: {warning}." for warning in checked.warnings)
    yield from checked.notes
    if sampled := {outcome.rule.metric.text: outcome.rows for outcome in checked.outcomes if outcome.rows}:
        rows = " or ".join(f"{rows:,}" for rows in dict.fromkeys(sampled.values()))
        yield f"{', '.join(sampled)}: from {rows} rows, chosen at random."
    titles: dict[str, list[str]] = {}  # a reason that several rules share is given once
    for outcome in checked.outcomes:
        # also for a rule that passed beyond its limit, by chance
        if outcome.result != "passed" or outcome.status == "undecided" or outcome.left < 0:
            titles.setdefault(outcome.reason, []).append(outcome.rule.title)
    yield from (f"{'; '.join(rules)}: {reason}." for reason, rules in titles.items())


def verdict_sentence(file: Checked) -> str:
    """Return the result of a file in one sentence."""
    if file.fault:
        return f"Could not be judged: {file.fault}."
    decided = [outcome for outcome in file.outcomes if outcome.status != "undecided"]
    counts = Counter(outcome.result for outcome in decided)
    clauses = [f"{counts[status]} {word}" for status, word in WORDS.items() if counts[status]]
    undecided = Counter(outcome.result for outcome in file.outcomes if outcome.status == "undecided")
    clauses += [f"{undecided[result]} undecided{note}" for result, note in OPEN.items() if undecided[result]]
    return f"{counted(len(file.outcomes), 'rule')}: {', '.join(clauses)}."


def _outcome(outcome: Outcome) -> OutcomeObject:
    rule = outcome.rule
    condition = asdict(rule.condition)
    numbers = {key: getattr(outcome, key) for key in ("value", "limit", "left", "baseline", "p_value")}
    written = {
        "title": rule.title,
        "metric": rule.metric.text,
        "slice": rule.part or None,
        "severity": rule.severity,
        "min_rows": rule.min_rows,
        "condition": {"kind": "bound" if isinstance(rule.condition, Bound) else "no_worse", **condition},
        **{key: None if math.isnan(value) else value for key, value in numbers.items()},
        "result": outcome.result,
        "undecided": outcome.status == "undecided",
        **power_object(outcome.power, outcome.margin),
        "reason": outcome.reason,
        **({"sampled_rows": outcome.rows} if outcome.rows else {}),
        "signature": outcome.signature,
    }
    return cast(OutcomeObject, written)
