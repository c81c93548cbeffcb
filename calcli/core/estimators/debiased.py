"""The squared L2 calibration error without the part that sampling noise adds to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.binning import Bins
from calcli.core.problems.problem import Problem, segment_sums


def concentration(problem: Problem, cuts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return (m,) sums of squared shares of the rows in their bin: 1 / n for n equal weights, 1 for one row.

    A bin's mean outcome of variance v a row has this times v as its own; empty bins get 1.
    """
    weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
    squares, sums = segment_sums(problem.squared_weights, cuts), segment_sums(weights, cuts)
    return np.divide(squares, np.square(sums), out=np.ones(len(sums)), where=sums > 0)


def debiased_square(bins: Bins, shares: NDArray[np.float64]) -> Any:
    """Return the debiased squared L2 calibration error (Kumar et al. 2019).

    From the squared gap of each bin an unbiased estimate of the variance of its mean outcome is taken off:
    accuracy (1 - accuracy) / (n - 1). What is left averages zero on calibrated predictions, and may be
    negative. Bins in which one row has all the weight say nothing and count as zero.

    Parameters
    ----------
    bins
        Sums with axes (..., m).
    shares
        (m,) concentration of each bin.

    Returns
    -------
    (...) values of at most 1.
    """
    known = (bins.weight > 0) & (shares < 1)
    weight = bins.weight[..., known]
    score, outcome = bins.score[..., known] / weight, bins.outcome[..., known] / weight
    noise = outcome * (1 - outcome) * shares[known] / (1 - shares[known])
    return (np.square(outcome - score) - noise) @ (weight / bins.weight.sum())


def debiased_l2(bins: Bins, shares: NDArray[np.float64]) -> Any:
    """Return the root of the debiased squared error, zero where that is negative."""
    return np.sqrt(np.maximum(debiased_square(bins, shares), 0))
