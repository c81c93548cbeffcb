"""A policy: rules that predictions must satisfy, as data, and the outcome of each."""

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
        Whether the limit is the greatest value.
    end
        Which value is compared with the limit: the metric or an end of its interval.
    undecided
        The result if the interval lies on both sides of the limit and its far end must be within.
    """

    limit: float
    most: bool
    end: End = "value"
    undecided: Undecided = "fail"

    def allows(self, value: float) -> bool:
        """Return whether a value is within the limit."""
        return value <= self.limit if self.most else value >= self.limit

    def judge(self, value: float, best: float) -> Status:
        """Return the status of the rule, from the compared value and the best end of the interval."""
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
        The allowed worsening.
    undecided
        The result if the candidate is proven neither worse by more than the margin nor within it.
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
        The condition on the metric.
    part
        The slice it is for, as `column=value`; `column=*` for every value; "" for all rows.
    severity
        Whether breaking it fails the check.
    min_rows
        The rule is not judged with fewer rows; None for the number that the metric needs in a slice.
    name
        A title from the user; "" for none.
    segments
        The columns with values, and pairs of values, to judge one by one; the limit applies to their gaps.
    labels
        Whether the rule is for each of several labels in a row, or for the mean over them.

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
    labels: Literal["each", "mean"] = "each"

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
        """Whether an interval decides: its far end must be within a limit, or it belongs to a difference."""
        if isinstance(self.condition, Bound):
            return self.condition.end == ("upper" if self.condition.most else "lower")
        return True

    def where_undecided(self, means: Undecided) -> Rule:
        """Return the rule with another result if undecided, if it can be undecided."""
        if not self.may_be_undecided:
            return self
        return replace(self, condition=replace(self.condition, undecided=means))

    @property
    def every(self) -> str:
        """The column of a rule for every value; "" for other rules."""
        column, _, value = self.part.partition("=")
        return column if value == EVERY else ""

    @property
    def title(self) -> str:
        """The rule in words, or its given name."""
        part = f" [{self.part}]" if self.part else ""
        if self.segments:
            return self.name or f"gap{self.condition} [{', '.join(self.segments)}]"
        mean = "macro mean of " if self.labels == "mean" else ""
        return self.name or f"{mean}{self.metric.text}{self.condition}{part}"


NEVER_UNDECIDED = (
    'undecided is for rules that an interval decides: max with bound = "upper", min with bound = "lower", '
    "max_increase and max_decrease"
)
EVERY = "*"  # stands for every value of a slice
EXAMPLE = "'log_loss>0.5'"
FORM = re.compile(r"\s*(?P<metric>[^<>]+?)\s*(?P<sign>[<>]=?)\s*(?P<bound>[^<>=\s]+)\s*")


def parse_failure(text: str, defaults: Mapping[str, Any] | None = None) -> Rule:
    """Return the rule that a condition breaks, such as `log_loss>0.5` or `ece:bins=20>=0.05`.

    Parameters
    ----------
    text
        A metric expression, one of > >= < <=, and a number; it is also the name of the rule.
    defaults
        As for `parse_metric`.

    Raises
    ------
    UsageError
        If the text is not such a condition.
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
        A rule on one of the estimates.
    estimates
        By metric expression.
    path
        Path of the data, for the sentence.

    Raises
    ------
    InputError
        If the value is undefined.
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
        Options of reading that calls do not override, by keyword.
    labels
        Number of labels in a row that each rule is tested on.
    """

    rules: tuple[Rule, ...]
    settings: Settings = DEFAULTS
    reading: Mapping[str, Any] = field(default_factory=dict)
    labels: int = 1

    def where_undecided(self, means: Undecided | None) -> Policy:
        """Return the policy with another result of undecided for every rule; unchanged if none is given.

        Raises
        ------
        UsageError
            If no rule can be undecided, or a rule has no margin for a proof.
        """
        if means is None:
            return self
        if not any(rule.may_be_undecided for rule in self.rules):
            raise UsageError(NEVER_UNDECIDED)
        return replace(self, rules=tuple(rule.where_undecided(means) for rule in self.rules))

    def of_labels(self, which: str, labels: int = 1) -> Policy:
        """Return the policy with the rules for each of some labels alone, or for the means over them."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule.labels == which), labels=labels)

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
    """The outcome of one rule.

    Attributes
    ----------
    rule
        Which.
    status
        "not judged" is not a pass; the rule defines what "undecided" means.
    reason
        A sentence with the numbers.
    value, limit
        The compared values; nan without one.
    left
        Distance from the value to the limit, negative beyond it.
    baseline
        The baseline's value; nan without one.
    p_value
        Of the deciding test; corrected (Holm) if several rules were tested; nan without a test.
    signature
        Signature of the value.
    few
        Whether it was not judged because its slice has too few rows.
    rows
        Number of rows behind the value, if these are a sample.
    power
        Detectable differences, for a rule against a baseline; None without an interval.
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
        """The allowed worsening against the baseline; 0 for other rules."""
        return (
            self.rule.condition.margin.of(self.baseline) if isinstance(self.rule.condition, NoWorse) else 0.0
        )

    @property
    def result(self) -> Result:
        """The result for the check; rules that could not be judged are a warning only with too few rows."""
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
        One per rule; empty if it could not be read.
    fault
        Why it could not be read, or "".
    notes
        Notes on the comparison with the baseline.
    warnings
        Options without effect.
    reading
        Sentences on how the file was read.
    """

    path: str
    rows: int
    outcomes: tuple[Outcome, ...]
    fault: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()

    def count(self, result: str) -> int:
        """Return the number of rules with a status."""
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
