"""A policy: rules that predictions must keep, as data, and what became of each."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from calcli.core.estimators.evidence import NO_MARGIN, Margin
from calcli.core.estimators.power import Power
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import Measure, parse_metric
from calcli.core.language.settings import Settings
from calcli.core.language.text import number

Severity = Literal["error", "warning"]
End = Literal["value", "lower", "upper"]
Undecided = Literal["fail", "pass", "warn"]
Status = Literal["passed", "broken", "undecided", "not judged"]
Result = Literal["passed", "warning", "failed", "not judged"]

MEANS: dict[Status | Undecided, Result] = {
    "broken": "failed", "fail": "failed", "warn": "warning", "pass": "passed", "passed": "passed",
    "not judged": "not judged",
}  # fmt: skip

DEFAULTS = Settings(draws=1999)


@dataclass(frozen=True)
class Bound:
    """A metric, or an end of its interval, stays at or below a limit, or at or above it.

    Attributes
    ----------
    limit
        The greatest allowed value, or the least.
    most
        Whether it is the greatest.
    end
        The limit on the other side of the comparison.
    undecided
        What an interval on both sides of the limit means, where its far end is to be within.
    """

    limit: float
    most: bool
    end: End = "value"
    undecided: Undecided = "fail"

    def allows(self, value: float) -> bool:
        """Tell whether a value is within the limit."""
        return value <= self.limit if self.most else value >= self.limit

    def judge(self, value: float, best: float) -> Status:
        """Return what becomes of the rule, of the value or end asked for and the end that is the best."""
        if self.allows(value):
            return "passed"
        return "undecided" if self.allows(best) else "broken"

    def __str__(self) -> str:
        end = "" if self.end == "value" else f" ({self.end} end)"
        return f"{end} at {'most' if self.most else 'least'} {self.limit:g}"


@dataclass(frozen=True)
class NoWorse:
    """A metric is no worse than the baseline's by more than a margin.

    Attributes
    ----------
    margin
        How much worse is allowed.
    undecided
        What it means if the candidate is proven neither worse by more than the margin nor within it.
    """

    margin: Margin
    undecided: Undecided = "pass"

    def __str__(self) -> str:
        if self.undecided == "fail":
            return f" proven within {self.margin} of baseline"
        return (
            " no worse than baseline"
            if self.margin == NO_MARGIN
            else f" at most {self.margin} worse than baseline"
        )


@dataclass(frozen=True)
class Rule:
    """One rule of a policy.

    Attributes
    ----------
    metric
        The metric.
    condition
        What must hold of it.
    part
        The slice it is for, as `column=value`; `column=*` for every value; "" for all rows.
    severity
        Whether breaking it fails the check.
    min_rows
        With fewer rows nothing is judged; None for the number that the metric needs in a slice.
    name
        A title of the user's own; "" for none.
    segments
        The columns with values, and pairs of values, to judge one by one; the limit is on their gaps.

    Raises
    ------
    UsageError
        If the metric cannot carry such a rule.
    """

    metric: Measure
    condition: Bound | NoWorse
    part: str = ""
    severity: Severity = "error"
    min_rows: int | None = None
    name: str = ""
    segments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.condition, Bound):
            if self.condition.end != "value" and not self.metric.entry.bounded:
                raise UsageError(
                    f"{self.metric} is a calibration error and has no interval; leave out bound: its value "
                    "is compared with the limit and with what calibrated probabilities would show. kuiper "
                    "has an interval"
                )
            return
        if self.metric.entry.direction not in ("lower", "higher"):
            raise UsageError(f"neither high nor low values of {self.metric} are better; give it max and min")
        if not self.metric.entry.family.has_interval_of_difference:
            raise UsageError(
                f"no test tells whether {self.metric} differs between two systems; give it max in place of "
                "max_increase, or compare a proper score such as log_loss, or calibration_loss"
            )
        if self.condition.undecided != "pass" and self.condition.margin == NO_MARGIN:
            raise UsageError(
                f'{self.metric}: undecided = "{self.condition.undecided}" needs a margin above 0'
            )

    @property
    def may_be_undecided(self) -> bool:
        """Whether an interval decides: its far end must keep a limit, or it belongs to a difference."""
        if isinstance(self.condition, Bound):
            return self.condition.end == ("upper" if self.condition.most else "lower")
        return True

    def where_undecided(self, means: Undecided) -> Rule:
        """Return the rule with another meaning of undecided, if it may be that."""
        if not self.may_be_undecided:
            return self
        return replace(self, condition=replace(self.condition, undecided=means))

    @property
    def every(self) -> str:
        """The column of a rule for every value; "" if it is none."""
        column, _, value = self.part.partition("=")
        return column if value == EVERY else ""

    @property
    def title(self) -> str:
        """The rule in words, or the name it was given."""
        part = f" [{self.part}]" if self.part else ""
        if self.segments:
            return self.name or f"gap{self.condition} [{', '.join(self.segments)}]"
        return self.name or f"{self.metric.text}{self.condition}{part}"


NEVER_UNDECIDED = (
    'undecided is for rules that an interval decides: max with bound = "upper", min with bound = "lower", '
    "max_increase and max_decrease"
)
EVERY = "*"  # in place of the value of a slice
EXAMPLE = "'log_loss>0.5'"
FORM = re.compile(r"\s*(?P<metric>[^<>]+?)\s*(?P<sign>[<>]=?)\s*(?P<bound>[^<>=\s]+)\s*")


def parse_failure(text: str, defaults: Mapping[str, Any] | None = None) -> Rule:
    """Return the rule that a condition breaks, such as `log_loss>0.5` or `ece:bins=20>=0.05`.

    Parameters
    ----------
    text
        A metric expression, one of > >= < <=, and a number; the rule is called like it.
    defaults
        As for `parse_metric`.

    Raises
    ------
    UsageError
        If it is not such a condition.
    """
    match = FORM.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not a limit; expected metric, comparison and number, as in {EXAMPLE}")
    try:
        limit = float(match["bound"])
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        raise UsageError(f"{text!r} compares with {match['bound']!r}; expected a number, as in {EXAMPLE}")
    metric, sign = parse_metric(match["metric"], defaults), match["sign"]
    is_most = sign[0] == ">"
    allowed = math.nextafter(limit, -math.inf if is_most else math.inf) if sign.endswith("=") else limit
    return Rule(metric, Bound(allowed, is_most), name=f"{metric.text}{sign}{limit:g}")


def failure(rule: Rule, estimates: Mapping[str, Estimate], path: str) -> str | None:
    """Return a sentence if a value breaks a rule that `parse_failure` made; None if it does not.

    Parameters
    ----------
    rule
        On one of the estimates.
    estimates
        By metric expression.
    path
        Of the data, for the sentence.

    Raises
    ------
    InputError
        If the value is undefined, and nothing can be said.
    """
    value = next(estimate.value for estimate in estimates.values() if estimate.metric == rule.metric)
    name = rule.metric.text
    if math.isnan(value):
        raise InputError(f"{path}: {name} is undefined on these labels, so {rule.title} cannot be judged")
    assert isinstance(rule.condition, Bound)
    if rule.condition.allows(value):
        return None
    return f"{path}: {rule.title} holds, {name} is {number(value, rule.condition.limit)}"


@dataclass(frozen=True)
class Policy:
    """Rules and how they are judged.

    Attributes
    ----------
    rules
        In the order of the file.
    settings
        Level of every interval and proof, seeds and permutations (at least the number that the rules need),
        and the names that metrics may use; the rules name the metrics.
    reading
        How files are read where the call does not say it, by keyword.
    """

    rules: tuple[Rule, ...]
    settings: Settings = DEFAULTS
    reading: Mapping[str, Any] = field(default_factory=dict)

    def where_undecided(self, means: Undecided | None) -> Policy:
        """Return the policy with another meaning of undecided for every rule; as it is if there is none.

        Raises
        ------
        UsageError
            If no rule may be undecided, or one has no margin to be proven by.
        """
        if means is None:
            return self
        if not any(rule.may_be_undecided for rule in self.rules):
            raise UsageError(NEVER_UNDECIDED)
        return replace(self, rules=tuple(rule.where_undecided(means) for rule in self.rules))

    @property
    def compares(self) -> bool:
        """Whether any rule is about a baseline."""
        return any(isinstance(rule.condition, NoWorse) for rule in self.rules)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rules judge value by value, in order."""
        return tuple(sorted({rule.part.partition("=")[0] for rule in self.rules if rule.part}))

    @property
    def evaluation_settings(self) -> Settings:
        """The settings with the metrics of all rules."""
        names = [rule.metric.text for rule in self.rules if not rule.segments]
        return replace(self.settings, metrics=tuple(dict.fromkeys(names)))


@dataclass(frozen=True)
class Outcome:
    """What became of one rule.

    Attributes
    ----------
    rule
        Which.
    status
        "not judged" is not a pass; what "undecided" is, the rule says.
    reason
        A sentence with the numbers.
    value, limit
        What was compared; nan where there was nothing.
    left
        How far the value is from the limit, negative beyond it.
    baseline
        The baseline's value; nan without one.
    p_value
        Of the test that decided; corrected (Holm) where several rules were tested; nan without one.
    signature
        What the value depends on.
    few
        Whether it was not judged because too few rows are in its slice.
    rows
        How many rows the value comes from, if these are a sample.
    power
        What differences the rows tell, of a rule against a baseline; None without an interval.
    """

    rule: Rule
    status: Status
    reason: str
    value: float = float("nan")
    limit: float = float("nan")
    left: float = float("nan")
    baseline: float = float("nan")
    p_value: float = float("nan")
    signature: str = ""
    few: bool = False
    rows: int | None = None
    power: Power | None = None

    def __repr__(self) -> str:
        return f"<Outcome {self.result}: {self.reason}>"

    @property
    def margin(self) -> float:
        """How much worse than the baseline it may be; 0 for other rules."""
        return (
            self.rule.condition.margin.of(self.baseline) if isinstance(self.rule.condition, NoWorse) else 0.0
        )

    @property
    def result(self) -> Result:
        """What it means for the check; of what could not be judged, only too few rows may be a warning."""
        meaning = MEANS[self.rule.condition.undecided if self.status == "undecided" else self.status]
        return "warning" if self.rule.severity == "warning" and (self.few or meaning == "failed") else meaning


@dataclass(frozen=True)
class Checked:
    """A file after all rules were judged.

    Attributes
    ----------
    path
        The file.
    rows
        Its rows; 0 if it could not be read.
    outcomes
        One a rule; empty if it could not be read.
    fault
        Why it could not be read, or "".
    notes
        How it was compared with the baseline.
    warnings
        What was given and not used.
    reading
        How the file was read, sentences for the user.
    """

    path: str
    rows: int
    outcomes: tuple[Outcome, ...]
    fault: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()

    def count(self, result: str) -> int:
        """Return how many rules came out that way."""
        return sum(outcome.result == result for outcome in self.outcomes)


def exit_status(checked: Sequence[Checked], *, strict: bool = False) -> int:
    """Return 1 if a rule is broken, else 2 if a file or a rule could not be judged, else 0.

    If `strict`, a file with a warning counts as one that could not be judged.
    """
    if any(file.count("failed") for file in checked):
        return 1
    return (
        2
        if any(file.fault or file.count("not judged") or (strict and file.warnings) for file in checked)
        else 0
    )
