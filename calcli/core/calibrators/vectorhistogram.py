"""Histogram regression on whole vectors: the frequencies of the classes in each bin of the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.logspace import log_softmax
from calcli.core.problems.splits import Splits, recursive_splits

TREE = ("dimension", "threshold", "below", "above")


@dataclass(kw_only=True, eq=False, repr=False)
class VectorHistogram(Calibrator):
    """The frequencies of the classes in each bin of a partition that follows the data.

    Rows are split at the mean of the class whose probability varies most, again and again while a bin has
    rows enough.

    Parameters
    ----------
    min_rows : int
        Rows from which a bin is split, whatever their weights; it may leave bins with fewer.
    smoothing : float
        Rows with the overall frequencies of the classes added to each bin, among which are as many rows,
        evenly spread over the classes, so that no class gets a probability of 0. 0 is the plain frequency.

    References
    ----------
    Vaicenavicius et al. 2019, Evaluating model calibration in classification, sections 2.1 and 4.1 and
    appendix B, after Nobel 1996, Histogram regression estimation using data-dependent partitions.
    """

    name: ClassVar[str] = "vector-histogram"

    min_rows: int = 100
    smoothing: float = 1.0

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Set `parameters`: the tree of the splits, and the (m, K) frequencies of the bins."""
        probs = _probs(scores)
        own = None if weights is None else weights > 0
        if own is not None and weights is not None and not own.all():
            probs, labels, weights = probs[own], labels[own], weights[own]
        splits = recursive_splits(probs, self.min_rows, weights)[1]
        bins, classes = len(splits.threshold) + 1, probs.shape[1]
        cells = splits.bin_of(probs) * classes + labels.astype(np.intp)
        count = np.bincount(cells, weights, bins * classes).reshape(bins, classes).astype(np.float64)
        overall = count.sum(0) + self.smoothing / classes
        overall /= overall.sum()
        values = (count + self.smoothing * overall) / (count.sum(1, keepdims=True) + self.smoothing)
        self.parameters = {name: getattr(splits, name) for name in TREE} | {"values": values}
        self.notes = (
            [] if bins > 1 else [f"one bin, as no {self.min_rows} rows differ: every row gets the same"]
        )

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K), of `scores`, (N, K)."""
        with np.errstate(divide="ignore"):
            values = np.log(self.learned("values"))
        return np.asarray(values[self._splits.bin_of(_probs(scores))])

    def corners(self) -> Doubles:
        """Return the probabilities at which rows are split."""
        return np.asarray(self.learned("threshold"))

    @property
    def _splits(self) -> Splits:
        dimension, threshold, below, above = (np.asarray(self.learned(name)) for name in TREE)
        return Splits(dimension.astype(np.intp), threshold, below.astype(np.intp), above.astype(np.intp))

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        if not all(np.isfinite(self.learned(name)).all() for name in TREE):
            raise ValueError("splits that are not finite")
        values, splits = np.asarray(self.learned("values")), self._splits
        if values.ndim != 2 or values.min() < 0 or not np.allclose(values.sum(1), 1):
            raise ValueError("values that are not probabilities")
        bins, classes = values.shape
        tables = (splits.dimension, splits.threshold, splits.below, splits.above)
        if any(table.shape != (bins - 1,) for table in tables):
            raise ValueError("splits that are not those of the bins")
        if ((splits.dimension < 0) | (splits.dimension >= classes)).any():
            raise ValueError("splits of a class that there is not")
        sides, parents = np.stack([splits.below, splits.above]), np.arange(bins - 1)
        below = np.sort(np.append(sides, 0)) if bins > 1 else np.array([-1, 0])
        # each bin and each split but the first is once below a split with a lower number
        whole = np.array_equal(below, np.arange(-bins, max(bins - 1, 1)))
        if not whole or ((sides >= 0) & (sides <= parents)).any():
            raise ValueError("splits that make no tree")


def _probs(scores: Array) -> NDArray[np.float64]:
    return np.exp(log_softmax(scores.astype(np.float64, copy=False)))
