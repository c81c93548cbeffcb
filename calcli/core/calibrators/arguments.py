"""Checks of arrays that are handed to a calibrator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.language.errors import InputError

SUM_TOLERANCE = 1e-4  # so near to 1 are the sums of probabilities, even in single precision


def checked_scores(scores: ArrayLike) -> Array:
    """Return (N, K) scores as an array.

    Raises
    ------
    InputError
        If they are not numbers, a row each, with two classes or more; one is nan or inf; all of a row are
        -inf; or they are probabilities throughout, which would pass for logits without a word.
    """
    table: Array = np.asarray(scores)
    if table.ndim == 1:
        raise InputError(
            f"the scores are of shape {table.shape}; expected a column per class, for two classes 0 and the "
            "log-odds, or log(1 - p) and log(p)"
        )
    if table.ndim != 2 or table.dtype.kind not in "iufb" or table.shape[0] < 1 or table.shape[1] < 2:
        raise InputError(
            f"the scores are of shape {table.shape} and type {table.dtype}; expected numbers, a row "
            "per case and a column per class"
        )
    if not table.max() < np.inf:  # nan is not below either
        row, k = np.argwhere(~(table < np.inf))[0]
        raise InputError(f"the score of class {k} in row {row} is {table[row, k]}; expected a number or -inf")
    if table.min() == -np.inf and (nothing := np.isneginf(table).all(axis=1)).any():
        raise InputError(f"all scores of row {nothing.argmax()} are -inf; expected at least one finite score")
    if are_probabilities(table):
        raise InputError(
            "the scores are probabilities, from 0 to 1 and with rows that sum to 1; expected logits or "
            "log-probabilities, such as numpy.log of them"
        )
    return table


def are_probabilities(scores: Array) -> bool:
    """Return whether all scores, (N, K), are from 0 to 1, not only 0 and 1, and all rows sum to 1."""
    if scores.min() < 0 or scores.max() > 1 or not ((scores > 0) & (scores < 1)).any():
        return False
    return bool(np.abs(scores.sum(axis=1, dtype=np.float64) - 1).max() < SUM_TOLERANCE)


def checked_labels(labels: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.integer[Any]]:
    """Return (N,) labels of scores of that shape as an array.

    Raises
    ------
    InputError
        If they are not integers from 0 to K - 1, one a row.
    """
    rows, classes = shape
    values: Array = np.asarray(labels)
    if values.shape != (rows,) or values.dtype.kind not in "iub":
        raise InputError(
            f"the labels are of shape {values.shape} and type {values.dtype}; expected {rows} integers, the "
            "column of the true class in each row"
        )
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    if values.min() < 0 or values.max() >= classes:
        row = int(((values < 0) | (values >= classes)).argmax())
        raise InputError(f"the label of row {row} is {values[row]}; expected 0 to {classes - 1}")
    return values


def checked_weights(weights: ArrayLike | None, rows: int) -> Floats | None:
    """Return (N,) weights as an array; None stays None.

    Raises
    ------
    InputError
        If they are not finite numbers of at least 0, one a row, or all are 0.
    """
    if weights is None:
        return None
    values: Floats = np.asarray(weights, np.float64)
    if values.shape != (rows,):
        raise InputError(f"the weights are of shape {values.shape}; expected {rows} numbers, one per row")
    if not (np.isfinite(values).all() and values.min() >= 0 and values.any()):
        raise InputError("the weights must be finite numbers of at least 0, and not all 0")
    return values
