"""The squared kernel calibration error: calibration of whole vectors without bins (Widmann et al. 2019).

A pair of rows counts k(q, q') <e_y - q, e_y' - q'>, where q are their probabilities, e_y indicates their
labels and k is a kernel that is large where the predictions are alike. Its expectation is zero for
calibrated predictions and positive for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.chance import Stream, generator
from calcli.core.estimators.calibrationerror import OfVectors
from calcli.core.estimators.consistency import Null, compare
from calcli.core.estimators.kerneldraws import DisjointPairs, DrawnSums
from calcli.core.problems.vectors import VectorProblem

KernelDistance = Literal["tv", "euclidean"]

TILE = 512  # rows on each side of a tile of pairs, which stays in the cache
ROUNDING = 1e-4  # standard deviations by which equal sums may differ
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


@dataclass(frozen=True)
class KernelError(OfVectors):
    """Squared kernel calibration error, from all pairs of rows or from disjoint blocks."""

    estimator: Literal["unbiased", "block"]
    distance: KernelDistance
    seed: int = 0
    least_rows: ClassVar[int] = 2
    recomputed: ClassVar[bool] = False  # each time it would look at all pairs of rows

    def found(
        self, problem: VectorProblem, draws: int, rng: np.random.Generator
    ) -> tuple[float, Null | None, None]:
        """Return the error, in [-2, 2], and its distribution under perfect calibration."""
        probs, labels, weights = problem.probs, problem.labels, problem.weights
        kernel, shuffle = median_kernel(probs, self.distance), generator(self.seed, Stream.PAIRS)
        if self.estimator == "block":
            if draws:
                return *skce_blocks_test(probs, labels, kernel, draws, (shuffle, rng), weights), None
            return skce_blocks(probs, labels, kernel, shuffle, weights), None, None
        if draws:
            return *skce_test(probs, labels, kernel, draws, rng, weights), None
        return skce(probs, labels, kernel, weights), None, None


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
    total = sum(
        _sum(tile, residuals[rows], residuals[columns]) for rows, columns, tile in _tiles(probs, kernel)
    )
    return total / _pair_weight(probs, weights)


def skce_test(
    probs: Floats,
    labels: Array,
    kernel: LaplacianKernel,
    draws: int,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> tuple[float, Null]:
    """Return `skce` and its distribution under perfect calibration: labels are drawn from the predictions.

    Parameters
    ----------
    probs, labels, kernel, weights
        As for `skce`.
    draws
        Simulated data sets.
    rng
        Source of chance.
    """
    residuals = _residuals(probs, labels, weights)
    total, drawn = 0.0, DrawnSums(probs, draws, rng, weights)
    for rows, columns, tile in _tiles(probs, kernel):
        total += _sum(tile, residuals[rows], residuals[columns])
        drawn.add(rows, columns, tile)
    pairs = _pair_weight(probs, weights)
    return total / pairs, _compared(total / pairs, drawn.sums() / pairs)


def skce_blocks(
    probs: Floats,
    labels: Array,
    kernel: LaplacianKernel,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> float:
    """Return the mean over disjoint pairs of rows (the linear estimator of Widmann et al. 2019).

    Rows are shuffled first, so that their order does not matter; an odd one is left out. Its cost grows
    with N.

    Parameters
    ----------
    probs, labels, kernel, weights
        As for `skce`.
    rng
        Source of chance.
    """
    return DisjointPairs.shuffled(probs, kernel, rng, weights).error(probs, labels)


def skce_blocks_test(
    probs: Floats,
    labels: Array,
    kernel: LaplacianKernel,
    draws: int,
    rngs: tuple[np.random.Generator, np.random.Generator],
    weights: Floats | None = None,
) -> tuple[float, Null]:
    """Return `skce_blocks` and its distribution under perfect calibration.

    Labels are drawn from the predictions, the pairs stay. Where they are so many that their mean is normal,
    its standard deviation follows from the predictions, and nothing is drawn.

    Parameters
    ----------
    probs, labels, kernel, weights
        As for `skce_blocks`.
    draws
        Simulated data sets.
    rngs
        Sources of chance, of the pairs and of the labels.
    """
    pairs = DisjointPairs.shuffled(probs, kernel, rngs[0], weights)
    value = pairs.error(probs, labels)
    sd = pairs.normal_sd(probs)
    if sd is not None:
        return value, Null(0.0, sd, NormalDist().cdf(-value / sd))
    return value, _compared(value, pairs.drawn_errors(probs, draws, rngs[1]))


def _compared(value: float, drawn: Doubles) -> Null:
    """Compare with draws that are as large but for the rounding of sums in single precision."""
    return compare(value, drawn, ROUNDING * (float(drawn.std()) + 10 * abs(value)))


def _residuals(probs: Floats, labels: Array, weights: Floats | None) -> Floats:
    """Return (..., n, K) label indicators minus probabilities, times the weights."""
    residuals = np.negative(probs)
    label = labels[..., None].astype(np.intp)
    np.put_along_axis(residuals, label, np.take_along_axis(residuals, label, -1) + 1, -1)
    if weights is not None:
        residuals *= weights[..., None]
    return residuals


def _pair_weight(probs: Floats, weights: Floats | None) -> float:
    """Return the summed weight of all pairs of rows, each with those before it: nothing cancels out."""
    own = np.ones(len(probs)) if weights is None else weights
    return float(own[1:] @ np.cumsum(own)[:-1])


def _sum(tile: Floats, left: Floats, right: Floats) -> float:
    """Return the sum of kernel values times products of residuals."""
    return float((tile * (left @ right.T)).sum(dtype=np.float64))


def _tiles(probs: Floats, kernel: LaplacianKernel) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield the kernel values of all pairs of rows i < j, tile by tile; the other entries of a tile are 0."""
    starts = range(0, len(probs), TILE)
    for i in starts:
        for j in starts[i // TILE :]:
            rows, columns = slice(i, i + TILE), slice(j, j + TILE)
            tile = kernel(probs[rows], probs[columns])
            yield rows, columns, np.triu(tile, 1) if i == j else tile
