"""Over- and under-confidence: how many rows lie where the classifier promises too much, or too little."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from calcli.core.rows import Bins


@dataclass(frozen=True)
class ConfidenceShares:
    """Shares of the weight in bins whose accuracy differs from their mean confidence.

    Attributes
    ----------
    over, under
        Share in bins with less, or more, accuracy than confidence.
    surely_over, surely_under
        The same, counting only bins in which the difference is significant.
    """

    over: float
    under: float
    surely_over: float
    surely_under: float


def confidence_shares(bins: Bins, level: float = 0.95) -> ConfidenceShares:
    """Return the shares of rows in over- and under-confident bins (Panchenko et al. 2022, definition 1).

    A bin's gap is significant when its mean confidence lies outside the Wilson interval of its accuracy.

    Parameters
    ----------
    bins
        Sums of one problem, (m,).
    level
        Of the interval, in (0, 1).
    """
    filled = bins.weight > 0
    count, weight = bins.count[filled], bins.weight[filled]
    accuracy, confidence = bins.outcome[filled] / weight, bins.score[filled] / weight
    low, high = wilson_interval(accuracy, count, level)
    share = weight / weight.sum()

    def held(chosen: NDArray[np.bool_]) -> float:
        return float(share[chosen].sum())

    return ConfidenceShares(
        over=held(accuracy < confidence),
        under=held(accuracy > confidence),
        surely_over=held(high < confidence),
        surely_under=held(low > confidence),
    )


def wilson_interval(
    frequency: NDArray[np.float64], rows: NDArray[np.int64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the score interval of a probability (Wilson 1927).

    Parameters
    ----------
    frequency
        (m,) observed frequencies, in [0, 1].
    rows
        (m,) numbers of rows behind them, at least 1.
    level
        Coverage, in (0, 1).
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    center = frequency + z**2 / (2 * rows)
    half = z * np.sqrt(frequency * (1 - frequency) / rows + (z / (2 * rows)) ** 2)
    scale = 1 + z**2 / rows
    return np.maximum(center - half, 0) / scale, np.minimum((center + half) / scale, 1)
