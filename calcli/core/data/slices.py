"""Slices: the rows that share a value of a column, as predictions of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats, Positions
from calcli.core.data.blocks import BLOCK_BYTES, blocks
from calcli.core.data.predictions import ArrayScores, DerivedScores, Predictions, Scores
from calcli.core.language.errors import InputError

PREDICTED = "predicted-class"  # what to slice by in place of a column
MOST = 1_000  # values of a column above which it is not a column to slice by
ENOUGH_ROWS = 100  # rows from which a slice's figures are compared with others
HELD_BYTES = 1 << 28  # scores of slices that are held in memory together


@dataclass(frozen=True)
class Slice:
    """One value of one column.

    Attributes
    ----------
    column, value
        Their names.
    """

    column: str
    value: str

    def __str__(self) -> str:
        return f"{self.column}={self.value}"

    @property
    def shown(self) -> str:
        """Its value, to be seen even if it is empty or made of blanks."""
        if self.value.strip():
            return self.value
        return f'"{self.value}"' if self.value else "(empty)"


@dataclass(frozen=True)
class ChosenScores(DerivedScores):
    """Some rows of other scores, still read block by block."""

    chosen: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Chosen rows and classes."""
        return int(np.count_nonzero(self.chosen)), self.source.shape[1]

    def row_in_source(self, row: int) -> int:
        """Return which row of the others it is."""
        return int(np.flatnonzero(self.chosen)[row])

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield the chosen rows of each block."""
        start = 0
        for block in self.source.blocks(rows):
            chosen = self.chosen[start : start + len(block)]
            start += len(block)
            if chosen.any():
                yield block[chosen]


@dataclass(frozen=True, kw_only=True)
class GatheredScores(ArrayScores):
    """Scores that were read into memory, and the type they had where they came from."""

    stored: np.dtype[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""
        return self.stored


@dataclass(frozen=True)
class ChosenColumns(Mapping[str, Array]):
    """Some rows of other columns, read when asked for."""

    columns: Mapping[str, Array]
    chosen: NDArray[np.bool_]

    def __getitem__(self, name: str) -> Array:
        return self.columns[name][self.chosen]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def select(predictions: Predictions, chosen: NDArray[np.bool_]) -> Predictions:
    """Return the chosen rows, (N,) booleans, as predictions that are read like the whole."""
    return replace(
        predictions,
        scores=ChosenScores(predictions.scores, chosen),
        labels=predictions.labels[chosen],
        weights=None if predictions.weights is None else predictions.weights[chosen],
        columns=ChosenColumns(predictions.columns, chosen),
    )


def thinned(predictions: Predictions, most: int) -> Predictions:
    """Return so many rows at most, evenly spaced; the provenance says of how many."""
    number = predictions.n_rows
    if number <= most:
        return predictions
    chosen = np.zeros(number, np.bool_)
    chosen[np.linspace(0, number - 1, most).astype(np.intp)] = True
    rows, origin = select(predictions, chosen), predictions.provenance
    return replace(rows, provenance=replace(origin, sampled_from=origin.sampled_from or number))


def counted(predictions: Predictions) -> Predictions:
    """Return the rows of a weight above 0, with a note on the others; all rows where none has weight 0."""
    weights = predictions.weights
    if weights is None or not predictions.has_rows:
        return predictions
    kept = weights > 0
    left = len(kept) - int(np.count_nonzero(kept))
    if left in (0, len(kept)):
        return predictions
    origin = predictions.provenance
    note = f"{left:,} of {len(kept):,} rows have weight 0 and are left out"
    return replace(select(predictions, kept), provenance=replace(origin, notes=(*origin.notes, note)))


def select_each(predictions: Predictions, numbers: NDArray[np.intp]) -> Iterator[Predictions]:
    """Yield the rows of each number, from 0, as predictions of their own.

    The scores of as many as fit into memory are read together, so that a file is read once, however many
    slices it has, if it is no larger than that.

    Parameters
    ----------
    predictions
        All rows.
    numbers
        (N,) number of the slice that each row is in.
    """
    classes, whole = predictions.n_classes, predictions.scores
    size = np.result_type(whole.dtype, np.float32).itemsize
    for first, last in _fitting(np.bincount(numbers).tolist(), HELD_BYTES // (classes * size)):
        chosen = (numbers >= first) & (numbers < last)
        if last - first == 1:
            yield select(predictions, chosen)
            continue
        own = numbers[chosen]
        held = gathered(ChosenScores(whole, chosen), np.argsort(own, kind="stable"))
        sizes = np.bincount(own - first)
        for number, stop, rows in zip(range(first, last), np.cumsum(sizes), sizes, strict=True):
            scores = replace(held, array=held.array[stop - rows : stop])
            yield replace(select(predictions, numbers == number), scores=scores)


def _fitting(sizes: Iterable[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive numbers whose sizes add up to `most` at most, or that are one alone."""
    first = last = total = 0
    for last, size in enumerate(sizes):
        if last > first and total + size > most:
            yield first, last
            first, total = last, 0
        total += size
    yield first, last + 1


def gathered(scores: Scores, order: Positions | None = None) -> GatheredScores:
    """Read scores into memory, once, with their rows in an order if there is one."""
    place = np.arange(scores.shape[0])
    if order is not None:
        place[order] = place.copy()
    start, held = 0, np.empty((0, scores.shape[1]))
    for block in scores.blocks(max(1, BLOCK_BYTES // (8 * scores.shape[1]))):
        if not start:
            held = np.empty(scores.shape, block.dtype)
        held[place[start : start + len(block)]] = block
        start += len(block)
    return GatheredScores(held, scores.kind, scores.kind_reason, stored=scores.dtype)


def slice_numbers(predictions: Predictions, column: str) -> tuple[list[Slice], NDArray[np.intp]]:
    """Return every value of a column, in order, and the (N,) number among them of each row's own.

    Raises
    ------
    InputError
        If there is no such column, or it has too many values to slice by.
    """
    own = _column(predictions, column)
    values, codes = _names(own)
    if len(values) > MOST or len(values) == len(codes) > ENOUGH_ROWS:
        raise InputError(
            f"{predictions.provenance.path}: column {column!r} has {len(values):,} values in "
            f"{len(codes):,} rows; --by takes a column of at most {MOST:,} groups, such as country or device"
        )
    order = np.array(natural_order(values), np.intp)
    return [Slice(column, str(value)) for value in values[order]], np.argsort(order)[codes]


def slice_names(values: Array) -> NDArray[np.str_]:
    """Return (N,) what the slice of each row is called, if it is sliced by these values.

    A value has one name, whatever its type: 1.0 is 1, a time without a time of day is a date, and what is
    missing is empty.
    """
    names, codes = _names(values)
    return names[codes]


def _names(values: Array) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the distinct names of slices by some values, and the (N,) number among them of each row's."""
    texts, codes = np.unique(_texts(values), return_inverse=True)
    if values.dtype.kind == "f":
        texts = np.array([text.removesuffix(".0") for text in texts.tolist()], str)
    elif values.dtype.kind == "M":
        texts = np.array([_time(text) for text in texts.tolist()], str)
    return texts, codes


def _time(text: str) -> str:
    """Return a time without the zeros that it ends with, of which its resolution has more or fewer."""
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole.removesuffix("T00:00:00")


def _column(predictions: Predictions, name: str) -> Array:
    """Return a column; of `PREDICTED`, if there is none of that name, the classes predicted."""
    if name != PREDICTED or name in predictions.columns:
        return predictions.column(name)
    if predictions.of_answers:
        raise InputError(
            f"{predictions.provenance.path} has answers, right or wrong, and no predicted classes; "
            "expected a column after --by"
        )
    names = np.array(predictions.classes)
    found = np.concatenate([block.largest(1)[0][:, 0].copy() for block in blocks(predictions)])
    return names[found]


def _texts(values: Array) -> NDArray[np.str_]:
    """Return values as text, that of missing ones empty, whatever the type of their column."""
    values = values + 0.0 if values.dtype.kind == "f" else values  # -0 is 0
    missing = values != values  # nan and NaT
    if values.dtype == object:
        missing = missing | np.array([value is None for value in values])
    return np.where(missing, "", values.astype(str))


def natural_order(values: NDArray[np.str_]) -> list[int]:
    """Sort numbers as numbers, and before other text."""

    def key(code: int) -> tuple[bool, float, str]:
        value = str(values[code])
        try:
            return False, float(value), value
        except ValueError:
            return True, 0.0, value

    return sorted(range(len(values)), key=key)
