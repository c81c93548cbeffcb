"""Rows in a state: all if there are few, else a sample of bounded size for what sums do not provide.

The sample holds the rows with the lowest hashes. The sample of a union depends on the union alone: all rows
with a hash below the hash of the first row without room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.blocks import Later
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import UNIT_LIMIT, Hashes

MOST = 20_000  # rows
BYTES = 1 << 22  # of their scores
ALL = 1 << 64  # above every hash
FEW_SCORES = 1 << 22  # which take 16 MB in single precision


def are_few(rows: int, classes: int) -> bool:
    """Return whether a state of this many rows keeps them."""
    return rows <= UNIT_LIMIT and rows * classes <= FEW_SCORES


class Rows(NamedTuple):
    """Rows in a state.

    Attributes
    ----------
    ids
        (n,) numbers in their part, or hashes of keys; in a sample hashes of either.
    labels
        (n,) integers.
    weights
        (n,), or None.
    scores
        (n, K) as given; in a sample in single precision, or in double if some are too small or too
        close together for that.
    columns
        (n,) text by name, for columns with slices as values; a sample has none.
    """

    ids: Array
    labels: Array
    weights: Floats | None
    scores: Floats
    columns: Mapping[str, Array]

    def take(self, chosen: Array) -> Rows:
        """Return the rows that an index chooses."""
        weights = None if self.weights is None else self.weights[chosen]
        columns = {name: values[chosen] for name, values in self.columns.items()}
        return Rows(self.ids[chosen], self.labels[chosen], weights, self.scores[chosen], columns)

    @property
    def by_id(self) -> Rows:
        """The rows in the order of their ids."""
        return self.take(np.argsort(self.ids, kind="stable"))

    @classmethod
    def joined(cls, several: Iterable[Rows]) -> Rows:
        """Return the rows of all parts."""
        ids, labels, weights, scores, columns = zip(*several, strict=True)
        weight = None if weights[0] is None else np.concatenate(weights)
        texts = {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}
        return cls(np.concatenate(ids), np.concatenate(labels), weight, np.concatenate(scores), texts)


class Sample:
    """The rows with the lowest hashes.

    Attributes
    ----------
    room
        The largest number of rows.
    """

    def __init__(self, n_classes: int, weighted: bool) -> None:
        self.room = min(MOST, BYTES // (4 * n_classes))
        self._below = ALL
        none = np.empty(0, np.int64)
        weights = np.empty(0) if weighted else None
        scores = np.empty((0, n_classes), np.float32)
        self._parts = [Rows(none.astype(np.uint64), none, weights, scores, {})]
        self._waiting = 0

    def add(self, hashes: Hashes, labels: Array, weights: Floats | None, scores: Array) -> Iterable[Later]:
        """Take (n,) rows, and copy the rows that may be among the lowest."""
        low, below = np.arange(len(hashes)), self._below  # which may be lower soon
        if below < ALL:
            low = np.flatnonzero(hashes < np.uint64(below))
        if not len(low):
            return ()
        weight = None if weights is None else weights[low].astype(np.float64)
        rows = Rows(hashes[low], labels[low].astype(np.int64), weight, _short(scores[low]), {})
        return (partial(self._take, rows, below),)

    def merge(self, sample: Sample) -> None:
        """Take the rows of another sample."""
        for rows in sample._parts:
            self._take(rows, sample._below)

    @property
    def rows(self) -> Rows:
        """The rows, by ascending hash."""
        self._settle()
        (lowest,) = self._parts
        ordered = lowest.by_id
        return ordered._replace(scores=_short(ordered.scores))

    def of(self, predictions: Predictions) -> Predictions:
        """Return the rows as predictions, like the predictions they were sampled from."""
        rows = self.rows
        scores = ArrayScores(rows.scores, predictions.kind, predictions.scores.kind_reason)
        return Predictions(
            scores, rows.labels, predictions.classes, rows.weights, provenance=predictions.provenance
        )

    @property
    def below(self) -> int:
        """A bound above all hashes of the sample, and not above the hash of any other row."""
        self._settle()
        return self._below

    @classmethod
    def of_rows(cls, rows: Rows, below: int) -> Sample:
        """Return the sample that consists of some rows."""
        sample = cls(rows.scores.shape[1], rows.weights is not None)
        sample._take(rows, below)
        return sample

    def _take(self, rows: Rows, below: int) -> None:
        self._below = min(self._below, below)
        if self._below < ALL:
            rows = _below(rows, self._below)
        self._parts.append(rows)
        self._waiting += len(rows.ids)
        if self._waiting > 2 * self.room:
            self._settle()

    def _settle(self) -> None:
        filled = [rows for rows in self._parts if len(rows.ids)] or self._parts[:1]
        joined = Rows.joined(filled) if len(filled) > 1 else filled[0]
        if self._below < ALL:
            joined = _below(joined, self._below)
        if len(joined.ids) > self.room:
            self._below = int(np.partition(joined.ids, self.room)[self.room])
            joined = _below(joined, self._below)
        self._parts, self._waiting = [joined], len(joined.ids)


def _below(rows: Rows, hash: int) -> Rows:
    """Return the rows of lower hashes."""
    low = np.flatnonzero(rows.ids < np.uint64(hash))
    return rows if len(low) == len(rows.ids) else rows.take(low)


def _short(scores: Array) -> Array:
    """Return scores in single precision, or in double if single precision makes them 0, coarse or tied.

    1e-300 has a logarithm, and of 0.5 + 1e-9 and 0.5 - 1e-9 the first decides.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = scores.astype(np.float32)
    as_double = (np.abs(single) < np.finfo(np.float32).tiny) & (single != scores)
    as_double |= (_highest(single) != _highest(scores))[:, None]
    return np.where(as_double, scores, single).astype(np.float64) if as_double.any() else single


def _highest(scores: Array) -> Array:
    """Return how many classes of each row have the highest score."""
    return np.count_nonzero(scores == scores.max(axis=1, keepdims=True), axis=1)
