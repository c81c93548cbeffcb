"""Arrays as numpy stores them, read block by block, and which of their axes has the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, cast

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import Question, type_in_words
from calcli.io.options import ReadOptions
from calcli.io.places.heads import Header, native
from calcli.io.places.paths import AnyPath
from calcli.io.tables.source import HeldScores, StoredScores, rows_and_columns

COLUMN_BYTES = 1 << 24  # read at once from a file that stores column after column
SAMPLE = "axis0"  # the column that says which sample a place is of


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
        return cls(name, file, Header(values.shape, False, values.dtype, 0), None, partial(np.asarray, values))

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
class ArrayBlocks(StoredScores):
    """Scores in a file, read into one buffer block by block."""

    array: StoredArray
    opened: Callable[[], AbstractContextManager[IO[bytes]]]
    size: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.size

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


def class_axis(
    shape: tuple[int, ...], labels: tuple[int, ...] | None, options: ReadOptions, where: str
) -> int:
    """Return which axis of an array of scores has the classes: as said, as the labels show, or the last.

    Parameters
    ----------
    shape, labels
        Of the scores, and of the labels if they are known.
    options
        `class_axis`, if the user said it.
    where
        The array, for messages.

    Raises
    ------
    InputError
        If the array is empty, or the labels leave open which it is.
    UsageError
        If there is no such axis.
    """
    axes = len(shape)
    if axes > 2 and 0 in shape:
        raise InputError(f"{where} has shape {shape} and holds no score; expected some rows")
    if options.class_axis is not None:
        if not -axes <= options.class_axis < axes:
            raise UsageError(
                f"--class-axis {options.class_axis}: {where} has {axes} axes, its shape is {shape}"
            )
        return options.class_axis % axes
    if axes < 2 or labels is None or len(labels) != axes - 1 or (axes == 2 and shape[:1] == labels):
        return axes - 1
    fitting = [axis for axis in range(axes) if shape[:axis] + shape[axis + 1 :] == labels]
    if len(fitting) > 1:
        said = (
            f"{where} has shape {shape} and labels of shape {labels}: the classes may be axis "
            f"{' or '.join(map(str, fitting))}; say which: "
        )
        raise Question(
            [{"class_axis": axis} for axis in fitting],
            lambda offers, shown: said + "; ".join(map(shown, offers)),
        )
    return fitting[0] if fitting else axes - 1


def classes_last(scores: Array, axis: int) -> Array:
    """Return scores with the axis of the classes last."""
    return np.moveaxis(scores, axis, -1)


def places_note(shape: tuple[int, ...], axis: int) -> tuple[str, ...]:
    """Return what there is to say of an array with several places a sample."""
    if len(shape) == 2 and axis == 0:
        return (f"shape {shape}: axis 0 has the {shape[0]:,} classes, and axis 1 the rows",)
    if len(shape) < 3:
        return ()
    samples, places = _samples(shape, axis)
    return (
        f"shape {shape}: axis {axis} has the {shape[axis]:,} classes; each of {samples:,} samples has "
        f"{places:,} places, which depend on each other: --cluster {SAMPLE} takes those of a sample together",
    )


def sample_of_each(shape: tuple[int, ...], axis: int) -> Array:
    """Return (N,) which sample each place is of."""
    samples, places = _samples(shape, axis)
    return np.repeat(np.arange(samples), places)


def _samples(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    """Return how many samples there are, and how many places each has."""
    samples = shape[0] if axis else shape[1]
    return samples, int(np.prod(shape, dtype=object)) // max(1, shape[axis] * samples)
