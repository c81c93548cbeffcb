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


def grouped_folds(
    labels: NDArray[np.integer[Any]], groups: NDArray[Any], folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Deal whole groups of rows at random into folds, evenly by the most frequent class of each group.

    Parameters
    ----------
    labels : array of int (N,)
        The class of each row.
    groups : array (N,)
        The group of each row: any values that can be told apart.
    folds : int
        Number of folds, 2 or more.
    generator : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int (N,)
        The fold of each row, 0 to folds - 1; fewer are filled if there are fewer groups.
    """
    group = np.unique(groups, return_inverse=True)[1]
    classes = int(labels.max()) + 1
    pairs, counts = np.unique(group * classes + labels, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    usual = np.empty(int(group.max()) + 1, np.intp)
    usual[pairs // classes] = pairs % classes  # the most frequent class comes last and stays
    return stratified_folds(usual, folds, generator)[group]
