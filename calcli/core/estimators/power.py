"""The number of rows that a decision needs, by the rule that will decide.

Where many rows carry an estimate, its spread falls with the root of their number and a formula is enough.
Where few do, as with errors of a good classifier or rows of a rare class, the rule itself is simulated: rows
are drawn from the available ones, with uncertain frequencies (Bayesian bootstrap, Rubin 1981), and the share
of draws is counted in which the rule proves a difference of 0 to be within the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from calcli.core.data.arrays import Bools, Doubles, Labels, Stream, generator
from calcli.core.estimators.evidence import (
    FEW_DISCORDANT,
    NORMAL,
    DistanceEvidence,
    Evidence,
    ExactShares,
    Margin,
    Studentized,
)
from calcli.core.estimators.intervals import Influences, Interval, Spread

POWER = 0.8  # power at which a difference counts as detectable
CARRIED = 50  # effective rows from which the formula is enough
REDRAWS = 400
MOST_STEPS = 12
NEAR = 0.02  # added to the power, as precise as this many redraws are
DIGITS = 2  # of a simulated number of rows
MOST_ROWS = 10**9  # of a plan
UNSEEN = 1.0  # more rows with the largest difference, which might have been seen


@dataclass(frozen=True)
class Power:
    """What a number of rows can show, with power 80%, at the level of the interval.

    Attributes
    ----------
    standard_error
        Of a difference, or of a value.
    rows
        Number of rows of the candidate.
    level
        Of the interval.
    redraws
        Redraws of the difference, if few rows carry it; None if the formula is enough.
    interval
        Returns the interval of a value with a spread, if it has one; None for a difference.
    """

    standard_error: float
    rows: int
    level: float
    redraws: Shares | Units | None = field(default=None, compare=False, repr=False)
    interval: Callable[[Spread], Interval | None] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, evidence: Evidence, rows: int, level: float, sign: int = 1) -> Power | None:
        """Return the power for a difference; None if its spread is unknown.

        Parameters
        ----------
        evidence
            On the difference.
        rows, level
            As in the result.
        sign
            +1 where a larger value of the metric is worse, -1 where it is better.
        """
        error = evidence.standard_error
        return cls(error, rows, level, _redraws(evidence, rows, sign)) if error > 0 else None

    @property
    def detectable(self) -> float:
        """The true difference that is detected with probability `POWER`."""
        return self._within(POWER) * self.standard_error

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return self._within(0.5) * self.standard_error

    def not_worse(self, margin: float) -> int:
        """Return the rows that prove a true difference of 0 not worse by a margin."""
        return self._proving(POWER, margin, sides=1)

    def equivalent(self, margin: float) -> int:
        """Return the rows that prove a true difference of 0 to be within a margin on both sides."""
        return self._proving((1 + POWER) / 2, margin, sides=2)

    def detecting(self, difference: float) -> int:
        """Return the rows that detect a true difference in either direction."""
        rows, redraws = self._rows(self._within(POWER), difference), self.redraws
        if not isinstance(redraws, Shares) or not redraws.pilot.paired or redraws.carried(rows) >= CARRIED:
            return rows

        def share(number: int) -> float:
            return float(redraws.proven(number, 0.0, (1 - self.level) / 2, difference)[0].mean())

        return rows_needed(rows, share, self._within)

    def known_within(self, half_width: float) -> int:
        """Return the rows that give an interval of a half-width, by the formula or in most redraws."""
        rows, redraws, interval = self._rows(self._within(0.5), half_width), self.redraws, self.interval
        if not isinstance(redraws, Units) or interval is None:
            return rows

        def share(number: int) -> float:
            intervals = [interval(spread) for spread, _ in redraws.drawn(number)]
            return float(np.mean([ci is not None and ci.high - ci.low <= 2 * half_width for ci in intervals]))

        return rows_needed(rows, share, self._within)

    def _proving(self, power: float, margin: float, sides: int) -> int:
        """Return the rows by the formula, or by redraws with the same number of sides."""
        rows = self._rows(self._within(power), margin)
        redraws = self.redraws
        if redraws is None or redraws.carried(rows) >= CARRIED:
            return rows
        tail = (1 - self.level) / 2

        def share(number: int) -> float:
            return float(redraws.proven(number, margin, tail)[:sides].all(axis=0).mean())

        return rows_needed(rows, share, self._within)

    def _within(self, power: float) -> float:
        """Return the distance from a limit, in standard errors, at which a proof has a given power."""
        return NORMAL.inv_cdf((1 + self.level) / 2) + NORMAL.inv_cdf(power)

    def _rows(self, errors: float, width: float) -> int:
        return math.ceil(self.rows * (errors * self.standard_error / width) ** 2)


def rows_needed(start: int, share: Callable[[int], float], within: Callable[[float], float]) -> int:
    """Return the rows with which a proof succeeds in a share of `POWER`, rounded up.

    Parameters
    ----------
    start
        Rows to begin with.
    share
        Returns the share of redraws with a proof, for a number of rows.
    within
        Distance from a limit, in standard errors, at which a value is proven with a given power.
    """
    low, high, rows = 0, MOST_ROWS, start
    for _ in range(MOST_STEPS):
        power = share(rows)
        if abs(power - POWER) <= NEAR:
            break
        low, high = (rows, high) if power < POWER else (low, rows)
        guess = rows * (within(POWER) / max(within(min(max(power, 0.02), 0.98)), 0.5)) ** 2
        guess = min(max(guess, rows / 3), 3 * rows)
        rows = math.ceil(guess if low < guess < high else (low + high) / 2)
        if rows >= MOST_ROWS or high - low <= max(1, NEAR * low):
            break
    step = 10 ** max(0, len(str(rows)) - DIGITS)
    return -(-rows // step) * step


def _redraws(evidence: Evidence, rows: int, sign: int) -> Shares | Units | None:
    if isinstance(evidence, DistanceEvidence):
        evidence = evidence.difference
    if isinstance(evidence, ExactShares):
        return Shares(evidence, rows, sign, None)
    if not isinstance(evidence, Studentized):
        return None
    pilot = evidence.difference
    if pilot.spread.freedom >= CARRIED and len(pilot.of_units) < rows / 10:  # deals, of very many rows
        return None
    if evidence.paired and (counts := _counts(pilot)) is not None:
        shares = ExactShares(counts[0], pilot.number, counts[1], pilot.number, evidence.baseline.value, True)
        return Shares(shares, rows, sign, pilot.spread)
    return Units(pilot, rows, sign)


def _counts(pilot: Influences) -> tuple[int, int] | None:
    """Return how often the candidate alone, and the baseline alone, is right; None if not shares."""
    if pilot.lost or (pilot.share is not None and np.ptp(pilot.share) > 1e-9 / pilot.number):
        return None
    values = pilot.of_units * pilot.number + pilot.value
    rounded = np.rint(values)
    if np.abs(values - rounded).max() > 1e-6 or np.abs(rounded).max() > 1:
        return None
    return int(np.count_nonzero(rounded > 0)), int(np.count_nonzero(rounded < 0))


@dataclass(frozen=True)
class Shares:
    """Samples of any size with two equal shares of independent rows, otherwise like the pilot.

    Attributes
    ----------
    pilot
        The evidence on them.
    rows
        Of the candidate.
    sign
        +1 where a larger share is worse, -1 where it is better.
    spread
        Of the difference; None if too few rows carry it.
    """

    pilot: ExactShares
    rows: int
    sign: int
    spread: Spread | None

    def carried(self, rows: int) -> float:
        """Return how many rows differ."""
        pilot = self.pilot
        hits = pilot.gained + pilot.lost
        misses = math.inf if pilot.paired else pilot.of_gained + pilot.of_lost - hits
        return min(hits, misses) * min(1.0, rows / self.rows)

    def proven(self, rows: int, margin: float, tail: float, truth: float = 0.0) -> Bools:
        """Return whether samples prove the candidate no worse by a margin, and no better, (2, redraws).

        The true difference is `truth`; only paired shares take one.
        """
        pilot, rng = self.pilot, generator(0, Stream.POWER)
        hits = pilot.gained + pilot.lost
        of_base = max(1, round(rows * pilot.of_lost / pilot.of_gained))
        if pilot.paired:
            share = rng.beta(hits + UNSEEN, pilot.of_gained - hits + UNSEEN, REDRAWS)
            unlike = rng.binomial(rows, share)
            gained = rng.binomial(unlike, np.minimum(0.5 - self.sign * truth / share / 2, 1.0))
            lost, of_base = unlike - gained, rows
        else:
            share = rng.beta(hits + UNSEEN, pilot.of_gained + pilot.of_lost - hits + UNSEEN, REDRAWS)
            gained, lost = rng.binomial(rows, share), rng.binomial(of_base, share)
        proven = [self._proven(*pair, rows, of_base, margin, tail) for pair in zip(gained, lost, strict=True)]
        low, high = np.array(proven).T
        return np.array([high, low]) if self.sign > 0 else np.array([low, high])

    def _proven(
        self, gained: int, lost: int, rows: int, lost_rows: int, margin: float, tail: float
    ) -> tuple[bool, bool]:
        """Return whether the difference is proven above the margin below 0, and below that above."""
        counts, mean, spread = (
            np.array([gained, lost, rows - gained - lost]),
            (gained - lost) / rows,
            self.spread,
        )
        if spread is not None:
            values = np.array([1.0, -1.0, 0.0]) - mean
            spread = _scaled(spread, values, counts, float(mean), rows / self.rows)
        few = self.pilot.paired and gained + lost < FEW_DISCORDANT
        if spread is not None and spread.enough and not few:
            return spread.p_above(-margin) <= tail, spread.p_below(margin) <= tail
        above, below = _exact_p((int(gained), rows, int(lost), lost_rows), self.pilot.paired, margin)
        return above <= tail, below <= tail


@lru_cache(maxsize=4096)
def _exact_p(counts: tuple[int, int, int, int], paired: bool, margin: float) -> tuple[float, float]:
    shares = ExactShares(*counts, 0.0, paired)
    return shares.p_not_worse(-1, Margin(margin)), shares.p_not_worse(1, Margin(margin))


@dataclass(frozen=True)
class Units:
    """Samples of any size of units with influences on a value, or on a difference with a true value of 0.

    Attributes
    ----------
    pilot
        The influences in the pilot.
    rows
        Rows of the candidate.
    sign
        +1 where a larger value is worse, -1 where it is better.
    """

    pilot: Influences
    rows: int
    sign: int

    def carried(self, rows: int) -> float:
        """Return how many units carry the difference."""
        return self.pilot.spread.freedom * min(1.0, rows / self.rows)

    def proven(self, rows: int, margin: float, tail: float) -> Bools:
        """Return whether samples prove the candidate no worse by a margin, and no better, (2, redraws)."""
        errors = (replace(spread, value=spread.value - truth) for spread, truth in self.drawn(rows))
        ends = [(error.enough, error.p_below(margin), error.p_above(-margin)) for error in errors]
        return np.array([[enough and p <= tail for p in p_values] for enough, *p_values in ends]).T

    def drawn(self, rows: int) -> Iterator[tuple[Spread, float]]:
        """Yield spreads of samples with values relative to the pilot's, each with its true value."""
        rng, growth = generator(0, Stream.POWER), rows / self.rows
        values = self.sign * self.pilot.of_units * self.pilot.number
        values = np.append(values, np.array([-1, 1]) * np.abs(values).max())
        weights = np.full(len(values), 1.0)
        weights[-2:] = UNSEEN / 2
        number = max(2, round(self.pilot.number * growth))
        for _ in range(REDRAWS):
            share = rng.standard_gamma(weights)
            share /= share.sum()
            counts = rng.multinomial(number, share)
            mean = float(counts @ values) / number
            spread = _scaled(self.pilot.spread, values - mean, counts, mean, growth)
            if math.isfinite(spread.fewest):
                fewest = rng.poisson(growth * rng.standard_gamma(self.pilot.spread.fewest))
                spread = replace(spread, fewest=fewest)
            yield spread, float(share @ values)


def _scaled(pilot: Spread, values: Doubles, counts: Labels, value: float, growth: float) -> Spread:
    """Return the spread of a sample in which each unit occurs this many times."""
    number = int(counts.sum())
    scaled = values / number
    squares, cubes, fourths = (float(counts @ scaled**power) for power in (2, 3, 4))
    fewest, unseen = pilot.fewest * growth, pilot.unseen / growth
    return Spread(value, number, squares, cubes, fourths, fewest=fewest, unseen=unseen)
