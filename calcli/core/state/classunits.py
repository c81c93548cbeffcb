"""Sums of every class's bins, unit by unit."""

from __future__ import annotations

import numpy as np

from calcli.core.data.binning import equal_width_index
from calcli.core.data.blocks import Block
from calcli.core.data.units import Units


class ClassUnits:
    """Collector of every class's equal-width bins by unit: (units, 3, K, bins) sums.

    Parameters
    ----------
    units
        Of the rows.
    n_classes, bins
        Their numbers.
    """

    def __init__(self, units: Units, n_classes: int, bins: int) -> None:
        self._unit = units.of_row
        self.sums = np.zeros((units.number, 3, n_classes, bins))

    def add(self, block: Block) -> None:
        """Add one block to the sums."""
        _, _, classes, bins = self.sums.shape
        probs = block.probs.T
        weights = np.ones(len(probs)) if block.weights is None else block.weights
        index = equal_width_index(probs.ravel(), bins).reshape(probs.shape)
        places = (self._unit[block.rows][:, None] * 3 * classes + np.arange(classes)) * bins + index
        flat = self.sums.reshape(-1)
        own = places[np.arange(len(probs)), block.labels]
        np.add.at(flat, places, np.broadcast_to(weights[:, None], probs.shape))
        np.add.at(flat, places + classes * bins, weights[:, None] * probs)
        np.add.at(flat, own + 2 * classes * bins, weights)
