"""Labels: counted; and those of so many rows that they are not kept, but read anew with every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from calcli.core.data.arrays import Array, Floats, batches

Rows = Callable[[slice], Array]
TOGETHER = 1 << 16  # labels that are counted at once; their temporaries stay in the cache


class StreamedLabels(NDArrayOperatorsMixin):
    """(N,) labels, read part by part by who looks at them in order, and by all others as an array.

    Parameters
    ----------
    rows
        Their number.
    parts
        Reads them, from the first one on.
    """

    dtype = np.dtype(np.int32)
    ndim = 1

    def __init__(self, rows: int, parts: Callable[[], Iterator[Array]]) -> None:
        self.size, self._parts = rows, parts

    @property
    def shape(self) -> tuple[int]:
        """Their number."""
        return (self.size,)

    @cached_property
    def _whole(self) -> Array:
        found, at = np.empty(self.size, self.dtype), 0
        for part in self._parts():
            found[at : at + len(part)] = part
            at += len(part)
        return found

    def in_order(self) -> Rows:
        """Return what gives slices that follow each other from the first row on."""
        parts, held, at = self._parts(), np.empty(0, self.dtype), 0

        def take(rows: slice) -> Array:
            nonlocal held, at
            n = rows.stop - rows.start
            while len(held) - at < n:
                held, at = np.concatenate([held[at:], next(parts)]), 0
            at += n
            return held[at - n : at]

        return take

    def __len__(self) -> int:
        return self.size

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._whole, dtype, copy=copy)

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, slice) and chosen.start is None and chosen.step is None:
            if chosen.stop is None or chosen.stop >= self.size:
                return self
            if chosen.stop > 0:
                return self.in_order()(slice(0, chosen.stop))
        return self._whole[chosen]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._whole, name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        arrays = (one._whole if isinstance(one, StreamedLabels) else one for one in inputs)
        return getattr(ufunc, method)(*arrays, **more)


def in_order(labels: Array | StreamedLabels) -> Rows:
    """Return what gives slices of labels that follow each other from the first row on."""
    return labels.in_order() if isinstance(labels, StreamedLabels) else labels.__getitem__


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
