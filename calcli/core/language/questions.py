"""The options of questions as classes: where some questions have fewer, a place is not a class by itself."""

from __future__ import annotations

from collections.abc import Iterable

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression

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
