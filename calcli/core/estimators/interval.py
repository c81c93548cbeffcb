"""Intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval.

    Attributes
    ----------
    low, high
        Its ends.
    level
        Its nominal coverage, such as 0.95.
    """

    low: float
    high: float
    level: float

    @classmethod
    def of_draws(cls, draws: NDArray[np.float64], level: float) -> Interval | None:
        """Return the interval of (B,) resampled values, of which those that are nan do not count.

        Its ends are order statistics, so that infinite draws stay infinite. None if no draw counts.
        """
        draws = draws[~np.isnan(draws)]
        if not len(draws):
            return None
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        return cls(float(low), float(high), level)

    def contains(self, value: float) -> bool:
        """Return whether a value lies within it, or at an end but for rounding."""
        slack = 1e-12 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
        return self.low - slack <= value <= self.high + slack
