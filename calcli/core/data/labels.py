"""Labels, counted."""

from __future__ import annotations

import numpy as np

from calcli.core.data.arrays import Array, Floats, batches

TOGETHER = 1 << 16  # labels that are counted at once; their temporaries stay in the cache


def label_sums(labels: Array, weights: Floats | None, n_classes: int, hit: Array | None = None) -> Array:
    """Return (K,) numbers of the rows of each label, or sums of their weights; only of those that are hits.

    To choose the labels of hits would take several times as long.
    """
    found = np.zeros(2 * n_classes, np.int64 if weights is None else np.float64)
    for rows in batches(len(labels), 1, TOGETHER):
        cells = np.intp(2) * labels[rows]
        cells += True if hit is None else hit[rows]
        found += np.bincount(cells, None if weights is None else weights[rows], 2 * n_classes)
    return found[1::2]
