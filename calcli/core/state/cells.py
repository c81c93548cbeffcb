"""Cells of scores by the bits of min(p, 1 - p): as fine near 0 and 1 as in the middle, with sums that add up.

A cell holds scores with distances to the nearer of 0 and 1 that differ by at most 1 in 2,048, or lie below
2^-64. Its count and mean score stand for them. Equal-width bins have sums of their own, as few of their edges
are edges of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, Positions, batches
from calcli.core.data.binning import Bins, equal_width_index
from calcli.core.data.blocks import Later, add_at
from calcli.core.problems.problem import Binning, Problem

DROPPED = 12  # bits of a single-precision number; the other 11 of its fraction tell cells apart
HALF = int(np.float32(0.5).view(np.int32)) >> DROPPED
CELLS = HALF - (int(np.float32(2.0**-64).view(np.int32)) >> DROPPED) + 1
BINS = 300  # which 2, 3, 5, 10, 15, 20, 25, 30, 50 and 100 divide
TOGETHER = 1 << 16  # scores that are placed at once; their temporaries stay in the cache
NAMES = ("count", "weight", "squares", "near", "bins", "bin_weight", "bin_score")


def cell_of(near: Floats) -> NDArray[np.int32]:
    """Return the cells of (n,) distances to the nearer of 0 and 1, counted from the middle."""
    cell = near.astype(np.float32).view(np.int32)
    cell >>= DROPPED
    np.subtract(HALF, cell, out=cell)
    return np.clip(cell, 0, CELLS - 1, out=cell)


COARSER = 2  # bits by which cells are coarser that only put rows in order
RANKS = 2 * (((CELLS - 1) >> COARSER) + 1)


def rank_of(probs: Floats) -> NDArray[np.int32]:
    """Return the place of probabilities among coarse cells, ascending."""
    complement = 1 - probs
    place = cell_of(np.minimum(probs, complement))
    place >>= COARSER
    place ^= -(probs <= complement).astype(np.int32)  # from the middle downward -1, -2, ...
    place += RANKS // 2
    return place


@dataclass
class ScoreCells:
    """Sums over the cells of a lens.

    Attributes
    ----------
    count
        (cells, 2, 2) rows by cell, whether the score is above one half, and outcome.
    weight, squares
        Of the same, sums of weights and of their squares; None without weights.
    near
        (cells, 2) weighted sums of distances to the nearer of 0 and 1.
    bins, bin_weight, bin_score
        (300, 4, 2) rows by equal-width bin, number of that bin and the one of 1 - p together less 298, and
        outcome; the same of weights; and (300, 4) weighted sums of scores.
    """

    count: NDArray[np.int64]
    weight: Doubles | None
    squares: Doubles | None
    near: Doubles
    bins: NDArray[np.int64]
    bin_weight: Doubles | None
    bin_score: Doubles

    @classmethod
    def empty(cls, weighted: bool) -> Self:
        """Return cells without rows."""
        weight, squares = np.zeros((2, CELLS, 2, 2)) if weighted else (None, None)
        bins, bin_weight = np.zeros((BINS, 4, 2), np.int64), np.zeros((BINS, 4, 2)) if weighted else None
        counts = np.zeros((CELLS, 2, 2), np.int64)
        return cls(counts, weight, squares, np.zeros((CELLS, 2)), bins, bin_weight, np.zeros((BINS, 4)))

    def add(
        self, score: Floats, outcome: Array, weights: Floats | None = None, complement: Floats | None = None
    ) -> Iterator[Later]:
        """Add (n,) rows; of two classes with the probability of the other one."""
        for rows in batches(len(score), 1, TOGETHER):
            p, hit = score[rows], outcome[rows].astype(np.bool_, copy=False)
            q = 1 - p if complement is None else complement[rows]
            weight = None if weights is None else weights[rows]
            near, side = np.minimum(p, q), (p > q).astype(np.int32)
            side += cell_of(near) << 1
            yield partial(add_at, self.near, side, near if weight is None else near * weight)
            place = (side << 1) + hit
            yield partial(add_at, self.count, place)
            joint = equal_width_index(p, BINS)
            width = 4 * joint
            joint += equal_width_index(q, BINS)
            joint += 2 - BINS
            width += np.clip(joint, 0, 3, out=joint)
            yield partial(add_at, self.bin_score, width, p if weight is None else p * weight)
            bin_place = (width << 1) + hit
            yield partial(add_at, self.bins, bin_place)
            if weight is not None:
                yield partial(add_at, self.weight, place, weight)
                yield partial(add_at, self.squares, place, np.square(weight))
                yield partial(add_at, self.bin_weight, bin_place, weight)

    def merge(self, cells: ScoreCells) -> None:
        """Add the rows of other cells."""
        for name in NAMES:
            sums = getattr(self, name)
            if sums is not None:
                sums += getattr(cells, name)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Return the cells that `arrays` gave."""
        cells = cls.empty("weight" in arrays)
        filled = arrays["cells"].astype(np.intp)
        for name in NAMES:
            if (table := getattr(cells, name)) is not None:
                table[... if name.startswith("bin") else filled] = arrays[name]
        return cells

    def arrays(self) -> dict[str, Array]:
        """Return the stored arrays of the cells, by name."""
        filled = np.flatnonzero(self.count.any(axis=(1, 2)))
        tables = {name: table for name in NAMES if (table := getattr(self, name)) is not None}
        return {"cells": filled} | {
            name: table if name.startswith("bin") else table[filled] for name, table in tables.items()
        }

    def problem(self) -> Problem:
        """Return the problem in which every row has the mean score of its cell."""
        return _ascending(self._mean, self._tables, self.widths(0))

    def of_other_class(self) -> Problem:
        """Return the problem of the first of two classes, if the cells are of the second."""
        turned = [None if table is None else table[:, ::-1, ::-1] for table in self._tables]
        return _ascending(self._mean[:, ::-1], turned, self.widths(1))

    def of_confidence(self) -> Problem:
        """Return the problem of the likelier of two classes, if the cells are of the second."""
        near, mass = self.near.sum(1), self._mass.sum((1, 2))
        mean = np.divide(near, mass, out=np.zeros(CELLS), where=mass > 0)
        upper = np.arange(BINS) >= BINS // 2
        sides = (astuple(self.widths(side)) for side in (0, 1))
        widths = [upper * (lower + upper_width) for lower, upper_width in zip(*sides, strict=True)]
        count, mass = self.count[0, 0], self._mass[0, 0]  # scores of exactly one half, in both classes
        for sums, twice in zip(widths, (count.sum(), mass.sum(), mass.sum() / 2, mass[1]), strict=True):
            sums[BINS // 2] -= twice
        hits = [None if table is None else _of_likelier(table) for table in self._tables]
        return _ascending(np.stack([0 * mean, mean], axis=1), hits, Bins(*widths))

    def spaced(self, rows: int) -> tuple[Doubles, Positions]:
        """Return (m, 2) probabilities of two classes and (m,) labels: rows evenly spaced by score in each.

        All rows, or `rows` of them, if the cells belong to the second class and rows have no weights.
        """
        labels, scores = [], []
        above = np.repeat([0, 1], CELLS)
        near = np.concatenate([self._mean[::-1, 0], self._mean[:, 1]])
        for label in (0, 1):
            ends = np.cumsum(np.concatenate([self.count[::-1, 0, label], self.count[:, 1, label]]))
            number = min(int(ends[-1]), int(np.rint(rows * ends[-1] / self.count.sum())))
            chosen = np.searchsorted(
                ends, (np.arange(number) + 0.5) * (ends[-1] / max(1, number)), side="right"
            )
            scores.append(np.where(above[chosen] == [[0], [1]], 1 - near[chosen], near[chosen]))
            labels.append(np.full(number, label))
        return np.concatenate(scores, axis=1).T, np.concatenate(labels)

    def widths(self, side: int) -> Bins:
        """Return the sums over equal-width bins of the scores of the second class, or of the first one."""
        tables = self.bins, self.bins if self.bin_weight is None else self.bin_weight, self.bin_score
        if side == 0:
            count, weight, score = (table.sum(1) for table in tables)
        else:  # of the first class
            place = np.arange(4) + BINS - 2 - np.arange(BINS)[:, None]
            count, weight, score = (_moved(table, place) for table in tables)
            count, weight, score = count[:, ::-1], weight[:, ::-1], weight.sum(1) - score
        return Bins(count.sum(1), weight.sum(1).astype(np.float64), score, weight[:, 1].astype(np.float64))

    @property
    def _tables(self) -> list[Array | None]:
        return [self.count, self.weight, self.squares]

    @property
    def _mass(self) -> Array:
        return self.count if self.weight is None else self.weight

    @property
    def _mean(self) -> Doubles:
        """(cells, 2) mean distances to the nearer of 0 and 1."""
        mass = self._mass.sum(2)
        return np.divide(self.near, mass, out=np.zeros((CELLS, 2)), where=mass > 0)


def _ascending(near: Doubles, tables: Sequence[Array | None], widths: Bins) -> Problem:
    """Return the problem of (cells, 2) mean distances, counts, weights and squares, by ascending score."""
    score = np.concatenate([near[::-1, 0], 1 - near[:, 1]])
    every = [None if table is None else np.concatenate([table[::-1, 0], table[:, 1]]) for table in tables]
    assert every[0] is not None
    filled = np.nonzero(every[0])
    counts, weights, squares = (None if table is None else table[filled] for table in every)
    assert counts is not None
    unweighted = counts.astype(np.float64)
    weights, squares = (unweighted if sums is None else sums for sums in (weights, squares))
    ascending = np.maximum.accumulate(score[filled[0]])
    binses: dict[tuple[Binning, int], Bins] = {
        ("equal-width", bins): Bins(*(sums.reshape(bins, -1).sum(1) for sums in astuple(widths)))
        for bins in range(1, BINS + 1)
        if BINS % bins == 0
    }
    return Problem(ascending, filled[1].astype(np.bool_), weights, counts, squares, _bins=binses)


def _moved(table: Array, place: Positions) -> Array:
    """Return (300, ...) sums moved from (300, 4, ...) sums; places without a source are 0."""
    moved = np.zeros((BINS, *table.shape[2:]), table.dtype)
    there = (place >= 0) & (place < BINS)
    np.add.at(moved, place[there], table[there])
    return moved


def _of_likelier(table: Array) -> Array:
    """Return sums by whether the likelier of two classes is the label, all above one half."""
    hits = np.zeros_like(table)
    hits[:, 1] = table[:, 0, ::-1] + table[:, 1]
    return hits
