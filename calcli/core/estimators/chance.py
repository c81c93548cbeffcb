"""What exceeds chance among many: gaps of bins, and slices differs from all rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.data.binning import Bins
from calcli.core.estimators.consistency import SIGNIFICANT, holm
from calcli.core.estimators.evidence import NORMAL
from calcli.core.estimators.intervals import Interval


def gap_p_values(bins: Bins, heaviest: float = 1.0) -> Doubles:
    """Return bounds of the p-values of the gaps of bins if the scores are calibrated.

    Outcomes of different probabilities are nearer to their mean than as many of the mean probability
    (Hoeffding 1956), whose number has a tail of at most Phi(-sqrt(2 n KL)), where KL is the divergence of the
    mean probability from the frequency with one outcome less apart (Zubkov & Serov 2013); for both sides
    twice that. With weights, n is their sum divided by the heaviest one, and the bound approximate.

    Parameters
    ----------
    bins
        Sums, of any shape.
    heaviest
        The largest weight of a row.

    Returns
    -------
    Of the shape of the bins, in [0, 1]; 1 for empty ones.
    """
    rows = bins.weight / heaviest
    weight = np.where(rows > 0, bins.weight, 1)
    score, frequency = np.clip(bins.score / weight, 0, 1), np.clip(bins.outcome / weight, 0, 1)
    one = heaviest / weight
    nearer = np.where(
        frequency > score, np.maximum(frequency - one, score), np.minimum(frequency + one, score)
    )
    divergence = np.maximum(_terms(nearer, score) + _terms(1 - nearer, 1 - score), 0)
    return np.minimum(2 * _upper_tail(np.sqrt(2 * rows * divergence)), 1)


def _upper_tail(z: Doubles) -> Doubles:
    """Return the chance that a standard normal variable exceeds z."""
    return np.array([math.erfc(one) / 2 for one in (z / math.sqrt(2)).ravel()]).reshape(z.shape)


def _terms(observed: Doubles, expected: Doubles) -> Doubles:
    """Return observed * log(observed / expected), 0 where nothing is observed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(observed > 0, observed * (np.log(observed) - np.log(expected)), 0)


def beyond_chance(bins: Bins, heaviest: float = 1.0) -> NDArray[np.bool_]:
    """Tell which gaps exceed chance, corrected for the number of bins with rows (Holm, at 5%).

    If the scores are calibrated, the chance that a single one of them does is at most 5%.
    """
    filled = bins.weight > 0
    found = np.zeros(filled.shape, np.bool_)
    found[filled] = holm(gap_p_values(bins, heaviest)[filled]) <= SIGNIFICANT
    return found


def slice_p_value(
    value: float, interval: Interval | None, whole: float, whole_interval: Interval | None, share: float
) -> float:
    """Return the p-value of a slice's value if its rows are any rows, by a normal approximation.

    Its standard error is the larger of two: that of its own interval, on the side of the value of all rows,
    and that of as many rows of all. The first alone is too small where a slice happens to lack the few rows
    that make a mean large, the second where it happens to have them.

    Parameters
    ----------
    value, interval
        Of the slice.
    whole, whole_interval
        Of all rows.
    share
        Of the rows that are in the slice, in (0, 1].

    Returns
    -------
    In [0, 1]; nan without finite values and intervals.
    """
    if interval is None or whole_interval is None:
        return math.nan
    if value >= whole:
        own, usual = value - interval.low, whole_interval.high - whole
    else:
        own, usual = interval.high - value, whole - whole_interval.low
    half = max(own, usual / math.sqrt(share))
    if not math.isfinite(half) or not math.isfinite(value - whole):
        return math.nan
    if half <= 0:
        return 1.0
    z = abs(value - whole) / half * NORMAL.inv_cdf((1 + interval.level) / 2)
    return 2 * NORMAL.cdf(-z)
