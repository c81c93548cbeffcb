"""Problems of several outcomes at once, and the lenses that make them of predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.blocks import Block
from calcli.core.language.errors import UsageError


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
    """

    probs: Floats
    labels: Array
    weights: Floats | None = None

    def within(self, low: float, high: float) -> VectorProblem:
        """Return the rows whose largest probability lies in [low, high], in [low, high) below 1."""
        # as doubles: the ends must not be rounded to the precision of the probabilities
        confidence = self.probs.max(1).astype(np.float64, copy=False)
        return self._chosen((confidence >= low) & ((confidence < high) | (high >= 1)))

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
        return VectorProblem(self.probs[rows], self.labels[rows], weights)


@dataclass(frozen=True)
class VectorLens:
    """A lens on several outcomes at once.

    Attributes
    ----------
    size
        Number of outcomes, d.
    table
        Function of a block that returns (d, n) probabilities.
    outcome
        Function of a block that returns (n,) integers in 0..d-1.
    """

    size: int
    table: Callable[[Block], Floats]
    outcome: Callable[[Block], Array]


def canonical_lens(n_classes: int) -> VectorLens:
    """Return the lens that shows all classes as they are."""
    return VectorLens(n_classes, lambda block: block.probs, lambda block: block.labels)


def largest_lens(k: int) -> VectorLens:
    """Return the lens on the k largest probabilities and the rest (Vaicenavicius et al. 2019, ex. 2.iii)."""

    def probs(block: Block) -> Floats:
        largest = block.largest(k)[1].T
        return np.concatenate([largest, np.maximum(1 - largest.sum(0, keepdims=True), 0)])

    def outcome(block: Block) -> Array:
        right = block.largest(k)[0] == block.labels[:, None]
        return np.where(right.any(1), right.argmax(1), k)

    return VectorLens(k + 1, probs, outcome)


def group_lens(groups: Sequence[Sequence[int]]) -> VectorLens:
    """Return the lens on groups of classes, each class number in one of them."""
    group_of = np.empty(sum(map(len, groups)), np.intp)
    for number, members in enumerate(groups):
        group_of[list(members)] = number
    members_of = np.equal.outer(np.arange(len(groups)), group_of)

    def probs(block: Block) -> Floats:
        return members_of.astype(block.exp.dtype) @ block.probs

    return VectorLens(len(groups), probs, lambda block: group_of[block.labels])


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
