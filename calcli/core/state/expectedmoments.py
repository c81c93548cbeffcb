"""How row statistics would vary if labels came from the predictions.

What did not happen is counted too: of 500 sure predictions that promise two errors none may be wrong, and a
log-loss without them says little. The label is the most probable class as often as its probability says, or
else the next one, whose loss is the least of all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb, prod

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.blocks import Block, RowStatistic


@dataclass(frozen=True)
class Moments:
    """Sums over rows of the expected powers of weighted deviations, as functions of their centre.

    Attributes
    ----------
    second
        (3,) sums of w^2 E[(x - start)^k], k = 0..2.
    fourth
        (5,) sums of w^4 E[(x - start)^k], k = 0..4.
    start
        Any value of the statistic: what is constant has no moments at all about it.
    """

    second: Doubles
    fourth: Doubles
    start: float = 0.0

    def merged(self, other: Moments) -> Moments:
        """Return the sums over the rows of both."""
        shift = other.start - self.start
        return Moments(
            self.second + _moved(other.second, shift), self.fourth + _moved(other.fourth, shift), self.start
        )

    def about(self, centre: float) -> tuple[float, float]:
        """Return the sums of w^2 E[(x - centre)^2] and of w^4 E[(x - centre)^4]."""
        return _about(self.second, centre - self.start), _about(self.fourth, centre - self.start)


def _about(raw: Doubles, centre: float) -> float:
    """Return a central moment from the raw ones up to it."""
    return max(0.0, _power(raw, len(raw) - 1, -centre))


def _moved(raw: Doubles, shift: float) -> Doubles:
    """Return the raw moments of values that are larger by a shift."""
    return np.array([_power(raw, power, shift) for power in range(len(raw))])


def _power(raw: Doubles, power: int, shift: float) -> float:
    """Return a raw moment of values that are larger by a shift."""
    return sum(comb(power, k) * prod([shift] * (power - k)) * float(raw[k]) for k in range(power + 1))


class ExpectedMoments:
    """Gathers the moments of statistics over the labels that the predictions expect.

    Parameters
    ----------
    statistics
        By name, functions of a block that return (n,) values.
    seen
        Whether their moments over the labels that are there are added.
    """

    def __init__(self, statistics: Mapping[str, RowStatistic], *, seen: bool = False) -> None:
        self._statistics, self._seen = dict(statistics), seen
        self.moments: dict[str, Moments] = {}

    def add(self, block: Block) -> None:
        """Take one block."""
        if not self._statistics:
            return
        weight = np.ones(len(block.labels)) if block.weights is None else block.weights.astype(np.float64)
        for share, statistics in self._values(block):
            second = share * weight**2
            fourth = second * weight**2
            for name, values in statistics.items():
                if name not in self.moments:
                    self.moments[name] = Moments(np.zeros(3), np.zeros(5), float(values[0]))
                found = self.moments[name]
                values -= found.start
                power = np.ones(len(values))
                for k in range(5):
                    if k < 3:
                        found.second[k] += second @ power
                    found.fourth[k] += fourth @ power
                    power *= values

    def _values(self, block: Block) -> list[tuple[Doubles, dict[str, Doubles]]]:
        """Return how likely each of the two likeliest labels is, and what the statistics then are."""
        blocks = [*block.likeliest]
        chance = blocks[0].label_prob.astype(np.float64, copy=False)
        shares = [chance, 1 - chance]
        if self._seen:
            blocks.append(block)
            shares.append(np.ones_like(chance))
        found = []
        for other, share in zip(blocks, shares, strict=True):
            statistics = {
                name: statistic(other).astype(np.float64) for name, statistic in self._statistics.items()
            }
            for values in statistics.values():
                values[np.isinf(values)] = 0  # of a class that is not expected at all, but for rounding
            found.append((share, statistics))
        return found
