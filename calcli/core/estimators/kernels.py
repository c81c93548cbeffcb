"""The squared kernel calibration error: calibration of whole vectors without bins (Widmann et al. 2019).

A pair of rows counts k(q, q') <e_y - q, e_y' - q'>, where q are their probabilities, e_y indicates their
labels and k is a kernel that is large where the predictions are alike. Its expectation is zero for
calibrated predictions and positive for all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.estimators.consistency import Null, compare

KernelDistance = Literal["tv", "euclidean"]

TILE = 512  # rows on each side of a tile of pairs, which stays in the cache
CHUNK = 1 << 18  # elements of the blocks that are computed together
MEDIAN_ROWS = 1000  # rows whose distances decide the width of the kernel


@dataclass(frozen=True)
class LaplacianKernel:
    """The kernel exp(-distance / width) between probability vectors.

    Attributes
    ----------
    distance
        "tv", half the sum of absolute differences, or "euclidean"; the latter is faster for many classes.
    width
        Above 0.
    """

    distance: KernelDistance
    width: float

    def __call__(self, left: Floats, right: Floats) -> Floats:
        """Return (..., n, m) values for (..., n, K) and (..., m, K) probabilities that sum to one."""
        apart = distances(left, right, self.distance)
        apart *= -1 / self.width
        return np.exp(apart, out=apart)


def distances(left: Floats, right: Floats, distance: KernelDistance) -> Floats:
    """Return (..., n, m) distances between (..., n, K) and (..., m, K) probabilities that sum to one."""
    if distance == "euclidean":
        apart = left @ np.swapaxes(right, -1, -2)
        apart *= -2
        apart += np.vecdot(left, left)[..., :, None]
        apart += np.vecdot(right, right)[..., None, :]
        return np.sqrt(np.maximum(apart, 0, out=apart), out=apart)
    # half of sum |a - b| is 1 - sum min(a, b) where both sum to one: two passes instead of three
    apart = np.ones((*left.shape[:-1], right.shape[-2]), left.dtype)
    smaller = np.empty_like(apart)
    for k in range(left.shape[-1]):
        row = np.ascontiguousarray(right[..., k])[..., None, :]
        apart -= np.minimum(left[..., k, None], row, out=smaller)
    return np.maximum(apart, 0, out=apart)


def median_kernel(probs: Floats, distance: KernelDistance) -> LaplacianKernel:
    """Return the kernel as wide as the median distance between predictions (Widmann et al. 2019).

    At most 1,000 rows, evenly spaced, are compared with each other. Where most of them are equal the mean
    distance takes the place of the median, and 1 where all are.

    Parameters
    ----------
    probs
        (N, K) probabilities.
    distance
        "tv" or "euclidean".
    """
    few = probs[np.linspace(0, len(probs) - 1, min(len(probs), MEDIAN_ROWS)).astype(np.intp)]
    apart = distances(few, few, distance)[np.triu_indices(len(few), 1)].astype(np.float64)
    if not apart.any():
        return LaplacianKernel(distance, 1.0)
    return LaplacianKernel(distance, float(np.median(apart)) or float(apart.mean()))


def skce(probs: Floats, labels: Array, kernel: LaplacianKernel, weights: Floats | None = None) -> float:
    """Return the unbiased estimate from all pairs of rows; its cost grows with N^2, its memory does not.

    Parameters
    ----------
    probs
        (N, K) probabilities, N at least 2.
    labels
        (N,) integers in 0..K-1.
    kernel
        See `median_kernel`.
    weights
        (N,) row weights; a pair weighs their product.

    Returns
    -------
    The error, in [-2, 2]; below zero by chance only.
    """
    residuals = _residuals(probs, labels, weights)
    total = sum(float(tile.sum(dtype=np.float64)) for _, _, tile in _tiles(probs, residuals, kernel))
    return total / float(_pair_weight(np.ones(len(probs)) if weights is None else weights))


def skce_test(
    probs: Floats,
    labels: Array,
    kernel: LaplacianKernel,
    resamples: int,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> tuple[float, Null]:
    """Return `skce` and its distribution under perfect calibration.

    On calibrated predictions the estimate is a degenerate U-statistic. Its distribution is that of the same
    sum with a random sign for each row, on the data as they are (wild bootstrap, Dehling & Mikosch 1994).

    Parameters
    ----------
    probs, labels, kernel, weights
        As for `skce`.
    resamples
        Number of sign patterns.
    rng
        Source of chance.
    """
    residuals = _residuals(probs, labels, weights)
    signs = 2 * rng.integers(0, 2, (len(probs), resamples), dtype=np.int8) - 1  # bytes, until they are needed
    total, draws = 0.0, np.zeros(resamples)
    for rows, columns, tile in _tiles(probs, residuals, kernel):
        total += float(tile.sum(dtype=np.float64))
        left, right = (signs[side].astype(tile.dtype) for side in (rows, columns))
        draws += np.einsum("ib,ib->b", left, tile @ right)
    pairs = float(_pair_weight(np.ones(len(probs)) if weights is None else weights))
    return total / pairs, compare(total / pairs, draws / pairs)


def skce_blocks(
    probs: Floats,
    labels: Array,
    kernel: LaplacianKernel,
    rng: np.random.Generator,
    rows: int = 2,
    weights: Floats | None = None,
) -> tuple[float, Null]:
    """Return the mean of the unbiased estimates of disjoint blocks, and its limit under perfect calibration.

    Rows are shuffled first, so that their order does not matter; what does not fill a block is left out. The
    mean over many blocks is normal, with the standard error of the blocks (Widmann et al. 2019 for two rows,
    the linear estimator; Zaremba et al. 2013 for more). Its cost grows with N times `rows`.

    Parameters
    ----------
    probs, labels, kernel, weights
        As for `skce`; N at least twice `rows`.
    rng
        Source of chance.
    rows
        Rows of a block, at least 2.
    """
    blocks = rng.permutation(len(probs))[: len(probs) // rows * rows].reshape(-1, rows)
    step = max(1, CHUNK // (rows * max(rows, probs.shape[1])))
    sums, pairs = np.empty(len(blocks)), np.empty(len(blocks))
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        inside, own = probs[part], None if weights is None else weights[part]
        residuals = _residuals(inside, labels[part], own)
        pair_terms = kernel(inside, inside)
        pair_terms *= residuals @ np.swapaxes(residuals, -1, -2)
        np.einsum("bii->bi", pair_terms)[:] = 0
        sums[start : start + step] = pair_terms.sum((-2, -1), dtype=np.float64) / 2
        pairs[start : start + step] = _pair_weight(np.ones(rows) if own is None else own)
    value = float(sums.sum() / pairs.sum())
    error = float((sums - value * pairs).std(ddof=1) / (pairs.mean() * math.sqrt(len(blocks))))
    tail = NormalDist().cdf(-value / error) if error > 0 else float(value <= 0)
    return value, Null(0.0, error, tail)


def _residuals(probs: Floats, labels: Array, weights: Floats | None) -> Floats:
    """Return (..., n, K) label indicators minus probabilities, times the weights."""
    residuals = np.negative(probs)
    label = labels[..., None].astype(np.intp)
    np.put_along_axis(residuals, label, np.take_along_axis(residuals, label, -1) + 1, -1)
    if weights is not None:
        residuals *= weights[..., None]
    return residuals


def _pair_weight(weights: Floats) -> Any:
    """Return the summed weight of the pairs of rows, for each block of (..., n) weights."""
    return (np.square(weights.sum(-1)) - np.square(weights).sum(-1)) / 2


def _tiles(
    probs: Floats, residuals: Floats, kernel: LaplacianKernel
) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield the terms of all pairs of rows i < j, tile by tile; the other entries of a tile are 0."""
    starts = range(0, len(probs), TILE)
    for i in starts:
        for j in starts[i // TILE :]:
            rows, columns = slice(i, i + TILE), slice(j, j + TILE)
            tile = kernel(probs[rows], probs[columns])
            tile *= residuals[rows] @ residuals[columns].T
            yield rows, columns, np.triu(tile, 1) if i == j else tile
