"""Numbers of rows in merged states: those of parts of one run are known, others are numbered on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.language.errors import InputError

BY_FIRST = attrgetter("first")


@dataclass(frozen=True, order=True)
class Part:
    """One of the data sets in a state.

    Attributes
    ----------
    name
        Of its file.
    rows
        Their number; those of weight 0 do not count.
    digest
        Of what was kept of them.
    run
        What it is a part of; "" if it stands alone.
    first
        The number of its first row in that run.
    left
        Rows of weight 0 that were left out, where they have places in that run.
    """

    name: str
    rows: int
    digest: str
    run: str = ""
    first: int = 0
    left: int = 0

    @property
    def stop(self) -> int:
        """The number behind that of its last row."""
        return self.first + self.places

    @property
    def places(self) -> int:
        """How many numbers its rows take, those that were left out included."""
        return self.rows + self.left


def run_of(parts: Sequence[Part]) -> str:
    """Return the run that all parts are of; "" if there is none."""
    return parts[0].run if all(part.run == parts[0].run for part in parts) else ""


def starts(parts: Sequence[Part]) -> list[int]:
    """Return the number of the first row of each part: of one run its own, else they are numbered on."""
    found = [parts[0].first]
    for before, part in pairwise(parts):
        found.append(found[-1] + before.places + _gap(before, part))
    return found


def numbers(parts: Sequence[Part]) -> Array:
    """Return the numbers of all rows, if none was left out."""
    pairs = zip(starts(parts), parts, strict=True)
    return np.concatenate([np.arange(start, start + part.rows) for start, part in pairs])


class Numbering:
    """The numbers of the rows of states that are merged one after the other.

    Attributes
    ----------
    run
        The run that all of them are of; "" if there is none.
    """

    def __init__(self) -> None:
        self.run, self._stop = "", 0
        self._last: Part | None = None
        self._runs: dict[str, list[Part]] = {}

    def place(self, parts: Sequence[Part]) -> int:
        """Take the parts of a state, and return by how much its numbers are to be raised.

        Raises
        ------
        InputError
            If parts of one run cross.
        """
        for part in parts:
            self._refuse_crossing(part)
        run = run_of(parts)
        if self._last is None or (run and run == self.run):
            offset, self.run = 0, run
        else:
            offset, self.run = self._stop + _gap(self._last, parts[0]) - parts[0].first, ""
        stop = offset + starts(parts)[-1] + parts[-1].places
        if stop >= self._stop:
            self._stop, self._last = stop, parts[-1]
        return offset

    def _refuse_crossing(self, part: Part) -> None:
        known = self._runs.setdefault(part.run, [])
        if not part.run:
            return
        at = bisect_right(known, part.first, key=BY_FIRST)
        for other in known[max(at - 1, 0) : at + 1]:
            if part.first < other.stop and other.first < part.stop:
                raise InputError(
                    f"{part.name} has rows {part.first:,} to {part.stop - 1:,} of the run {part.run}, and "
                    f"{other.name} {other.first:,} to {other.stop - 1:,}; expected different rows"
                )
        known.insert(at, part)


def _gap(before: Part, part: Part) -> int:
    """Return how many rows are missing between two parts, as far as is known."""
    return max(part.first - before.stop, 0) if part.run and part.run == before.run else 0
