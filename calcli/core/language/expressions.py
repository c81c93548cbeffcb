"""Expressions: `ece:bins=20:binning=equal-mass` parses to an entry with its arguments, and prints back.

Metrics and methods are written alike. Slashes separate the values of a list, and a nested method or
score from its own arguments, as in `reduced:calibrator=histogram/bins=15`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from calcli.core.language.entries import (
    Argument,
    Entry,
    Method,
    Metric,
    MetricFamily,
    expressed,
    meant,
    other_thing,
    plain_word,
)
from calcli.core.language.errors import UsageError
from calcli.core.language.methods import JOINED, METHODS
from calcli.core.language.metrics import AFFINE, AFFINE_MAPS, AS_SCORE, L1, METRICS, REGION

CLASS_WISE, WORST_CLASS, TOP_WISE = "class-wise", "worst-class", "top-wise"
WRAPS, POOLS = "calibrator=", "members="  # arguments that hold other methods
HINTS = {"debiased": "; what can be debiased is the squared error, as in ece_l2:debiased=true"}
INVERSE = "inverse-frequency"
CLIPPED = ("log_loss", "normalized_log_loss", "calibration_intercept", "calibration_slope")
EXPECTED = ("expected_score", "score_divergence")  # of posteriors, not of labels

AnyEntry = TypeVar("AnyEntry", bound=Entry)
AnyExpression = TypeVar("AnyExpression", bound="Expression[Any]")


class Expression(Generic[AnyEntry]):
    """An entry with all its arguments.

    Attributes
    ----------
    entry
        Its entry in the registry.
    arguments
        The value of every argument.
    text
        The expression as it was given; reports use it as the name.
    """

    entry: AnyEntry
    arguments: Mapping[str, Any]
    text: str

    def __str__(self) -> str:
        """Return the canonical expression: arguments in the registry's order, defaults left out."""
        return ":".join(expressed(self.entry, self.arguments))

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def nested(self) -> str:
        """The same as an argument; a nested method comes last, since all that follows belongs to it."""
        pairs = expressed(self.entry, self.arguments)
        return "/".join(sorted(pairs, key=lambda part: part.startswith((WRAPS, POOLS))))


@dataclass(frozen=True, kw_only=True, repr=False)
class Measure(Expression[Metric]):
    """A metric with all its arguments, which its class declares as fields; see `metric`.

    Attributes
    ----------
    family
        How it is estimated and compared.
    lens
        Its lens; "" for scores, which need none.
    region
        The region of scores that it uses, as in "0.8..1".
    """

    family: ClassVar[MetricFamily]
    lens, region = "", "all"

    text: str = field(default="", compare=False)

    @property
    def arguments(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The value of every argument."""
        return {key: getattr(self, key) for key in self.entry.arguments}

    def needs(self, of: Any) -> Iterable[Any]:
        """Return what a pass must keep for it.

        Parameters
        ----------
        of
            The `Pass`: which rows it covers, and how; no rows are read.

        Raises
        ------
        UsageError
            If the metric is not defined for these predictions.
        """
        raise NotImplementedError

    def estimate(self, measured: Any, settings: Any, metrics: Sequence[Measure] = ()) -> Any:
        """Return its `Estimate`.

        Parameters
        ----------
        measured, settings
            `Measurements` with what it needs, and `Settings`.
        metrics
            Metrics estimated at the same time, which may share draws with it.

        Raises
        ------
        CalcliError
            If it does not fit the data, or needs a missing file.
        """
        raise NotImplementedError

    def influences(self, measured: Any) -> Any:
        """Return the `Influences` of the units, for comparisons; None for metrics without an interval."""
        return None

    def of_few(self, pair: Any, difference: Any) -> Any:
        """Return exact `Evidence` on a difference of a `Pair` that rests on few rows, if there is any."""
        return None

    def with_argument(self, key: str, value: Any) -> Self:
        """Return the same metric with another value of an argument."""
        return replace(self, **{key: value})

    @property
    def is_class_wise(self) -> bool:
        """Whether it is computed for every class and then over the classes."""
        return self.lens in (CLASS_WISE, WORST_CLASS)

    @property
    def over_classes(self) -> str:
        """How class-wise errors are aggregated over the classes: norm 1, 2 or max, or their sum."""
        if self.lens == WORST_CLASS:
            return "max"
        if self.arguments.get("weights") == INVERSE:
            return "sum"
        return str(getattr(self, "norm", "1"))

    @property
    def used(self) -> dict[str, Any]:
        """The arguments that its value depends on; not `bins` where the binning does not use it."""
        binning = self.arguments.get("binning")
        idle = {None: set(), "recursive": {"bins"}, "equal-width": {"min_rows"}, "equal-mass": {"min_rows"}}
        unused = idle.get(binning, {"bins", "min_rows"})
        return {key: value for key, value in self.arguments.items() if key not in unused}

    @property
    def fitted(self) -> MethodExpression | None:
        """The recalibration method, if one is fitted; the first if several are possible."""
        name = str(self.arguments.get("recalibrator", ""))
        name = AFFINE_MAPS[0] if name == AFFINE else name
        return nested_method(name) if name.partition("/")[0] in METHODS else None

    @property
    def unit(self) -> str:
        """The metric's unit; for a part of a score the unit of the score."""
        if self.arguments.get("distance") == L1:
            return "ratio"
        return self.base_score.unit if self.entry.unit == AS_SCORE else self.entry.unit

    @property
    def base_score(self) -> Measure:
        """The score behind the part that it measures, with its arguments."""
        return parse_metric(_colons(self.arguments["score"]))

    @property
    def is_clipped(self) -> bool:
        """Whether it depends on the smallest probability of a label."""
        of_labels = self.arguments.get("score") == "log_loss" and self.entry.name not in EXPECTED
        return of_labels or self.entry.name in CLIPPED


COSTLY = {"brier": 4}  # times the effort of a fit by log-loss


@dataclass(frozen=True, repr=False)
class MethodExpression(Expression[Method]):
    """A method with all its arguments."""

    entry: Method
    arguments: Mapping[str, Any]
    text: str = field(compare=False)

    @property
    def chain(self) -> tuple[MethodExpression, ...]:
        """The method and the methods it wraps, down to the method that learns."""
        inner = self.arguments.get("calibrator")
        return (self, *(inner.chain if inner else ()))

    def parameters(self, classes: int) -> int | None:
        """Return the number of parameters for a number of classes; None if it is not fixed."""
        per_map = self.entry.count and self.entry.count(classes, self.arguments)
        return per_map and per_map * self._maps(classes)

    def _maps(self, classes: int) -> int:
        lens, ranks = self.arguments.get("lens"), self.arguments.get("ranks")
        return (ranks or classes) if lens in (CLASS_WISE, TOP_WISE) and classes > 2 else 1

    def effort(self, rows: int, classes: int) -> int:
        """Return the cost of five fits to a number of rows, in passes over the scores."""
        learner = self.chain[-1]
        scores = rows * (learner._maps(classes) if learner.entry.family == "one score" else classes)
        factor = math.prod(method.entry.effort for method in self.chain)
        return scores * factor * COSTLY.get(learner.arguments.get("score", ""), 1)

    def within(self, wrapper: str, **arguments: Any) -> MethodExpression:
        """Return a wrapper around the method."""
        entry = METHODS[wrapper]
        return MethodExpression(entry, {**entry.defaults, "calibrator": self, **arguments}, self.text)


def _measure(entry: Metric, arguments: Mapping[str, Any], source_text: str) -> Measure:
    measure: Measure = entry.made(**arguments, text=source_text)
    return measure


def parse_metric(text: str, defaults: Mapping[str, Any] | None = None) -> Measure:
    """Parse one metric expression; see `_parse`."""
    return _parse(_measure, METRICS, text, defaults or {})


def parse_metrics(texts: Iterable[str], defaults: Mapping[str, Any] | None = None) -> list[Measure]:
    """Parse several metric expressions; see `_parse_all`."""
    return _parse_all(_measure, METRICS, texts, defaults or {})


def parse_method(text: str, defaults: Mapping[str, Any] | None = None) -> MethodExpression:
    """Parse one method expression; see `_parse`."""
    return _parse(MethodExpression, METHODS, text, defaults or {})


def parse_methods(texts: Iterable[str], defaults: Mapping[str, Any] | None = None) -> list[MethodExpression]:
    """Parse several method expressions; see `_parse_all`."""
    return _parse_all(MethodExpression, METHODS, texts, defaults or {})


def _parse(
    form: Callable[[AnyEntry, Mapping[str, Any], str], AnyExpression],
    any_entries: Mapping[str, AnyEntry],
    text: str,
    defaults: Mapping[str, Any],
) -> AnyExpression:
    """Parse `name` or `name:argument=value:...`, or a synonym in place of the name.

    Parameters
    ----------
    form, known
        The kind of object, and its known entries.
    text
        The expression.
    defaults
        Values that replace the defaults of arguments with these names.

    Raises
    ------
    UsageError
        If the name, an argument or a value is unknown; the nearest name is suggested.
    """
    word, *words = meant(text.strip(), any_entries.values()).split(":")
    text = ":".join([word if word in any_entries else meant(word, any_entries.values()), *words])
    name, *pairs = text.split(":")
    try:
        entry = any_entries[name]
    except KeyError:
        kind = next(iter(any_entries.values())).kind
        mend = f" ({other_thing(name)})" if other_thing(name) else nearest_name(name, any_entries)
        raise UsageError(f"unknown {kind} {name!r}{mend}; `calcli explain` lists them all") from None
    arguments = entry.defaults
    free = [key for key, argument in entry.arguments.items() if not argument.own]
    arguments |= {key: defaults[key] for key in free if key in defaults}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in arguments:
            if key in arguments:
                raise UsageError(f"{entry.kind} {text!r}: {key} has no value; expected {key}=VALUE")
            takes = ", ".join(arguments) or "none"
            hint = HINTS.get(key, "")
            raise UsageError(f"{entry.kind} {name!r} has no argument {pair!r}; it takes: {takes}{hint}")
        arguments[key] = _value(f"{name}: {key}", entry.arguments[key], value, defaults)
    if missing := [key for key, value in arguments.items() if value is None]:
        raise UsageError(f"{name} wraps another method; say which, as in {name}:{missing[0]}=temperature")
    return form(entry, arguments, text)


def _value(owner: str, argument: Argument, text: str, defaults: Mapping[str, Any]) -> Any:
    if argument.default is None:
        return parse_method(_colons(text), defaults)
    if argument.nested:
        text = _called(text, argument.choices)
        if argument.holds(text):
            name = text.partition("/")[0]
            if name in METRICS:
                return parse_metric(_colons(text), defaults).nested
            if name in METHODS:
                return nested_method(text).nested
            if name != text:
                raise UsageError(f"{name} takes no settings; leave out {text.removeprefix(name)!r}")
            return name
    try:
        return argument.read(text)
    except ValueError:
        nearest = nearest_name(text, argument.choices)
        raise UsageError(f"{owner} must be {argument.expected}, not {text!r}{nearest}") from None


def _called(text: str, choices: Sequence[str]) -> str:
    """Return a nested expression under its proper name, if it is a synonym."""
    word, *arguments = text.split("/")
    entries = [entry for group in (METRICS, METHODS) for name, entry in group.items() if name in choices]
    expression = word if word in choices else meant(word, entries)
    return "/".join([expression.replace(":", "/"), *arguments])


def nested_method(text: str) -> MethodExpression:
    """Parse a nested method, with its arguments after slashes."""
    return parse_method(_colons(text))


def _colons(text: str) -> str:
    """Return the expression of a wrapped method, written with colons.

    A slash stays within a list of values, after `calibrator=`, where the rest belongs to the inner
    method, and after `members=` before the arguments of its last method.
    """
    name, *words = text.split("/")
    pairs: list[str] = []
    for part in words:
        if pairs and ("=" not in part or pairs[-1].startswith(WRAPS) or _of_member(pairs[-1], part)):
            pairs[-1] += f"/{part}"
        else:
            pairs.append(part)
    return ":".join([name, *pairs])


def _of_member(pair: str, part: str) -> bool:
    """Return whether a part is an argument of the last member of a pool."""
    member = pair.removeprefix(POOLS).rpartition(JOINED)[2].partition("/")[0]
    return (
        pair.startswith(POOLS) and member in METHODS and part.partition("=")[0] in METHODS[member].arguments
    )


def _parse_all(
    form: Callable[[AnyEntry, Mapping[str, Any], str], AnyExpression],
    any_entries: Mapping[str, AnyEntry],
    texts: Iterable[str],
    defaults: Mapping[str, Any],
) -> list[AnyExpression]:
    """Parse several expressions and report all errors at once; the first of equal ones is kept.

    Raises
    ------
    UsageError
        If any expression is wrong.
    """
    different: dict[str, AnyExpression] = {}
    faults = []
    for text in texts:
        try:
            parsed = _parse(form, any_entries, text, defaults)
            different.setdefault(str(parsed), parsed)
        except UsageError as fault:
            faults.append(str(fault))
    if faults:
        raise UsageError("; ".join(faults))
    return list(different.values())


def region_ends(region: str) -> tuple[float, float]:
    """Return the ends of a region of scores such as "0.8..1"; of "all", 0 and 1."""
    if region == "all":
        return 0.0, 1.0
    low, high = region.split("..")
    return float(low), float(high)


def region_conditions(region: str) -> list[tuple[str, tuple[float, float]]]:
    """Return the outcomes of a region such as "class-0@0.5..1+class-2@0..0.1", each with its ends."""
    conditions = [condition.split("@") for condition in region.split("+")]
    return [(name, region_ends(ends)) for name, ends in conditions]


def checked_region(owner: str, text: str) -> str:
    """Return a region of scores such as "0.8..1" unchanged.

    Raises
    ------
    UsageError
        If it is no region; the message names the owner, a metric or an option.
    """
    if not REGION["fits"](text):
        raise UsageError(f"{owner}: region must be {REGION['form']}, not {text!r}")
    return text


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return a clause that suggests the nearest known name, if one is near; else "".

    A name made of known names, such as `dp-affine`, suggests the first.
    """
    names, wanted = list(names), plain_word(name)
    errors = {candidate: _typing_errors(wanted, plain_word(candidate)) for candidate in names}
    nearest = min(errors, key=lambda error: errors[error], default="")
    if nearest and errors[nearest] <= min(len(wanted) // 2, 1 + (len(wanted) >= LONG_NAME)):
        return f", did you mean {nearest!r}"
    words = [word for word in re.split("[-_]", name.lower()) if word in names]
    return f", did you mean {words[0]!r}" if words else ""


def _typing_errors(wrong: str, right: str) -> int:
    """Return how many letters are wrong, missing, extra, or swapped with the next."""
    above, row = list[int](), list(range(len(right) + 1))
    for i, letter in enumerate(wrong):
        before, above, row = above, row, [i + 1]
        for j, target in enumerate(right):
            costs = [above[j] + (letter != target), above[j + 1] + 1, row[j] + 1]
            swapped = i and j and wrong[i - 1] == target and letter == right[j - 1]
            row.append(min([*costs, before[j - 1] + 1] if swapped else costs))
    return row[-1]


LONG_NAME = 8  # letters of a name in which two may be wrong
SINGLE = ("class-", "worst-class", "canonical", "predicted-")  # lenses


def option_names(count: int) -> tuple[str, ...]:
    """Return the names of the options of questions with unequal numbers of options."""
    return tuple(f"option {place}" for place in range(count))


def refuse_places(calls: Iterable[Measure]) -> None:
    """Raise a UsageError for metrics of single classes where classes are positions of options."""
    for call in calls:
        if looks_at_classes(call):
            raise UsageError(
                f"{call}: it looks at single classes, and these are the places of options, of which some "
                "questions have fewer; a place is not a class"
            )


def looks_at_classes(call: Measure) -> bool:
    """Return whether a metric looks at single classes."""
    return call.entry.family.class_by_class or call.lens.startswith(SINGLE)


WRONG_RIGHT = ("wrong", "right")  # the names of the two outcomes
AUTO_LENS = "auto"  # of two classes the probability of the second one, else the confidence
LENS = "top-1"  # the only one: the confidence of the answer that was given


def refuse_classes(calls: Iterable[Expression[Any]]) -> None:
    """Raise a UsageError for metrics or methods that need classes, if the data are answers."""
    for call in calls:
        for inner in _within(call):
            if inner.entry.needs_classes:
                raise UsageError(f"{call}: {reason(inner.entry)}")
            lens = inner.arguments.get("lens")
            usual = inner.entry.arguments["lens"].default if lens is not None else None
            if lens != usual and (lens != LENS or isinstance(inner, MethodExpression)):
                raise UsageError(f"{call}: {no_lens(str(lens))}")


def refuse_probabilities(calls: Iterable[Measure], outcomes: str) -> None:
    """Raise a UsageError for metrics that need probabilities, or others, if the data are outcomes."""
    for call in calls:
        if outcomes and call.entry.needs_probabilities:
            raise UsageError(f"{call}: it needs probabilities, and these are {KINDS[outcomes]}")
        if outcomes == "grades" and call.entry.name != "mean_score":
            raise UsageError(
                f"{call}: it needs what is right or wrong, and these are grades; ask for mean_score"
            )


KINDS = {
    "outcomes": "outcomes, right or wrong",
    "grades": "grades",
    "predictions": "predicted classes",
}


def reason(entry: Entry) -> str:
    """Return why something does not apply to answers."""
    return f"it {entry.needs_classes}, and these are answers that are right or wrong"


def no_lens(lens: str) -> str:
    """Return why a lens does not apply to answers."""
    return f"there is no lens {lens} on answers that are right or wrong; the only one is their confidence"


def _within(call: Expression[Any]) -> Iterable[Expression[Any]]:
    """Yield an expression and the nested ones."""
    if isinstance(call, MethodExpression):
        yield from call.chain
        return
    yield call
    if isinstance(call, Measure):
        if str(call.arguments.get("score", "")).partition("/")[0] in METRICS:
            yield call.base_score
        method = str(call.arguments.get("recalibrator", ""))
        if method.partition("/")[0] in METHODS:
            yield from nested_method(method).chain
