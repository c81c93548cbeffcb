"""Partitions of a one-dimensional score, with one rule for edges throughout.

Equal-width edges are the doubles nearest to i/M; bin m holds [i/M, (i+1)/M), the last one also 1.0.
Equal-mass cuts fall between distinct values. Every row is in exactly one bin, equal scores always in
the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Positions, batches

T = TypeVar("T", bound=np.generic)
TOGETHER = 1 << 16  # scores that are binned at once; their temporaries stay in the cache
MASS_ROUNDING = 1e-12  # relative noise of a sum of weights
COMMON = 1e-6  # tolerance, in units: how near weights are to multiples of a common unit
FINEST = 1e-4  # share of the largest weight: the smallest unit searched for
TRIED = 1_000  # weights in which a unit is searched for, before all are compared with it


def equal_width_edges(bins: int) -> Doubles:
    """Return the (bins + 1,) edges i / bins of the unit interval."""
    return np.arange(bins + 1) / bins


def bin_index(values: Floats, edges: Doubles) -> Positions:
    """Return the (n,) bin of each value: the number of inner edges at or below it.

    Values below the first or above the last edge go to the first or last bin.
    """
    return np.searchsorted(edges[1:-1], values, side="right")


def equal_width_index(values: Floats, bins: int) -> Positions:
    """Return `bin_index(values, equal_width_edges(bins))` for values in [0, 1], by arithmetic."""
    guess = (values.astype(np.float64, copy=False) * bins).astype(np.intp)
    np.minimum(guess, bins - 1, out=guess)
    if values.dtype == np.float64 or bins >= 2**29:
        # a product that was rounded may be one bin off; a float32 times a small integer is exact
        edges = equal_width_edges(bins)
        guess -= values < edges[guess]
        guess += (values >= edges[guess + 1]) & (guess < bins - 1)
    return guess


def equal_width_cuts(ordered: Floats, bins: int) -> Positions:
    """Return the (bins + 1,) positions that part ascending values into equal-width bins."""
    return edge_cuts(ordered, equal_width_edges(bins))


def edge_cuts(ordered: Floats, edges: Doubles) -> Positions:
    """Return the positions that split ascending values at explicit edges, each bin closed on the left."""
    inner = edges[1:-1].astype(ordered.dtype)
    # in single precision the least value at or above the edge divides the same rows, without a copy of them
    inner = np.where(inner < edges[1:-1], np.nextafter(inner, np.inf, dtype=inner.dtype), inner)
    return np.concatenate([[0], np.searchsorted(ordered, inner), [len(ordered)]]).astype(np.intp)


def equal_mass_cuts(ordered: Floats, bins: int, weights: Floats | None = None) -> Positions:
    """Return the positions that split ascending values into bins of about equal counts or weights.

    The sizes follow `numpy.array_split`, also for weights that are multiples of one number, which count equal
    rows; a cut inside a run of equal values moves to the end of the run, and cuts that meet become one: there
    may be fewer bins than asked for.

    Returns
    -------
    (m + 1,) positions, m <= bins, from 0 to n.
    """
    n = len(ordered)
    unit = None if weights is None else common_unit(weights)
    if weights is not None and unit is not None:
        weights = np.rint(weights / unit)
    mass = None if weights is None else np.cumsum(weights, dtype=np.float64)
    total = n if mass is None else mass[-1]
    extra = total % bins if weights is None or unit is not None else 0
    number = np.arange(1, bins + 1)
    targets = number * ((total - extra) / bins) + np.minimum(number, extra)
    if mass is None:
        last = np.ceil(targets).astype(np.intp) - 1
    else:
        last = np.searchsorted(mass, targets * (1 - MASS_ROUNDING))
    last = np.minimum(last, n - 1)
    cuts = np.concatenate([[0], np.searchsorted(ordered, ordered[last], side="right")])
    return cuts[is_run_end(cuts)]


def common_unit(weights: Floats) -> float | None:
    """Return the largest common unit of all weights, up to rounding; None if none exists."""
    positive = weights[weights > 0].astype(np.float64)
    if not len(positive):
        return None
    largest = float(positive.max())
    with np.errstate(over="ignore"):
        single = np.array_equal(positive, positive.astype(np.float32))
    divisor = None
    if largest < 2**53 and not np.mod(positive, 1).any():
        divisor = float(np.gcd.reduce(positive.astype(np.int64)))
        if not single or largest <= 2**24:  # above, single precision makes whole numbers of any
            return divisor
    rounding, finest = 2 * float(np.finfo(np.float32).eps) * single, FINEST * largest
    unit = _unit_of(positive[:TRIED], finest, rounding)
    if unit is not None and len(positive) > TRIED and not _near_whole(positive / unit, rounding).all():
        unit = _unit_of(positive, finest, rounding)
    return unit or divisor


def _unit_of(weights: Doubles, finest: float, rounding: float) -> float | None:
    """Return the largest fraction of the smallest weight that is a common unit; None if it is too small."""
    values = distinct(weights)
    least = float(values[0])
    divisors = np.arange(1, int(least / finest) + 1)
    for value in values[1:].tolist():
        if not len(divisors):
            return None
        divisors = divisors[_near_whole(value / least * divisors, rounding)]
    return least / float(divisors[0]) if len(divisors) else None


def _near_whole(multiples: Doubles, rounding: float) -> Bools:
    return np.abs(multiples - np.rint(multiples)) <= np.maximum(COMMON, rounding * multiples)


def recursive_cuts(
    ordered: Floats,
    min_rows: int,
    weights: Floats | None = None,
    counts: NDArray[np.int64] | None = None,
) -> Positions:
    """Return the positions that split ascending values at their mean, repeatedly while bins are large.

    A bin of at least `min_rows` values, not all equal, is split: the values below the mean go to one side
    (Vaicenavicius et al. 2019, appendix B). `counts` tells how many rows have each value, if not one.
    """
    before = None if counts is None else np.append(0, np.cumsum(counts))
    cuts, waiting = [0], [(0, len(ordered))]
    while waiting:
        start, stop = waiting.pop()
        inside = slice(start, stop)
        rows = stop - start if before is None else before[stop] - before[start]
        if rows >= min_rows and ordered[start] < ordered[stop - 1]:
            mean = _mean(ordered[inside], None if weights is None else weights[inside])
            middle = start + int(np.count_nonzero(ordered[inside] < mean))
            if start < middle < stop:  # a mean of nearly equal values may be rounded beyond them
                waiting += [(middle, stop), (start, middle)]  # low first
                continue
        cuts.append(stop)
    return np.array(cuts, np.intp)


def _mean(values: Floats, weights: Floats | None) -> np.float64:
    if weights is None:
        return values.mean(dtype=np.float64)
    return np.float64(weights @ values / (weights.sum() or 1))


def distinct(positions: NDArray[T]) -> NDArray[T]:
    """Return the distinct positions in order, without `numpy.unique`, which loads numpy's masked arrays."""
    ordered = np.sort(positions)
    return ordered[is_run_end(ordered)]


def is_run_end(ordered: NDArray[Any]) -> Bools:
    """Return whether each ascending value is the last of a run of equal values."""
    return np.append(ordered[1:] != ordered[:-1], True)


@dataclass(frozen=True)
class Bins:
    """Sums over bins; a leading axis may run over classes or resamples.

    Attributes
    ----------
    count
        (..., m) rows in each bin.
    weight
        (..., m) sum of the row weights; equal to `count` without weights.
    score
        (..., m) weighted sum of the scores.
    outcome
        (..., m) weighted sum of the outcomes.
    """

    count: NDArray[np.int64]
    weight: Doubles
    score: Doubles
    outcome: Doubles


def equal_width_bins(score: Floats, outcome: Array, weights: Floats | None, bins: int) -> Bins:
    """Return sums over equal-width bins of scores in any order; rows of weight 0 do not count.

    Parameters
    ----------
    score, outcome, weights
        (n,) scores in [0, 1], 0 or 1, and weights, if any.
    bins
        How many.
    """
    table = np.zeros((4, bins))
    for rows in batches(len(score), 1, TOGETHER):
        part, hits, weight = score[rows], outcome[rows], None
        if weights is not None:
            carrying = weights[rows] > 0
            weight = weights[rows][carrying]
            part, hits = part[carrying], hits[carrying]
        cells = equal_width_index(part, bins)
        weighted = (part, hits) if weight is None else (part * weight, hits * weight)
        table += [np.bincount(cells, values, bins) for values in (None, weight, *weighted)]
    count, *sums = table
    return Bins(count.astype(np.int64), *sums)
