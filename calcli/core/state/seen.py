"""A lower bound for the number of distinct scores, in much less time than sorting them takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.batches import batches

TOGETHER = 1 << 16  # keys that are hashed at once; their temporaries stay in the cache
ODD = 0x9E3779B97F4A7C15  # for multiplicative hashing (Knuth, volume 3, section 6.4)


class Seen:
    """Which hashes of scores have occurred, of so many that few scores share one.

    Parameters
    ----------
    limit
        Of the numbers that are to be told from larger ones.

    Attributes
    ----------
    least
        How many different hashes there were; there were no fewer scores.
    """

    def __init__(self, limit: int) -> None:
        self._bits = (6 * limit + 1).bit_length()
        self._table = np.zeros(1 << self._bits, np.uint8)
        self.least = 0

    def add(self, parts: Iterable[NDArray[np.unsignedinteger[Any]]]) -> int:
        """Take the keys of rows, and return by how much the bound rises."""
        for keys in parts:
            unsigned, width = keys.dtype.type, 8 * keys.itemsize
            factor, dropped = unsigned(ODD >> (64 - width) | 1), unsigned(width - self._bits)
            for rows in batches(len(keys), 1, TOGETHER):
                hashes = ((keys[rows] >> unsigned(1)) * factor) >> dropped
                self._table[hashes.astype(np.intp)] = 1
        before, self.least = self.least, int(np.count_nonzero(self._table))
        return self.least - before
