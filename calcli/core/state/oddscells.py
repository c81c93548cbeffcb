"""Rows of two classes counted by cell of their log-odds, label and fold: what their recalibration needs.

Cells are as wide as 2^-10 of their distance from even odds, so that those of any multiple of the log-odds are
as fine. Rows keep the mean of their cell, which leaves an error of second order in the width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.blocks import Block
from calcli.core.data.chance import Stream, generator
from calcli.core.data.predictions import Predictions
from calcli.core.state.hashing import dealt

BITS = 10  # of the mantissa of the log-odds that tell cells apart
FIRST, LAST = -10, 14  # exponents of log-odds with cells of their own
SIDE = (LAST - FIRST) << BITS  # finite cells on either side of even odds; one more is for infinite odds
MANTISSA, BIAS, MAGNITUDE = 23, 127, np.int32(0x7FFFFFFF)  # of single precision
ADDED = 1 << 19  # rows that are added up at once


class Entries(NamedTuple):
    """Rows of the same cell, label and fold.

    Attributes
    ----------
    odds
        (n,) natural log-odds of the second class; may be infinite.
    cell, labels, fold
        (n,) integers; cells have the order of their log-odds.
    width
        (n,) of the cells.
    weight, squares
        (n,) sums of the weights of the rows, and of their squares.
    """

    odds: Doubles
    cell: NDArray[np.intp]
    labels: NDArray[np.intp]
    fold: NDArray[np.intp]
    width: Doubles
    weight: Doubles
    squares: Doubles


class OddsCells:
    """Collects sums over cells.

    Parameters
    ----------
    predictions
        Of two classes.
    folds, seed
        How many folds rows are dealt into, by a hash of their number, and what that depends on as well.
    """

    def __init__(self, predictions: Predictions, folds: int, seed: int) -> None:
        self.folds, self._of_probs = folds, predictions.kind == "probs"
        self._from = int(generator(seed, Stream.FOLDS).integers(1 << 62))
        size = 2 * SIDE + 2, 2, folds
        self._odds = np.zeros(size)
        self._sums = np.zeros((1 if predictions.weights is None else 2, *size))  # weights, and squares
        self._waiting: list[tuple[Floats, Positions, Floats | None]] = []

    def add(self, block: Block) -> None:
        """Take the rows of one block."""
        self._waiting.append((*self._placed(block), block.weights))
        if sum(len(odds) for odds, *_ in self._waiting) >= ADDED:
            self._flush()

    def entries(self, halvings: int = 0, *, pooled: bool = False) -> Entries:
        """Return what is known of the rows.

        Parameters
        ----------
        halvings
            How often the number of cells is halved.
        pooled
            Whether both labels of a cell have the same log-odds.
        """
        self._flush()
        odds, sums = self._odds.sum(-1), [*self._sums]
        width = np.ldexp(2.0**-BITS, (np.arange(SIDE) >> BITS) + FIRST)
        width[0] += 2.0**FIRST  # all that is nearer to even odds
        width = np.concatenate([[0], width[::-1], width, [0]])
        for _ in range(halvings):
            odds, width, *sums = (_in_pairs(table) for table in (odds, width, *sums))
        mass = sums[0].sum(-1)
        if pooled:
            odds, mass = (np.repeat(table.sum(1, keepdims=True), 2, axis=1) for table in (odds, mass))
        mean = np.divide(odds, mass, out=np.zeros_like(odds), where=mass > 0)
        mean[0], mean[-1] = -np.inf, np.inf
        cell, labels, fold = np.nonzero(sums[0])
        weight, squares = sums[0][cell, labels, fold], sums[-1][cell, labels, fold]
        return Entries(mean[cell, labels], cell, labels, fold, width[cell], weight, squares)

    def _placed(self, block: Block) -> tuple[Floats, Positions]:
        """Return the log-odds of rows, infinite ones as 0, and the places of rows in the table."""
        scores = block.scores
        if self._of_probs:
            with np.errstate(divide="ignore"):
                scores = np.log(scores.astype(np.float32 if scores.itemsize <= 4 else np.float64, copy=False))
        odds = np.subtract(scores[:, 1], scores[:, 0], dtype=np.result_type(scores, np.float32))
        with np.errstate(over="ignore"):
            bits = odds.astype(np.float32, copy=False).view(np.int32)
        cell = ((bits & MAGNITUDE) >> (MANTISSA - BITS)) - np.int32((BIAS + FIRST) << BITS)
        np.clip(cell, 0, SIDE - 1, out=cell)
        infinite = np.flatnonzero(np.isinf(odds))
        cell[infinite] = SIDE
        odds[infinite] = 0
        cell ^= bits >> 31  # -1 - cell of negative ones
        cell += SIDE + 1
        fold = dealt(self._from + block.rows.start, len(odds), self.folds)
        return odds, (cell.astype(np.intp) * 2 + block.labels) * self.folds + fold

    def _flush(self) -> None:
        if not self._waiting:
            return
        parts, places, weights = zip(*self._waiting, strict=True)
        self._waiting = []
        odds, place, own = np.concatenate(parts), np.concatenate(places), list[Array | None]([None])
        if weights[0] is not None:
            weight = np.concatenate(weights).astype(np.float64, copy=False)
            odds, own = odds * weight, [weight, np.square(weight)]
        for table, values in zip(self._sums, own, strict=True):
            table += np.bincount(place, values, table.size).reshape(table.shape)
        self._odds += np.bincount(place, odds, self._odds.size).reshape(self._odds.shape)


def _in_pairs(table: Doubles) -> Doubles:
    """Add up every two finite cells."""
    inner = table[1:-1]
    return np.concatenate([table[:1], inner.reshape(-1, 2, *inner.shape[1:]).sum(1), table[-1:]])
