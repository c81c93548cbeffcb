"""Calibration errors of one-dimensional problems over bins: ECE and kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.binning import Bins
from calcli.core.problems.problem import Binning, Problem, segment_sums

Norm = Literal["1", "2", "max"]


def binned_error(bins: Bins, norm: Norm) -> Any:
    """Aggregate the gaps between mean outcome and mean score over the last axis.

    The error is sum_b w_b |gap_b| for norm 1, the root of sum_b w_b gap_b^2 for norm 2, and the largest
    |gap_b| for norm max; w_b is the bin's share of the weight. Empty bins weigh nothing
    (Naeini et al. 2015; Kumar et al. 2019; Vaicenavicius et al. 2019, eq. 6).

    Returns
    -------
    (...) errors in [0, 1].
    """
    gap = np.abs(bins.outcome - bins.score)
    total = bins.weight.sum(-1)
    if norm == "1":
        return gap.sum(-1) / total
    mean_gap = np.divide(gap, bins.weight, out=np.zeros(gap.shape), where=bins.weight > 0)
    if norm == "max":
        return mean_gap.max(-1)
    return np.sqrt((gap * mean_gap).sum(-1) / total)


def class_wise_error(errors: NDArray[np.float64], norm: str) -> Any:
    """Aggregate the errors of all classes: their mean, root mean square or maximum.

    Parameters
    ----------
    errors
        (..., K) errors, one a class.
    norm
        "1": their mean; "2": the root of their mean square (van de Waterlaat 2021, CW-ECE); "max": the
        largest; "sum": their sum.

    Returns
    -------
    (...) errors in [0, 1].
    """
    if norm == "2":
        return np.sqrt(np.mean(errors**2, -1))
    if norm == "sum":
        return errors.sum(-1)
    return errors.mean(-1) if norm == "1" else errors.max(-1)


@dataclass(frozen=True)
class BinnedError:
    """The estimator lens x binning x norm; ECE with its default arguments."""

    binning: Binning = "equal-width"
    bins: int = 15
    norm: Norm = "1"
    debiased: bool = False
    weights: Literal["equal", "inverse-frequency"] = "equal"

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1]."""
        return float(self.of(problem, problem.bins(self.binning, self.bins)))

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error of sums over this estimator's bins of the problem, with other outcomes perhaps."""
        if self.debiased:
            return debiased_l2(bins, concentration(problem, problem.cuts(self.binning, self.bins)))
        return self.of_sums(bins)

    def of_sums(self, bins: Bins) -> Any:
        """Return the error, not debiased, divided by the frequency of the outcome if the weights say so.

        An outcome that never happens has 0.
        """
        error = binned_error(bins, self.norm)
        if self.weights == "equal":
            return error
        frequency = bins.outcome.sum(-1) / bins.weight.sum(-1)
        return np.divide(error, frequency, out=np.zeros_like(error), where=frequency > 0)

    def debiased_square(self, problem: Problem) -> float:
        """Return the debiased square, which may be negative where the value is zero."""
        shares = concentration(problem, problem.cuts(self.binning, self.bins))
        return float(debiased_square(problem.bins(self.binning, self.bins), shares))


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
