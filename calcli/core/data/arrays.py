"""What arrays are called in annotations, by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]  # single or double precision, as the input was
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]
Tables = dict[str, dict[str, Array]]  # by name: columns of one length by their head

NOTHING = ("NoneType", "NAType", "NaTType")  # types of the missing values of Python and pandas


def missing(values: Array) -> Positions:
    """Return the rows of a column that hold nothing: no number, no time, no text."""
    if values.dtype.kind in "fcmM":
        return np.flatnonzero(values != values)  # nan and NaT
    if values.dtype.kind in "US":
        return np.flatnonzero(values == values.dtype.type())
    if values.dtype.kind == "O":
        return np.flatnonzero([_is_nothing(one) for one in values.tolist()])
    return np.empty(0, np.intp)


def _is_nothing(one: Any) -> bool:
    if type(one).__name__ in NOTHING:
        return True
    return one == "" if isinstance(one, str) else not np.iterable(one) and bool(one != one)


def as_values(values: Any) -> Array:
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
        return as_values(found.tolist())
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
        return as_values(one)
    return _shown(one) if isinstance(one, list | tuple) else one
