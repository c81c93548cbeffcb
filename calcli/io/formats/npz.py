"""Numpy's .npz: an archive of arrays, with scores read block by block."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import IO, Any, BinaryIO

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.io.formats.writer import Frame, Writer, refuse_bytes
from calcli.io.places.archives import TRUNCATED, naming_faults, refuse_bomb
from calcli.io.places.heads import native, read_header
from calcli.io.places.paths import AnyPath
from calcli.io.tables.arrays import NOTE, Archive, StoredArray

NPY = ".npy"  # ending of the names of arrays
CHECKED = 1 << 20  # bytes at a time


def open_file(path: AnyPath, name: str) -> Archive:
    """List the arrays of an .npz file.

    Raises
    ------
    InputError
        If it is damaged.
    """
    with _opened(path) as archive:
        names = tuple(member.removesuffix(NPY) for member in archive.namelist() if member.endswith(NPY))
        comment = archive.comment.decode("ascii", "replace")
    return Archive(name, names, partial(_find, path), comment)


def _find(path: AnyPath, name: str) -> StoredArray:
    """Read the head of an array.

    Raises
    ------
    InputError
        If it is damaged, or a decompression bomb.
    """
    where = f"{path}: the array {name}"
    with _opened(path) as archive:
        member = archive.getinfo(name + NPY)
        packed = member.compress_type != zipfile.ZIP_STORED
        with archive.open(member) as file:
            header = read_header(file, where)
            while header.fortran_order and not packed and file.read(CHECKED):
                pass  # later reads seek columns, without checks of checksums
        if header.size + header.offset > member.file_size:
            raise EOFError
    refuse_bomb(where, header.size, member.compress_size)
    opened = partial(_member, path, member.filename)
    return StoredArray(where, str(path), header, opened, partial(_load, opened), packed)


def _load(opened: Callable[[], AbstractContextManager[IO[bytes]]]) -> Array:
    with opened() as file:
        return native(np.lib.format.read_array(file, allow_pickle=False))


@contextmanager
def _member(path: AnyPath, name: str) -> Iterator[IO[bytes]]:
    """Yield one open file of an archive."""
    with _opened(path) as archive, archive.open(name) as file:
        yield file


@contextmanager
def _opened(path: AnyPath) -> Iterator[zipfile.ZipFile]:
    """Yield an open archive; errors of damaged parts become a sentence."""
    with naming_faults(f"{path} {TRUNCATED}"), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        yield archive


class NpzWriter(Writer):
    """An archive of the array, the class names and the kept columns; gathered in memory."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._beside: list[Any] = []
        self._scores: list[Doubles] = []

    def write(self, kept_columns: Any, scores: Doubles) -> None:
        """Keep rows."""
        self._beside.append(kept_columns)
        self._scores.append(scores)

    def arrays(self) -> dict[str, Any]:
        """Return all arrays by name."""
        import pyarrow as pa

        table = pa.Table.from_batches(self._beside, self.frame.others)
        arrays: dict[str, Any] = {name: _array(table.select([name])) for name in table.column_names}
        scores = np.concatenate(self._scores).astype(self.frame.dtype, copy=False)
        arrays[self.frame.array_name] = scores if scores.shape[1] > 1 else scores[:, 0]
        if self.frame.classes:
            arrays["classes"] = np.array(self.frame.classes)
        return arrays

    def end(self) -> None:
        """Write all arrays."""
        with zipfile.ZipFile(self.sink, "w") as archive:
            for name, values in self.arrays().items():
                with archive.open(name + NPY, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.asanyarray(values), allow_pickle=False)
            if self.frame.mark:
                archive.comment = f"{NOTE}{self.frame.mark}".encode()


writer = NpzWriter


def _array(table: Any) -> Array:
    """Return a kept column as an array without pickle: numbers, text, or bytes of limited length.

    Raises
    ------
    InputError
        If it holds bytes that cannot be restored.
    """
    import pyarrow as pa

    from calcli.io.tables.values import exact_numbers

    column = table.column(0)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_binary(column.type) and not column.null_count:
        stored: Array = np.array(column.to_pylist(), "S")
        if stored.tolist() == column.to_pylist():  # zeros at the end are lost
            return stored
    refuse_bytes(table.schema.field(0).with_type(column.type))
    if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return exact_numbers(table.to_batches())
    values: Array = column.to_numpy()
    if values.dtype.kind == "O":
        return np.array(["" if value is None else str(value) for value in column.to_pylist()])
    return values
