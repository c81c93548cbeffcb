"""Labels drawn from predicted probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Floats
from calcli.core.data.batches import batches

SEARCHED = 1 << 16  # cumulative probabilities at a time, which stay in the cache


def draw_labels(probs: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw labels of every row from its probabilities.

    Parameters
    ----------
    probs
        (N, K) probabilities; each row sums to one.
    draws
        Labels wanted for each row.
    rng
        Source of chance.

    Returns
    -------
    (N, draws) integers in 0..K-1; a class of probability 0 is never drawn.
    """
    n, k = probs.shape
    labels = np.empty((n, draws), np.intp)
    for batch in batches(n, k, SEARCHED):
        # row i of the block owns the interval [i, i + 1), so that one search serves all rows
        cumulative = np.cumsum(probs[batch], axis=1, dtype=np.float64)
        cumulative /= cumulative[:, -1:]
        rows = np.arange(len(cumulative))[:, None]
        cumulative += rows
        # 32 random bits after the row's number: the sum is exact and stays below the next row
        places = rows + rng.integers(0, 2**32, (len(cumulative), draws)) * 2.0**-32
        found = np.searchsorted(cumulative.ravel(), places.ravel(), side="right")
        labels[batch] = found.reshape(places.shape) - rows * k
    return labels
