"""How far a value from cells of the grid may be from that of the rows.

Of each cell the weight of either outcome and their sums of scores are known, not the order of the rows in it.
The bound is what the worst order would change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.state.cells import CellTable


@dataclass(frozen=True)
class GridError:
    """What the grid leaves open.

    Attributes
    ----------
    bound
        The largest error that there can be.
    """

    bound: float

    @classmethod
    def of(cls, bound: float) -> GridError:
        """Return the error of this size, 0 or more."""
        return cls(max(0.0, float(bound)))


def area_on_grid(cells: CellTable) -> GridError:
    """Return the error of the area under the ROC curve: in a cell each pair of outcomes counts one half."""
    zeros, ones = np.where(_points(cells), 0, cells.weight)
    pairs = cells.weight[0].sum() * cells.weight[1].sum()
    if not pairs:
        return GridError(0.0)
    return GridError.of((zeros * ones).sum() / 2 / pairs)


def average_precision_on_grid(cells: CellTable) -> GridError:
    """Return the error of average precision, of which the rows of a cell count as equal scores.

    In the best order all positives of a cell come first, in the worst last.
    """
    zeros, ones = np.where(_points(cells), 0, cells.weight)
    weight = cells.weight[:, ::-1]
    before = (np.cumsum(weight, axis=1) - weight)[:, ::-1]
    if not cells.weight[1].sum():
        return GridError(0.0)

    def sums(passed: float, of_zeros: float) -> Doubles:
        hits, misses = before[1] + passed * ones, before[0] + of_zeros * zeros
        found: Doubles = ones * np.divide(
            hits, hits + misses, out=np.ones_like(hits), where=hits + misses > 0
        )
        return found

    value = sums(1, 1)
    best, worst = sums(1, 0), sums(0, 1)
    return GridError.of(max((best - value).sum(), (value - worst).sum()) / cells.weight[1].sum())


def _points(cells: CellTable) -> Array:
    """Return (n,) which cells hold one score alone."""
    return np.nextafter(cells.low, 2) >= cells.high


def _swings(cells: CellTable) -> tuple[Doubles, Doubles]:
    """Return (n,) by how much the sum of score minus outcome can rise and fall within each cell."""
    return cells.score[0], cells.weight[1] - cells.score[1]


def of_cumulative(cells: CellTable, of_gaps: Callable[[Doubles], Any], value: float) -> GridError:
    """Return the error of a cumulative error: inside a cell the gap may be larger than at all ends."""
    weight = cells.weight.sum()
    gap = (cells.weight[1] - cells.score.sum(0)).cumsum()
    before = np.append(0, gap[:-1])
    inner = ~_points(cells)
    fall, rise = _swings(cells)
    both = np.concatenate([gap, (before - fall)[inner], (before + rise)[inner]])
    return GridError.of(float(of_gaps(both)) / weight - value)


def of_cut_cells(cells: CellTable, cut: Array, *, met: bool, sums: bool) -> GridError | None:
    """Return the error of a binned error that puts cut cells into one bin as a whole.

    Rows that change sides change the sums of two bins; of cells that `met` several cuts also those between.
    None where a cell is cut and the error is not made of sums of absolute gaps.
    """
    cut = cut[~_points(cells)[cut]]
    if len(cut) and not sums:
        return None
    weight = cells.weight.sum()
    rise, fall = (one[cut] for one in _swings(cells))
    largest = rise + fall if met else np.maximum(rise, fall)
    return GridError.of(2 * largest.sum() / weight)
