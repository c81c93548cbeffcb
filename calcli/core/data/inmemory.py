"""Arrays, lists, series and tensors of Python as arrays of numbers or text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, is_nothing
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
        found = _unmasked(values)
        return _plain(found) if found.dtype.kind in "OT" else found
    except MemoryError:
        raise
    except Exception as error:  # whatever the interface of an object raises
        if "inhomogeneous" in str(error):
            raise InputError(f"the {called} are lists of different lengths; expected equal ones") from error
        raise InputError(f"the {called} cannot be read as an array: {str(error) or repr(error)}") from error


IN_ORDER = "scores", "labels"


def refuse_swapped(scores: Any, labels: Any, names: tuple[str, str] = IN_ORDER) -> None:
    """Raise an InputError if labels hold fractions, as scores do, and scores none, as labels.

    Parameters
    ----------
    scores, labels : array-like
        The first two arguments of a call.
    names
        What to call them.
    """
    fraction, none = _fraction(as_array(labels, names[1])), as_array(scores, names[0])
    single = none.ndim == 1 or none.shape[1:] == (1,)
    one_hot = none.dtype.kind in "biuf" and none.ndim == 2 and ((none != 0).sum(axis=1) == 1).all()
    if fraction is not None and (single or one_hot) and none.size and _fraction(none) is None:
        order = "; expected the scores first, then the labels" if names == IN_ORDER else ""
        raise InputError(
            f"the {names[1]} hold {fraction:g}, and the {names[0]} no such number: they look swapped{order}"
        )


def _fraction(values: Array) -> float | None:
    """Return the first number that is not whole; None if there is none."""
    if values.dtype.kind != "f":
        return None
    found = np.flatnonzero(np.isfinite(values) & (values != np.floor(values)))
    return float(values.reshape(-1)[found[0]]) if len(found) else None


def _unmasked(values: Any) -> Array:
    """Return what numpy takes for an array; what masked arrays hide is missing: nan, of text None."""
    if isinstance(values, list | tuple):
        values = _shown(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        numeric = values.dtype.kind in "iufb"
        found: Array = np.array(values.data, np.result_type(values.dtype, np.float32) if numeric else object)
        found[np.ma.getmaskarray(values)] = np.nan if numeric else None
        return found
    found = np.asarray(values)
    if found.dtype.kind == "O" and any(isinstance(one, np.ma.MaskedArray) for one in found.flat):
        return _unmasked(found.tolist())
    return found


def _shown(values: Sequence[Any]) -> Sequence[Any]:
    """Return lists with masked arrays as what they show; numpy would drop the masks."""
    nested = (list, tuple, np.ma.MaskedArray)
    if not any(issubclass(kind, nested) for kind in set(map(type, values))):
        return values
    return [_one_shown(one) for one in values]


def _one_shown(one: Any) -> Any:
    if one is np.ma.masked:
        return None
    if isinstance(one, np.ma.MaskedArray):
        return _unmasked(one)
    return _shown(one) if isinstance(one, list | tuple) else one


def _plain(values: Array) -> Array:
    """Return objects, or text of any length, as an array of another type if there is one."""
    if not values.ndim:
        raise TypeError(f"they are of type {type(values.item()).__name__}")
    flat = values.astype(object).reshape(-1).tolist()
    missing = np.array([is_nothing(value) for value in flat], np.bool_)
    there = np.array([value for value, gone in zip(flat, missing, strict=True) if not gone])
    if not missing.any():
        return there.reshape(values.shape + there.shape[1:])
    if there.ndim > 1:
        raise ValueError("some of their lists are missing")
    numeric = there.dtype.kind in "biuf"
    found = np.full(len(flat), np.nan if numeric else None, np.float64 if numeric else object)
    found[~missing] = there
    return found.reshape(values.shape)
