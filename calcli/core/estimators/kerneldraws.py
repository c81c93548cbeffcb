"""Squared kernel calibration errors of labels that are drawn from the predictions.

The term of two rows is k(q, q') (1[y = y'] - q[y'] - q'[y] + <q, q'>). Only its first part depends on both
labels at once, and is 0 unless they are equal; the kernel depends on no label at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Positions, batches
from calcli.core.data.chance import draw_labels

COMMON = 0.08  # share of the rows from which a product of matrices is faster than looking up equal labels
BATCH = 32  # draws whose equal labels are looked up together
TERMS = 1 << 18  # of pairs of rows that are computed together
NORMAL_FROM = 400.0  # variance, in squares of the largest factor, from which the sum of pairs is normal

Kernel = Callable[[Floats, Floats], Floats]


class DrawnSums:
    """Sums of the terms of all pairs of rows, for many draws of the labels.

    Parameters
    ----------
    probs
        (N, K) probabilities.
    draws
        How often to draw the labels.
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
        if k == 2:  # the residuals of two classes are opposite: the first one tells all, twice
            self._factor, probs = 2, probs[:, :1]
        common = probs.mean(0) >= COMMON
        self._common = {k: probs[:, k] for k in np.flatnonzero(common).tolist()}
        self._others = np.where(common, 0, probs)
        self._is_other = np.append(~common, False)  # the last one is the one that two classes leave out
        self._total = np.zeros(draws)
        self._expected = np.zeros((n, len(common) + 1))  # kernel-weighted sums of the partners' probabilities

    def add(self, rows: slice, columns: slice, tile: Floats) -> None:
        """Add the pairs of some rows with others, given their kernel values."""
        if self._weights is not None:
            tile = tile * self._weights[rows, None] * self._weights[columns]
        single = tile.astype(np.float32)
        for number, probs in self._common.items():
            left, right = (  # 1 - p before it is rounded: near 1 nothing of it would be left
                np.subtract(self._labels[side] == number, probs[side, None]).astype(np.float32, copy=False)
                for side in (rows, columns)
            )
            self._total += np.einsum("ib,ib->b", left, single @ right)
        if self._is_other.any():
            self._expected[rows, :-1] += tile @ self._others[columns]
            self._expected[columns, :-1] += tile.T @ self._others[rows]
            for start in range(0, len(self._total), BATCH):
                drawn = self._labels[:, start : start + BATCH]
                self._total[start : start + BATCH] += self._look_up(tile, drawn[rows].T, drawn[columns].T)

    def sums(self) -> Doubles:
        """Return the (B,) sums."""
        crossed = np.zeros(len(self._total))
        for part in batches(len(self._labels), len(crossed), TERMS):
            crossed += np.take_along_axis(self._expected[part], self._labels[part].astype(np.intp), 1).sum(0)
        constant = np.vdot(self._expected[:, :-1], self._others) / 2
        return self._factor * (self._total - crossed + constant)

    def _look_up(self, tile: Floats, left: Array, right: Array) -> Doubles:
        """Return the sum over pairs of the same uncommon class, given (B, rows) and (B, columns) labels."""
        draws, size = len(left), len(self._is_other)
        first = np.arange(draws)[:, None] * size
        order = np.argsort(right, axis=1, kind="stable")
        count = np.bincount((right + first).ravel(), minlength=draws * size)
        start = np.cumsum(count) - count
        draw, row = np.nonzero(self._is_other[left])
        key = left[draw, row] + draw * size
        partners = count[key]
        # the partners of each row are neighbours in the order of the labels
        ends = np.cumsum(partners)
        place = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start[key] - ends + partners, partners)
        pairs = tile.ravel()[order.ravel()[place] + np.repeat(row * tile.shape[1], partners)]
        return np.bincount(np.repeat(draw, partners), pairs, draws).astype(np.float64, copy=False)


@dataclass(frozen=True)
class DisjointPairs:
    """Pairs of rows, none of which is in two.

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
        left, right = rng.permutation(len(probs))[: len(probs) // 2 * 2].reshape(-1, 2).T
        factor = np.empty(len(left))
        for part in batches(len(left), probs.shape[1], TERMS):
            factor[part] = kernel(probs[left[part], None], probs[right[part], None])[:, 0, 0]
        if weights is None:
            return cls(left, right, factor, float(len(left)))
        weight = weights[left] * weights[right]
        return cls(left, right, factor * weight, float(weight.sum()))

    def error(self, probs: Floats, labels: Array) -> float:
        """Return the mean term of the pairs."""
        return float(self._errors(probs, lambda rows: labels[rows, None], 1)[0])

    def drawn_errors(self, probs: Floats, draws: int, rng: np.random.Generator) -> Doubles:
        """Return the mean terms for labels that are drawn from the probabilities, (B,) of them."""
        return self._errors(probs, lambda rows: draw_labels(probs[rows], draws, rng), draws)

    def _errors(self, probs: Floats, labels_of: Callable[[Positions], Array], draws: int) -> Doubles:
        total = np.zeros(draws)
        for part in batches(len(self.left), max(draws, probs.shape[1]), TERMS):
            left, right = self.left[part], self.right[part]
            one, other = labels_of(left), labels_of(right)
            terms = (one == other).astype(np.float64)
            terms -= np.take_along_axis(probs[left], other, 1)
            terms -= np.take_along_axis(probs[right], one, 1)
            terms += np.vecdot(probs[left], probs[right])[:, None]
            total += self.factor[part] @ terms
        return total / self.weight

    def normal_sd(self, probs: Floats) -> float | None:
        """Return the standard deviation if calibrated; None where the mean is not normal to a good part."""
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
