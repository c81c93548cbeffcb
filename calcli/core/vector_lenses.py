"""Lenses that leave more than one number a row (Vaicenavicius et al. 2019, section 2).

Such a lens maps predictions to an induced problem of d outcomes: all classes, the k largest probabilities and
the rest, or groups of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.blocks import Block
from calcli.core.predictions import Array, Floats, Predictions
from calcli.core.ranks import largest


@dataclass(frozen=True)
class VectorLens:
    """How a block becomes probability vectors and labels.

    Attributes
    ----------
    outcomes
        Number of outcomes, d.
    probs
        Gives the (n, d) probabilities of a block, each row summing to one.
    labels
        Gives the (n,) labels of a block, in 0..d-1.
    """

    outcomes: int
    probs: Callable[[Block], Floats]
    labels: Callable[[Block], Array]


@dataclass(frozen=True)
class VectorProblem:
    """An induced problem of d outcomes, its rows in the order of the data.

    Attributes
    ----------
    probs
        (N, d) probabilities.
    labels
        (N,) integers in 0..d-1.
    weights
        (N,) row weights, or None.
    """

    probs: Floats
    labels: NDArray[np.intp]
    weights: Floats | None = None


def canonical_lens(n_classes: int) -> VectorLens:
    """Return the lens that changes nothing: the probabilities of all classes."""
    return VectorLens(n_classes, lambda block: _row_major(block, block.exp), lambda block: block.labels)


def largest_lens(k: int) -> VectorLens:
    """Return the lens of the k most probable classes, in descending order, and of all others together.

    Outcome 0 is the most probable class of the row, outcome k any class that is not among the k
    (Vaicenavicius et al. 2019, example 2.iii). There must be more than k classes.
    """

    def probs(block: Block) -> Floats:
        top = largest(block, k)
        rest = np.maximum(1 - top.sum(0), 0)
        return np.vstack([top, rest]).T

    def labels(block: Block) -> Array:
        return np.sum([~block.label_within(r) for r in range(1, k + 1)], axis=0)

    return VectorLens(k + 1, probs, labels)


def group_lens(groups: Sequence[Sequence[int]]) -> VectorLens:
    """Return the lens of groups of classes: an outcome is that the label is in the group.

    Parameters
    ----------
    groups
        Classes of each group, by number; every class is in exactly one.
    """
    members = np.concatenate([np.asarray(group, np.intp) for group in groups])
    group_of = np.empty(len(members), np.intp)
    group_of[members] = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    indicator = np.eye(len(groups), dtype=np.float32)[group_of]

    def probs(block: Block) -> Floats:
        belongs = indicator.astype(block.exp.dtype, copy=False)
        return _row_major(block, belongs.T @ block.exp if block.class_axis == 0 else block.exp @ belongs)

    return VectorLens(len(groups), probs, lambda block: group_of[block.labels])


def _row_major(block: Block, table: Floats) -> Floats:
    """Return a table shaped like the block's as (n, d) probabilities."""
    probs = table / block.per_row(block.total)
    return probs.T if block.class_axis == 0 else probs


class VectorTable:
    """The induced problem of a vector lens, gathered in one pass; holds N x d probabilities.

    Parameters
    ----------
    predictions
        What the pass reads.
    lens
        What is kept of each row.
    dtype
        What the pass computes in.
    """

    def __init__(self, predictions: Predictions, lens: VectorLens, dtype: np.dtype[Any]) -> None:
        self._lens = lens
        labels = np.empty(predictions.n_rows, np.intp)
        probs = np.empty((predictions.n_rows, lens.outcomes), dtype)
        self.problem = VectorProblem(probs, labels, predictions.weights)

    def add(self, block: Block) -> None:
        """Take one block."""
        self.problem.probs[block.rows] = self._lens.probs(block)
        self.problem.labels[block.rows] = self._lens.labels(block)
