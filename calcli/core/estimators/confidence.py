"""Over- and under-confidence: how many rows lie where the classifier promises too much, or too little."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.binning import Bins
from calcli.core.estimators.calibrationerror import OfBins
from calcli.core.problems.problem import Problem

LEVEL = 0.95  # of the interval that makes a bin's gap significant
ROUNDING = 1e-12  # a smaller gap counts as none


@dataclass(frozen=True)
class ConfidenceShare(OfBins):
    """Share of the weight in bins with less ("over") or more ("under") accuracy than confidence.

    Panchenko et al. 2022, definition 1. A significant gap is one whose confidence lies outside the Wilson
    interval of the accuracy.
    """

    side: Literal["over", "under"] = field(kw_only=True)
    significant: bool = field(default=False, kw_only=True)

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the share by sums over this estimator's bins of the problem, with other outcomes perhaps."""
        weight = np.where(bins.weight > 0, bins.weight, 1)
        accuracy, confidence = bins.outcome / weight, bins.score / weight
        low = high = accuracy
        if self.significant:
            low, high = wilson_interval(accuracy, np.maximum(bins.count, 1), LEVEL)
        gap = confidence - high if self.side == "over" else low - confidence
        return (bins.weight * (gap > ROUNDING)).sum(-1) / bins.weight.sum(-1)


def wilson_interval(
    frequency: NDArray[np.float64], rows: NDArray[np.int64 | np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the score interval of a probability (Wilson 1927).

    Parameters
    ----------
    frequency
        (m,) observed frequencies, in [0, 1].
    rows
        (m,) numbers of rows behind them, or of rows of equal weight that tell as much, at least 1.
    level
        Coverage, in (0, 1).
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    center = frequency + z**2 / (2 * rows)
    half = z * np.sqrt(frequency * (1 - frequency) / rows + (z / (2 * rows)) ** 2)
    scale = 1 + z**2 / rows
    return np.maximum(center - half, 0) / scale, np.minimum((center + half) / scale, 1)
