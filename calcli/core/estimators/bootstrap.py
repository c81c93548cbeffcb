"""Bootstrap of means: rows are resampled, or deals of rows where there are many, or clusters of rows.

Everything resampled is a function of weighted means of row statistics, so that a resample is a product of
counts and sums, and no row is read again. Where all rows hit, or none, every resample would say the same:
there the share is drawn by Wilson's score interval.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.batches import batch_sizes
from calcli.core.data.units import Units
from calcli.core.estimators.scoring import Means

COUNTS = 2_000_000  # held in memory at once


class Sums:
    """Weighted sums of row statistics over the units that are resampled.

    Parameters
    ----------
    columns
        (N,) row statistics by name; infinite values are counted apart.
    labels
        (N,) integers in 0..n_classes-1.
    weights
        (N,) row weights, or None.
    priors
        (K,) class priors that the weights bring about and that every resample is to have as well.
    units
        Rows that are resampled together; None if each is by itself.

    Attributes
    ----------
    units
        Rows that are resampled together, or deals of them.
    """

    def __init__(
        self,
        columns: Mapping[str, Array],
        labels: Array,
        n_classes: int,
        weights: Floats | None = None,
        priors: Floats | None = None,
        units: Units | None = None,
    ) -> None:
        n = len(labels)
        whole = units or Units.of(n)
        self.units = units = whole.resampled()
        self._names = list(columns)
        # rows of infinite loss are counted apart: a count of 0 times infinity is not a number
        infinite = {name: np.isinf(values) for name, values in columns.items() if np.isinf(values.max())}
        self._infinite = list(infinite)
        finite = [np.where(infinite[n], 0, v) if n in infinite else v for n, v in columns.items()]
        self._priors = priors
        if priors is not None and weights is not None:
            finite = [_centred(values, labels, weights, n_classes) for values in finite]
        marks = [rows if weights is None else rows & (weights > 0) for rows in infinite.values()]
        weight = np.ones(n) if weights is None else weights
        if units.single:
            weighted = finite if weights is None else [values * weights for values in finite]
            order = np.argsort(labels, kind="stable")  # units of one class together: see _ClassSums
            stacked = np.stack([weight, *weighted, *marks], axis=1, dtype=np.float64, casting="unsafe")
            self._sums = stacked[order]
        else:
            sums = [units.sums(values, weights) for values in finite]
            self._sums = np.stack([units.sums(weight), *sums, *map(units.sums, marks)], axis=1)
        self._classes = _ClassSums(labels, n_classes, weights, units)
        counted = slice(None) if weights is None else weights > 0
        hits = {name: values[counted] for name, values in columns.items() if values.dtype == np.bool_}
        self._certain = {name: bool(v[0]) for name, v in hits.items() if (v == v[0]).all()}
        self._effective = whole.effective_number(weights) if self._certain else 0.0

    def means(self) -> Means:
        """Return the means of the sample itself."""
        return self._means(np.ones((1, self.units.number)), squeeze=True)

    def resampled(self, resamples: int, rng: np.random.Generator) -> Means:
        """Return the means of `resamples` samples drawn with replacement, on a leading axis.

        Shares of rows that are exactly 0 or 1 are not means of resamples: see `certain_shares`.
        """
        parts = []
        number = self.units.number
        for size in batch_sizes(resamples, number, COUNTS):
            counts = np.empty((size, number))
            for row, drawn in enumerate(rng.integers(0, number, size=counts.shape)):
                counts[row] = np.bincount(drawn, minlength=number)
            parts.append(self._means(counts))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in self._names}
        for name, hit in self._certain.items():
            columns[name] = certain_shares(hit, self._effective, resamples, rng)
        return Means(columns, np.concatenate([part.priors for part in parts]), self.means().priors)

    def _means(self, counts: NDArray[np.float64], squeeze: bool = False) -> Means:
        sums = counts @ self._sums
        weight = sums[:, 0]
        weight[weight == 0] = np.nan  # a resample of weightless rows has no mean
        means = dict(zip(self._names, (sums[:, 1 : len(self._names) + 1] / weight[:, None]).T, strict=True))
        for name, count in zip(self._infinite, sums.T[len(self._names) + 1 :], strict=True):
            means[name] = np.where(count > 0, np.inf, means[name])
        if self._priors is None:
            priors = self._classes.sums(counts) / weight[:, None]
        else:
            priors = np.broadcast_to(self._priors, (len(counts), len(self._priors)))
        if squeeze:
            return Means({name: values[0] for name, values in means.items()}, priors[0])
        return Means(means, priors)


def certain_shares(
    hit: bool, effective: float, resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw shares of which the sample says that they are 1, or 0: (B,) values.

    With z normally distributed and n rows, n / (n + max(z, 0)^2) has as its quantiles, at every level, the
    ends of the score interval of n hits in n rows (Wilson 1927); a bootstrap would draw nothing but ones.

    Parameters
    ----------
    hit
        Whether the share is 1 or 0.
    effective
        Number of rows, or how many of equal weight tell as much.
    resamples
        How many to draw.
    rng
        Source of chance.
    """
    squares = np.square(np.maximum(rng.standard_normal(resamples), 0))
    return (effective if hit else squares) / (effective + squares)


def _centred(values: Array, labels: Array, weights: Floats, n_classes: int) -> NDArray[np.float64]:
    """Move the mean of every class to the mean of all rows.

    The overall mean stays. In a resample the classes do not have their priors; with these values that does
    not matter: its mean is, to first order, the one with the classes weighted back to their priors.
    """
    weight = np.bincount(labels, weights, n_classes)
    sums = np.bincount(labels, weights * values, n_classes)
    means = np.divide(sums, weight, out=np.zeros(n_classes), where=weight > 0)
    return values - means[labels] + sums.sum() / weight.sum()


class _ClassSums:
    """Weight of every class in every unit."""

    def __init__(self, labels: Array, n_classes: int, weights: Floats | None, units: Units) -> None:
        self._n_classes = n_classes
        self._table: Floats | None = None
        if not units.single:
            cells = units.cells(n_classes)
            cells += labels
            table = np.bincount(cells, weights, units.number * n_classes).reshape(-1, n_classes)
            # counts are exact in single precision, and the product is twice as fast
            self._table = table.astype(np.float32 if weights is None else np.float64)
            return
        # every row is a unit, sorted by class: one reduceat sums a resample's counts
        ordered = np.sort(labels)
        self._weights = None if weights is None else weights[np.argsort(labels, kind="stable")]
        self._starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        self._present = ordered[self._starts]

    def sums(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B, K) class weights of resamples given by (B, units) counts."""
        if self._table is not None:
            return (counts.astype(self._table.dtype) @ self._table).astype(np.float64)
        weighted = counts if self._weights is None else counts * self._weights
        sums = np.zeros((len(counts), self._n_classes))
        sums[:, self._present] = np.add.reduceat(weighted, self._starts, axis=1)
        return sums
