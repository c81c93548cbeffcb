"""Random groups of rows, by hashes of their numbers or keys: the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, missing
from calcli.core.data.blocks import Later, add_at
from calcli.core.data.units import FIRST, GROUPS, Hashes
from calcli.core.language.errors import InputError

_GROUPS = np.uint64(GROUPS)
TOLD = 4_096  # labels that tell parts apart


def first_number(labels: Array) -> int:
    """Return the number of the first row of a part, derived from its size and labels.

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
    """Sums over random groups of rows, which are identified by numbers or hashes of keys.

    Attributes
    ----------
    rows
        Number of rows.
    count, digest
        (groups,) rows, and digests that tell whether two systems have the same labels in the same rows.
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


class GroupSums:
    """Adds up rows by random group.

    Parameters
    ----------
    n_classes
        Number of classes.
    weighted
        Whether rows have weights.
    apart
        Whether there are groups, for intervals; else all rows are one.
    """

    def __init__(self, n_classes: int, weighted: bool, *, apart: bool = True) -> None:
        self._groups = GROUPS if apart else 1
        shape = (self._groups, n_classes, 2)  # by class, and whether the prediction hits
        self._count, self._digest = np.zeros(shape, np.int64), np.zeros(self._groups, np.uint64)
        self._weight = np.zeros(shape) if weighted else None
        self._squares = np.zeros(self._groups) if weighted else None
        self._statistics: dict[str, Statistic] = {}

    def add(
        self,
        columns: Mapping[str, Array],
        labels: Array,
        weights: Floats | None,
        *,
        hashes: Hashes,
        numbers: Array | None = None,
        digests: Hashes | None = None,
    ) -> Iterator[Later]:
        """Add (n,) rows with these statistics, among which `hit` is.

        Hashes belong to keys or to row numbers. Digests identify the rows.
        """
        group = np.broadcast_to(np.int32(0), len(labels))
        if self._groups > 1:  # several times as fast as %
            group = (hashes - hashes // _GROUPS * _GROUPS).astype(np.int32)
        place = group * np.intp(2 * self._count.shape[1]) + (labels + labels)
        place += columns["hit"].astype(np.bool_, copy=False)
        yield partial(add_at, self._count, place)
        if digests is not None:
            yield partial(add_at, self._digest, group, digests)
        if weights is not None:
            yield partial(add_at, self._weight, place, weights)
            yield partial(add_at, self._squares, group, np.square(weights, dtype=np.float64))
        for name, values in columns.items():
            yield self._statistic(name, group, values, weights, numbers)

    def _statistic(
        self, name: str, group: Array, values: Array, weights: Floats | None, numbers: Array | None
    ) -> Later:
        """Return the function that adds the values of a statistic."""
        infinite, weight = np.empty(0, np.intp), 0.0
        if not np.isfinite(values.sum()):
            is_infinite = np.isinf(values) if weights is None else np.isinf(values) & (weights > 0)
            infinite = np.flatnonzero(is_infinite)
            weight = float(len(infinite) if weights is None else weights[infinite].sum())
            values = np.where(np.isfinite(values), values, 0)  # also of rows without weight
        rows_named = () if numbers is None else tuple(numbers[infinite[:ROWS_NAMED]].tolist())
        whole = weights is None and values.dtype == np.bool_
        addends = values if weights is None else values * weights

        def later() -> None:
            if name not in self._statistics:
                sums = np.zeros(self._groups, np.int64 if whole else np.float64)
                self._statistics[name] = Statistic(sums, np.zeros(self._groups, np.int64), 0.0, ())
            statistic = self._statistics[name]
            add_at(statistic.sums, group, addends)
            add_at(statistic.infinite, group[infinite])
            statistic.infinite_weight += weight
            statistic.first = (statistic.first + rows_named)[:ROWS_NAMED]

        return later

    def groups(self) -> RandomGroups:
        """Return the sums."""
        mass = self._count if self._weight is None else self._weight
        return RandomGroups(
            int(self._count.sum()),
            self._count.sum((1, 2)),
            self._digest,
            None if self._weight is None else self._weight.sum((1, 2)),
            self._squares,
            mass.sum(2),
            np.stack([self._count.sum((0, 2)), mass[..., 1].sum(0)]),
            self._statistics,
        )


def digests_of(labels: Array, hashes: Hashes) -> Hashes:
    """Return (n,) hashes of row and label, with sums that depend on no order."""
    return mixed(hashes + mixed(labels))
