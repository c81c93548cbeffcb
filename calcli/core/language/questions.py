"""What can be asked of answers, and of questions with options: metrics that look at classes are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calcli.core.language.entries import Entry
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Expression, MethodExpression, MetricExpression, nested_method
from calcli.core.language.methods import ERRORS, METHODS
from calcli.core.language.metrics import METRICS

SINGLE = ("class-", "worst-class", "canonical", "marginal", "predicted-")  # lenses


def option_names(count: int) -> tuple[str, ...]:
    """Return what the options of questions are called that do not all have as many."""
    return tuple(f"option {place}" for place in range(count))


def refuse_places(calls: Iterable[MetricExpression]) -> None:
    """Raise a UsageError for metrics that look at single classes, where these are places of options."""
    for call in calls:
        if looks_at_classes(call):
            raise UsageError(
                f"{call}: it looks at single classes, and these are the places of options, of which some "
                "questions have fewer; a place is not a class"
            )


def looks_at_classes(call: MetricExpression) -> bool:
    """Return whether a metric looks at single classes."""
    return call.entry.family.class_by_class or call.lens.startswith(SINGLE)


WRONG_RIGHT = ("wrong", "right")  # the names of the two outcomes
LENS = "top-1"  # the only one: the confidence of the answer that was given


def refuse_classes(calls: Iterable[Expression[Any]]) -> None:
    """Raise a UsageError for metrics or methods that need classes, where there are answers."""
    for call in calls:
        for one in _within(call):
            if one.entry.needs_classes:
                raise UsageError(f"{call}: {reason(one.entry)}")
            lens = one.arguments.get("lens")
            own = one.entry.arguments["lens"].default if lens is not None else None
            if lens != own and (lens != LENS or isinstance(one, MethodExpression)):
                raise UsageError(f"{call}: {no_lens(str(lens))}")
            if isinstance(one, MethodExpression) and one.arguments.get("score") in ERRORS:
                raise UsageError(
                    f"{call}: it minimizes an error of predicted classes, and these are answers that are "
                    "right or wrong; expected score=log_loss or brier"
                )


def reason(entry: Entry) -> str:
    """Return why something is not for answers."""
    return f"it {entry.needs_classes}, and these are answers that are right or wrong"


def no_lens(lens: str) -> str:
    """Return why answers cannot be looked at through a lens."""
    return f"there is no lens {lens} on answers that are right or wrong; the only one is their confidence"


def _within(call: Expression[Any]) -> Iterable[Expression[Any]]:
    """Yield an expression and those within it."""
    if isinstance(call, MethodExpression):
        yield from call.chain
        return
    yield call
    if isinstance(call, MetricExpression):
        if str(call.arguments.get("score", "")).partition("/")[0] in METRICS:
            yield call.whole
        method = str(call.arguments.get("recalibrator", ""))
        if method.partition("/")[0] in METHODS:
            yield from nested_method(method).chain
