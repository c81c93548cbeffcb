"""Random streams: what draws from a seed, each from a stream of its own."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


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
    RECALIBRATED_RESAMPLES = 5  # of rows with their recalibrated posteriors
    SPREAD = 5  # standard deviations of any metric
    RESAMPLED_PREDICTIONS = 6  # for errors if calibrated
    GIVEN_OUTCOMES = 7  # of given posteriors, for errors if these are true


def generator(seed: int, stream: Stream, *more: int) -> np.random.Generator:
    """Return the generator of a stream, or of a numbered part of it."""
    return np.random.default_rng([seed, int(stream), *more])
