"""Intervals and tests of an estimate from what each observation brings to it.

An interval is only as good as the number of observations that carry the estimate. Of n influences with
kurtosis k these are n / k: as many as there are if all are alike in size, three where three errors bring all
of the spread. With fewer than `FEWEST` no interval holds what it promises.

The studentized estimate is made normal but for its skewness by Hall's transformation (Hall 1992, "On the
removal of skewness by transformation"), and is compared with Student's t of one degree of freedom fewer than
observations carry it. These are fewer than the spread itself would have (2n / (k - 1), Satterthwaite 1946):
where so few carry an estimate that it has an interval by luck, it has one where luck made it large, or even.

What was not seen counts too: rows without an error say nothing of how much errors cost. Where it is known how
much a row can bring, one of that kind is counted with those seen; where it is not, errors have to be seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.intervals import Interval, t_quantile, t_upper

FEWEST = 5  # observations that carry an estimate with an interval
ROUNDING = 1e-11  # relative to the value: what is spread by less is constant
SIZE = "effective sample size"  # how many carry a figure
BENT = "it is not linear over the width of an interval"
BIASED = "its bias is more than half the width of an interval"
STRAIGHT = 1e-6  # skewness below which there is nothing to remove


def carriers(squares: float, fourths: float) -> float:
    """Return how many observations carry a sum, given the sums of their squares and fourth powers."""
    found = squares * squares / fourths if fourths > 0 else 0.0
    return found if math.isfinite(found) else 0.0  # powers of losses such as 1e200


def carried_by(carriers: float, unit: str = "row") -> str:
    """Return why there is no interval: how few units bring the spread."""
    count = math.floor(carriers)
    return f"{SIZE} {count}{'' if unit == 'row' else f' {unit}s' if count != 1 else f' {unit}'}"


@dataclass(frozen=True)
class Spread:
    """An estimate, and the moments of what each observation brings to it.

    Attributes
    ----------
    value
        The estimate.
    number
        Of observations that have weight.
    squares, cubes, fourths
        Sums of the powers of what they bring: deviations from the estimate, each times the observation's
        share of the weight.
    bias
        By how much the estimate is expected to be too large.
    curvature
        Half the second derivative of the estimate along the path on which it changes as much as it does.
    fewest
        How many observations there are of what it needs many of, such as errors, or the rarer of two classes.
    unseen
        The most that an observation can bring which was not seen; 0 where that is not known.
    """

    value: float
    number: int
    squares: float
    cubes: float
    fourths: float
    bias: float = 0.0
    curvature: float = 0.0
    fewest: float = math.inf
    unseen: float = 0.0

    @property
    def standard_error(self) -> float:
        """Of the estimate; nan of one observation."""
        return math.sqrt(self.squares * self.number / (self.number - 1)) if self.number > 1 else math.nan

    @property
    def skewness(self) -> float:
        """Of the estimate, which is that of the observations over the root of their number."""
        return self.cubes / self.squares**1.5 if self.squares else 0.0

    @property
    def carriers(self) -> float:
        """How many observations of equal influence would bring as much; 0 if there is no spread."""
        if not self.standard_error > ROUNDING * abs(self.value):
            return 0.0
        return carriers(self.squares, self.fourths)

    @property
    def carried(self) -> float:
        """How many observations carry it by the count that finds the fewest."""
        other = self.unseen * self.unseen
        with_other = carriers(self.squares + other, self.fourths + other * other)
        return min(self.carriers, self.fewest, with_other)

    @property
    def enough(self) -> bool:
        """Whether so many carry it that it may have an interval."""
        return self.carried >= FEWEST

    def too_few(self, unit: str = "row") -> str:
        """Return why there are not enough."""
        return carried_by(self.carried, unit)

    @property
    def freedom(self) -> float:
        """Degrees of freedom: one fewer than observations carry it."""
        return max(1.0, self.carried - 1)

    def judged(
        self, level: float, unit: str = "row", held: Interval | None = None
    ) -> tuple[Interval | None, str]:
        """Return the interval, or why there is none.

        Where few carry it that is one which holds in any case, if there is such a one; it is never wider.
        """
        if not self.enough:
            return held, "" if held else self.too_few(unit)
        found = self.interval(level)
        if held is not None:
            return found.within(held), ""
        if 2 * abs(self.curvature) * max(self.value - found.low, found.high - self.value) >= 1:
            return None, BENT
        return (found, "") if found.contains(self.value) else (None, BIASED)

    def interval(self, level: float) -> Interval:
        """Return the interval of what is estimated.

        As in DiCiccio & Efron 1992 (ABC intervals) the ends follow the estimate where it bends, and only the
        bias that this does not explain is taken off.
        """
        quantile = t_quantile((1 + level) / 2, self.freedom)
        centre = self.value - self.bias + self.curvature * self.standard_error**2
        ways = (-self.standard_error * self._skewed(z) for z in (quantile, -quantile))
        low, high = (centre + way + self.curvature * way**2 for way in ways)
        return Interval(low, high, level)

    def p_above(self, limit: float) -> float:
        """Return the one-sided p-value of lying at or below a limit: small values prove it above."""
        return t_upper(self._straight(limit), self.freedom)

    def p_below(self, limit: float) -> float:
        """Return the one-sided p-value of lying at or above a limit: small values prove it below."""
        return t_upper(-self._straight(limit), self.freedom)

    def scaled(self, value: float, slope: float) -> Spread:
        """Return the spread of a function of the estimate, of which this is the value and its slope there."""
        powers = (self.squares * slope**2, self.cubes * slope**3, self.fourths * slope**4)
        bias, unseen = self.bias * slope, self.unseen * abs(slope)
        return Spread(value, self.number, *powers, bias, fewest=self.fewest, unseen=unseen)

    def held(
        self, level: float, rows: float, ends: tuple[float, float] = (0.0, 1.0), most: float = 1.0
    ) -> Interval:
        """Return the interval of a mean of rows that holds whatever they bring, however few carry it.

        Parameters
        ----------
        level
            Of the interval.
        rows
            How many there are, if they were of equal weight.
        ends
            Between which the mean lies.
        most
            How much the row brings that brings most, in units of their distance over the number of rows.
        """
        low, high = ends
        span = high - low
        mean = min(max((self.value - self.bias - low) / span, 0.0), 1.0)
        turned = mean > 0.5  # what is rare is counted
        mean = 1 - mean if turned else mean
        mean = 0.0 if mean < ROUNDING else mean
        squares = self.squares / span**2 + mean * mean / rows if mean else 0.0
        found = Interval.of_parts(mean, squares, most / rows, level)
        if turned:
            return Interval(high - span * found.high, high - span * found.low, level)
        return Interval(low + span * found.low, low + span * found.high, level)

    def _straight(self, limit: float) -> float:
        """Return the studentized distance to a limit without its skewness."""
        excess, skew = self.value - self.bias - limit, self.skewness
        if not self.standard_error:
            return math.copysign(math.inf, excess) if excess else 0.0
        t = excess / self.standard_error
        return t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6

    def _skewed(self, z: float) -> float:
        """Return the studentized distance whose skewness, removed, leaves z."""
        if abs(self.skewness) < STRAIGHT:
            return z
        return 3 / self.skewness * (math.cbrt(1 + self.skewness * (z - self.skewness / 6)) - 1)


@dataclass(frozen=True)
class Influences:
    """An estimate, and what each observation brings to it.

    Attributes
    ----------
    value, number, bias, fewest
        As of its spread.
    of_units
        (n,) deviations from it, each times the observation's share of the weight; they sum to zero.
    share
        (n,) shares of the weight; None if all are alike.
    curvature
        As of its spread; of a difference it is not known, and 0.
    lost
        Variance that the influences do not show, where they are those of coarse cells.
    """

    value: float
    of_units: Doubles
    number: int
    bias: float = 0.0
    share: Doubles | None = None
    lost: float = 0.0
    curvature: float = 0.0
    fewest: float = math.inf

    @cached_property
    def spread(self) -> Spread:
        """The moments."""
        squares = np.square(self.of_units)
        second, third, fourth = (float((squares * of).sum()) for of in (1.0, self.of_units, squares))
        powers = second + self.lost, third, fourth
        return Spread(self.value, self.number, *powers, self.bias, self.curvature, self.fewest)


def contrast(
    candidate: Influences, baseline: Influences, paired: bool = True, factor: float = 1.0
) -> Influences:
    """Return the influences of candidate minus `factor` times baseline.

    Parameters
    ----------
    candidate, baseline
        The systems.
    paired
        Whether both were observed on the same units.
    factor
        Of the baseline.
    """
    if paired:
        of_units = candidate.of_units - factor * baseline.of_units
        number = min(candidate.number, baseline.number)
    else:
        of_units = np.concatenate([candidate.of_units, -factor * baseline.of_units])
        number = candidate.number + baseline.number
    value, bias = candidate.value - factor * baseline.value, candidate.bias - factor * baseline.bias
    share = candidate.share if paired else None
    lost = candidate.lost + factor**2 * baseline.lost
    fewest = min(candidate.fewest, baseline.fewest)
    return Influences(value, of_units, number, bias, share, lost, fewest=fewest)
