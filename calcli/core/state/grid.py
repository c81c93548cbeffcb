"""The grid of score cells: as fine near 0 and 1 as in the middle, relative to the distance from them.

The cells halve the octaves of r = min(p, 1 - p). With 75 r in place of r every i / 300 is the edge of a cell,
so that errors over 2, 3, 5, 10, 15, 20, 25, 30, 50 or 100 equal-width bins are exact; each i / 300 is also a
cell of its own, so that scores that are shares of few votes stay apart.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles, Floats, Positions
from calcli.core.data.binning import distinct

SCALE = 75.0
POINTS = 300
MANTISSA = 13  # bits that tell the cells of the two uppermost octaves apart; one less every two octaves
FEWEST = 4
LEAST = 2.0**-64  # of r; all below is one cell
LEAST_BELOW_ONE = 2.0**-49  # doubles are too far apart there for more
EXPONENT = 52  # where it begins in the bits of a double


PLACES = 30  # bits that say where in its cell a score lies
NEAR = 64  # units in the last place of 75 r within which an edge may have been rounded to
NEAR_BELOW_ONE = 1e-14  # the same of 75 r for scores above 1/2, whose own last place is larger


class _Table(NamedTuple):
    """What finds the cell of a score.

    Attributes
    ----------
    edges
        (cells + 1,) ascending; cell i holds [edges[i], edges[i + 1]).
    first
        The smallest exponent of 75 r with cells of its own.
    shift, base
        Of each exponent: bits to drop, and what to add for the number of the cell of r.
    near
        (2, exponents) of scores below and from 1/2: so near to an edge a score may be in the next cell.
    cells
        (2, cells of r) the cell of p = r, and that of p = 1 - r.
    """

    edges: Doubles
    first: int
    shift: NDArray[np.int64]
    base: NDArray[np.int64]
    near: NDArray[np.int64]
    cells: Positions


@cache
def _table() -> _Table:
    first, last = _exponent(SCALE * LEAST), _exponent(SCALE * 0.5)
    exponents = np.arange(first, last + 1)
    bits = np.maximum(MANTISSA - (last - exponents) // 2, FEWEST)
    starts = [2.0**e * (1 + np.arange(2**b) / 2**b) for e, b in zip(exponents, bits, strict=True)]
    r = np.concatenate(starts) / SCALE
    points = np.arange(POINTS + 1) / POINTS
    lower, upper = r[r < 0.5], 1 - r[(r >= LEAST_BELOW_ONE) & (r < 0.5)]
    # what rounding puts beside a point is the point
    lower, upper = (own[~_beside(own, points)] for own in (lower, upper))
    edges = distinct(np.concatenate([[0.0], lower, upper, points, np.nextafter(points, 2)]))
    middle = (r + np.append(r[1:], 2 * r[-1] - r[-2])) / 2
    cells = np.searchsorted(edges, np.stack([middle, 1 - middle]), side="right") - 1
    before = np.append(0, np.cumsum(2**bits)[:-1])
    below_one = np.ceil(NEAR_BELOW_ONE / 2.0 ** (exponents - EXPONENT))
    near = np.minimum(np.stack([np.full(len(bits), NEAR), below_one]), 2.0**EXPONENT).astype(np.int64)
    base = before - ((exponents + 1023) << bits)
    return _Table(edges, first, EXPONENT - bits, base, near, cells)


def _exponent(value: float) -> int:
    return int(np.frexp(value)[1]) - 1


def _beside(edges: Doubles, points: Doubles) -> NDArray[np.bool_]:
    nearest = points[np.clip(np.rint(edges * POINTS).astype(np.intp), 0, POINTS)]
    return np.abs(edges - nearest) < 16 * np.spacing(np.maximum(nearest, np.finfo(float).tiny))


def grid_edges() -> Doubles:
    """Return the (cells + 1,) ascending edges of the cells; the last one holds 1.0 alone."""
    return _table().edges


def grid_place(score: Floats) -> tuple[Positions, NDArray[np.int64]]:
    """Return the cell of each score in [0, 1], and its place in the cell in units of 2^-30 of the cell.

    The cell is the last one whose lower edge is not above the score. Bits of 75 r tell it, but for scores so
    near to an edge that it may have been rounded to the other side; these are compared with the edges.
    """
    edges, first, shift, base, near, cells = _table()
    p = score.astype(np.float64, copy=False)
    upper = (p >= 0.5).view(np.int8)
    scaled = np.abs(upper - p)
    scaled *= SCALE
    bits = scaled.view(np.int64)
    exponent = bits >> EXPONENT
    exponent -= 1023 + first
    tiny = exponent < 0
    np.maximum(exponent, 0, out=exponent)
    dropped = shift.take(exponent)
    cell = bits >> dropped
    place = bits - (cell << dropped)
    least = near.ravel().take(exponent + upper * len(shift))
    unsure = (place < least) | (place > (np.int64(1) << dropped) - least) | tiny
    cell += base.take(exponent)
    cell += upper * np.int64(cells.shape[1])
    cell[unsure] = 0
    index = cells.ravel().take(cell)
    place >>= dropped - PLACES
    place = np.where(upper, (1 << PLACES) - place, place)
    rows = np.flatnonzero(unsure)
    if len(rows):
        own = p[rows]
        index[rows] = exact = np.searchsorted(edges, own, side="right") - 1
        low = edges[exact]
        place[rows] = np.rint((own - low) / (edges[exact + 1] - low) * 2.0**PLACES)
    return index, place
