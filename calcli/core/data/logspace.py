"""Probabilities in log space: the softmax that neither overflows nor loses small probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import overload

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, batches

SUM_ROUNDING = 8  # machine epsilons by which the probabilities of a row may miss 1 by rounding alone
BLOCK_BYTES = 1 << 18  # a block and its temporaries stay in the second-level cache
LEAST = -1e30  # log-probabilities from here down are those of 0: squares of smaller ones overflow
LARGEST = 1e30  # of logits: differences of larger ones overflow
FEW = 8  # below so many columns they are faster added up one by one
NARROW = 32  # below so many columns a reduction along rows is slow in numpy


def row_blocks(scores: Floats, size: int = BLOCK_BYTES) -> Iterator[slice]:
    """Return slices that cut the rows of `scores`, (N, K), into blocks of about `size` bytes."""
    rows, columns = scores.shape
    return batches(rows, columns * scores.itemsize, size)


def as_floats(scores: Array) -> Floats:
    """Return `scores` unchanged if float32 or float64, half floats as float32, all else as float64."""
    if scores.dtype in (np.float32, np.float64):
        return scores
    return scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)


def row_max(scores: Floats) -> Floats:
    """Return the largest entry of each row, (N, 1)."""
    narrow = scores.shape[1] < NARROW
    top: Floats = np.ascontiguousarray(scores.T).max(axis=0) if narrow else scores.max(axis=1)
    return top[:, None]


def row_sums(table: Floats) -> Floats:
    """Return the sum of each row, (N, 1), in the precision of the table.

    A product with ones rounds a row by its place among the others, so that equal rows would not stay equal.
    """
    if table.shape[1] >= FEW:
        return np.einsum("ij->i", table)[:, None]
    total = table[:, :1].copy()
    for k in range(1, table.shape[1]):
        total += table[:, k : k + 1]
    return total


def class_sums(table: Floats) -> Floats:
    """Return the sums of (K, n) over the classes, (n,); each of the n rows is rounded alike, as there."""
    whole = np.ascontiguousarray(table)
    # numpy would add the classes of one row alone in pairs
    return np.cumsum(whole, axis=0)[-1] if whole.shape[1] == 1 else whole.sum(axis=0)


def log_sum_exp(scores: Floats) -> Floats:
    """Return log(sum_k exp(scores_ik)) of each row, (N, 1), in the precision of `scores`.

    Entries of -inf count as nothing; each row must have at least one finite entry.
    """
    top = row_max(scores)
    exponentials = np.subtract(scores, top)
    np.exp(exponentials, out=exponentials)
    return top + np.log(row_sums(exponentials))


@overload
def log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]: ...
@overload
def log_softmax(scores: Array) -> Floats: ...
def log_softmax(scores: Array) -> Floats:
    """Return the log-probabilities of logits; of log-probabilities, the same up to rounding.

    Parameters
    ----------
    scores : array (N, K)
        Logits or log-probabilities; -inf is a probability of exactly 0 and stays so.
        What is 1e30 behind becomes one, as where a class is masked by the lowest number there is.

    Returns
    -------
    array (N, K)
        ``scores - log(sum(exp(scores)))`` row by row; float32 for float16 and float32 input, else float64.
    """
    return _less_log_sum(scores, 0)


def kept_log_probs(scores: Array) -> Floats:
    """Return `log_softmax`, but leave rows as they are that sum to one already, up to rounding.

    Dividing by such a sum would change equal probabilities of different rows by different rounding errors,
    and what pools or bins equal scores would find them unequal.

    Parameters
    ----------
    scores : array (N, K)
        Logits or log-probabilities.

    Returns
    -------
    array (N, K)
    """
    return _less_log_sum(scores, SUM_ROUNDING)


def _less_log_sum(scores: Array, epsilons: int) -> Floats:
    values = as_floats(scores)
    kept = epsilons * np.finfo(values.dtype).eps
    result = np.empty(values.shape, values.dtype)
    for rows in row_blocks(values):
        log_sum = log_sum_exp(values[rows])
        log_sum[np.abs(log_sum) <= kept] = 0
        found = np.subtract(values[rows], log_sum, out=result[rows])
        if found.min() <= LEAST:
            found[found <= LEAST] = -np.inf
    return result


WIDEST = 14.0  # log-odds: scores beyond, about one in a million, count as there


def log_odds(score: Doubles) -> Doubles:
    """Return log-odds, those beyond one in a million as there."""
    least = 1 / (1 + np.exp(WIDEST))
    inner = np.clip(score, least, 1 - least)
    return np.log(inner / (1 - inner))


def from_log_odds(value: Doubles) -> Doubles:
    """Return the probabilities of log-odds."""
    return 1 / (1 + np.exp(-value))
