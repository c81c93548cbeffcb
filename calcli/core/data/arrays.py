"""What arrays are called in annotations, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]  # single or double precision, as the input was
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]
Tables = dict[str, dict[str, Array]]  # by name: columns of one length by their head


def missing(values: Array) -> Positions:
    """Return the rows of a column that hold nothing: no number, no time, no text."""
    if values.dtype.kind in "fcmM":
        return np.flatnonzero(values != values)  # nan and NaT
    if values.dtype.kind in "US":
        return np.flatnonzero(values == values.dtype.type())
    if values.dtype.kind == "O":
        gone = [one is None or one != one or one == "" for one in values.tolist()]
        return np.flatnonzero(gone)
    return np.empty(0, np.intp)


def as_values(values: Any) -> Array:
    """Return what numpy takes for an array; what a masked array hides is missing: nan, of text None."""
    if isinstance(values, list | tuple) and any(isinstance(one, np.ma.MaskedArray) for one in values):
        values = np.ma.array(values)  # numpy would drop the masks
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return np.asarray(values)
    numeric = values.dtype.kind in "iufb"
    found: Array = np.array(values.data, np.result_type(values.dtype, np.float32) if numeric else object)
    found[np.ma.getmaskarray(values)] = np.nan if numeric else None
    return found
