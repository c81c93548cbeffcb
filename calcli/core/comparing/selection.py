"""Series of files: their order, and which of them a criterion chooses on one set for another."""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Doubles
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


def numbers_in_names(paths: Sequence[str]) -> list[int] | None:
    """Return the number of each file in a series, such as its epoch; None where a name has no number.

    Of several numbers in a name it is the last in which the files differ.

    Raises
    ------
    UsageError
        If two files have the same one.
    """
    found = [re.findall("[0-9]+", os.path.basename(path).partition(".")[0]) for path in paths]
    if not all(found):
        return None
    place = -1
    if len({len(numbers) for numbers in found}) == 1:
        differing = [n for n, column in enumerate(zip(*found, strict=True)) if len(set(column)) > 1]
        place = differing[-1] if differing else -1
    numbers = [int(each[place]) for each in found]
    for path, number in zip(paths, numbers, strict=True):
        first = paths[numbers.index(number)]
        if first != path:
            raise UsageError(
                f"{first} and {path} have the same number {number}; expected another one in the name of each "
                "file of a folder, as in epoch_1.npy and epoch_2.npy"
            )
    return numbers


def by_folder(paths: Sequence[str]) -> dict[str, list[int]]:
    """Return which files lie in each folder, by what tells the folders apart."""
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    shared = os.path.commonpath([os.path.dirname(folder) for folder in folders])
    found: dict[str, list[int]] = {}
    for n, folder in enumerate(folders):
        found.setdefault(os.path.relpath(folder, shared), []).append(n)
    return found
