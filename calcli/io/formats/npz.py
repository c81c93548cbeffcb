"""Numpy's .npz: an archive of arrays."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.language.errors import InputError
from calcli.io.arrays import Archive, native
from calcli.io.remote import AnyPath
from calcli.io.writing import Frame, Writer


def open_file(path: AnyPath, name: str) -> Archive:
    """List the arrays of an .npz file.

    Raises
    ------
    InputError
        If it is damaged.
    """
    with _damage_said(path), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = tuple(archive)
    return Archive(name, names, partial(_load, path))


def _load(path: AnyPath, name: str) -> Array:
    with _damage_said(path, name), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return native(archive[name])


@contextmanager
def _damage_said(path: AnyPath, name: str = "") -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise InputError(f"{path} is truncated or damaged; copy it again") from error
    except ValueError as error:  # what numpy raises where it would need pickle
        raise InputError(
            f"{path}: the array {name} holds Python objects (a pickle), which could run any code and is "
            "never loaded; expected an array of numbers or text; save it with such a dtype"
        ) from error


class NpzWriter(Writer):
    """An archive of the array, the class names and the kept columns; gathered in memory."""

    def __init__(self, sink: BinaryIO, frame: Frame, path: AnyPath | None) -> None:
        super().__init__(sink, frame, path)
        self._beside: list[Any] = []
        self._scores: list[Doubles] = []

    def write(self, beside: Any, scores: Doubles) -> None:
        """Keep rows."""
        self._beside.append(beside)
        self._scores.append(scores)

    def arrays(self) -> dict[str, Any]:
        """Return all arrays by name."""
        import pyarrow as pa

        table = pa.Table.from_batches(self._beside, self.frame.others)
        arrays: dict[str, Any] = {name: _array(table.column(name)) for name in table.column_names}
        scores = np.concatenate(self._scores)
        arrays[self.frame.array_name] = scores if self.frame.classes else scores[:, 0]
        if self.frame.classes:
            arrays["classes"] = np.array(self.frame.classes)
        return arrays

    def end(self) -> None:
        """Write all arrays."""
        np.savez(self.sink, **self.arrays())


writer = NpzWriter


def _array(column: Any) -> Any:
    """Return a kept column as an array that needs no pickle: numbers, or text."""
    values = column.to_numpy()
    if values.dtype.kind == "O":
        return np.array(["" if value is None else str(value) for value in column.to_pylist()])
    return values
