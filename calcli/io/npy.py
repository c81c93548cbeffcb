"""Numpy files: .npy arrays read block by block, .npz archives of them, and the labels beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.files import known_format, refuse_wrong_content
from calcli.io.labels import Labels, labels_from_array
from calcli.io.places import Place
from calcli.io.rawscores import HeldScores, RawScores, rows_and_columns

COLUMN_BYTES = 1 << 24  # read at once from a file that stores column after column


@dataclass(frozen=True)
class Header:
    """What the head of a .npy file says about the array, and where that begins."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    offset: int


def read_header(file: BufferedReader, name: str) -> Header:
    """Read the head of a .npy file.

    Raises
    ------
    InputError
        If it is not one, is damaged, or needs pickle.
    """
    try:
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
    except (ValueError, EOFError) as error:
        raise InputError(f"{name}: the head of this .npy file is damaged; save it again") from error
    if dtype.hasobject:
        raise InputError(
            f"{name} holds Python objects (a pickle), which could run any code and is never loaded; "
            "expected an array of numbers; save it with a numeric dtype, labels also as text"
        )
    return Header(shape, fortran_order, dtype, file.tell())


@dataclass(frozen=True)
class NpyScores:
    """Scores in a .npy file, read into one buffer block by block; a memory map would count as our memory."""

    path: Path
    header: Header
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type as stored, in native byte order."""
        return self.header.dtype.newbyteorder("=")

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield (n, K) views of the buffer."""
        with self.path.open("rb") as file:
            by_column = self.header.fortran_order and self.shape[1] > 1
            for block in self._by_column(file, rows) if by_column else self._by_row(file, rows):
                yield block.astype(self.dtype, copy=False)

    def _by_row(self, file: BufferedReader, rows: int) -> Iterator[Array]:
        total, columns = self.shape
        buffer = np.empty((min(rows, total), columns), self.header.dtype)
        file.seek(self.header.offset)
        for start in range(0, total, rows):
            block = buffer[: total - start]
            self._fill(file, block)
            yield block

    def _by_column(self, file: BufferedReader, rows: int) -> Iterator[Array]:
        total, columns = self.shape
        size = self.header.dtype.itemsize
        rows_at_once = max(rows, COLUMN_BYTES // (columns * size))
        buffer = np.empty((columns, min(rows_at_once, total)), self.header.dtype)
        for start in range(0, total, rows_at_once):
            part = buffer[:, : total - start]
            for k, column in enumerate(part):
                file.seek(self.header.offset + (k * total + start) * size)
                self._fill(file, column)
            for first in range(0, part.shape[1], rows):
                yield part[:, first : first + rows].T

    def _fill(self, file: BufferedReader, block: Array) -> None:
        if file.readinto(block.data) != block.nbytes:
            raise InputError(f"{self.path} became shorter while it was read; evaluate it when it is complete")


def open_npy(path: Path, positive: str | None) -> RawScores:
    """Look at a .npy file of scores; the numbers are read later.

    Raises
    ------
    InputError
        If the file is damaged, truncated, or does not hold scores.
    """
    refuse_wrong_content(path, "npy")
    with path.open("rb") as file:
        header = read_header(file, str(path))
    if header.dtype.kind not in "iufb":
        raise InputError(f"{path} holds values of type {header.dtype}; expected scores, as numbers")
    needed = int(np.prod(header.shape, dtype=object)) * header.dtype.itemsize
    held = path.stat().st_size - header.offset
    if held < needed:
        raise InputError(
            f"{path} is truncated: {held} of {needed} bytes of the array are there; copy it again"
        )
    shape = rows_and_columns(header.shape, str(path), positive)
    if header.fortran_order and len(header.shape) > 2:
        # its rows lie scattered over the file
        return HeldScores(np.load(path, allow_pickle=False).reshape(shape))
    return NpyScores(path, header, shape)


def read_labels(path: Path, scores_shape: tuple[int, ...] | None = None) -> Labels:
    """Read a .npy file of labels; all axes are flattened.

    Raises
    ------
    InputError
        If it cannot be read, or has a column for each class in place of one label a row.
    """
    if known_format(path) != "npy":
        raise InputError(
            f"{path}: expected a .npy file of labels; for a table, name the column with --label-column"
        )
    refuse_wrong_content(path, "npy")
    with path.open("rb") as file:
        read_header(file, str(path))
    try:
        values = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{path} is truncated or damaged; copy it again") from error
    refuse_indicators(values, scores_shape, str(path))
    flat = native(values).reshape(-1)
    return labels_from_array(flat, Place(((str(path), len(flat)),)))


def native(values: Array) -> Array:
    """Return values in the byte order of this machine."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def refuse_indicators(values: Array, scores_shape: tuple[int, ...] | None, name: str) -> None:
    """Refuse labels that have a 0 or 1 for every class."""
    if values.ndim > 1 and values.shape[-1] > 1 and values.shape == scores_shape:
        raise InputError(
            f"{name} has labels of shape {values.shape}, one for each score: these are one-hot or "
            "multi-label indicators; expected one class per row, such as labels.argmax(-1); where several "
            "classes may be true at once, evaluate each class by itself as a two-class file"
        )
