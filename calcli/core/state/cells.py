"""Score cells of a one-dimensional lens: rows of the same score and outcome counted together, mergeable.

Up to a limit of distinct scores the cells are exact; beyond it they are those of the fixed grid. What they
hold depends on the rows alone, not on their order or on how they were parted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats, batches
from calcli.core.data.binning import distinct, is_run_end
from calcli.core.problems.problem import Problem, keys_of
from calcli.core.state.gridcells import ADDED, CellTable, GridCells, Sums

WAITING = 1 << 18, 1 << 21  # rows that are looked at together, at least and at most
NEW = 1 / 4  # share of scores not seen before from which sorting would not make rows fewer
COUNTS = np.uint32  # of rows with one score: as narrow as can be, as there are millions of scores


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
        cells._exact, cells._grid = None, GridCells.empty(weighted)
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
            self._grid.add(score, outcome, _sums(weights))
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

    def _wait(self, keys: NDArray[np.unsignedinteger[Any]], weights: Floats | None) -> None:
        """Keep rows; put them on the grid once their scores are too many, sort them where scores return."""
        if self._grid is not None:
            self._grid.add(scores_of(keys), outcomes_of(keys), _sums(weights))
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
            self._grid = GridCells.empty(self._weighted)
            self._grid.add(self._exact.score, self._exact.outcome, self._exact.sums)
            self._exact = self._seen = None
            rows, self._rows = self._rows, []
            for keys, weights in rows:
                self._grid.add(scores_of(keys), outcomes_of(keys), _sums(weights))


def _sums(weights: Floats | None) -> Sums | None:
    """Return the sums of rows, of each alone."""
    return None if weights is None else (np.ones(len(weights), np.int64), weights, np.square(weights))


def scores_of(keys: NDArray[np.unsignedinteger[Any]]) -> Floats:
    """Return the (n,) scores in keys."""
    return (keys >> 1).view(np.float32 if keys.dtype == np.uint32 else np.float64)


def outcomes_of(keys: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.bool_]:
    """Return the (n,) outcomes in keys."""
    return (keys & 1).astype(np.bool_)


TOGETHER = 1 << 16  # keys that are hashed at once; their temporaries stay in the cache
ODD = 0x9E3779B97F4A7C15  # for multiplicative hashing (Knuth, volume 3, section 6.4)


class Seen:
    """Which hashes of scores have occurred, of so many that few scores share one.

    Parameters
    ----------
    limit
        Of the numbers that are to be told from larger ones.

    Attributes
    ----------
    least
        How many different hashes there were; there were no fewer scores.
    """

    def __init__(self, limit: int) -> None:
        self._bits = (6 * limit + 1).bit_length()
        self._table = np.zeros(1 << self._bits, np.uint8)
        self.least = 0

    def add(self, parts: Iterable[NDArray[np.unsignedinteger[Any]]]) -> int:
        """Take the keys of rows, and return by how much the bound rises."""
        for keys in parts:
            unsigned, width = keys.dtype.type, 8 * keys.itemsize
            factor, dropped = unsigned(ODD >> (64 - width) | 1), unsigned(width - self._bits)
            for rows in batches(len(keys), 1, TOGETHER):
                hashes = ((keys[rows] >> unsigned(1)) * factor) >> dropped
                self._table[hashes.astype(np.intp)] = 1
        before, self.least = self.least, int(np.count_nonzero(self._table))
        return self.least - before
