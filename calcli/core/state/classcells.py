"""The equal-width bin of every probability of every row."""

from __future__ import annotations

import numpy as np

from calcli.core.data.binning import equal_width_index
from calcli.core.data.blocks import Block


class ClassCells:
    """Collector of the bins of the probabilities, (K, N), in the smallest integers that hold them."""

    def __init__(self, n_rows: int, n_classes: int, bins: int) -> None:
        self._bins = bins
        self.cells = np.empty((n_classes, n_rows), np.min_scalar_type(bins - 1))

    def add(self, block: Block) -> None:
        """Store the bins of one block."""
        probs = block.probs
        self.cells[:, block.rows] = equal_width_index(probs.ravel(), self._bins).reshape(probs.shape)
