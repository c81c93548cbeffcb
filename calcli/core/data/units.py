"""Units: rows that belong together and are resampled, counted or assigned to folds as one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import MANY, Array, Doubles, Floats, Labels, Positions, Rng, missing
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import InputError

Hashes = NDArray[np.uint64]

UNIT_LIMIT = 20_000  # units resampled one by one; more are dealt into random groups
GROUPS = 1_999
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # odd


def hashed(numbers: Array) -> Hashes:
    """Return distinct hashes of (n,) row numbers, by the fastest function that leaves no pattern."""
    hashes = numbers.astype(np.uint64)
    hashes *= FIRST
    hashes ^= hashes >> np.uint64(32)
    hashes *= SECOND
    return hashes


@dataclass(frozen=True)
class Units:
    """Which rows belong together: each row alone, rows of a cluster, or random groups of either.

    Attributes
    ----------
    rows
        Number of rows.
    number
        Number of units.
    codes
        (rows,) the unit of each row; None if each row is a unit.
    names
        (number,) names of the clusters, if units are clusters.
    """

    rows: int
    number: int
    codes: Positions | None = None
    names: Array | None = None

    @classmethod
    def of(cls, rows: int, clusters: Array | None = None) -> Units:
        """Return one unit per row, or one for each value of (rows,) shared values."""
        if clusters is None:
            return cls(rows, rows)
        names, codes = np.unique(clusters, return_inverse=True)
        return cls(rows, len(names), codes, names)

    @property
    def single(self) -> bool:
        """Whether each row is a unit."""
        return self.codes is None

    @cached_property
    def of_row(self) -> Positions:
        """(rows,) the unit of each row."""
        return np.arange(self.rows) if self.codes is None else self.codes

    def among(self, chosen: Array) -> Units:
        """Return the renumbered units of the rows that a mask or an index chooses."""
        of_row = self.of_row[chosen]
        if self.names is None:
            return Units.of(len(of_row))
        numbers, codes = np.unique(of_row, return_inverse=True)
        return Units(len(of_row), len(numbers), codes, self.names[numbers])

    def sums(self, values: Array, weights: Floats | None = None) -> Doubles:
        """Return the (number,) sums of (rows,) values."""
        values = values if weights is None else values * weights
        sums = values if self.codes is None else np.bincount(self.codes, values, self.number)
        return sums.astype(np.float64, copy=False)

    def table(self, cell: Positions, cells: int, *values: Array | None) -> Array:
        """Return (number, len(values), cells) sums of (rows,) values by unit and cell; None counts rows."""
        place = self.of_row * cells + cell
        sums = [np.bincount(place, column, self.number * cells) for column in values]
        return np.stack([sum_.reshape(-1, cells) for sum_ in sums], axis=1)

    def weights(self, weights: Floats | None) -> Doubles:
        """Return the (number,) sums of (rows,) row weights; without weights, the numbers of rows."""
        if weights is not None:
            return self.sums(weights)
        if self.codes is None:
            return np.ones(self.rows)
        return np.bincount(self.codes, minlength=self.number).astype(np.float64)

    def effective_number(self, weights: Floats | None) -> float:
        """Return the effective number of units, given their weights (Kish 1965)."""
        weight = self.weights(weights)
        return float(weight.sum() ** 2 / np.square(weight).sum())

    def drawn(self, rng: Rng) -> Positions:
        """Return the rows of units drawn with replacement, in the same number."""
        numbers = rng.integers(0, self.number, self.number)
        if self.single:  # in order, without a sort
            return np.repeat(np.arange(self.number), np.bincount(numbers, minlength=self.number))
        return np.concatenate([self._members[number] for number in numbers])

    @cached_property
    def _members(self) -> list[Positions]:
        ends = np.cumsum(np.bincount(self.of_row, minlength=self.number))[:-1]
        return np.split(np.argsort(self.of_row, kind="stable"), ends)

    def dealt(self, number: int) -> Units:
        """Return fewer units: random groups of these, by the hash of the row number or the cluster name.

        The order of a file then has no effect, and the same row of paired files falls into the same group.
        """
        if number == self.number:
            return self
        numbers = np.arange(self.number)
        if self.names is not None:
            numbers = np.array([crc32(str(name).encode()) for name in self.names.tolist()])
        deals = (hashed(numbers) % np.uint64(number)).astype(np.intp)
        return Units(self.rows, number, deals if self.codes is None else deals[self.codes])

    def dealt_if_many(self) -> Units:
        """Return these units, or random groups if there are many."""
        return self if self.number <= UNIT_LIMIT else self.dealt(GROUPS)


def clusters_of(predictions: Predictions, column: str | None) -> str | None:
    """Return the column of clusters: the requested one, or the column of repeated questions."""
    origin = predictions.provenance
    return origin.identity if column is None and origin.clustered else column


def require_clusters(predictions: Predictions, column: str | None) -> None:
    """Raise an InputError if a row with a weight above 0 has no cluster: it may depend on any other row.

    Parameters
    ----------
    predictions
        Rows, or a state of them.
    column
        Column with the clusters as values; None if rows are independent.
    """
    if column is not None and predictions.has_rows:
        require_values(
            predictions,
            column,
            "give it a cluster, one of its own if it depends on no other row",
            weighted=True,
        )


def require_folds(predictions: Predictions, column: str | None) -> None:
    """Raise an InputError if a row has no fold, where a column of folds is given."""
    if column is not None and predictions.has_rows:
        require_values(predictions, column, "expected the fold of every row")


def require_values(predictions: Predictions, column: str, mend: str, *, weighted: bool = False) -> None:
    """Raise an InputError that names the first row without a value in a column.

    Parameters
    ----------
    predictions, column
        Rows, and the name of their column.
    mend
        A clause on what to do about it.
    weighted
        Whether only rows of a weight above 0 need one.
    """
    gone = missing(np.asarray(predictions.column(column)))
    if weighted and predictions.weights is not None:
        gone = gone[predictions.weights[gone] > 0]
    if len(gone):
        count = f", as have {len(gone) - 1:,} more" if len(gone) > 1 else ""
        where = f"{predictions.provenance.path}: row {predictions.stored_row(int(gone[0]))}"
        raise InputError(f"{where} has no value in column {column!r}{count}; {mend}")


def random_folds(rows: int, folds: int, generator: Rng, units: Units | None = None) -> Positions:
    """Assign rows at random to folds of equal size, without regard to labels.

    Stratified folds would tell a fit how often a class occurs among the rows
    on which it is judged: class offsets then seem to help where they only follow chance.

    Parameters
    ----------
    rows : int
        How many.
    folds : int
        Number of folds, 2 or more.
    generator : numpy.random.Generator
        Source of randomness.
    units : Units, optional
        Rows that stay together; with fewer units than folds, some folds stay empty.

    Returns
    -------
    array of int (rows,)
        The fold of each row, 0 to folds - 1.
    """
    if units is not None and not units.single:
        return random_folds(units.number, folds, generator)[units.of_row]
    fold = np.tile(np.arange(folds, dtype=np.min_scalar_type(folds)), rows // folds + 1)[:rows]
    generator.shuffle(fold)
    return fold


def distinct_codes(codes: Array, size: int) -> tuple[Positions, Positions]:
    """Return the distinct values of (N,) integers below `size`, and the (N,) index of each row's value."""
    if size > max(MANY, len(codes)):
        return np.unique(codes, return_inverse=True)
    there = np.flatnonzero(np.bincount(codes, minlength=size))
    place = np.empty(size, np.intp)
    place[there] = np.arange(len(there))
    return there, place[codes]


def numbers_of(fold: Labels) -> list[int]:
    """Return the distinct numbers, ascending, without `numpy.unique`, which loads numpy's masked arrays."""
    return [int(number) for number in np.flatnonzero(np.bincount(fold))]


def column_folds(predictions: Predictions, column: str) -> Positions:
    """Return the fold of each row, 0 or more, from the values of a column.

    Raises
    ------
    InputError
        If there is no such column, it has a single value, or a row has none.
    """
    require_folds(predictions, column)
    values, fold = np.unique(predictions.column(column), return_inverse=True)
    if len(values) < 2:
        raise InputError(f"{predictions.provenance.path}: column {column!r} has one value; expected folds")
    return fold
