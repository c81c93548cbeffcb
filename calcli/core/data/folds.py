"""Cross-validation folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.predictions import Predictions
from calcli.core.data.required import require_folds
from calcli.core.data.units import Units
from calcli.core.language.errors import InputError


def stratified_folds(
    labels: NDArray[np.integer[Any]],
    folds: int,
    generator: np.random.Generator,
    units: Units | None = None,
) -> NDArray[np.intp]:
    """Deal the rows at random into folds that hold each class as evenly as it goes.

    The rows of a class are dealt round in turn, each class going on where the one before it stopped, so that
    the folds differ by one row at most, in each class and in all. Units of several rows are dealt whole, by
    the most frequent class of each; where they are fewer than the folds, some of these stay empty.

    Parameters
    ----------
    labels : array of int (N,)
        The class of each row.
    folds : int
        Number of folds, 2 or more.
    generator : numpy.random.Generator
        Source of randomness.
    units : Units, optional
        Rows that stay together; each may be by itself if None.

    Returns
    -------
    array of int (N,)
        The fold of each row, 0 to folds - 1.
    """
    if units is not None and not units.single:
        return stratified_folds(_usual_labels(labels, units), folds, generator)[units.of_row]
    shuffled = generator.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(len(labels), np.intp)
    fold[by_class] = np.arange(len(labels)) % folds
    return fold


def numbers_of(fold: NDArray[np.integer[Any]]) -> list[int]:
    """Return the numbers that occur, ascending; `numpy.unique` would load numpy's masked arrays first."""
    return [int(number) for number in np.flatnonzero(np.bincount(fold))]


def column_folds(predictions: Predictions, column: str) -> NDArray[np.intp]:
    """Return the fold of each row, 0 or more: rows that share a value of a column are in one.

    Raises
    ------
    InputError
        If there is no such column, it has one value, or a row has none.
    """
    require_folds(predictions, column)
    known, fold = np.unique(predictions.column(column), return_inverse=True)
    if len(known) < 2:
        raise InputError(f"{predictions.provenance.path}: column {column!r} has one value; expected folds")
    return fold


def _usual_labels(labels: NDArray[np.integer[Any]], units: Units) -> NDArray[np.intp]:
    """Return the most frequent class of each unit."""
    classes = int(labels.max()) + 1
    pairs, counts = np.unique(units.of_row * classes + labels, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    usual = np.empty(units.number, np.intp)
    usual[pairs // classes] = pairs % classes  # the most frequent class comes last and stays
    return usual
