"""Units: rows that belong together, and are resampled or change sides as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Array, Positions

ROW_LIMIT = 20_000  # rows of a system up to which each may change sides by itself


FEWEST_DEALS = 200


BUDGET = 6_000_000  # sums held in memory for each system


@dataclass(frozen=True)
class Units:
    """Which rows of a system change sides together.

    Attributes
    ----------
    of_row
        (n,) the unit of each row.
    number
        How many units there are.
    """

    of_row: Positions
    number: int

    @classmethod
    def of(cls, rows: int, clusters: Array | None) -> Units:
        """Return the units of rows that depend on no other, or of clusters of rows."""
        if clusters is None:
            return cls(np.arange(rows), rows)
        names, unit = np.unique(clusters, return_inverse=True)
        return cls(unit, len(names))

    def dealt(self, number: int) -> Units:
        """Return fewer units, into which these are dealt like cards."""
        return self if number == self.number else Units(self.of_row % number, number)


def deal(units: Sequence[Units], sums: int) -> list[Units]:
    """Return the units of each system, dealt into as few as there is room for.

    Units of all systems have about the same size, so that they can change sides.

    Parameters
    ----------
    units
        Of each system.
    sums
        Kept of each unit.
    """
    most = min(ROW_LIMIT, max(FEWEST_DEALS, BUDGET // sums))
    size = -(-max(one.number for one in units) // most)
    return [one.dealt(max(1, one.number // size)) for one in units]
