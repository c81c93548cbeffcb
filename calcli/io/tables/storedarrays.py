"""Arrays as numpy stores them, read block by block; a memory map would count as our memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any, cast

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.messages import type_in_words
from calcli.io.places.heads import Header, native
from calcli.io.places.paths import AnyPath
from calcli.io.tables.axes import classes_last
from calcli.io.tables.source import HeldScores, StoredScores, rows_and_columns

COLUMN_BYTES = 1 << 24  # read at once from a file that stores column after column


def opened_file(path: AnyPath) -> AbstractContextManager[IO[bytes]]:
    """Open a file that is an array, or has one in it as it is."""
    return path.open("rb")


@dataclass(frozen=True)
class StoredArray:
    """An array in a file.

    Attributes
    ----------
    name, file
        What to call it, and what it is in.
    header
        What is known of it.
    opened
        Opens what it is in; None if it is in memory.
    load
        Reads all of it.
    packed
        Whether it can only be read from its beginning on.
    """

    name: str
    file: str
    header: Header
    opened: Callable[[], AbstractContextManager[IO[bytes]]] | None
    load: Callable[[], Array]
    packed: bool = False

    @classmethod
    def held(cls, values: Array, name: str, file: str) -> StoredArray:
        """Return an array that is in memory."""
        return cls(name, file, Header(values.shape, False, values.dtype, 0), None, lambda: values)

    def scores(self, axis: int) -> StoredScores:
        """Return it as scores, with this axis for the classes; only those that lie scattered are read now.

        Raises
        ------
        InputError
            If it does not hold numbers, or no row of them.
        """
        header = self.header
        if header.dtype.kind not in "iufb":
            raise InputError(f"{self.name} holds {type_in_words(header.dtype)}; expected scores, as numbers")
        turned = (*header.shape[:axis], *header.shape[axis + 1 :], *header.shape[axis : axis + 1])
        shape = rows_and_columns(turned, self.name)
        by_column = header.fortran_order and len(header.shape) > 1
        scattered = axis < len(header.shape) - 1 or (by_column and (len(header.shape) > 2 or self.packed))
        if scattered or self.opened is None:
            return HeldScores(classes_last(self.load(), axis).reshape(shape))
        return ArrayBlocks(self, self.opened, shape)


@dataclass(frozen=True)
class ArrayBlocks:
    """Scores in a file, read into one buffer block by block."""

    array: StoredArray
    opened: Callable[[], AbstractContextManager[IO[bytes]]]
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type as stored, in native byte order."""
        return self.array.header.dtype.newbyteorder("=")

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) views of the buffer."""
        with self.opened() as file:
            by_column = self.array.header.fortran_order and self.shape[1] > 1
            for block in self._by_column(file, rows) if by_column else self._by_row(file, rows):
                yield native(block)

    def head(self, rows: int) -> Array:
        """Return the first rows."""
        return next(self.blocks(rows))

    def _by_row(self, file: IO[bytes], rows: int) -> Iterator[Array]:
        total, columns = self.shape
        buffer = np.empty((min(rows, total), columns), self.array.header.dtype)
        file.read(self.array.header.offset)  # an archive that is sought in no longer checks its sums
        for start in range(0, total, rows):
            block = buffer[: total - start]
            self._fill(file, block)
            yield block

    def _by_column(self, file: IO[bytes], rows: int) -> Iterator[Array]:
        (total, columns), header = self.shape, self.array.header
        size = header.dtype.itemsize
        rows_at_once = max(rows, COLUMN_BYTES // (columns * size))
        buffer = np.empty((columns, min(rows_at_once, total)), header.dtype)
        for start in range(0, total, rows_at_once):
            part = buffer[:, : total - start]
            for k, column in enumerate(part):
                file.seek(header.offset + (k * total + start) * size)
                self._fill(file, column)
            for first in range(0, part.shape[1], rows):
                yield part[:, first : first + rows].T

    def _fill(self, file: IO[bytes], block: Array) -> None:
        if cast(Any, file).readinto(block.data) != block.nbytes:
            raise InputError(
                f"{self.array.file} became shorter while it was read; evaluate it when it is complete"
            )


@dataclass(frozen=True)
class OrderedScores:
    """Scores with their columns in another order."""

    stored: StoredScores
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.stored.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type as stored."""
        return self.stored.dtype

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield blocks in this order."""
        for block in self.stored.blocks(rows):
            yield block[:, self.order]

    def head(self, rows: int) -> Array:
        """Return the first rows."""
        return self.stored.head(rows)[:, self.order]

    def before(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return the classes of the columns in the order stored."""
        return tuple(classes[self.order.index(place)] for place in range(len(self.order)))
