"""Scores as they are stored: of any numeric type, unchecked, one column for two classes allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError


class RawScores(Protocol):
    """An (N, K) table of numbers that can be read block by block, again and again."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type as stored, in native byte order."""

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) blocks, n <= rows, in order; a block is valid until the next one."""


@dataclass(frozen=True)
class HeldScores:
    """Scores in memory."""

    array: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        return self.array.dtype

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield views of at most `rows` rows."""
        for start in range(0, len(self.array), rows):
            yield self.array[start : start + rows]


@dataclass(frozen=True)
class JoinedScores:
    """The scores of several files one after the other, or only their first rows."""

    parts: tuple[RawScores, ...]
    limit: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows = sum(part.shape[0] for part in self.parts)
        return rows if self.limit is None else min(rows, self.limit), self.parts[0].shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that holds the scores of all parts."""
        return np.result_type(*(part.dtype for part in self.parts))

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield the blocks of each part in turn, until there are enough rows."""
        left = self.shape[0]
        for part in self.parts:
            for block in part.blocks(min(rows, left)):
                yield block[:left].astype(self.dtype, copy=False)
                left -= len(block)
                if left <= 0:
                    return


def rows_and_columns(shape: tuple[int, ...], name: str, positive: str | None) -> tuple[int, int]:
    """Return the (N, K) that an array of scores is read as: all axes but the last are rows.

    Parameters
    ----------
    shape
        Of the array; one axis means one score per row, that of the second class of two.
    name
        Of the file, for messages.
    positive
        The `--positive` option, which says that a last axis of length 1 is meant so too.

    Raises
    ------
    InputError
        If there are no rows, or there is only one class.
    """
    if not shape:
        raise InputError(f"{name} holds a single number; expected an array of scores, a row per case")
    columns = shape[-1] if len(shape) > 1 else 1
    rows = int(np.prod(shape[:-1])) if len(shape) > 1 else shape[0]
    if rows == 0:
        raise InputError(f"{name} has no rows; expected at least one row of scores")
    if columns == 0:
        raise InputError(
            f"{name} has no scores in its rows, its shape is {shape}; expected a score for each class"
        )
    if columns == 1 and len(shape) > 1 and positive is None:
        raise InputError(
            f"{name} has scores for one class only, its shape is {shape}; expected two or more; if they are "
            "scores of the second class of two, say which label that is with --positive"
        )
    return rows, columns
