"""Arrays, lists, series and tensors of Python as arrays of numbers or text."""

from __future__ import annotations

from typing import Any

import numpy as np

from calcli.core.data.arrays import NOTHING, Array, as_values
from calcli.core.language.errors import InputError


def as_array(values: Any, called: str) -> Array:
    """Return what Python has in memory as an array.

    Objects become what a list of them would: numbers, truth or text. Where some are missing, numbers are
    floats, those nan, and text stays objects, those None.

    Parameters
    ----------
    values : array-like
        Tensors without the interface of numpy come through DLPack.
    called
        What they are, in the plural, for messages.

    Raises
    ------
    InputError
        If they are no array, such as lists of different lengths.
    """
    by_dlpack = hasattr(values, "__dlpack__") and not hasattr(values, "__array__")
    try:
        if by_dlpack:
            return np.from_dlpack(values)
        found = as_values(values)
        return _plain(found) if found.dtype.kind in "OT" else found
    except MemoryError:
        raise
    except Exception as error:  # whatever the interface of an object raises
        if "inhomogeneous" in str(error):
            raise InputError(f"the {called} are lists of different lengths; expected equal ones") from error
        raise InputError(f"the {called} cannot be read as an array: {str(error) or repr(error)}") from error


def _plain(values: Array) -> Array:
    """Return objects, or text of any length, as an array of another type if there is one."""
    if not values.ndim:
        raise TypeError(f"they are of type {type(values.item()).__name__}")
    flat = values.astype(object).reshape(-1).tolist()
    missing = np.array([_is_missing(value) for value in flat], np.bool_)
    there = np.array([value for value, gone in zip(flat, missing, strict=True) if not gone])
    if not missing.any():
        return there.reshape(values.shape + there.shape[1:])
    if there.ndim > 1:
        raise ValueError("some of their lists are missing")
    numeric = there.dtype.kind in "biuf"
    found = np.full(len(flat), np.nan if numeric else None, np.float64 if numeric else object)
    found[~missing] = there
    return found.reshape(values.shape)


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in NOTHING or (isinstance(value, float) and value != value)
