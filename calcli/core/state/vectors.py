"""The problem of a vector lens, gathered row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from calcli.core.data.blocks import Block
from calcli.core.data.predictions import Predictions
from calcli.core.problems.vectors import VectorLens, VectorProblem


class VectorTable:
    """Collects the problem of a vector lens, for what needs every row at once."""

    def __init__(self, lens: VectorLens, predictions: Predictions, dtype: np.dtype[Any]) -> None:
        self._lens = lens
        self._weights = predictions.weights
        self._probs = np.empty((lens.size, predictions.n_rows), dtype)
        self._labels = np.empty(predictions.n_rows, np.intp)

    def add(self, block: Block) -> None:
        """Store the block's probabilities and outcomes."""
        self._probs[:, block.rows] = self._lens.table(block)
        self._labels[block.rows] = self._lens.outcome(block)

    @property
    def problem(self) -> VectorProblem:
        """The problem of all rows; its probabilities are laid out outcome by outcome."""
        return VectorProblem(self._probs.T, self._labels, self._weights, self._lens.names)
