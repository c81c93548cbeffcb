"""Stored numpy arrays, and files of arrays as tables with a column for each, without pyarrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import IO, Any, cast

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError, UsageError
from calcli.io.messages import Place, Question, type_in_words
from calcli.io.options import ReadOptions
from calcli.io.places.heads import Header, native
from calcli.io.tables.labels import Labels, join_labels, labels_from_array, one_hot
from calcli.io.tables.source import (
    Contents,
    HeldScores,
    Shape,
    SomeScores,
    StoredScores,
    require_label_each,
    require_rows,
    require_single,
    rows_and_columns,
    rows_of,
)
from calcli.io.words import may_be_label

LABELS = 1 << 17  # read at once
COLUMN_BYTES = 1 << 24  # bytes read at once from a file that stores column after column
SAMPLE = "axis0"  # the column with the sample of each position
CLASS_NAMES = ("classes", "class_names")
NOTE = "recalibrated by "  # prefix of the mark in the comment of an archive


@dataclass(frozen=True)
class StoredArray:
    """An array in a file.

    Attributes
    ----------
    name, file
        Its name, and its file.
    header
        Its type and shape.
    opened
        Opens its file; None if it is in memory.
    load
        Reads all of it.
    packed
        Whether it can only be read sequentially.
    """

    name: str
    file: str
    header: Header
    opened: Callable[[], AbstractContextManager[IO[bytes]]] | None
    load: Callable[[], Array]
    packed: bool = False

    @classmethod
    def held(cls, values: Array, name: str, file: str) -> StoredArray:
        """Return a stored array for an array in memory."""
        return cls(name, file, Header(values.shape, False, values.dtype, 0), None, values.view)

    def scores(self, axis: int) -> StoredScores:
        """Return it as scores, with this axis for the classes; only scattered scores are read immediately.

        Raises
        ------
        InputError
            If it does not hold numbers, or has no rows.
        """
        header = self.header
        if header.dtype.kind not in "iufb":
            raise InputError(f"{self.name} holds {type_in_words(header.dtype)}; expected scores, as numbers")
        turned = (*header.shape[:axis], *header.shape[axis + 1 :], *header.shape[axis : axis + 1])
        shape = rows_and_columns(turned, self.name)
        by_column = header.fortran_order and len(header.shape) > 1
        scattered = axis < len(header.shape) - 1 or (by_column and (len(header.shape) > 2 or self.packed))
        if scattered or self.opened is None:
            return HeldScores(np.moveaxis(self.load(), axis, -1).reshape(shape))
        return ArrayBlocks(self, self.opened, shape)


@dataclass(frozen=True)
class ArrayBlocks(StoredScores):
    """Scores in a file, read block by block."""

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
        """Yield (n, K) blocks."""
        with self.opened() as file:
            by_column = self.array.header.fortran_order and self.shape[1] > 1
            for block in self._by_column(file, rows) if by_column else self._by_row(file, rows):
                yield native(block)

    def _by_row(self, file: IO[bytes], rows: int) -> Iterator[Array]:
        total, columns = self.shape
        file.read(self.array.header.offset)  # seeking in an archive disables its checksums
        for start in range(0, total, rows):
            block = np.empty((min(rows, total - start), columns), self.array.header.dtype)
            self._fill(file, block)
            yield block

    def _by_column(self, file: IO[bytes], rows: int) -> Iterator[Array]:
        (total, columns), header = self.shape, self.array.header
        size = header.dtype.itemsize
        rows_at_once = max(rows, COLUMN_BYTES // (columns * size))
        for start in range(0, total, rows_at_once):
            part = np.empty((columns, min(rows_at_once, total - start)), header.dtype)
            for k, column in enumerate(part):
                file.seek(header.offset + (k * total + start) * size)
                self._fill(file, column)
            for row in range(0, part.shape[1], rows):
                yield part[:, row : row + rows].T

    def _fill(self, file: IO[bytes], block: Array) -> None:
        if cast(Any, file).readinto(block.data) != block.nbytes:
            raise InputError(
                f"{self.array.file} became shorter while it was read; evaluate it when it is complete"
            )


def class_axis(
    shape: tuple[int, ...], labels: tuple[int, ...] | None, options: ReadOptions, where: str
) -> int:
    """Return the axis of the classes in an array of scores: given, shown by the labels, or the last.

    Parameters
    ----------
    shape, labels
        Shapes of the scores, and of the labels if known.
    options
        `class_axis`, if the user said it.
    where
        The array, for messages.

    Raises
    ------
    InputError
        If the array is empty, or the labels leave the axis open.
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
        question = (
            f"{where} has shape {shape} and labels of shape {labels}: the classes may be axis "
            f"{' or '.join(map(str, fitting))}; say which: "
        )
        raise Question(
            [{"class_axis": axis} for axis in fitting],
            lambda offers, command: question + "; ".join(map(command, offers)),
        )
    return fitting[0] if fitting else axes - 1


def places_note(shape: tuple[int, ...], axis: int) -> tuple[str, ...]:
    """Return a note on an array with several positions per sample."""
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
    """Return the (N,) sample of each position."""
    samples, places = _samples(shape, axis)
    return np.repeat(np.arange(samples), places)


def _samples(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    """Return the number of samples, and of positions per sample."""
    samples = shape[0] if axis else shape[1]
    return samples, int(np.prod(shape, dtype=object)) // max(1, shape[axis] * samples)


@dataclass(frozen=True)
class Archive(Contents):
    """A file of named arrays.

    Attributes
    ----------
    name
        Of the file.
    names
        Of the arrays.
    array
        Finds an array by name.
    comment
        Comment of the archive, which may name the applied calibrators.
    scores
        The array of scores, if it is known without a name.
    label, labels_from
        The array of their labels then, and the file of the labels; "" for none.
    """

    name: str
    names: tuple[str, ...]
    array: Callable[[str], StoredArray]
    comment: str = ""
    scores: str = ""
    label: str = ""
    labels_from: str = ""
    what = "arrays"

    @classmethod
    def held(cls, name: str, arrays: Mapping[str, Array], scores: str, label: str = "") -> Archive:
        """Return an archive of arrays in memory."""
        stored = {key: StoredArray.held(native(values), name, name) for key, values in arrays.items()}
        return cls(name, tuple(stored), stored.__getitem__, scores=scores, label=label, labels_from=name)

    @property
    def mark(self) -> str:
        """The fingerprints of the applied calibrators."""
        return self.comment.removeprefix(NOTE) if self.comment.startswith(NOTE) else ""


@dataclass(frozen=True)
class ArrayTable:
    """The rows of files of arrays, joined in order.

    Attributes
    ----------
    files
        Files with the same arrays, as far as these are columns.
    array
        The array of the scores.
    axes
        The axis of the classes in each file.
    """

    files: tuple[Archive, ...]
    array: str
    axes: tuple[int, ...]

    @cached_property
    def shapes(self) -> list[Shape]:
        """The shape of the scores in each file."""
        return [file.array(self.array).header.shape for file in self.files]

    @cached_property
    def scores(self) -> StoredScores:
        """The scores in all files."""
        of_files = [
            file.array(self.array).scores(axis) for file, axis in zip(self.files, self.axes, strict=True)
        ]
        return of_files[0] if len(of_files) == 1 else SomeScores(tuple(of_files))

    @cached_property
    def rows(self) -> list[Shape]:
        """The shape that other values may have in each file; flat values are always accepted."""
        return [rows_of(shape, axis) for shape, axis in zip(self.shapes, self.axes, strict=True)]

    @property
    def rows_of_all(self) -> Shape:
        """The same for labels of all files together; all axes but the first must be equal."""
        front, *axes = self.rows[0]
        alike = all(list(rows[1:]) == axes for rows in self.rows)
        return (front + sum(rows[0] for rows in self.rows[1:]), *axes) if alike else self.scores.shape[:1]

    @property
    def place(self) -> Place:
        """The files, for messages."""
        return Place(tuple((f.name, math.prod(rows)) for f, rows in zip(self.files, self.rows, strict=True)))

    def others(self, *, labelled: bool) -> tuple[str, ...]:
        """Return the names of the other arrays; with labels also the one with the sample of each row."""
        names_of_first, *further = (file.names for file in self.files)
        unused = [name for name in names_of_first if name not in (self.array, *CLASS_NAMES)]
        unused += [SAMPLE] if labelled and len(self.shapes[0]) > 2 and SAMPLE not in unused else []
        return tuple(name for name in unused if name == SAMPLE or all(name in names for names in further))

    def values(self, name: str) -> Array:
        """Return an array as a column, (N,).

        Raises
        ------
        InputError
            If it does not have one value per row.
        """
        columns, samples = [], 0
        for number, file in enumerate(self.files):
            if name == SAMPLE and SAMPLE not in file.names:
                columns.append(sample_of_each(self.shapes[number], self.axes[number]) + samples)
                samples = int(columns[-1][-1]) + 1
            else:
                columns.append(self._column(number, name))
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    def _column(self, number: int, name: str) -> Array:
        file, rows = self.files[number], self.rows[number]
        values = file.array(name).load()
        if values.size != (count := math.prod(rows)):
            raise InputError(
                f"{file.name}: {name} has shape {values.shape}; expected a value for each of {count:,} rows"
            )
        require_rows(f"{file.name}: {name} has values", values.shape, rows)
        require_single(values, f"{file.name}: {name}")
        return values.reshape(-1)

    def fitting(self, name: str) -> Array | None:
        """Return an array as a column to write, with one-hot labels as numbers; None if it is no column."""
        try:
            values = self.values(name)
        except InputError:
            if not may_be_label(name) or len(self.files) > 1:
                return None
            codes = one_hot(self.files[0].array(name).load())
            return codes if codes is not None and codes.shape == self.scores.shape[:1] else None
        return (
            values.astype(np.float64) if values.dtype == np.longdouble else values
        )  # which tables do not support

    def labels(self, name: str, labels_from: Sequence[str] = ()) -> Labels:
        """Return an array as labels, file by file; `labels_from` are the files with labels.

        Raises
        ------
        InputError
            If there is not one label per row.
        """
        of_files = []
        for number, file in enumerate(self.files):
            stored, shape, axis = file.array(name), self.shapes[number], self.axes[number]
            turned = (*rows_of(shape, axis), shape[axis] if len(shape) > 1 else 1)
            size, owner = math.prod(self.rows[number]), labels_from[number] if labels_from else stored.name
            labels = flat_labels(stored, turned, Place(((owner, math.prod(stored.header.shape)),)))
            if file.label and owner == file.name:  # handed over
                _refuse_other_rows(file.name, shape, stored.header.shape, len(labels) == size)
            require_label_each(file.name, (size, turned[-1]), len(labels), owner, self.array)
            of_files.append(labels)
        if len(of_files) == 1:
            return of_files[0]
        return join_labels(partial(iter, of_files), sum(map(len, of_files)))


def _refuse_other_rows(owner: str, scores: Shape, labels: Shape, fits: bool) -> None:
    """Raise an InputError unless labels fit; tell if another axis of the scores has the classes."""
    mend = ""
    for axis in reversed(range(len(scores) - 1)):
        rows = rows_of(scores, axis)
        if labels in (rows, (math.prod(rows),), (*rows, scores[axis])):
            mend = f"; if axis {axis} has the classes, give np.moveaxis(scores, {axis}, -1)"
    if not fits:
        raise InputError(
            f"{owner}: the scores have the shape {scores}, but the labels {labels}; expected one label per "
            f"row{mend}"
        )


def flat_labels(stored: StoredArray, scores: Shape, place: Place) -> Labels:
    """Return labels from an array, with all axes flattened.

    Parameters
    ----------
    stored
        The array.
    scores
        The shape of the scores, with the classes last.
    place
        The place of the labels.

    Raises
    ------
    InputError
        If it has a 0 or 1 for every class but not a single 1 in each row, values that cannot be labels, or
        other axes than the rows.
    """
    shape = stored.header.shape
    numbers = stored.header.dtype.kind in "iufb" and stored.opened is not None
    if numbers and len(shape) == 1 and shape == scores[:-1]:
        return join_labels(partial(_labels_in_blocks, stored, place), shape[0])
    values = stored.load()
    if values.ndim > 1 and values.shape[-1] > 1 and values.shape == scores:
        if (labels := _one_hot_labels(values.reshape(-1, values.shape[-1]), place)) is not None:
            return labels
        raise InputError(
            f"{stored.name} has labels of shape {values.shape}, one for each score: these are one-hot or "
            "multi-label indicators; expected one class per row, such as labels.argmax(-1); where several "
            "classes may be true at once, evaluate each class by itself as a two-class file; if each score "
            "is that of the second of two classes, give the scores an axis of length 1 for the classes, as "
            "np.expand_dims(scores, -1) does"
        )
    require_rows(f"{stored.name} has labels", values.shape, scores[:-1], scores)
    return labels_from_array(native(values).reshape(-1), place)


def _labels_in_blocks(stored: StoredArray, place: Place) -> Iterator[Labels]:
    start = 0
    for block in stored.scores(0).blocks(LABELS):
        yield labels_from_array(block[:, 0], place, start)
        start += len(block)


def _one_hot_labels(values: Array, place: Place) -> Labels | None:
    """Return labels from (N, K) values, with rows of nan as missing; None if other rows are not one-hot."""
    gone = np.isnan(values).all(axis=1) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)
    if (there := one_hot(values[~gone] if gone.any() else values)) is None:
        return None
    places = there
    if gone.any():
        places = np.full(len(values), np.nan)
        places[~gone] = there
    return replace(labels_from_array(places, place), meaning="positions")
