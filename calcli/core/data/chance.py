"""Streams of chance: each thing that is drawn has a generator of its own, and draws many at once."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Floats, batches


class Stream(IntEnum):
    """Uses of chance. Those that share a number never meet in one estimate: they need not be independent."""

    FITS = 0  # cross-validation inside a fit
    SUBSETS = 0  # of the rows that are fitted to
    SIMULATION = 0  # data from nothing
    PAIRS = 0  # of rows, for a kernel error that looks at few of them
    OUTCOMES = 2  # of calibrated predictions, for errors; the same in tables and figures
    SWAPS = 3  # of predictions between systems
    BANDS = 3  # around figures
    CLASS_OUTCOMES = 4  # as `OUTCOMES`, of all classes
    CURVES = 4  # resampled for figures
    FOLDS = 4  # of the rows that are recalibrated
    POWER = 5  # of more rows, to see what they would prove
    SPREAD = 5  # standard deviations of any metric
    RESAMPLED_PREDICTIONS = 6  # for errors if calibrated
    GIVEN_OUTCOMES = 7  # of given posteriors, for errors if these are true


def generator(seed: int, stream: Stream, *more: int) -> np.random.Generator:
    """Return the generator of a stream, or of a numbered part of it."""
    return np.random.default_rng([seed, int(stream), *more])


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
