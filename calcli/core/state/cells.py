"""Cells of scores, exact or on a grid that is as fine near 0 and 1 as in the middle.

The cells halve the octaves of r = min(p, 1 - p). With 75 r in place of r every i / 300 is the edge of a cell,
so that errors over 2, 3, 5, 10, 15, 20, 25, 30, 50 or 100 equal-width bins are exact; each i / 300 is also a
cell of its own, so that scores that are shares of few votes stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, Positions, batches
from calcli.core.data.binning import distinct, is_run_end
from calcli.core.problems.problem import Problem, keys_of

SCALE = 75.0
POINTS = 300
MANTISSA = 13  # bits that tell the cells of the two uppermost octaves apart; one less every two octaves
FEWEST = 4
LEAST = 2.0**-64  # of r; all below is one cell
LEAST_BELOW_ONE = 2.0**-49  # doubles are too far apart there for more
EXPONENT = 52  # where it begins in the bits of a double


PLACES = 30  # bits that say where in its cell a score lies
NEAR = 64  # units in the last place of 75 r within which an edge may have been rounded to
NEAR_BELOW_ONE = 1e-14  # the same of 75 r for scores above 1/2, whose own last place is larger


class _Table(NamedTuple):
    """What finds the cell of a score.

    Attributes
    ----------
    edges
        (cells + 1,) ascending; cell i holds [edges[i], edges[i + 1]).
    first
        The smallest exponent of 75 r with cells of its own.
    shift, base
        Of each exponent: bits to drop, and what to add for the number of the cell of r.
    near
        (2, exponents) of scores below and from 1/2: so near to an edge a score may be in the next cell.
    cells
        (2, cells of r) the cell of p = r, and that of p = 1 - r.
    """

    edges: Doubles
    first: int
    shift: NDArray[np.int64]
    base: NDArray[np.int64]
    near: NDArray[np.int64]
    cells: Positions


@cache
def _table() -> _Table:
    first, last = _exponent(SCALE * LEAST), _exponent(SCALE * 0.5)
    exponents = np.arange(first, last + 1)
    bits = np.maximum(MANTISSA - (last - exponents) // 2, FEWEST)
    starts = [2.0**e * (1 + np.arange(2**b) / 2**b) for e, b in zip(exponents, bits, strict=True)]
    r = np.concatenate(starts) / SCALE
    points = np.arange(POINTS + 1) / POINTS
    lower, upper = r[r < 0.5], 1 - r[(r >= LEAST_BELOW_ONE) & (r < 0.5)]
    # what rounding puts beside a point is the point
    lower, upper = (own[~_beside(own, points)] for own in (lower, upper))
    edges = distinct(np.concatenate([[0.0], lower, upper, points, np.nextafter(points, 2)]))
    middle = (r + np.append(r[1:], 2 * r[-1] - r[-2])) / 2
    cells = np.searchsorted(edges, np.stack([middle, 1 - middle]), side="right") - 1
    before = np.append(0, np.cumsum(2**bits)[:-1])
    below_one = np.ceil(NEAR_BELOW_ONE / 2.0 ** (exponents - EXPONENT))
    near = np.minimum(np.stack([np.full(len(bits), NEAR), below_one]), 2.0**EXPONENT).astype(np.int64)
    base = before - ((exponents + 1023) << bits)
    return _Table(edges, first, EXPONENT - bits, base, near, cells)


def _exponent(value: float) -> int:
    return int(np.frexp(value)[1]) - 1


def _beside(edges: Doubles, points: Doubles) -> NDArray[np.bool_]:
    nearest = points[np.clip(np.rint(edges * POINTS).astype(np.intp), 0, POINTS)]
    return np.abs(edges - nearest) < 16 * np.spacing(np.maximum(nearest, np.finfo(float).tiny))


def grid_edges() -> Doubles:
    """Return the (cells + 1,) ascending edges of the cells; the last one holds 1.0 alone."""
    return _table().edges


def grid_place(score: Floats) -> tuple[Positions, NDArray[np.int64]]:
    """Return the cell of each score in [0, 1], and its place in the cell in units of 2^-30 of the cell.

    The cell is the last one whose lower edge is not above the score. Bits of 75 r tell it, but for scores so
    near to an edge that it may have been rounded to the other side; these are compared with the edges.
    """
    edges, first, shift, base, near, cells = _table()
    p = score.astype(np.float64, copy=False)
    upper = (p >= 0.5).view(np.int8)
    scaled = np.abs(upper - p)
    scaled *= SCALE
    bits = scaled.view(np.int64)
    exponent = bits >> EXPONENT
    exponent -= 1023 + first
    tiny = exponent < 0
    np.maximum(exponent, 0, out=exponent)
    dropped = shift.take(exponent)
    cell = bits >> dropped
    place = bits - (cell << dropped)
    least = near.ravel().take(exponent + upper * len(shift))
    unsure = (place < least) | (place > (np.int64(1) << dropped) - least) | tiny
    cell += base.take(exponent)
    cell += upper * np.int64(cells.shape[1])
    cell[unsure] = 0
    index = cells.ravel().take(cell)
    place >>= dropped - PLACES
    place = np.where(upper, (1 << PLACES) - place, place)
    rows = np.flatnonzero(unsure)
    if len(rows):
        own = p[rows]
        index[rows] = exact = np.searchsorted(edges, own, side="right") - 1
        low = edges[exact]
        place[rows] = np.rint((own - low) / (edges[exact + 1] - low) * 2.0**PLACES)
    return index, place


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
        return Problem(np.clip(score, edges[cell], top), outcome.astype(np.bool_), weight, count, squares)

    def table(self) -> CellTable:
        """Return the cells that have rows."""
        filled = np.flatnonzero(self.count.sum(0))
        low, high = grid_edges()[filled], grid_edges()[filled + 1]
        if self.weighted is not None:
            return CellTable(low, high, self.weighted[0][:, filled], self.weighted[2][:, filled])
        weight = self.count[:, filled].astype(np.float64)
        score = low * weight + (high - low) * (self.place[:, filled] * 2.0**-PLACES)
        return CellTable(low, high, weight, score)


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
        return Problem(self.score, self.outcome, weight, count.astype(np.int64), squares)


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
        self._seen: ScoreHashes | None = None
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
            self._seen = ScoreHashes(self.limit)
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


KEYS_AT_ONCE = 1 << 16  # keys that are hashed at once; their temporaries stay in the cache
ODD = 0x9E3779B97F4A7C15  # for multiplicative hashing (Knuth, volume 3, section 6.4)


class ScoreHashes:
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
            for rows in batches(len(keys), 1, KEYS_AT_ONCE):
                hashes = ((keys[rows] >> unsigned(1)) * factor) >> dropped
                self._table[hashes.astype(np.intp)] = 1
        before, self.least = self.least, int(np.count_nonzero(self._table))
        return self.least - before
