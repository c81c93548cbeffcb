"""Checks as shown, and a first policy from today's values."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Literal, cast

from calcli.core.comparing.policy import Bound, Checked, Outcome, Policy, Result, exit_status
from calcli.core.comparing.redraws import KEPT, REDRAWS, Slack
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.language.text import apart, counted, number, percent, plain
from calcli.report.annotations import annotations_text
from calcli.report.comparison import power_object
from calcli.report.estimates import NONE, ends, if_calibrated, value
from calcli.report.files import short_names
from calcli.report.junit import junit_text
from calcli.report.objects import CheckObject, OutcomeObject
from calcli.report.overview import MANY, TITLE, hidden_note
from calcli.report.reading import reading_sentences, reading_table
from calcli.report.shown import Column, Headline, Number, Shown, TextTable, table_of

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
        What became of each rule, one entry a file.
    policy, path
        The rules, and where they are from.
    strict
        Whether a warning is an error.
    details
        Whether tables have all of many files; else only what failed.
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
        """What became of each rule on the only file."""
        return self.files[0]

    @property
    def exit_status(self) -> int:
        """That of `calcli check`: 1 if a rule is broken, 2 if one could not be judged, 0 otherwise."""
        return exit_status(self.files, strict=self.strict)

    def tables(self) -> list[TextTable]:
        """Return how files were read, of several a line each, and a table of the rules for each."""
        shown = [one for one in self.files if len(self.files) <= MANY or self.details or _failed(one)]
        reading = reading_table([(one.path, one.reading) for one in shown])
        glance = [_glance(self.files, len(self.files) - len(shown))] if len(self.files) > 1 else []
        return [*glance, *reading, *(_table(one) for one in shown)]

    def how_read(self) -> list[str]:
        """Return how each file was read, in sentences."""
        return reading_sentences((one.path, one.reading) for one in self.files)

    def headline(self) -> Headline:
        """Return how many files and rules there are, and whether all hold."""
        rules = [outcome for one in self.files for outcome in one.outcomes]
        found = Counter(_result(outcome) for outcome in rules)
        faults = sum(bool(one.fault) for one in self.files)
        numbers = [Number(result.lower(), str(n)) for result, n in found.items()]
        broken, undecided = found[RESULTS["failed"]], found["undecided"]
        failed = f"{broken:,} of {counted(len(rules), 'rule')} failed" if broken else "No rule failed"
        held = "All rules hold" if not undecided else "No rule failed"
        open = f"; {undecided:,} undecided." if undecided else "."
        verdict = (f"{held}{open}", f"{failed}{open}", "A file or a rule could not be judged.")
        read = f"{counted(len(self.files), 'file')}, judged by {self.path}"
        numbers += [Number("files at fault", str(faults))] if faults else []
        return Headline(read, verdict[self.exit_status], "bad" if self.exit_status else "good", numbers)

    def content(self) -> CheckObject:
        """Return what became of each rule, and the exit status."""
        return {
            "policy": self.path,
            "settings": asdict(self.policy.settings),
            "exit_status": self.exit_status,
            "results": [
                {
                    "path": one.path,
                    "rows": one.rows,
                    "input": {"reading": list(one.reading)},
                    "fault": one.fault or None,
                    "notes": list(one.notes),
                    "warnings": list(one.warnings),
                    "rules": [_outcome(outcome) for outcome in one.outcomes],
                }
                for one in self.files
            ],
        }

    def faults(self) -> Iterable[str]:
        """Return the warnings about files, each once."""
        return dict.fromkeys(warning for one in self.files for warning in one.warnings)

    def verdicts(self, format: Literal["junit", "github"]) -> str:
        """Return JUnit XML, or the annotations of GitHub's workflows."""
        if format == "junit":
            return junit_text(self.files, strict=self.strict)
        return annotations_text(self.files, self.path, strict=self.strict)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for every rule on every file."""
        for one in self.files:
            for outcome in one.outcomes:
                found = _outcome(outcome)
                yield {"path": one.path} | {key: value for key, value in found.items() if key != "condition"}

    def __repr__(self) -> str:
        """Return what failed, in so few characters that pytest shows all of it."""
        failed = [one for one in self.files if _failed(one)] or list(self.files)
        more = f"; and {len(failed) - 1} more" if len(failed) > 1 else ""
        one = failed[0]
        lines = [f"{one.path}: {verdict_sentence(one)}{more}"]
        broken = [outcome for outcome in one.outcomes if outcome.result in ("failed", "not judged")]
        for outcome in broken:
            line = f"  {outcome.rule.title}: {_result(outcome)}, {_number(outcome.value)}"
            if sum(map(len, (*lines, line))) > SHOWN_BY_PYTEST - 10:
                return "\n".join([*lines, "  ..."])
            lines.append(line)
        return "\n".join(lines)


def _failed(one: Checked) -> bool:
    return bool(one.fault or one.count("failed") or one.count("not judged"))


def _glance(files: Sequence[Checked], hidden: int) -> TextTable:
    """Return a line for each file, those that failed first."""
    named = zip(short_names([one.path for one in files]), files, strict=True)
    rows = tuple(
        (name, f"{one.rows:,}" if one.rows else NONE, _word(one))
        for name, one in sorted(named, key=lambda both: not _failed(both[1]))
    )
    failing = sum(map(_failed, files))
    notes = [f"{failing} of {counted(len(files), 'file')} failed."] if failing else []
    heads = Column("", "left"), Column("rows"), Column("", "left")
    return TextTable(TITLE, heads, rows, (*notes, *hidden_note(hidden)))


def _word(one: Checked) -> str:
    rules = len(one.outcomes)
    if one.fault:
        return "NOT JUDGED"
    found = Counter(_result(outcome) for outcome in one.outcomes if outcome.result != "passed")
    for result in (RESULTS["failed"], RESULTS["not judged"], "undecided"):
        if found[result]:
            return f"{result}: {found[result]} of {counted(rules, 'rule')}"
    return "passed"


def _result(one: Outcome) -> str:
    return "undecided" if one.status == "undecided" else RESULTS[one.result]


def _number(value: float, *beside: float) -> str:
    return NONE if math.isnan(value) else number(value, *beside)


CELLS: dict[Column, Callable[[Outcome], str]] = {
    Column("result", "left"): _result,
    Column("value"): lambda one: _number(one.value, one.limit),
    Column("limit"): lambda one: _number(one.limit, one.value),
    Column("headroom"): lambda one: NONE if math.isnan(one.left) else number(one.left, sign=True),
}


def _table(one: Checked) -> TextTable:
    outcomes = ((outcome.rule.title, outcome) for outcome in one.outcomes)
    return table_of(one.path, outcomes, CELLS, (*_notes(one), verdict_sentence(one)), head="rule")


def _notes(one: Checked) -> Iterator[str]:
    yield from (f"WARNING: {warning}." for warning in one.warnings)
    yield from one.notes
    if sampled := {outcome.rule.call.asked: outcome.rows for outcome in one.outcomes if outcome.rows}:
        rows = " or ".join(f"{rows:,}" for rows in dict.fromkeys(sampled.values()))
        yield f"{', '.join(sampled)}: from {rows} rows, chosen at random."
    titles: dict[str, list[str]] = {}  # what keeps several rules from being judged is said once
    for outcome in one.outcomes:
        # also of one that passed beyond the limit, by chance
        if outcome.result != "passed" or outcome.status == "undecided" or outcome.left < 0:
            titles.setdefault(outcome.reason, []).append(outcome.rule.title)
    yield from (f"{'; '.join(rules)}: {reason}." for reason, rules in titles.items())


def verdict_sentence(one: Checked) -> str:
    """Say what became of a file, in one sentence."""
    if one.fault:
        return f"Could not be judged: {one.fault}."
    decided = [one for one in one.outcomes if one.status != "undecided"]
    counts = Counter(outcome.result for outcome in decided)
    parts = [f"{counts[what]} {word}" for what, word in WORDS.items() if counts[what]]
    open = Counter(outcome.result for outcome in one.outcomes if outcome.status == "undecided")
    parts += [f"{open[result]} undecided{meaning}" for result, meaning in OPEN.items() if open[result]]
    return f"{counted(len(one.outcomes), 'rule')}: {', '.join(parts)}."


def _outcome(outcome: Outcome) -> OutcomeObject:
    rule = outcome.rule
    condition = asdict(rule.condition)
    numbers = {key: getattr(outcome, key) for key in ("value", "limit", "left", "baseline", "p_value")}
    written = {
        "title": rule.title,
        "metric": rule.call.asked,
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


FIRST_METRICS = ("log_loss", "brier", "accuracy", "auroc", "ece")
HEAD = """\
# Rules for `calcli check`, from the values of {path} ({rows:,} rows).
# Limits leave room for chance: {kept} of {redraws:,} redraws of as many rows keep all of them. In a redraw
# each row counts as often as chance has it, and so do errors that the probabilities expect and nobody saw.
# A rule names a metric (as in `calcli evaluate --metrics`) and what must hold of it:
#   max, min                      of its value, or with bound = "upper" or "lower" of that end of its interval
#   max_increase, max_decrease    how much worse than the baseline it may be: 0.01, or "5%" of the baseline
# and perhaps slice = "column=value" or "column=*", severity = "warning", min_rows, name.

level = 0.95  # of every interval and proof
min_rows = {min_rows}  # with fewer rows nothing is judged
"""
BASELINE = """\
# Against a baseline: calcli check NEW --baseline OLD; rows are paired by their order, or with --key COLUMN.
# A rule breaks when the data prove the new file worse by more than the margin. Where they prove neither that
# nor the contrary it is undecided, and passes; with undecided = "fail" or "warn" it does not.
"""
RULES_AGAINST = (
    ("log_loss", "max_increase", '"2%"'),
    ("accuracy", "max_decrease", "0.01"),
)


def first_policy(
    evaluation: Evaluation,
    slacks: Mapping[str, Slack],
    against: Container[str] = (),
    reading: Mapping[str, Any] | None = None,
) -> str:
    """Return a commented policy that today's values pass, and as many new rows of the same kind.

    Calibration errors only warn.

    Parameters
    ----------
    evaluation
        With the default metrics.
    slacks
        What the limit of each of `FIRST_METRICS` leaves to chance.
    against
        The metrics whose rules against a baseline are active; the others are comments.
    reading
        The options that files are read with, by key.
    """
    rows, path = evaluation.predictions.n_rows, plain(evaluation.predictions.provenance.path)
    head = {"rows": rows, "min_rows": max(1, rows // 2), "kept": percent(KEPT), "redraws": REDRAWS}
    parts = [HEAD.format(path=path, **head)]
    if reading:
        parts.append("".join(["[reading]\n", *(f"{key} = {_toml(it)}\n" for key, it in reading.items())]))
    found = {name: evaluation.estimates[name] for name in FIRST_METRICS if name in evaluation.estimates}
    parts += [_first_rule(name, estimate, slacks[name]) for name, estimate in found.items()]
    compared = []
    for name, key, margin in RULES_AGAINST:
        if name not in found or math.isfinite(found[name].value):
            rule = f'[[rules]]\nmetric = "{name}"\n{key} = {margin}\n'
            compared.append(rule if name in against else "".join(f"# {one}\n" for one in rule.splitlines()))
    return "\n".join([*parts, BASELINE + "\n".join(compared)])


def _toml(value: bool | int | str | Sequence[str]) -> str:
    """Return a value as TOML writes it, which is how JSON does but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _first_rule(name: str, estimate: Estimate, slack: Slack) -> str:
    entry = estimate.call.entry
    today = f"# today {value(estimate)}"
    if not math.isfinite(estimate.value):
        return f"{today}: no limit for {name}, nor a rule against a baseline, as it has no finite value\n"
    if estimate.interval is not None:
        today += f", {level_percent(estimate.interval.level)} interval {ends(estimate)}"
    elif estimate.if_calibrated is not None:
        today += f"; calibrated probabilities would show {if_calibrated(estimate)}"
    elif estimate.no_interval:
        today += f", no interval: {estimate.no_interval}"
    if not 0 < slack.slack < math.inf:
        return f"{today}: no limit for {name}, as redraws of these rows set none\n"
    today += f"; sd over redraws {number(slack.sd, digits=apart(slack.sd))}"
    up = entry.direction == "lower"
    limit = rounded_outward(estimate.value, slack.slack if up else -slack.slack)
    least, most = map(float, entry.range.split(" to "))
    if not least < float(limit) < most:
        end = f"above {most:g}" if up else f"below {least:g}"
        return f"{today}: no limit for {name}, which is never {end}\n"
    warns = 'severity = "warning"\n' if entry.family.has_null else ""
    return f'[[rules]]\n{today}\nmetric = "{name}"\n{"max" if up else "min"} = {limit}\n{warns}'


def rounded_outward(value: float, slack: float) -> str:
    """Return a value moved by some slack, rounded away from it to two digits of the slack."""
    digits = max(1, 1 - int(f"{slack:e}".partition("e")[2]))
    end = Decimal(value) + Decimal(slack)
    return f"{end.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING if slack > 0 else ROUND_FLOOR):f}"
