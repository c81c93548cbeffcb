"""Bootstrap of means: rows are resampled, or deals of rows where there are many.

Everything resampled is a function of weighted means of row statistics, so that a resample is a product of
counts and sums, and no row is read again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from calcli.core.predictions import Array, Floats
from calcli.core.scoring import Means

ROW_LIMIT = 20_000  # rows that are resampled one by one
DEALS = 2_000
CHUNK = 2_000_000  # counts held in memory at once


def deal_of_rows(start: int, stop: int) -> NDArray[np.int32]:
    """Return the deal of each row in a range, from a hash of its index.

    Each run of `DEALS` rows is dealt out evenly, turned by a hashed amount, so that neither sorted nor
    periodic data end up in one deal. The same row of a paired file falls into the same deal.
    """
    runs = np.arange(start // DEALS, -(-stop // DEALS), dtype=np.uint64)
    mixed = (runs + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    turns = (mixed >> np.uint64(33)).astype(np.int64) % DEALS
    deals = (np.arange(DEALS, dtype=np.int32) + turns.astype(np.int32)[:, None]) % DEALS
    offset = start // DEALS * DEALS
    return deals.ravel()[start - offset : stop - offset].astype(np.int32)


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
    """

    def __init__(
        self, columns: Mapping[str, Array], labels: Array, n_classes: int, weights: Floats | None = None
    ) -> None:
        n = len(labels)
        self._names = list(columns)
        infinite = {name: np.isinf(values) for name, values in columns.items() if values.dtype.kind == "f"}
        self._infinite = [name for name, rows in infinite.items() if rows.any()]
        parts: list[Array | float] = [np.ones(n) if weights is None else weights]
        parts += [
            np.where(infinite[name], 0, values) if name in self._infinite else values
            for name, values in columns.items()
        ]
        if weights is not None:
            parts[1:] = [values * weights for values in parts[1:]]
        carried = True if weights is None else weights > 0
        parts += [infinite[name] & carried for name in self._infinite]
        if n <= ROW_LIMIT:
            self._sums = np.stack([np.asarray(part, np.float64) for part in parts], axis=1)
            units: Array = np.arange(n)
        else:
            units = deal_of_rows(0, n)
            self._sums = np.stack([np.bincount(units, part, DEALS) for part in parts], axis=1)
        self._classes = _ClassSums(units, len(self._sums), labels, n_classes, weights)

    def means(self) -> Means:
        """Return the means of the sample itself."""
        return self._means(np.ones((1, len(self._sums))), squeeze=True)

    def resampled(self, resamples: int, rng: np.random.Generator) -> Means:
        """Return the means of `resamples` samples drawn with replacement, on a leading axis."""
        units = len(self._sums)
        parts = []
        step = max(1, CHUNK // units)
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            drawn = rng.integers(0, units, size=(size, units))
            counts = np.stack([np.bincount(row, minlength=units) for row in drawn]).astype(np.float64)
            parts.append(self._means(counts))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in self._names}
        return Means(columns, np.concatenate([part.priors for part in parts]))

    def _means(self, counts: NDArray[np.float64], squeeze: bool = False) -> Means:
        sums = counts @ self._sums
        weight = sums[:, 0]
        means = dict(zip(self._names, (sums[:, 1 : len(self._names) + 1] / weight[:, None]).T, strict=True))
        for name, count in zip(self._infinite, sums.T[len(self._names) + 1 :], strict=True):
            means[name] = np.where(count > 0, np.inf, means[name])
        priors = self._classes.sums(counts) / weight[:, None]
        if squeeze:
            return Means({name: values[0] for name, values in means.items()}, priors[0])
        return Means(means, priors)


class _ClassSums:
    """Weight of every class in every unit."""

    def __init__(
        self, units: Array, n_units: int, labels: Array, n_classes: int, weights: Floats | None
    ) -> None:
        self._n_classes = n_classes
        self._table: NDArray[np.float64] | None = None
        if n_units < len(units):
            cells = units.astype(np.intp) * n_classes + labels
            table = np.bincount(cells, weights, n_units * n_classes).astype(np.float64)
            self._table = table.reshape(n_units, n_classes)
            return
        # every row is a unit: sorted by class, one reduceat sums a resample's counts
        self._order = np.argsort(labels, kind="stable")
        self._weights = None if weights is None else weights[self._order]
        ordered = labels[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self._present = ordered[self._starts]

    def sums(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (B, K) class weights of resamples given by (B, units) counts."""
        if self._table is not None:
            return counts @ self._table
        ordered = counts[:, self._order]
        if self._weights is not None:
            ordered *= self._weights
        sums = np.zeros((len(counts), self._n_classes))
        sums[:, self._present] = np.add.reduceat(ordered, self._starts, axis=1)
        return sums
