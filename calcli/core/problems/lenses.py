"""Lenses: which aspect of calibration is looked at (Vaicenavicius et al. 2019, section 2).

A one-dimensional lens maps predictions to an induced binary problem, a score in [0, 1] and an outcome; a
vector lens to a problem of several outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.blocks import ROW_STATISTICS, RowStatistic
from calcli.core.language.declaring import number_in
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.problems.vectors import (
    VectorLens,
    canonical_lens,
    group_lens,
    largest_lens,
)

WHOLE = ("canonical", "class-wise", "worst-class", "marginal")
NUMBERED = ("top", "within-top", "class", "predicted", "largest")  # kinds of lenses that a number follows


class Seen(NamedTuple):
    """What is seen through a one-dimensional lens: (n,) scores, outcomes and weights, and which rows."""

    score: Floats
    outcome: Array
    weights: Floats | None
    rows: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Lens:
    """A one-dimensional lens: how a block becomes scores and outcomes.

    Attributes
    ----------
    name
        As written in metric expressions.
    score, outcome
        Names of the row statistics that are its score in [0, 1] and its outcome.
    statistics
        How they are computed from a block.
    given
        Name of the row statistic that tells which rows are looked at; "" for all.
    """

    name: str
    score: str
    outcome: str
    statistics: dict[str, RowStatistic]
    given: str = ""

    def look(self, columns: Mapping[str, Array], weights: Floats | None) -> Seen:
        """Return what is seen of rows of these statistics and weights, in their order."""
        score, outcome = columns[self.score], columns[self.outcome]
        if not self.given:
            return Seen(score, outcome, weights)
        rows = columns[self.given]
        return Seen(score[rows], outcome[rows], None if weights is None else weights[rows], rows)


Groups = Mapping[str, Sequence[Sequence[int]]]


def find_lens(name: str, n_classes: int, groups: Groups | None = None) -> Lens | VectorLens:
    """Return the lens of that name.

    Parameters
    ----------
    name
        `top-1`, `top-r`, `within-top-r` (Gupta et al. 2021), `class-k`, `predicted-k` (`top-1` of the rows
        whose predicted class is k; van de Waterlaat 2021, example 2.3.5), `canonical`, `largest-k` (the k
        largest probabilities and the rest; Vaicenavicius et al. 2019, example 2.iii), or a name of groups. Of
        two groups the score is the probability of the one that holds the first class (example 2.ii).
    n_classes
        K.
    groups
        Partitions of the classes by name: the class numbers of each group.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    if name in ("top-1", "largest-1"):  # the largest probability, and the rest
        return _TOP
    if groups and name in groups:
        return _two_groups(name, groups[name]) if len(groups[name]) == 2 else group_lens(groups[name])
    if name == "canonical":
        return canonical_lens(n_classes)
    kind, _, digits = name.rpartition("-")
    number = number_in(digits)
    if kind == "class" and 0 <= number < n_classes:
        return _score_lens(name, lambda block: block.column(number), lambda block: block.labels == number)
    if kind == "predicted" and 0 <= number < n_classes:
        return _predicted(name, number)
    if kind == "top" and 1 <= number <= n_classes:
        return _score_lens(
            name,
            lambda block: block.largest(number)[1][:, -1],
            lambda block: block.largest(number)[0][:, -1] == block.labels,
        )
    if kind == "within-top" and 1 <= number <= n_classes:
        return _score_lens(
            name,
            lambda block: np.minimum(block.largest(number)[1].sum(1), 1),
            lambda block: (block.largest(number)[0] == block.labels[:, None]).any(1),
        )
    if kind == "largest" and 1 <= number < n_classes:
        return largest_lens(number)
    if name in WHOLE:
        raise UsageError(f"the lens {name} is not a single problem here; expected one such as class-0")
    named = "".join(f", {group}" for group in groups or ())
    last = n_classes - 1
    largest = f"largest-1 to largest-{last}" if last > 1 else "largest-1"
    raise UsageError(
        f"unknown lens {name!r}{_nearest_lens(name, groups or ())}; for these classes it can be top-1 to "
        f"top-{n_classes}, within-top-1 to within-top-{n_classes}, class-0 to class-{last}, "
        f"predicted-0 to predicted-{last}, class-wise, worst-class, marginal, canonical, {largest}{named}"
    )


def _nearest_lens(name: str, groups: Iterable[str]) -> str:
    kind, _, digits = name.rpartition("-")
    if kind in NUMBERED and digits.isdigit():
        return ""  # well written, but the number is out of range
    number = digits if digits.isdigit() else "1"
    return nearest_name(name, [*(f"{kind}-{number}" for kind in NUMBERED), *WHOLE, *groups])


_TOP = Lens("top-1", "confidence", "hit", {key: ROW_STATISTICS[key] for key in ("confidence", "hit")})


def _predicted(name: str, number: int) -> Lens:
    """Return the lens on the confidence of rows with one predicted class."""
    given = f"{name} given"
    predicted = {given: lambda block: block.largest(1)[0][:, 0] == number}
    return Lens(name, _TOP.score, _TOP.outcome, _TOP.statistics | predicted, given)


def _two_groups(name: str, groups: Sequence[Sequence[int]]) -> Lens:
    """Return the lens on the first of two groups."""
    probs, group_of = group_lens(groups).table, group_lens(groups).outcome
    return _score_lens(name, lambda block: np.minimum(probs(block)[0], 1), lambda block: group_of(block) == 0)


def _score_lens(name: str, score: RowStatistic, outcome: RowStatistic) -> Lens:
    columns = f"{name} score", f"{name} outcome"
    return Lens(name, *columns, dict(zip(columns, (score, outcome), strict=True)))
