"""Safetensors: a head in JSON and raw data; read without the library, and without pickle."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.arrays import Archive
from calcli.io.formats.npz import NpzWriter
from calcli.io.heads import Header, native
from calcli.io.remote import AnyPath
from calcli.io.storedarrays import StoredArray, opened_file

LENGTH = 8  # bytes that say how long the head is
METADATA = "__metadata__"
CLASSES = "classes"
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}


def open_file(path: AnyPath, name: str) -> Archive:
    """Read the head of a file.

    Raises
    ------
    InputError
        If it is damaged.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH), "little")
        if not 2 <= length <= size - LENGTH:
            raise InputError(f"{path} is truncated or damaged; copy it again")
        try:
            head = json.loads(file.read(length))
            classes = json.loads(head.pop(METADATA, {}).get(CLASSES, "null"))
            arrays = {array: _checked(said, size - LENGTH - length) for array, said in head.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(f"{path} is truncated or damaged; copy it again") from error
    names = (*arrays, *([CLASSES] if isinstance(classes, list) and CLASSES not in arrays else []))
    return Archive(name, names, partial(_array, path, LENGTH + length, arrays, classes))


def _checked(said: dict[str, Any], held: int) -> tuple[str, tuple[int, ...], int]:
    """Return type, shape and place of an array.

    Raises
    ------
    ValueError
        If it is not within the file.
    """
    kind, shape = said["dtype"], tuple(map(operator.index, said["shape"]))
    start, stop = map(operator.index, said["data_offsets"])
    if not 0 <= start <= stop <= held or any(length < 0 for length in shape):
        raise ValueError
    if not isinstance(kind, str):
        raise TypeError
    if kind in TYPES and stop - start != int(np.prod(shape, dtype=object)) * np.dtype(TYPES[kind]).itemsize:
        raise ValueError
    return kind, shape, start


def _array(
    path: AnyPath, data: int, arrays: dict[str, tuple[str, tuple[int, ...], int]], classes: Any, name: str
) -> StoredArray:
    """Return one of the arrays, or the names of the classes."""
    where, opened = f"{path}: the array {name}", partial(opened_file, path)
    if name not in arrays:
        names = np.array(list(map(str, classes)))
        return StoredArray(
            where, str(path), Header(names.shape, False, names.dtype, 0), opened, lambda: names
        )
    kind, shape, start = arrays[name]
    if kind not in TYPES:
        raise InputError(f"{where} has the type {kind}; expected one of {', '.join(TYPES)}")
    header = Header(shape, False, np.dtype(TYPES[kind]), data + start)
    decode = _single if kind == "BF16" else native
    return StoredArray(where, str(path), header, opened, partial(_load, path, header, decode), decode=decode)


def _load(path: AnyPath, header: Header, decode: Callable[[Array], Array]) -> Array:
    found = np.empty(header.shape, header.dtype)
    with path.open("rb") as file:
        file.seek(header.offset)
        if file.readinto(found.reshape(-1).data) != found.nbytes:
            raise InputError(f"{path} became shorter while it was read; evaluate it when it is complete")
    return decode(found)


def _single(halves: Array) -> Array:
    """Return the numbers of which there is the first half in single precision."""
    return (halves.astype(np.uint32) << 16).view(np.float32)


class SafetensorsWriter(NpzWriter):
    """The array and the kept numbers; names of classes stand in the metadata, other text is left out."""

    takes_bytes = False

    def end(self) -> None:
        """Write all arrays."""
        arrays = self.arrays()
        classes = arrays.pop("classes", None)
        head: dict[str, Any] = {}
        if classes is not None:
            head[METADATA] = {CLASSES: json.dumps(classes.tolist())}
        raw, names = [], {np.dtype(code): kind for kind, code in TYPES.items() if kind != "BF16"}
        at = 0
        for name, array in arrays.items():
            array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            if array.dtype not in names:
                raise InputError(
                    f"the array {name} holds {array.dtype}, and safetensors only numbers; choose another "
                    "format with -o"
                )
            head[name] = {
                "dtype": names[array.dtype],
                "shape": list(array.shape),
                "data_offsets": [at, at + array.nbytes],
            }
            raw.append(array.tobytes())
            at += array.nbytes
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % LENGTH)
        self.sink.write(len(text).to_bytes(LENGTH, "little") + text + b"".join(raw))


writer = SafetensorsWriter
