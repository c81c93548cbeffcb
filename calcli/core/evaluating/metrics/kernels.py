"""Squared kernel calibration errors, and their values for labels drawn from the predictions.

The term of two rows is k(q, q') (1[y = y'] - q[y'] - q'[y] + <q, q'>). Only its first part depends on both
labels at once, and is 0 unless they are equal; the kernel depends on no labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Positions, Stream, batches, draw_labels, generator
from calcli.core.estimators.calibrationerror import Null, compare
from calcli.core.evaluating.metrics.errors import OfVectors
from calcli.core.language.entries import arg, metric
from calcli.core.problems.lenses import VectorProblem

COMMON = 0.08  # share of the rows above which a matrix product is faster than looking up equal labels
BATCH = 32  # draws whose equal labels are looked up together
TERMS = 1 << 18  # pairs of rows computed together
NORMAL_FROM = 400.0  # variance, in squares of the largest factor, above which the sum of pairs is normal

Kernel = Callable[[Floats, Floats], Floats]


class DrawnSums:
    """Sums of the terms of all pairs of rows, for many draws of the labels.

    Parameters
    ----------
    probs
        (N, K) probabilities.
    draws
        Number of draws of the labels.
    rng
        Source of chance.
    weights
        (N,) row weights; a pair weighs their product.
    """

    def __init__(
        self, probs: Floats, draws: int, rng: np.random.Generator, weights: Floats | None = None
    ) -> None:
        n, k = probs.shape
        probs = np.ascontiguousarray(probs)
        self._labels = np.empty((n, draws), np.min_scalar_type(k))
        for part in batches(n, max(draws, k), TERMS):
            self._labels[part] = draw_labels(probs[part], draws, rng)
        self._factor, self._weights = 1, weights
        if k == 2:  # the residuals of two classes are opposite: the first one counts twice
            self._factor, probs = 2, probs[:, :1]
        common = probs.mean(0) >= COMMON
        self._common = {k: probs[:, k] for k in np.flatnonzero(common).tolist()}
        self._others = np.where(common, 0, probs)
        self._is_other = np.append(~common, False)  # two classes leave out the last one
        self._total = np.zeros(draws)
        self._expected = np.zeros((n, len(common) + 1))  # kernel-weighted sums of the partners' probabilities

    def add(self, rows: slice, columns: slice, tile: Floats) -> None:
        """Add the pairs of some rows with others, given their kernel values."""
        if self._weights is not None:
            tile = tile * self._weights[rows, None] * self._weights[columns]
        single = tile.astype(np.float32)
        for number, probs in self._common.items():
            x, y = (  # 1 - p before rounding: near 1 nothing would be left
                np.subtract(self._labels[side] == number, probs[side, None]).astype(np.float32, copy=False)
                for side in (rows, columns)
            )
            self._total += np.einsum("ib,ib->b", x, single @ y)
        if self._is_other.any():
            self._expected[rows, :-1] += tile @ self._others[columns]
            self._expected[columns, :-1] += tile.T @ self._others[rows]
            for start in range(0, len(self._total), BATCH):
                labels = self._labels[:, start : start + BATCH]
                self._total[start : start + BATCH] += self._look_up(tile, labels[rows].T, labels[columns].T)

    def sums(self) -> Doubles:
        """Return the (B,) sums."""
        crossed = np.zeros(len(self._total))
        for part in batches(len(self._labels), len(crossed), TERMS):
            crossed += np.take_along_axis(self._expected[part], self._labels[part].astype(np.intp), 1).sum(0)
        constant = np.vdot(self._expected[:, :-1], self._others) / 2
        return self._factor * (self._total - crossed + constant)

    def _look_up(self, tile: Floats, row_labels: Array, column_labels: Array) -> Doubles:
        """Return the sum over pairs of the same uncommon class, given (B, rows) and (B, columns) labels."""
        draws, size = len(row_labels), len(self._is_other)
        offset = np.arange(draws)[:, None] * size
        order = np.argsort(column_labels, axis=1, kind="stable")
        count = np.bincount((column_labels + offset).ravel(), minlength=draws * size)
        start = np.cumsum(count) - count
        draw, row = np.nonzero(self._is_other[row_labels])
        key = row_labels[draw, row] + draw * size
        partners = count[key]
        # the partners of each row are neighbours in the order of the labels
        ends = np.cumsum(partners)
        place = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start[key] - ends + partners, partners)
        pairs = tile.ravel()[order.ravel()[place] + np.repeat(row * tile.shape[1], partners)]
        return np.bincount(np.repeat(draw, partners), pairs, draws).astype(np.float64, copy=False)


@dataclass(frozen=True)
class DisjointPairs:
    """Disjoint pairs of rows.

    Attributes
    ----------
    left, right
        (n,) row numbers.
    factor
        (n,) kernel values times weights.
    weight
        Summed weight of the pairs.
    """

    left: Positions
    right: Positions
    factor: Doubles
    weight: float

    @classmethod
    def shuffled(
        cls, probs: Floats, kernel: Kernel, rng: np.random.Generator, weights: Floats | None = None
    ) -> DisjointPairs:
        """Return random pairs of rows with (N, K) probabilities and (N,) weights."""
        x, y = rng.permutation(len(probs))[: len(probs) // 2 * 2].reshape(-1, 2).T
        factor = np.empty(len(x))
        for part in batches(len(x), probs.shape[1], TERMS):
            factor[part] = kernel(probs[x[part], None], probs[y[part], None])[:, 0, 0]
        if weights is None:
            return cls(x, y, factor, float(len(x)))
        weight = weights[x] * weights[y]
        return cls(x, y, factor * weight, float(weight.sum()))

    def error(self, probs: Floats, labels: Array) -> float:
        """Return the mean term of the pairs."""
        return float(self._errors(probs, lambda rows: labels[rows, None], 1)[0])

    def drawn_errors(self, probs: Floats, draws: int, rng: np.random.Generator) -> Doubles:
        """Return the mean terms for labels drawn from the probabilities, (B,) of them."""
        return self._errors(probs, lambda rows: draw_labels(probs[rows], draws, rng), draws)

    def _errors(self, probs: Floats, labels_of: Callable[[Positions], Array], draws: int) -> Doubles:
        total = np.zeros(draws)
        for part in batches(len(self.left), max(draws, probs.shape[1]), TERMS):
            x, y = self.left[part], self.right[part]
            x_labels, y_labels = labels_of(x), labels_of(y)
            terms = (x_labels == y_labels).astype(np.float64)
            terms -= np.take_along_axis(probs[x], y_labels, 1)
            terms -= np.take_along_axis(probs[y], x_labels, 1)
            terms += np.vecdot(probs[x], probs[y])[:, None]
            total += self.factor[part] @ terms
        return total / self.weight

    def normal_sd(self, probs: Floats) -> float | None:
        """Return the standard deviation if calibrated; None if the mean is not close to normal."""
        variance = 0.0
        for part in batches(len(self.left), probs.shape[1], TERMS):
            p, q = (probs[side[part]].astype(np.float64) for side in (self.left, self.right))
            # the trace of the product of the covariances of two labels
            trace = np.vecdot(p * (1 - p), q) - np.vecdot(p, q * q) + np.vecdot(p, q) ** 2
            variance += float(np.square(self.factor[part]) @ trace)
        # a term is at most twice its factor, so that the skewness of the sum is below 2 / sqrt(NORMAL_FROM)
        if variance <= NORMAL_FROM * float(np.square(self.factor).max()):
            return None
        return math.sqrt(variance) / self.weight


KernelDistance = Literal["tv", "euclidean"]

TILE = 512  # rows on each side of a tile of pairs, which stays in the cache
ROUNDING = 1e-4  # standard deviations: tolerance between equal sums
MEDIAN_ROWS = 1000  # rows that set the width of the kernel


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

    def __call__(self, x: Floats, y: Floats) -> Floats:
        """Return (..., n, m) values for (..., n, K) and (..., m, K) probabilities that sum to one."""
        apart = distances(x, y, self.distance)
        apart *= -1 / self.width
        return np.exp(apart, out=apart)


@metric("skce", "SKCE", abbreviation_of="squared kernel calibration error", range="-2 to 2", unit="ratio")
class KernelError(OfVectors):
    """squared kernel calibration error of probability vectors: no bins, unbiased

    Formula: mean over pairs of k(q, q') <e_y - q, e_y' - q'>
    Source: Widmann et al. 2019
    Misses: its size is hard to interpret; use its p-value. It takes all pairs of rows; estimator=block suits
        many rows
    """

    estimator: Literal["unbiased", "block"] = arg("all pairs of rows, or disjoint pairs", default="unbiased")
    distance: KernelDistance = arg("the distance of vectors in the kernel", default="tv")
    least_rows: ClassVar[int] = 2

    def found(
        self, problem: VectorProblem, draws: int, rng: np.random.Generator
    ) -> tuple[float, Null | None, None]:
        """Return the error, in [-2, 2], and its distribution under perfect calibration."""
        probs, labels, weights = problem.probs, problem.labels, problem.weights
        kernel, shuffle = median_kernel(probs, self.distance), generator(0, Stream.PAIRS)
        if self.estimator == "block":
            if draws:
                return *skce_blocks_test(probs, labels, kernel, draws, (shuffle, rng), weights), None
            return skce_blocks(probs, labels, kernel, shuffle, weights), None, None
        if draws:
            return *skce_test(probs, labels, kernel, draws, rng, weights), None
        return skce(probs, labels, kernel, weights), None, None


def distances(x: Floats, y: Floats, distance: KernelDistance) -> Floats:
    """Return (..., n, m) distances between (..., n, K) and (..., m, K) probabilities that sum to one."""
    if distance == "euclidean":
        apart = x @ np.swapaxes(y, -1, -2)
        apart *= -2
        apart += np.vecdot(x, x)[..., :, None]
        apart += np.vecdot(y, y)[..., None, :]
        return np.sqrt(np.maximum(apart, 0, out=apart), out=apart)
    # half of sum |a - b| is 1 - sum min(a, b) where both sum to one: two passes instead of three
    apart = np.ones((*x.shape[:-1], y.shape[-2]), x.dtype)
    smaller = np.empty_like(apart)
    for k in range(x.shape[-1]):
        row = np.ascontiguousarray(y[..., k])[..., None, :]
        apart -= np.minimum(x[..., k, None], row, out=smaller)
    return np.maximum(apart, 0, out=apart)


def median_kernel(probs: Floats, distance: KernelDistance) -> LaplacianKernel:
    """Return the kernel with the median distance between predictions as width (Widmann et al. 2019).

    At most 1,000 rows, evenly spaced, are compared with each other. If most distances are 0, the mean takes
    the place of the median; if all are, the width is 1.

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
    total, simulated = 0.0, DrawnSums(probs, draws, rng, weights)
    for rows, columns, tile in _tiles(probs, kernel):
        total += _sum(tile, residuals[rows], residuals[columns])
        simulated.add(rows, columns, tile)
    pairs = _pair_weight(probs, weights)
    return total / pairs, _compared(total / pairs, simulated.sums() / pairs)


def skce_blocks(
    probs: Floats,
    labels: Array,
    kernel: LaplacianKernel,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> float:
    """Return the mean over disjoint pairs of rows (the linear estimator of Widmann et al. 2019).

    Rows are shuffled first: their order does not matter; an odd one is left out. Its cost grows with N.

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

    Labels are drawn from the predictions, and the pairs stay. With so many pairs that their mean is normal,
    its standard deviation follows from the predictions and nothing is drawn.

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


def _compared(value: float, simulated: Doubles) -> Null:
    """Compare a value with draws, with a tolerance for the rounding of sums in single precision."""
    return compare(value, simulated, ROUNDING * (float(simulated.std()) + 10 * abs(value)))


def _residuals(probs: Floats, labels: Array, weights: Floats | None) -> Floats:
    """Return (..., n, K) label indicators minus probabilities, times the weights."""
    residuals = np.negative(probs)
    label = labels[..., None].astype(np.intp)
    np.put_along_axis(residuals, label, np.take_along_axis(residuals, label, -1) + 1, -1)
    if weights is not None:
        residuals *= weights[..., None]
    return residuals


def _pair_weight(probs: Floats, weights: Floats | None) -> float:
    """Return the summed weight of all pairs of rows, each with earlier rows, without cancellation."""
    row_weights = np.ones(len(probs)) if weights is None else weights
    return float(row_weights[1:] @ np.cumsum(row_weights)[:-1])


def _sum(tile: Floats, x: Floats, y: Floats) -> float:
    """Return the sum of kernel values times products of residuals."""
    return float((tile * (x @ y.T)).sum(dtype=np.float64))


def _tiles(probs: Floats, kernel: LaplacianKernel) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield the kernel values of all pairs of rows i < j, tile by tile; the other entries of a tile are 0."""
    starts = range(0, len(probs), TILE)
    for i in starts:
        for j in starts[i // TILE :]:
            rows, columns = slice(i, i + TILE), slice(j, j + TILE)
            tile = kernel(probs[rows], probs[columns])
            yield rows, columns, np.triu(tile, 1) if i == j else tile
