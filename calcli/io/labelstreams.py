"""Labels of which each value was seen, and which are read again with the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.labels import StreamedLabels
from calcli.core.language.errors import InputError
from calcli.io.labels import Labels, match
from calcli.io.messages import Place


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels that are not kept.

    Attributes
    ----------
    rows
        Their number.
    seen
        Each label once.
    held
        Reads all of them.
    read
        Yields their places among those seen.
    """

    rows: int
    seen: Labels
    held: Callable[[], Labels]
    read: Callable[[], Iterator[Array]]

    def __len__(self) -> int:
        return self.rows

    @property
    def codes(self) -> Array:
        """(N,) the labels, all of them read."""
        return self.held().codes

    def matched(self, classes: Sequence[str], place: Place, *, swapped: bool) -> Array:
        """Return the labels as positions in `classes`, as `match` does, perhaps those of two swapped."""
        try:
            positions = match(self.seen, classes, place)
        except InputError:
            return self.held().matched(classes, place, swapped=swapped)  # which names the row
        positions = (1 - positions if swapped else positions).astype(np.int32)

        def parts() -> Iterator[Array]:
            return (positions.take(codes) for codes in self.read())

        return cast(Array, StreamedLabels(self.rows, parts))

    def repeated(self, size: int) -> bool:
        """Tell whether all stretches of so many rows have the same labels, of two classes or more."""
        take = StreamedLabels(self.rows, self.read).in_order()
        first = take(slice(0, size)).copy()
        starts = range(size, self.rows, size)
        return bool(np.ptp(first)) and all(
            np.array_equal(take(slice(start, start + size)), first) for start in starts
        )
