"""Metric expressions: `ece:bins=20:binning=equal-mass` parses to a metric with arguments, and prints back."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast, get_args

from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import AS_SCORE, METRICS, RECALIBRATORS, Metric, ScoreName

CLASS_WISE, WORST_CLASS = "class-wise", "worst-class"


@dataclass(frozen=True)
class MetricExpression:
    """A metric with all its arguments.

    Attributes
    ----------
    entry
        What the registry says of it.
    arguments
        The value of every argument.
    asked
        The expression as it was given, by which reports name the metric.
    """

    entry: Metric
    arguments: Mapping[str, str | int]
    asked: str = field(compare=False)

    @property
    def lens(self) -> str:
        """The lens the metric looks through; "" for scores, which need none."""
        return str(self.arguments.get("lens", ""))

    @property
    def is_class_wise(self) -> bool:
        """Whether it is computed for every class and then over the classes."""
        return self.lens == CLASS_WISE or (self.lens == WORST_CLASS and self.entry.family == "error")

    @property
    def over_classes(self) -> str:
        """How class-wise errors are aggregated over the classes: norm 1, 2 or max."""
        if self.lens == WORST_CLASS:
            return "max"
        return str(self.entry.fixed.get("norm", self.arguments.get("norm", "1")))

    @property
    def region(self) -> str:
        """The part of the scores the metric looks at, as in "0.8..1"; "all" by default."""
        return str(self.arguments.get("region", "all"))

    @property
    def score(self) -> ScoreName:
        """The score that it measures a part of, or what recalibration does to."""
        return cast(ScoreName, self.arguments["score"])

    @property
    def unit(self) -> str:
        """The metric's unit; that of the score where it measures part of one."""
        whole = METRICS[self.score] if self.entry.unit == AS_SCORE else self.entry
        return whole.unit

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the row statistics it needs; an argument "score" names one more."""
        score = self.arguments.get("score")
        return self.entry.statistics if score is None else (*self.entry.statistics, str(score))

    def __str__(self) -> str:
        """Return the canonical expression: arguments in the registry's order, defaults left out."""
        parts = [self.entry.name]
        for name, default in self.entry.arguments.items():
            if self.arguments[name] != default:
                parts.append(f"{name}={self.arguments[name]}")
        return ":".join(parts)


def parse_metric(text: str, defaults: Mapping[str, str | int] | None = None) -> MetricExpression:
    """Parse one metric expression.

    Parameters
    ----------
    text
        `name` or `name:argument=value:...`.
    defaults
        Values that replace the registry's defaults where the metric has such an argument.

    Raises
    ------
    UsageError
        If the metric, an argument or a value is unknown; the nearest name is suggested.
    """
    name, *pairs = text.strip().split(":")
    if name not in METRICS:
        nearest = nearest_name(name, METRICS)
        raise UsageError(f"unknown metric {name!r}{nearest}; `calcli explain` lists them all")
    metric = METRICS[name]
    arguments = dict(metric.arguments)
    arguments |= {key: value for key, value in (defaults or {}).items() if key in arguments}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in arguments:
            known = ", ".join(metric.arguments) or "none"
            hint = DEBIASED if key == "debiased" else ""
            raise UsageError(f"metric {name!r} has no argument {pair!r}; it takes: {known}{hint}")
        arguments[key] = _value(name, key, value)
    return MetricExpression(metric, arguments, text.strip())


def parse_metrics(
    texts: Iterable[str], defaults: Mapping[str, str | int] | None = None
) -> list[MetricExpression]:
    """Parse several expressions and name all faults at once; of several that mean the same the first counts.

    Raises
    ------
    UsageError
        If any expression is wrong.
    """
    calls, faults = [], []
    for text in texts:
        try:
            calls.append(parse_metric(text, defaults))
        except UsageError as fault:
            faults.append(str(fault))
    if faults:
        raise UsageError("; ".join(faults))
    different: dict[str, MetricExpression] = {}
    for call in calls:
        different.setdefault(str(call), call)
    return list(different.values())


CHOICES = {
    "norm": ("1", "2", "max"),
    "distance": ("tv", "euclidean", "squared-euclidean"),
    "skce distance": ("tv", "euclidean"),
    "estimator": ("unbiased", "block"),
    "debiased": ("true", "false"),
    "significant": ("true", "false"),
    "score": get_args(ScoreName),
    "training": ("cross-validation", "held-out", "test"),
    "recalibrator": RECALIBRATORS,
}
NUMBERS = ("a", "b")
DEBIASED = "; what can be debiased is the squared error, as in ece_l2:debiased=true"
MOST_BINS, MOST_ROWS = 100_000, 100_000_000
GREATEST = 1000.0  # a sharper density of thresholds is one threshold


def _value(metric: str, key: str, text: str) -> str | int:
    if key in ("bins", "min_rows"):
        most = MOST_BINS if key == "bins" else MOST_ROWS
        if not text.isdigit() or not 1 <= int(text) <= most:
            raise UsageError(f"{metric}: {key} must be a whole number from 1 to {most}, not {text!r}")
        return int(text)
    if key == "region":
        return text if text == "all" else checked_region(metric, text)
    if key in NUMBERS:
        return _number(metric, key, text)
    choices = CHOICES.get(f"{metric} {key}", CHOICES.get(key))
    if choices and text not in choices:
        nearest = nearest_name(text, choices)
        raise UsageError(f"{metric}: {key} must be one of {', '.join(choices)}, not {text!r}{nearest}")
    return text


def region_ends(region: str) -> tuple[float, float]:
    """Return the ends of a region of scores such as "0.8..1"; of "all", 0 and 1."""
    if region == "all":
        return 0.0, 1.0
    low, high = region.split("..")
    return float(low), float(high)


def checked_region(owner: str, text: str) -> str:
    """Return a region of scores such as "0.8..1" as it is.

    Raises
    ------
    UsageError
        If it is none; the owner, a metric or an option, is named.
    """
    ends = text.split("..")
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 1:
        raise UsageError(f"{owner}: region must be two numbers in [0, 1], as in 0.8..1, not {text!r}")
    return text


def _number(metric: str, key: str, text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= GREATEST:
        raise UsageError(f"{metric}: {key} must be a number above 0 and up to {GREATEST:g}, not {text!r}")
    return f"{value:g}"


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return a clause that suggests the known name nearest to a wrong one; "" if none is near.

    A word of the wrong name that is a known name, as in `dp-affine`, is nearer than what is spelled alike.
    """
    known, wanted = list(known), name.lower()
    words = [word for word in re.split(r"[-_ ]", wanted) if word in known]
    close = words or difflib.get_close_matches(wanted, known, n=1, cutoff=0.5)
    return f", did you mean {close[0]!r}" if close else ""
