"""Row statistics behind the lenses top-r and within-top-r (Gupta et al. 2021, eq. 16 and 17).

Classes are ranked by their probability in the row, equal ones by their number, the lower first.
"""

from __future__ import annotations

import numpy as np

from calcli.core.blocks import Block
from calcli.core.predictions import Floats
from calcli.core.rows import RowStatistic


def largest(block: Block, r: int) -> Floats:
    """Return (r, n) the largest probabilities of each row, in descending order; r is at most K."""
    k = block.exp.shape[block.class_axis]
    ends = np.partition(block.exp, k - r, axis=block.class_axis)
    ends = ends[k - r :] if block.class_axis == 0 else ends[:, k - r :].T
    return np.sort(ends, axis=0)[::-1] / block.total


def rank_score(r: int) -> RowStatistic:
    """Return the statistic: probability of the class of rank r, counted from 1."""
    return lambda block: largest(block, r)[r - 1]


def rank_hit(r: int) -> RowStatistic:
    """Return the statistic: whether the label has rank r, counted from 1."""
    if r == 1:
        return lambda block: block.hit
    return lambda block: block.label_within(r) & ~block.label_within(r - 1)


def within_score(r: int) -> RowStatistic:
    """Return the statistic: summed probability of the r most probable classes."""
    return lambda block: np.minimum(largest(block, r).sum(0), 1)


def within_hit(r: int) -> RowStatistic:
    """Return the statistic: whether the label is among the r most probable classes."""
    return lambda block: block.label_within(r)
