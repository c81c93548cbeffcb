"""Rows counted by coarse score cell and few deals: how rankings of the rows of a state vary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.binning import distinct
from calcli.core.state.deals import turned

RANKED_DEALS = 499  # a prime, as other numbers of deals
WIDTHS = 60  # equal-width cells
FINE = 1 << 16
OCTAVES = range(7, 15)  # powers of 1/2 near 0 and 1 where cells end as well


@cache
def rank_edges() -> Doubles:
    """Return the (cells + 1,) edges of the cells; the last one holds 1.0 as well."""
    ends = 0.5 ** np.array(OCTAVES)
    return distinct(np.concatenate([np.arange(WIDTHS + 1) / WIDTHS, ends, 1 - ends]))


@cache
def _table() -> tuple[NDArray[np.intp], Doubles]:
    """Return for each of many equal-width cells the cell of its lower end, and the next edge."""
    inner = rank_edges()[1:-1]
    before = np.searchsorted(inner, np.arange(FINE + 1) / FINE, side="right")
    return before, np.append(inner, np.inf)[before]


def rank_index(score: Floats) -> NDArray[np.intp]:
    """Return the (n,) cells of scores: several times as fast as a search."""
    before, edge = _table()
    fine = (score * FINE).astype(np.intp)  # exact, as it is a power of 2; no two edges are in one
    return before.take(fine) + (score >= edge.take(fine))


@dataclass
class RankCells:
    """Sums of a lens over deals and cells.

    Attributes
    ----------
    count, outcome
        (deals, cells) rows, and those whose outcome is 1; or their weight.
    """

    count: Array
    outcome: Array

    @classmethod
    def of(cls, score: Floats, outcome: Array, weights: Floats | None, numbers: Array) -> RankCells:
        """Return the sums of (n,) rows of these numbers, or hashes of keys."""
        cells = len(rank_edges()) - 1
        place = (numbers % RANKED_DEALS).astype(np.intp) * cells + rank_index(score)
        values = (None, outcome) if weights is None else (weights, weights * outcome)
        tables = [np.bincount(place, one, RANKED_DEALS * cells).reshape(-1, cells) for one in values]
        # integers that a double holds, as there are few rows
        return cls(*tables) if weights is not None else cls(*(table.astype(np.int64) for table in tables))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array]) -> RankCells:
        """Return the sums that `arrays` gave."""
        return cls(arrays["count"], arrays["outcome"])

    def arrays(self) -> dict[str, Array]:
        """Return what is stored of the sums, by name."""
        return {"count": self.count, "outcome": self.outcome}

    def raised(self, offset: int) -> RankCells:
        """Return the sums of rows whose numbers are higher by an offset."""
        return RankCells(turned(self.count, offset), turned(self.outcome, offset))

    def merged(self, other: RankCells) -> RankCells:
        """Return the sums of both."""
        return RankCells(self.count + other.count, self.outcome + other.outcome)

    def sums(self) -> Doubles:
        """Return (deals, 2, cells) sums of weight and outcome."""
        return np.stack([self.count, self.outcome], axis=1, dtype=np.float64)
