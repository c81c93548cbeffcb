"""Rows counted by cell of the fixed grid, and the mean of their scores there: sums that merge."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, Positions, batches
from calcli.core.problems.problem import Problem
from calcli.core.state.grid import PLACES, grid_edges, grid_place

TOGETHER = 1 << 16  # scores that are placed at once; their temporaries stay in the cache
ADDED = 1 << 18  # scores whose places are added up in doubles
HELD = 1 << 23  # rows up to which these hold the sum
HALF_PLACES = PLACES // 2
HALF = 1 << HALF_PLACES
Sums = tuple[Array, ...]  # counts and, where rows have weights, sums of weights and of their squares


class CellTable(NamedTuple):
    """What is known of rows on the grid.

    Attributes
    ----------
    low, high
        (n,) ascending edges of the cells that have rows.
    weight, score
        (2, n) weight of the rows of either outcome, and sum of their weighted scores.
    """

    low: Doubles
    high: Doubles
    weight: Doubles
    score: Doubles

    def of_other_class(self) -> CellTable:
        """Return that of the first of two classes, if this is that of the second."""
        weight, score = (table[::-1, ::-1] for table in (self.weight, self.weight - self.score))
        return CellTable(1 - self.high[::-1], 1 - self.low[::-1], weight, score)


class GridCells:
    """Sums over the cells of the grid.

    Attributes
    ----------
    count, place
        (2, cells) rows of either outcome, and the sum of their places in the cell in units of 2^-30 of it.
    weighted
        (3, 2, cells) sums of weights, of their squares and of weighted scores; None without weights.
    """

    def __init__(self, count: NDArray[np.int64], place: NDArray[np.int64], weighted: Doubles | None) -> None:
        self.count, self.place, self.weighted = count, place, weighted

    @classmethod
    def empty(cls, weighted: bool) -> Self:
        """Return the grid without rows."""
        shape = 2, len(grid_edges()) - 1
        return cls(
            np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros((3, *shape)) if weighted else None
        )

    @classmethod
    def of(cls, score: Floats, outcome: Array, sums: Sums | None) -> Self:
        """Return rows on the grid, or exact cells of these sums; not too many to be added up in doubles."""
        found = (grid_place(score[rows]) for rows in batches(len(score), 1, TOGETHER))
        index, place = map(np.concatenate, zip(*found, strict=True))
        cells = len(grid_edges()) - 1
        at: Positions = index + outcome.astype(np.intp) * cells

        def table(values: Array | None) -> Array:
            return np.bincount(at, values, 2 * cells).reshape(2, cells)

        if sums is None:
            return cls(table(None), table(place).astype(np.int64), None)
        count, *more = sums
        if int(count.max()) > HELD // len(count):
            # doubles hold these sums in two halves: several times as fast as np.add.at
            high, low = (table(half * count) for half in (place >> HALF_PLACES, place & (HALF - 1)))
            places = HALF * high.astype(np.int64) + low.astype(np.int64)
        else:
            places = table(place * count).astype(np.int64)
        weighted = np.stack([table(one) for one in (*more, more[0] * score)]) if more else None
        return cls(table(count).astype(np.int64), places, weighted)

    def add(self, score: Floats, outcome: Array, sums: Sums | None) -> None:
        """Add rows, or exact cells of these sums."""
        for rows in batches(len(score), 1, ADDED):
            own = None if sums is None else tuple(one[rows] for one in sums)
            self.merge(GridCells.of(score[rows], outcome[rows], own))

    def merge(self, other: GridCells) -> None:
        """Add the rows of another grid."""
        self.count += other.count
        self.place += other.place
        if self.weighted is not None and other.weighted is not None:
            self.weighted += other.weighted

    def problem(self) -> Problem:
        """Return the problem in which every row has the mean score of its cell."""
        cell, outcome = np.nonzero(self.count.T)
        edges, count = grid_edges(), self.count[outcome, cell]
        share = self.place.sum(0)[cell] / (self.count.sum(0)[cell] * 2.0**PLACES)
        score = edges[cell] + share * (edges[cell + 1] - edges[cell])
        weight: Doubles = count.astype(np.float64)
        squares = weight
        if self.weighted is not None:
            weight, squares = self.weighted[0, outcome, cell], self.weighted[1, outcome, cell]
            total, _, scores = self.weighted.sum(1)[:, cell]
            np.divide(scores, total, out=score, where=total > 0)
        top = np.nextafter(edges[cell + 1], 0)  # rounding must not move a score into the next bin
        return Problem(
            np.clip(score, edges[cell], top), outcome.astype(np.bool_), weight, None, count, squares
        )

    def table(self) -> CellTable:
        """Return the cells that have rows."""
        filled = np.flatnonzero(self.count.sum(0))
        low, high = grid_edges()[filled], grid_edges()[filled + 1]
        if self.weighted is not None:
            return CellTable(low, high, self.weighted[0][:, filled], self.weighted[2][:, filled])
        weight = self.count[:, filled].astype(np.float64)
        score = low * weight + (high - low) * (self.place[:, filled] * 2.0**-PLACES)
        return CellTable(low, high, weight, score)
