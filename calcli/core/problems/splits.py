"""Bins of vectors that follow the data: split where they vary most, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles, Floats, Positions


class Partition(NamedTuple):
    """Rows parted into bins.

    Attributes
    ----------
    order
        (N,) row numbers, bin after bin.
    cuts
        (m + 1,) positions in `order` at which the m bins begin and end.
    """

    order: Positions
    cuts: Positions


@dataclass(frozen=True)
class Splits:
    """How bins were split: a binary tree, whose leaves are the bins.

    Attributes
    ----------
    dimension, threshold
        (m - 1,) of each split: values of that dimension below the threshold go to one side.
    below, above
        (m - 1,) what is on each side: the number of a split, or -1 minus the number of a bin.
    """

    dimension: NDArray[np.intp]
    threshold: Doubles
    below: NDArray[np.intp]
    above: NDArray[np.intp]

    def bin_of(self, points: Floats) -> Positions:
        """Return the (n,) bin of each of (n, d) vectors."""
        found = np.zeros(len(points), np.intp)
        waiting = [(0, np.arange(len(points)))] if len(self.threshold) else []
        while waiting:
            split, rows = waiting.pop()
            low = points[rows, self.dimension[split]] < self.threshold[split]
            for side, own in ((self.below[split], rows[low]), (self.above[split], rows[~low])):
                if side < 0:
                    found[own] = -1 - side
                elif len(own):
                    waiting.append((side, own))
        return found

    def bounds(self, dimensions: int) -> Doubles:
        """Return the (m, d, 2) least value of every dimension in each bin, and the one it stays below."""
        whole = np.stack([np.zeros(dimensions), np.full(dimensions, np.inf)], axis=1)
        found = np.empty((len(self.threshold) + 1, dimensions, 2))
        found[0] = whole
        waiting = [(0, whole)] if len(self.threshold) else []
        while waiting:
            split, box = waiting.pop()
            for side, end in ((self.below[split], 1), (self.above[split], 0)):
                half = box.copy()
                half[self.dimension[split], end] = self.threshold[split]
                if side < 0:
                    found[-1 - side] = half
                else:
                    waiting.append((int(side), half))
        return found


def recursive_partition(points: Floats, min_rows: int, weights: Floats | None = None) -> Partition:
    """Split rows where they vary most until the bins are small (Vaicenavicius et al. 2019, appendix B).

    A bin of at least `min_rows` rows is split in the dimension of its largest variance, the first on ties:
    rows below the mean go to one side, the others to the other. A bin that does not vary stays whole.

    Parameters
    ----------
    points
        (N, d) vectors.
    min_rows
        Number of rows from which a bin is split; it may leave bins with fewer.
    weights
        (N,) row weights, which enter mean and variance but not the number of rows.
    """
    return recursive_splits(points, min_rows, weights)[0]


def recursive_splits(
    points: Floats, min_rows: int, weights: Floats | None = None
) -> tuple[Partition, Splits]:
    """Return the bins of `recursive_partition`, and how they were split."""
    leaves: list[Positions] = []
    found: list[tuple[int, np.float64]] = []
    sides: list[list[int]] = []
    waiting = [(np.arange(len(points)), points, -1, 0)]
    while waiting:
        rows, inside, parent, side = waiting.pop()
        number = -1 - len(leaves)
        if len(rows) >= min_rows:
            widest, mean = _widest(inside, None if weights is None else weights[rows])
            low = inside[:, widest] < mean
            if low.any() and not low.all():  # a mean of equal values may be rounded up
                number = len(found)
                found.append((widest, mean))
                sides.append([0, 0])
                below, above = (rows[low], inside[low]), (rows[~low], inside[~low])
                waiting += [(*above, number, 1), (*below, number, 0)]  # low first
        if number < 0:
            leaves.append(rows)
        if parent >= 0:
            sides[parent][side] = number
    dimension, threshold = np.array(found).reshape(-1, 2).T
    below_above = np.array(sides, np.intp).reshape(-1, 2).T
    partition = Partition(np.concatenate(leaves), np.cumsum([0, *map(len, leaves)]))
    return partition, Splits(dimension.astype(np.intp), threshold, *below_above)


def _widest(points: Floats, weights: Floats | None) -> tuple[int, np.float64]:
    """Return the dimension of the largest variance, and its mean."""
    mean = _mean(points, weights)
    spread = np.subtract(points, mean, dtype=points.dtype)
    widest = int(_mean(np.square(spread, out=spread), weights).argmax())
    return widest, mean[widest]


def _mean(points: Floats, weights: Floats | None) -> NDArray[np.float64]:
    if weights is None:
        return points.mean(0, dtype=np.float64)
    return (weights @ points / (weights.sum() or 1)).astype(np.float64, copy=False)
