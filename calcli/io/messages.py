"""What messages say: where a row stands, in data of several files counted file by file, and what is there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STDIN = "standard input"


MOST_COMMANDS = 6  # that a message shows


@dataclass(frozen=True)
class Place:
    """The files that make up one data set.

    Attributes
    ----------
    parts
        Name and number of rows of each file, in reading order.
    """

    parts: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Name the data set."""
        first = self.parts[0][0]
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of the rows, if some were left out; else empty."""
        return ()

    def row(self, index: int) -> str:
        """Name a row: the file it is in, and its number there, counted from 0."""
        for name, rows in self.parts[:-1]:
            if index < rows:
                return f"{name}: row {index}"
            index -= rows
        return f"{self.parts[-1][0]}: row {index}"


def in_first(looked_at: int, rows: int) -> str:
    """Return the beginning of a sentence on the first rows, where these are not all."""
    return "" if looked_at == rows else f"in the first {looked_at:,} rows "


@dataclass(frozen=True)
class KeptPlace(Place):
    """Files of which some rows are kept."""

    whole: Place
    rows: tuple[int, ...]

    @classmethod
    def of(cls, whole: Place, kept: NDArray[np.bool_]) -> KeptPlace:
        """Return the (N,) rows of a place that are kept."""
        parts, first = [], 0
        for name, rows in whole.parts[:-1]:
            parts.append((name, int(kept[first : first + rows].sum())))
            first += rows
        parts.append((whole.parts[-1][0], int(kept[first:].sum())))  # a stream does not know its rows
        return cls(tuple(parts), whole, tuple(kept.nonzero()[0].tolist()))

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of the rows that are left."""
        before = self.whole.left
        return tuple(before[row] for row in self.rows) if before else self.rows

    def row(self, index: int) -> str:
        """Name a row by where it is stored."""
        return self.whole.row(self.rows[index] if self.rows else index)  # a file may have none


def in_command(name: str) -> str:
    """Return a data set as it stands in a command to be run; of several files `FILES`, as they were given."""
    if name == STDIN:
        return "-"
    return "FILES" if re.search(r" and \d+ more$", name) else shlex.quote(name)


def type_in_words(dtype: np.dtype[Any]) -> str:
    """Return what values of a type other than numbers are, for messages."""
    kinds = {"U": "text", "S": "text", "T": "text", "c": "complex numbers", "M": "dates", "m": "durations"}
    kinds["O"] = "lists or the like"
    if (dtype.kind, dtype.itemsize) == ("V", 2):
        return (
            "bfloat16, which .npy has no type for; convert it with (values.view(np.uint16).astype(np.uint32) "
            "<< 16).view(np.float32)"
        )
    return kinds.get(dtype.kind, f"values of type {dtype}")


def listed(names: Sequence[str], limit: int = 8) -> str:
    """Join names for a message, leaving out the middle of a long list; an empty one is `""`."""
    names = [name or '""' for name in names]
    if len(names) <= limit:
        return ", ".join(names) or "none"
    return f"{', '.join(names[: limit - 2])}, ..., {names[-1]} ({len(names)} in all)"
