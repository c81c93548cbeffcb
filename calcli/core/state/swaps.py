"""Sums over coarse score cells and few deals of rows, which change sides in comparisons of two states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.binning import distinct
from calcli.core.state.deals import UNIT, fixed, turned

SWAPPED_DEALS = 499  # a prime, as other numbers of deals
WIDTHS = 60  # equal-width cells, of which those of 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 bins are made
FINE = 1 << 16
OCTAVES = range(7, 15)  # powers of 1/2 near 0 and 1 where cells end as well, for rankings


@cache
def swap_edges() -> Doubles:
    """Return the (cells + 1,) edges of the cells; the last one holds 1.0 as well."""
    ends = 0.5 ** np.array(OCTAVES)
    return distinct(np.concatenate([np.arange(WIDTHS + 1) / WIDTHS, ends, 1 - ends]))


@cache
def _table() -> tuple[NDArray[np.intp], Doubles]:
    """Return for each of many equal-width cells the cell of its lower end, and the next edge."""
    inner = swap_edges()[1:-1]
    before = np.searchsorted(inner, np.arange(FINE + 1) / FINE, side="right")
    return before, np.append(inner, np.inf)[before]


def swap_index(score: Floats) -> NDArray[np.intp]:
    """Return the (n,) cells of scores: several times as fast as a search."""
    before, edge = _table()
    fine = (score * FINE).astype(np.intp)  # exact, as it is a power of 2; no two edges are in one
    return before.take(fine) + (score >= edge.take(fine))


@dataclass
class Swaps:
    """Sums of a lens over deals and cells.

    Attributes
    ----------
    count, outcome
        (deals, cells) rows, and those whose outcome is 1; or their weight.
    score
        (deals, cells) sums of scores in units of 2^-32; or weighted sums in such units.
    """

    count: Array
    outcome: Array
    score: Array

    @classmethod
    def of(cls, score: Floats, outcome: Array, weights: Floats | None, numbers: Array) -> Swaps:
        """Return the sums of (n,) rows of these numbers, or hashes of keys."""
        cells = len(swap_edges()) - 1
        place = (numbers % SWAPPED_DEALS).astype(np.intp) * cells + swap_index(score)
        units = fixed(score)
        values: tuple[Array | None, ...] = (None, outcome, units)
        if weights is not None:
            values = (weights, weights * outcome, weights * units)
        tables = [np.bincount(place, one, SWAPPED_DEALS * cells).reshape(-1, cells) for one in values]
        # integers that a double holds, as there are few rows
        return cls(*tables) if weights is not None else cls(*(table.astype(np.int64) for table in tables))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> Swaps:
        """Return the sums that `arrays` gave."""
        return cls(arrays["count"], arrays["outcome"], arrays["score"])

    def arrays(self) -> dict[str, Array]:
        """Return what is stored of the sums, by name."""
        return {"count": self.count, "outcome": self.outcome, "score": self.score}

    def raised(self, offset: int) -> Swaps:
        """Return the sums of rows whose numbers are higher by an offset."""
        return Swaps(turned(self.count, offset), turned(self.outcome, offset), turned(self.score, offset))

    def merged(self, other: Swaps) -> Swaps:
        """Return the sums of both."""
        return Swaps(self.count + other.count, self.outcome + other.outcome, self.score + other.score)

    def sums(self) -> Doubles:
        """Return (deals, 3, cells) sums of weight, score and outcome."""
        return np.stack([self.count, self.score / UNIT, self.outcome], axis=1, dtype=np.float64)
