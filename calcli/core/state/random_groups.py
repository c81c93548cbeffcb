"""Random groups of rows, by hashes of their numbers or keys: the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, label_sums, missing
from calcli.core.data.units import FIRST, GROUPS, Hashes
from calcli.core.language.errors import InputError

TOLD = 4_096  # labels that tell parts apart


def first_number(labels: Array) -> int:
    """Return the number of the first row of a part, which its size and labels tell.

    Parts with other labels then have other numbers, and two systems with the same rows the same ones.
    """
    start = labels[:TOLD].astype(np.int64).tobytes()
    return int.from_bytes(blake2b(start, digest_size=7, salt=len(labels).to_bytes(8)).digest())


def mixed(values: Array) -> Hashes:
    """Return a hash of each integer; every bit depends on all bits of the integer (Steele et al. 2014)."""
    hashes = values.astype(np.uint64) + np.uint64(0x632BE59BD9B4E019)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return hashes ^ (hashes >> np.uint64(31))


def of_keys(keys: Array, called: str, start: int = 0) -> Hashes:
    """Return the hashes of keys, of their text whatever their type: 17 and "17" are the same key.

    Parameters
    ----------
    keys
        (n,) values of a column.
    called, start
        The column of the keys, and the number of the first row, for messages.

    Raises
    ------
    InputError
        If one is missing.
    """
    if len(gone := missing(keys)):
        raise InputError(f"{called}: row {start + int(gone[0])} has none; expected a key in every row")
    text = keys.astype(str)
    codes = text.view(np.uint32).reshape(len(text), text.itemsize // 4).T
    hashes = np.zeros(len(text), np.uint64)
    for code in codes:
        step = (hashes + code + np.uint64(1)) * FIRST
        step ^= step >> np.uint64(32)
        hashes = np.where(code, step, hashes)  # shorter texts are filled up with zeros
    return mixed(hashes)


ROWS_NAMED = 5  # rows of infinite statistics whose numbers are kept


@dataclass
class Statistic:
    """Sums of one statistic.

    Attributes
    ----------
    sums
        (groups,) of finite values; of booleans integers, unless there are weights.
    infinite
        (groups,) rows of infinite value, of a weight above 0.
    infinite_weight
        The sum of their weights.
    first
        The numbers of the first such rows in the order of parts, where rows have numbers.
    """

    sums: Array
    infinite: NDArray[np.int64]
    infinite_weight: float
    first: tuple[int, ...]

    def merged(self, statistic: Statistic) -> Statistic:
        """Return the sums of both."""
        return Statistic(
            self.sums + statistic.sums,
            self.infinite + statistic.infinite,
            self.infinite_weight + statistic.infinite_weight,
            (self.first + statistic.first)[:ROWS_NAMED],
        )


@dataclass
class RandomGroups:
    """Sums over random groups of some rows, which have numbers or are known by the hashes of their keys.

    Attributes
    ----------
    rows
        Their number.
    count, digest
        (groups,) rows, and what tells whether two systems have the same labels in the same rows.
    weight, squares
        (groups,) sums of row weights and of their squares; None without weights.
    classes
        (groups, K) rows, or weight, of each class.
    by_class
        (2, K) rows of each class, and the rows, or weight, predicted as it.
    statistics
        By name.
    """

    rows: int
    count: NDArray[np.int64]
    digest: NDArray[np.uint64]
    weight: Doubles | None
    squares: Doubles | None
    classes: Array
    by_class: Array
    statistics: dict[str, Statistic]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Array],
        labels: Array,
        n_classes: int,
        weights: Floats | None = None,
        *,
        hashes: Hashes,
        numbers: Array | None = None,
        digests: Hashes | None = None,
    ) -> RandomGroups:
        """Return the sums of (n,) rows with these statistics, among which `hit` is.

        Hashes are of keys, or of the numbers of rows. Digests tell which rows these are.
        """
        n = len(labels)
        group = (hashes % np.uint64(GROUPS)).astype(np.intp)

        def summed(values: Array, type: type[np.generic]) -> Array:
            return np.bincount(group, values, GROUPS).astype(type, copy=False)

        def statistic(values: Array) -> Statistic:
            where, marked = np.empty(0, np.intp), np.zeros(GROUPS, np.int64)
            if not np.isfinite(values.sum()):
                infinite = np.isinf(values) if weights is None else np.isinf(values) & (weights > 0)
                where, marked = np.flatnonzero(infinite), summed(infinite, np.int64)
                values = np.where(np.isfinite(values), values, 0)  # also of rows without weight
            is_boolean = weights is None and values.dtype == np.bool_
            sums = summed(
                values if weights is None else values * weights, np.int64 if is_boolean else np.float64
            )
            weight = float(len(where) if weights is None else weights[where].sum())
            numbers_named = () if numbers is None else numbers[where[:ROWS_NAMED]].tolist()
            return Statistic(sums, marked, weight, tuple(numbers_named))

        count = np.bincount(group, minlength=GROUPS)
        digest = np.zeros(GROUPS, np.uint64)
        if digests is not None:
            np.add.at(digest, group, digests)
        weight = None if weights is None else summed(weights, np.float64)
        if n_classes == 2:  # a sum is several times as fast as a table
            kind = np.int64 if weights is None else np.float64
            second = summed(labels if weights is None else labels * weights, kind)
            classes = np.stack([(count if weight is None else weight) - second, second], axis=1)
        else:
            cells = np.bincount(group * n_classes + labels, weights, GROUPS * n_classes)
            classes = cells.reshape(GROUPS, n_classes)
        of_hits = label_sums(labels, weights, n_classes, columns["hit"])
        return cls(
            n,
            count,
            digest,
            weight,
            None if weights is None else summed(np.square(weights, dtype=np.float64), np.float64),
            classes,
            np.stack([np.bincount(labels, minlength=n_classes), of_hits]),
            {name: statistic(values) for name, values in columns.items()},
        )

    def merged(self, other: RandomGroups) -> RandomGroups:
        """Return the sums of both."""
        return RandomGroups(
            self.rows + other.rows,
            self.count + other.count,
            self.digest + other.digest,
            None if self.weight is None or other.weight is None else self.weight + other.weight,
            None if self.squares is None or other.squares is None else self.squares + other.squares,
            self.classes + other.classes,
            self.by_class + other.by_class,
            {
                name: statistic.merged(other.statistics[name])
                for name, statistic in self.statistics.items()
                if name in other.statistics
            },
        )

    def total(self, name: str) -> float:
        """Return the (weighted) sum of the finite values of a statistic."""
        return float(self.statistics[name].sums.sum())


def digests_of(labels: Array, hashes: Hashes) -> Hashes:
    """Return (n,) hashes of row and label, with sums that depend on no order."""
    return mixed(hashes + mixed(labels))
