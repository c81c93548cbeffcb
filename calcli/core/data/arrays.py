"""What arrays are called in annotations, by what they hold; rows in batches, labels counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]  # single or double precision, as the input was
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]
Tables = dict[str, dict[str, Array]]  # by name: columns of one length by their head

TOGETHER = 1 << 16  # labels that are counted at once; their temporaries stay in the cache
NOTHING = ("NoneType", "NAType", "NaTType")  # types of the missing values of Python and pandas


def missing(values: Array) -> Positions:
    """Return the rows of a column that hold nothing: no number, no time, no text."""
    if values.dtype.kind in "fcmM":
        return np.flatnonzero(values != values)  # nan and NaT
    if values.dtype.kind in "US":
        return np.flatnonzero(values == values.dtype.type())
    if values.dtype.kind == "O":
        return np.flatnonzero([is_nothing(one) or (type(one) is str and not one) for one in values.tolist()])
    return np.empty(0, np.intp)


def is_nothing(one: Any) -> bool:
    """Return whether an object is a missing value of Python or pandas, or nan."""
    return type(one).__name__ in NOTHING or (not np.iterable(one) and bool(one != one))


def batches(number: int, size: int, most: int) -> Iterator[slice]:
    """Yield slices of `number` things of a size each, in order; of about `most` in all, one at least."""
    step = max(1, most // size)
    for start in range(0, number, step):
        yield slice(start, min(start + step, number))


def batch_sizes(number: int, size: int, most: int) -> Iterator[int]:
    """Yield how many things each of these slices holds."""
    for batch in batches(number, size, most):
        yield batch.stop - batch.start


def label_sums(labels: Array, weights: Floats | None, n_classes: int, hit: Array | None = None) -> Array:
    """Return (K,) numbers of the rows of each label, or sums of their weights; only of those that are hits.

    To choose the labels of hits would take several times as long.
    """
    found = np.zeros(2 * n_classes, np.int64 if weights is None else np.float64)
    for rows in batches(len(labels), 1, TOGETHER):
        cells = np.intp(2) * labels[rows]
        cells += True if hit is None else hit[rows]
        found += np.bincount(cells, None if weights is None else weights[rows], 2 * n_classes)
    return found[1::2]
