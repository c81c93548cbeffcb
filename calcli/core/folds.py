"""Cross-validation folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def stratified_folds(
    labels: NDArray[np.integer[Any]], folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Deal the rows at random into folds that hold each class as evenly as it goes.

    The rows of a class are dealt round in turn, each class going on where the one before it stopped, so that
    the folds differ by one row at most, in each class and in all.

    Parameters
    ----------
    labels : array of int (N,)
        The class of each row.
    folds : int
        Number of folds, 2 or more.
    generator : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int (N,)
        The fold of each row, 0 to folds - 1.
    """
    shuffled = generator.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(len(labels), np.intp)
    fold[by_class] = np.arange(len(labels)) % folds
    return fold
