"""Rows spread evenly over the data: a line in print shows no more."""

from __future__ import annotations

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.blocks import Block, sweep
from calcli.core.data.predictions import Predictions
from calcli.core.language.settings import Precision


class ThinnedRows:
    """Collects logits or log-probabilities, labels and weights of at most `limit` rows, evenly spaced.

    Attributes
    ----------
    all_rows
        Rows of the data.
    """

    def __init__(self, predictions: Predictions, limit: int) -> None:
        self.all_rows = predictions.n_rows
        self._kind = predictions.kind
        spaced = np.linspace(0, self.all_rows - 1, min(limit, self.all_rows))
        self._kept = np.unique(spaced.astype(np.intp))
        self._scores: list[Doubles] = []
        self._labels: list[Array] = []
        self._weights: list[Doubles] = []

    def add(self, block: Block) -> None:
        """Store what is kept of a block."""
        first, last = np.searchsorted(self._kept, [block.rows.start, block.rows.stop])
        rows = self._kept[first:last] - block.rows.start
        self._scores.append(block.scores[rows].astype(np.float64))
        self._labels.append(block.labels[rows].astype(np.intp))
        if block.weights is not None:
            self._weights.append(block.weights[rows].astype(np.float64))

    @property
    def scores(self) -> Doubles:
        """(n, K) logits or log-probabilities."""
        scores = np.concatenate(self._scores)
        if self._kind != "probs":
            return scores
        with np.errstate(divide="ignore"):
            return np.log(scores)

    @property
    def labels(self) -> Array:
        """(n,) labels."""
        return np.concatenate(self._labels)

    @property
    def weights(self) -> Doubles | None:
        """(n,) weights, or None."""
        return np.concatenate(self._weights) if self._weights else None


def thinned_rows(predictions: Predictions, limit: int, precision: Precision = "auto") -> ThinnedRows:
    """Return at most `limit` evenly spaced rows, from a pass of their own."""
    found = ThinnedRows(predictions, limit)
    sweep(predictions, [found], precision)
    return found
