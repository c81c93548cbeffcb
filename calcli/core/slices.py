"""Slices: the rows that share a value of a column, as predictions of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.errors import InputError
from calcli.core.predictions import Array, Floats, Kind, Predictions, Scores

MOST = 1_000  # values of a column beyond which it is no column to slice by
ENOUGH_ROWS = 100  # rows from which a slice's figures are compared with others


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


@dataclass(frozen=True)
class ChosenScores:
    """Some rows of other scores, still read block by block."""

    scores: Scores
    chosen: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Chosen rows and classes."""
        return int(np.count_nonzero(self.chosen)), self.scores.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""
        return self.scores.dtype

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield the chosen rows of each block."""
        start = 0
        for block in self.scores.blocks(rows):
            chosen = self.chosen[start : start + len(block)]
            start += len(block)
            if chosen.any():
                yield block[chosen]

    def as_kind(self, kind: Kind) -> ChosenScores:
        """Return the same rows, to be checked as another kind from now on."""
        return replace(self, scores=self.scores.as_kind(kind))


@dataclass(frozen=True)
class ChosenColumns(Mapping[str, Array]):
    """Some rows of other columns, read when asked for."""

    columns: Mapping[str, Array]
    chosen: NDArray[np.bool_]

    def __getitem__(self, name: str) -> Array:
        values: Array = self.columns[name][self.chosen]
        return values

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


def slice_rows(predictions: Predictions, column: str) -> Iterator[tuple[Slice, NDArray[np.bool_]]]:
    """Yield every value of a column, in order, with the (N,) booleans of its rows.

    Raises
    ------
    InputError
        If there is no such column, or it has too many values to slice by.
    """
    values, codes = np.unique(predictions.column(column).astype(str), return_inverse=True)
    if len(values) > MOST:
        raise InputError(
            f"{predictions.provenance.path}: column {column!r} has {len(values):,} values, more than the "
            f"{MOST:,} that can be slices; --by takes a column of groups, such as country or device"
        )
    for code in _natural_order(values):
        yield Slice(column, str(values[code])), codes == code


def _natural_order(values: NDArray[np.str_]) -> list[int]:
    """Sort numbers as numbers, and before other text."""

    def key(code: int) -> tuple[bool, float, str]:
        value = str(values[code])
        try:
            return False, float(value), value
        except ValueError:
            return True, 0.0, value

    return sorted(range(len(values)), key=key)
