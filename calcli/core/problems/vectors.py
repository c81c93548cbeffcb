"""Problems of several outcomes at once, and the lenses that make them of predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.blocks import Block
from calcli.core.data.logspace import class_sums
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import region_conditions, region_ends

SAME = 1e-6  # two probabilities no farther apart are one, whatever their precision


@dataclass(frozen=True)
class VectorProblem:
    """A problem of d outcomes.

    Attributes
    ----------
    probs
        (n, d) probabilities.
    labels
        (n,) integers in 0..d-1.
    weights
        (n,) row weights, or None.
    names
        d names of the outcomes, by which regions are told.
    """

    probs: Floats
    labels: Array
    weights: Floats | None = None
    names: Sequence[str] = ()

    def in_region(self, region: str, owner: str) -> VectorProblem:
        """Return the rows in a region of the largest probability, as "0.8..1", or of those of outcomes.

        Raises
        ------
        UsageError
            If there is no such outcome; the owner, a metric, is named.
        """
        return self if region == "all" else self._chosen(self.rows_in(region, owner))

    def rows_in(self, region: str, owner: str) -> NDArray[np.bool_]:
        """Return the (n,) rows in such a region; see `in_region`."""
        if "@" not in region:
            return between(self.probs.max(1), *region_ends(region))
        inside = np.ones(len(self.probs), np.bool_)
        for name, (low, high) in region_conditions(region):
            if name not in self.names:
                known = f"{self.names[0]} to {self.names[-1]}" if self.names else "none: say it as in 0.8..1"
                raise UsageError(
                    f"{owner}: there is no outcome {name!r} to make a region of; there are {known}"
                )
            inside &= between(self.probs[:, list(self.names).index(name)], low, high)
        return inside

    def with_weight(self) -> VectorProblem:
        """Return the rows that count: without those of weight 0."""
        if self.weights is None or self.weights.all():
            return self
        return self._chosen(self.weights > 0)

    def of_top(self) -> VectorProblem:
        """Return the problem of two outcomes, the predicted class is right or wrong."""
        top = self.probs.argmax(1)
        confidence = np.take_along_axis(self.probs, top[:, None], axis=1)
        wrong = np.maximum(1 - confidence, 0)
        return VectorProblem(
            np.hstack([confidence, wrong]), (self.labels != top).astype(np.intp), self.weights
        )

    def _chosen(self, rows: NDArray[np.bool_]) -> VectorProblem:
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, probs=self.probs[rows], labels=self.labels[rows], weights=weights)


def between(values: Floats, low: float, high: float) -> NDArray[np.bool_]:
    """Tell which values lie in [low, high], in [low, high) below 1."""
    # as doubles: the ends must not be rounded to the precision of the probabilities
    values = values.astype(np.float64, copy=False)
    if low == high:
        return np.abs(values - low) <= SAME
    return (values >= low) & ((values < high) | (high >= 1))


@dataclass(frozen=True)
class VectorLens:
    """A lens on several outcomes at once.

    Attributes
    ----------
    names
        Of the outcomes, d of them.
    table
        Function of a block that returns (d, n) probabilities.
    outcome
        Function of a block that returns (n,) integers in 0..d-1.
    """

    names: tuple[str, ...]
    table: Callable[[Block], Floats]
    outcome: Callable[[Block], Array]

    @property
    def size(self) -> int:
        """Number of outcomes, d."""
        return len(self.names)


def canonical_lens(n_classes: int) -> VectorLens:
    """Return the lens that shows all classes as they are."""
    names = tuple(f"class-{k}" for k in range(n_classes))
    return VectorLens(names, lambda block: block.probs, lambda block: block.labels)


def largest_lens(k: int) -> VectorLens:
    """Return the lens on the k largest probabilities and the rest (Vaicenavicius et al. 2019, ex. 2.iii)."""

    def probs(block: Block) -> Floats:
        largest = block.largest(k)[1].T
        return np.concatenate([largest, np.maximum(1 - largest.sum(0, keepdims=True), 0)])

    def outcome(block: Block) -> Array:
        right = block.largest(k)[0] == block.labels[:, None]
        return np.where(right.any(1), right.argmax(1), k)

    return VectorLens((*(f"top-{r + 1}" for r in range(k)), "rest"), probs, outcome)


def group_lens(groups: Sequence[Sequence[int]]) -> VectorLens:
    """Return the lens on groups of classes, each class number in one of them."""
    group_of = np.empty(sum(map(len, groups)), np.intp)
    for number, members in enumerate(groups):
        group_of[list(members)] = number
    columns = [np.flatnonzero(group_of == number) for number in range(len(groups))]

    def probs(block: Block) -> Floats:
        table = block.probs
        return np.stack([class_sums(table[own]) for own in columns])

    names = tuple(f"group-{number}" for number in range(len(groups)))
    return VectorLens(names, probs, lambda block: group_of[block.labels])


def group_members(name: str, group_of: Mapping[str, str], classes: Sequence[str]) -> list[list[int]]:
    """Return the class numbers of each group, groups in the order of their first classes.

    Parameters
    ----------
    name
        Of the partition, for messages.
    group_of
        The group of every class, by its name.
    classes
        Class names in the order of the scores.

    Raises
    ------
    UsageError
        If a class is in no group, or there is no such class.
    """
    strangers = [member for member in group_of if member not in classes]
    missing = [member for member in classes if member not in group_of]
    for faults, what in [(strangers, "is not a class of these predictions"), (missing, "is in no group")]:
        if faults:
            known = ", ".join(classes[:8]) + (", ..." if len(classes) > 8 else "")
            raise UsageError(f"--class-groups {name}: {faults[0]!r} {what}; expected each of {known} once")
    members: dict[str, list[int]] = {}
    for number, member in enumerate(classes):
        members.setdefault(group_of[member], []).append(number)
    return list(members.values())


def members_by_name(
    groups: Mapping[str, Mapping[str, str]], classes: Sequence[str]
) -> dict[str, list[list[int]]]:
    """Return the class numbers of each group of several partitions; see `group_members`."""
    return {name: group_members(name, group_of, classes) for name, group_of in groups.items()}
