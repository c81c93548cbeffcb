"""Headers of .npy arrays, in files and in archives; no more is read than they state."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError
from calcli.io.places.archives import SAID, VALUES, naming_faults

VERSIONS = ((1, 0), (2, 0), (3, 0))  # of .npy
LAST_LETTER = 0x10FFFF  # of Unicode
PLAIN = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<type>[<|][biuf][1248])', 'fortran_order': False, "
    rb"'shape': \((?P<shape>[0-9, ]*)\), \} *\n",
    re.DOTALL,
)


class ObjectsError(InputError):
    """An array holds Python objects, which are never loaded."""


@dataclass(frozen=True)
class Header:
    """The facts in the header of a .npy file, and the start of its data."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def size(self) -> int:
        """Bytes of all its values."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def read_header(file: IO[bytes], name: str) -> Header:
    """Read the header of a .npy file.

    Raises
    ------
    InputError
        If it is not one, or is damaged.
    ObjectsError
        If it needs pickle.
    """
    with naming_faults(f"{name}: the head of this .npy file is damaged; save it again", VALUES):
        version = npy_format.read_magic(file)
        if version not in VERSIONS:
            raise ValueError(f"the version {version}")
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
        if any(isinstance(size, bool) or size < 0 for size in shape):  # numpy accepts booleans here
            raise ValueError(f"the shape {shape}")
    if dtype.hasobject:
        raise ObjectsError(
            f"{name} holds Python objects (a pickle), which could run any code and is never loaded; "
            "expected an array of numbers; save it with a numeric dtype, labels also as text"
        )
    return Header(shape, fortran_order, dtype, file.tell())


def held_array(content: bytes | memoryview, name: str) -> Array:
    """Return the array in the bytes of a .npy file; headers written by numpy need no Python parser.

    Raises
    ------
    InputError
        If they are no such file, are fewer than the header states, or need pickle.
    """
    if plain := PLAIN.match(content):
        shape = tuple(map(int, plain["shape"].replace(b",", b" ").split()))
        header = Header(shape, False, np.dtype(plain["type"].decode()), plain.end())
    else:
        header = read_header(io.BytesIO(content), name)
    end = header.offset + header.size
    if not header.dtype.itemsize or min(header.shape, default=0) < 0 or end > len(content):
        raise InputError(f"{name} is truncated or damaged; save it again")
    flat = np.frombuffer(content[:end], header.dtype, offset=header.offset)
    array = flat.reshape(header.shape[::-1]).T if header.fortran_order else flat.reshape(header.shape)
    with naming_faults(f"{name}: {SAID}"):
        return native(array).copy()


def is_of_single_values(dtype: np.dtype[Any]) -> bool:
    """Return whether values are single numbers, text or times, as in columns."""
    timeless = dtype.kind in "mM" and np.datetime_data(dtype)[0] == "generic"
    return dtype.kind in "biufUSOmM" and not timeless


def native(values: Array) -> Array:
    """Return values in the byte order of this machine.

    Raises
    ------
    ValueError
        If text has invalid code points.
    """
    array = values.astype(values.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and array.size:
        letters = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
        if letters.max(initial=0) > LAST_LETTER:
            raise ValueError("its text is damaged")
    return array
