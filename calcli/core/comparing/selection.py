"""Which file of a series a criterion chooses on one set, and what it is worth on another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.numbering import numbers_in_names
from calcli.core.evaluating.results import Estimate
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression


@dataclass(frozen=True)
class Choice:
    """What one criterion chose.

    Attributes
    ----------
    criterion
        The metric whose best value was chosen.
    number
        That of the file.
    chosen, reported
        Estimates on the set of the choice and on the other one, by canonical expression.
    """

    criterion: MetricExpression
    number: int
    chosen: Mapping[str, Estimate]
    reported: Mapping[str, Estimate]


def best_of(value: Sequence[float] | Doubles, call: MetricExpression) -> int:
    """Return the index of the best of some values of a metric, the first of equal ones.

    Raises
    ------
    UsageError
        If no value of the metric is better than another, or none is finite.
    """
    ordered = call.entry.direction != "none"
    if not (ordered and np.isfinite(value).any()):
        why = "has no finite value" if ordered else "has no better direction"
        raise UsageError(f"{call.asked} {why}; choose by another metric, such as log_loss")
    return int(np.nanargmin([call.entry.cost(one) for one in value]))


def why_none_is_best(values: Sequence[float], call: MetricExpression) -> str:
    """Return why none of some systems is the best: no value of the metric is finite; "" if one is."""
    if np.isfinite(values).any():
        return ""
    found = {"undefined": np.isnan(values).any(), "infinite": np.isinf(values).any()}
    said = " or ".join(word for word, there in found.items() if there)
    return f"{call.asked} is {said} for all of them"


def relative_change(first: float, second: float) -> float:
    """Return by what share of the first of two values the second is greater; nan where there is none."""
    return (second - first) / abs(first) if first and math.isfinite(first) else math.nan


def paired_by_number(files: Sequence[str], others: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return pairs of files with the same number in their names, in the order of the numbers.

    Raises
    ------
    UsageError
        If a name has no number, or a number has no counterpart.
    """
    first, second = (_numbered(paths) for paths in (files, others))
    for here, there in ((first, second), (second, first)):
        alone = sorted(set(here) - set(there))
        if alone:
            raise UsageError(
                f"{here[alone[0]]} has no counterpart with the number {alone[0]} in its name among "
                f"{', '.join(list(there.values())[:3])}{', ...' * (len(there) > 3)}"
            )
    return [(number, first[number], second[number]) for number in sorted(first)]


def _numbered(paths: Sequence[str]) -> dict[int, str]:
    numbers = numbers_in_names(paths)
    if numbers is None:
        raise UsageError(
            f"files are paired by the number in their names, as in epoch_7.npy; {paths[0]} and the others do "
            "not all have one"
        )
    return dict(zip(numbers, paths, strict=True))
