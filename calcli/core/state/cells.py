"""Score cells of a one-dimensional lens: rows of the same score and outcome counted together, mergeable.

Up to a limit of distinct scores the cells are exact; beyond it they are those of the fixed grid. What they
hold depends on the rows alone, not on their order or on how they were parted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.batches import batches
from calcli.core.data.binning import distinct, is_run_end
from calcli.core.problems.problem import Problem, keys_of
from calcli.core.state.grid import PLACES, grid_edges, grid_place
from calcli.core.state.seen import Seen

TOGETHER = 1 << 16  # scores that are placed at once; their temporaries stay in the cache
ADDED = 1 << 18  # scores whose places are added up in doubles
HELD = 1 << 23  # rows up to which these hold the sum
HALF_PLACES = PLACES // 2
HALF = 1 << HALF_PLACES
WAITING = 1 << 18, 1 << 21  # rows that are looked at together, at least and at most
NEW = 1 / 4  # share of scores not seen before from which sorting would not make rows fewer
COUNTS = np.uint32  # of rows with one score: as narrow as can be, as there are millions of scores
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


class ExactCells:
    """Distinct scores with their outcomes.

    Attributes
    ----------
    keys
        (n,) ascending: the bits of a score, then its outcome.
    sums
        (n,) counts of rows; with weights also their sums, and those of their squares.
    """

    def __init__(self, keys: NDArray[np.unsignedinteger[Any]], sums: Sums) -> None:
        self.keys, self.sums = keys, sums

    @classmethod
    def of(cls, keys: NDArray[np.unsignedinteger[Any]], weights: Floats | None = None) -> Self:
        """Return the cells of (n,) rows; without weights their keys are sorted in place."""
        if weights is None:
            keys.sort()
            last = is_run_end(keys)
            ends = np.flatnonzero(last)
            counts = np.empty(len(ends), COUNTS)
            counts[:1] = ends[:1] + 1
            counts[1:] = ends[1:] - ends[:-1]
            return cls(keys[last], (counts,))
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else order
        sums = np.ones(len(keys), np.int64), weights[order], np.square(weights)[order]
        return cls(keys[starts], tuple(np.add.reduceat(one, starts) if len(keys) else one for one in sums))

    def joined(self, other: ExactCells) -> ExactCells:
        """Return the cells of both, made in little more memory than they have."""
        if not len(self.keys) or not len(other.keys):
            return self if len(self.keys) else other
        at = np.searchsorted(self.keys, other.keys)
        known = self.keys.take(at, mode="clip") == other.keys
        common, new = at[known], np.flatnonzero(~known)
        places = at[new]
        places += np.arange(len(new))
        old = np.ones(len(self.keys) + len(new), np.bool_)
        old[places] = False

        def both(mine: Array, others: Array) -> Array:
            found = np.empty(len(old), mine.dtype)
            found[old] = mine
            found[places] = others[new]
            return found

        sums = []
        for mine, others in zip(self.sums, other.sums, strict=True):
            added = mine.astype(_type_of_sums(mine, others))
            added[common] += others[known].astype(added.dtype, copy=False)
            sums.append(both(added, others))
        return ExactCells(both(self.keys, other.keys), tuple(sums))

    @property
    def score(self) -> Floats:
        """(n,) scores."""
        return scores_of(self.keys)

    @property
    def outcome(self) -> NDArray[np.bool_]:
        """(n,) outcomes."""
        return outcomes_of(self.keys)

    @property
    def distinct(self) -> int:
        """The number of distinct scores."""
        if not len(self.keys):
            return 0
        scores = self.keys >> 1
        return 1 + int(np.count_nonzero(scores[1:] != scores[:-1]))

    def problem(self) -> Problem:
        """Return the induced problem."""
        count, *more = self.sums
        weight, squares = more or [count.astype(np.float64)] * 2
        return Problem(self.score, self.outcome, weight, None, count.astype(np.int64), squares)


def _type_of_sums(first: Array, second: Array) -> np.dtype[Any]:
    """Return the type for sums of both: of counts a narrow one while it holds them."""
    if first.dtype.kind == "f":
        return first.dtype
    total = int(first.sum(dtype=np.int64)) + int(second.sum(dtype=np.int64))
    return np.dtype(COUNTS if total <= np.iinfo(COUNTS).max else np.int64)


class GridCells:
    """Sums over the cells of the grid.

    Attributes
    ----------
    count, place
        (2, cells) rows of either outcome, and the sum of their places in the cell in units of 2^-30 of it.
    weighted
        (3, 2, cells) sums of weights, of their squares and of weighted scores; None without weights.
    """

    def __init__(self, weighted: bool) -> None:
        shape = (2, len(grid_edges()) - 1)
        self.count, self.place = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.weighted: Doubles | None = np.zeros((3, *shape)) if weighted else None

    def add(self, score: Floats, outcome: Array, sums: Sums | None) -> None:
        """Add rows, or exact cells of these sums."""
        for rows in batches(len(score), 1, ADDED):
            own = None if sums is None else tuple(one[rows] for one in sums)
            self._add(score[rows], outcome[rows], own)

    def _add(self, score: Floats, outcome: Array, sums: Sums | None) -> None:
        found = (grid_place(score[rows]) for rows in batches(len(score), 1, TOGETHER))
        index, place = map(np.concatenate, zip(*found, strict=True))
        cells = self.count.shape[1]
        at: Positions = index + outcome.astype(np.intp) * cells
        if sums is None:
            self.count += np.bincount(at, minlength=2 * cells).reshape(2, cells)
            self.place += np.bincount(at, place, 2 * cells).astype(np.int64).reshape(2, cells)
            return
        count, *more = sums
        parted = [(self.count, 1, count), (self.place, 1, place * count)]
        if len(count) and int(count.max()) > HELD // len(count):
            # doubles hold these sums in two halves: several times as fast as np.add.at
            high, low = place >> HALF_PLACES, place & (HALF - 1)
            parted[1:] = (self.place, HALF, high * count), (self.place, 1, low * count)
        for table, unit, values in parted:
            table += unit * np.bincount(at, values, 2 * cells).astype(np.int64).reshape(2, cells)
        if self.weighted is not None:
            for table, values in zip(self.weighted, (*more, more[0] * score), strict=True):
                table += np.bincount(at, values, 2 * cells).reshape(2, cells)

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


class ScoreCells:
    """Cells of a lens that are exact up to a limit of distinct scores, and the grid's beyond it."""

    def __init__(self, limit: int, weighted: bool, dtype: np.dtype[Any]) -> None:
        self.limit = limit
        none = np.empty(0, np.int64), *((np.empty(0), np.empty(0)) if weighted else ())
        unsigned = np.uint32 if dtype == np.float32 else np.uint64
        self._exact: ExactCells | None = ExactCells(np.empty(0, unsigned), none)
        self._rows: list[tuple[NDArray[np.unsignedinteger[Any]], Floats | None]] = []  # that are not sorted
        self._looked_at = 0  # of these parts
        self._waiting = min(max(WAITING[0], self.limit + self.limit // 4), WAITING[1])
        self._seen: Seen | None = None
        self._grid: GridCells | None = None
        self._cells: list[ExactCells] = []  # that wait to be put on the grid
        self._weighted, self._dtype = weighted, dtype

    def emptied(self) -> ScoreCells:
        """Return cells for as many distinct scores of the same type, without rows."""
        return ScoreCells(self.limit, self._weighted, self._dtype)

    @classmethod
    def of_arrays(cls, limit: int, arrays: Mapping[str, Array]) -> Self:
        """Return the cells that `arrays` gave."""
        weighted = "weight" in arrays or "weighted" in arrays
        if "keys" in arrays:
            cells = cls(limit, weighted, np.dtype(np.float32 if arrays["keys"].itemsize == 4 else np.float64))
            names = ("count", "weight", "squares") if weighted else ("count",)
            keys: NDArray[np.unsignedinteger[Any]] = arrays["keys"]
            cells._exact = ExactCells(keys, tuple(arrays[name] for name in names))
            return cells
        cells = cls(limit, weighted, np.dtype(np.float64))
        cells._exact, cells._grid = None, GridCells(weighted)
        filled = arrays["cells"].astype(np.intp)
        cells._grid.count.reshape(-1)[filled] = arrays["counts"]
        cells._grid.place.reshape(-1)[filled] = arrays["places"]
        if cells._grid.weighted is not None:
            cells._grid.weighted.reshape(3, -1)[:, filled] = arrays["weighted"]
        return cells

    def arrays(self) -> dict[str, Array]:
        """Return what is stored of the cells, by name."""
        self._settle()
        if self._exact is not None:
            names = ("count", "weight", "squares")
            return {"keys": self._exact.keys, **dict(zip(names, self._exact.sums, strict=False))}
        assert self._grid is not None
        filled = np.nonzero(self._grid.count)
        found: dict[str, Array] = {
            "cells": np.ravel_multi_index(filled, self._grid.count.shape),
            "counts": self._grid.count[filled],
            "places": self._grid.place[filled],
        }
        if self._grid.weighted is not None:
            found["weighted"] = self._grid.weighted[:, filled[0], filled[1]]
        return found

    def add(self, score: Floats, outcome: Array, weights: Floats | None = None) -> None:
        """Add (n,) rows."""
        if self._grid is not None:
            self._place(score, outcome, weights)
        elif len(score):
            self._wait(keys_of(score, outcome), weights)

    def merge(self, other: ScoreCells) -> None:
        """Add the rows of other cells; of the same limit and type of scores."""
        if other._grid is not None:
            other._settle()
            self._coarsen()
            assert self._grid is not None
            self._grid.merge(other._grid)
            return
        if other._exact is not None and len(other._exact.keys):
            self._join(other._exact)
        for keys, weights in other._rows:
            self._wait(keys, weights)

    def problem(self) -> Problem:
        """Return the induced problem, whose entries stand for several rows."""
        self._settle()
        found = self._exact or self._grid
        assert found is not None
        return found.problem()

    def table(self) -> CellTable | None:
        """Return the cells of the grid; None while every distinct score has a cell of its own."""
        self._settle()
        return None if self._grid is None else self._grid.table()

    @property
    def exact(self) -> bool:
        """Whether every distinct score has a cell of its own."""
        self._settle()
        return self._exact is not None

    def _place(self, score: Floats, outcome: Array, weights: Floats | None) -> None:
        """Put rows on the grid."""
        assert self._grid is not None
        sums = None if weights is None else (np.ones(len(score), np.int64), weights, np.square(weights))
        self._grid.add(score, outcome, sums)

    def _wait(self, keys: NDArray[np.unsignedinteger[Any]], weights: Floats | None) -> None:
        """Keep rows; put them on the grid once their scores are too many, sort them where scores return."""
        if self._grid is not None:
            self._place(scores_of(keys), outcomes_of(keys), weights)
            return
        self._rows.append((keys, weights))
        fresh = [own for own, _ in self._rows[self._looked_at :]]
        waiting = sum(map(len, fresh))
        if waiting < self._waiting:
            return
        if self._seen is None:  # whose table takes room that few scores do not need
            if len(distinct(fresh[0] >> 1)) < NEW * len(fresh[0]):
                self._settle()
                return
            self._seen = Seen(self.limit)
            self._seen.add([] if self._exact is None else [self._exact.keys])
        self._looked_at = len(self._rows)
        new = self._seen.add(fresh)
        if self._seen.least > self.limit:
            self._coarsen()
        elif new < NEW * waiting:
            self._settle()

    def _settle(self) -> None:
        """Sort the rows that wait, and put the cells that wait on the grid."""
        if self._rows:
            parts, weights = zip(*self._rows, strict=True)
            self._rows, self._looked_at = [], 0
            joined = None if weights[0] is None else np.concatenate(weights)
            keys = np.concatenate(parts)
            del parts  # they take as much memory
            self._join(ExactCells.of(keys, joined))
        if self._cells and self._grid is not None:
            sums = zip(*(own.sums for own in self._cells), strict=True)
            score, outcome = (
                np.concatenate([getattr(own, name) for own in self._cells]) for name in ("score", "outcome")
            )
            self._cells = []
            self._grid.add(score, outcome, tuple(map(np.concatenate, sums)))

    def _join(self, other: ExactCells) -> None:
        if self._exact is not None:
            self._exact = self._exact.joined(other)
            if self._exact.distinct > self.limit:
                self._coarsen()
        else:
            self._cells.append(other)
            if sum(len(own.keys) for own in self._cells) > ADDED:
                self._settle()

    def _coarsen(self) -> None:
        if self._exact is not None:
            self._grid = GridCells(self._weighted)
            self._grid.add(self._exact.score, self._exact.outcome, self._exact.sums)
            self._exact = self._seen = None
            rows, self._rows = self._rows, []
            for keys, weights in rows:
                self._place(scores_of(keys), outcomes_of(keys), weights)


def scores_of(keys: NDArray[np.unsignedinteger[Any]]) -> Floats:
    """Return the (n,) scores in keys."""
    return (keys >> 1).view(np.float32 if keys.dtype == np.uint32 else np.float64)


def outcomes_of(keys: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.bool_]:
    """Return the (n,) outcomes in keys."""
    return (keys & 1).astype(np.bool_)
