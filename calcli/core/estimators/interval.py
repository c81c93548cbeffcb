"""Intervals, and how many observations they rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.estimators.quantiles import share_least, share_most


def level_percent(level: float) -> str:
    """Return the level of an interval as a percentage, with no digit rounded away."""
    return f"{100 * level:.10g}%"


@dataclass(frozen=True)
class Interval:
    """An interval that holds the truth with a known probability.

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
        """Return the percentile interval of (B,) resampled values, of which those that are nan do not count.

        Its ends are order statistics, so that infinite draws stay infinite. None if no draw counts.
        """
        draws = draws[~np.isnan(draws)]
        if not len(draws):
            return None
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        return cls(float(low), float(high), level)

    @classmethod
    def of_share(cls, hits: float, rows: float, level: float) -> Interval:
        """Return the exact interval of a share of independent rows (Clopper & Pearson 1934).

        Of numbers that are not whole, as of rows that count in part, it is that of beta quantiles in between.
        """
        tail = (1 - level) / 2
        return cls(share_least(hits, rows, tail), share_most(hits, rows, tail), level)

    def contains(self, value: float) -> bool:
        """Return whether a value lies within it, or at an end but for rounding."""
        slack = 1e-12 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
        return self.low - slack <= value <= self.high + slack
