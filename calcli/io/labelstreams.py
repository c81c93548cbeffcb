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

MANY_ROWS = 5_000_000  # above which labels are not kept
WIDEST = 1 << 16  # range of integers that may be labels


@dataclass(frozen=True)
class LabelColumn:
    """A column or an array of labels that are not kept.

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


def integer_labels(
    rows: int,
    parts: Callable[[], Iterator[Array | None]],
    held: Callable[[], Labels],
    *,
    boolean: bool = False,
) -> LabelColumn | None:
    """Return labels that are read part by part, unless their range is too wide or one is missing.

    Parameters
    ----------
    rows
        Their number.
    parts
        Reads them as integers, each part valid until the next one; None where one is missing.
    held
        Reads all of them at once.
    boolean
        Whether they are booleans.
    """
    low, present = 0, np.empty(0, np.bool_)
    for codes in parts():
        if codes is None:
            return None
        if not len(codes):
            continue
        least, most = int(codes.min()), int(codes.max())
        first, last = (min(low, least), max(low + len(present) - 1, most)) if len(present) else (least, most)
        if last - first >= WIDEST:
            return None
        wider = np.zeros(last - first + 1, np.bool_)
        wider[low - first :][: len(present)] = present
        low, present = first, wider
        present[codes - low] = True
    values = np.flatnonzero(present) + low
    place = np.cumsum(present) - 1

    def read() -> Iterator[Array]:
        return (place.take(codes - low) for codes in parts() if codes is not None)

    return LabelColumn(rows, Labels(values, meaning="booleans" if boolean else "numbers"), held, read)
