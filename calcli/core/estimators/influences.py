"""Intervals and tests of an estimate from what each observation brings to it.

An interval is only as good as the number of observations that carry the estimate. Of n influences with
kurtosis k these are n / k: as many as there are if all are alike in size, three where three errors bring all
of the spread. With fewer than `FEWEST` no interval holds what it promises.

The studentized estimate is made normal but for its skewness by Hall's transformation (Hall 1992, "On the
removal of skewness by transformation"), and is compared with Student's t of one degree of freedom fewer than
observations carry it. These are fewer than the spread itself would have (2n / (k - 1), Satterthwaite 1946):
where so few carry an estimate that it has an interval by luck, it has one where luck made it large, or even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, batches
from calcli.core.estimators.intervals import Interval, t_quantile, t_upper
from calcli.core.state.expectedmoments import Moments

FEWEST = 5  # observations that carry an estimate with an interval
TOGETHER = 1 << 16  # rows whose deviations are computed at once; their temporaries stay in the cache
ROUNDING = 1e-11  # relative to the value: what is spread by less is constant
SIZE = "effective sample size"  # how many carry a figure
BENT = "it is not linear over the width of an interval"
BIASED = "its bias is more than half the width of an interval"
Pooled = tuple[float, float]
STRAIGHT = 1e-6  # skewness below which there is nothing to remove


def carriers(squares: float, fourths: float) -> float:
    """Return how many observations carry a sum, given the sums of their squares and fourth powers."""
    found = squares * squares / fourths if fourths > 0 else 0.0
    return found if math.isfinite(found) else 0.0  # powers of losses such as 1e200


def carried_by(carriers: float, carried: float, unit: str = "row") -> str:
    """Return why there is no interval: how few units bring the spread, or rows, with those expected."""
    count, noun = (math.floor(carriers), unit) if carriers <= carried else (math.floor(carried), "row")
    return f"{SIZE} {count}{'' if noun == 'row' else f' {noun}s' if count != 1 else f' {noun}'}"


def pooled(values: Array, weights: Floats | None, expected: Moments) -> Pooled:
    """Return the second and fourth moment of a mean loss, of the labels seen and those expected alike.

    Parameters
    ----------
    values
        (N,) losses.
    weights
        (N,) row weights, or None.
    expected
        What the predictions expect of the same rows.
    """
    total = float(len(values) if weights is None else weights.sum())
    parts = [(rows, None if weights is None else weights[rows]) for rows in batches(len(values), 1, TOGETHER)]

    def finite(rows: slice) -> Doubles:
        found = values[rows].astype(np.float64)
        found[np.isinf(found)] = 0
        return found

    centre = sum(float(finite(rows).sum() if w is None else w @ finite(rows)) for rows, w in parts) / total
    squares = fourths = 0.0
    for rows, w in parts:
        deviations = finite(rows) - centre
        deviations[np.abs(deviations) <= ROUNDING * abs(centre)] = 0
        if w is not None:
            deviations *= w
        np.square(deviations, out=deviations)
        squares += float(deviations.sum())
        fourths += float(deviations @ deviations)
    second, fourth = _apart(expected, centre)
    return (squares + second) / 2 / total**2, (fourths + fourth) / 2 / total**4


def pooled_moments(both: Moments, centre: float, total: float) -> Pooled:
    """Return the same of the moments of labels seen and expected together, about the mean of those seen."""
    second, fourth = _apart(both, centre)
    return second / 2 / total**2, fourth / 2 / total**4


def _apart(moments: Moments, centre: float) -> tuple[float, float]:
    """Return the moments about a centre, 0 if all there is is rounding."""
    least = ROUNDING * centre
    second, fourth = moments.about(centre)
    return (second, fourth) if second > least * least * moments.second[0] else (0.0, 0.0)


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
        How many observations there are of what it needs many of, such as the rarer of two classes.
    pooled
        Second and fourth moment of the losses it is made of, with those that the predictions expect; of
        what is not a mean of losses None.
    """

    value: float
    number: int
    squares: float
    cubes: float
    fourths: float
    bias: float = 0.0
    pooled: Pooled | None = None
    curvature: float = 0.0
    fewest: float = math.inf

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
        """How many rows carry the losses; infinite where these are constant, or there are none."""
        least = ROUNDING * self.value
        if self.pooled is None or not self.pooled[0] > least * least:
            return math.inf
        return carriers(*self.pooled)

    @property
    def _fewest(self) -> float:
        """How many observations carry it by the count that finds the fewest."""
        return min(self.carriers, self.fewest, self.carried)

    @property
    def enough(self) -> bool:
        """Whether so many carry it that it may have an interval."""
        return self._fewest >= FEWEST

    def too_few(self, unit: str = "row") -> str:
        """Return why there are not enough."""
        return carried_by(min(self.carriers, self.fewest), self.carried, unit)

    @property
    def freedom(self) -> float:
        """Degrees of freedom: one fewer than observations carry it, seen or expected."""
        return max(1.0, self._fewest - 1)

    def judged(self, level: float, unit: str = "row") -> tuple[Interval | None, str]:
        """Return the interval, or why there is none."""
        if not self.enough:
            return None, self.too_few(unit)
        found = self.interval(level)
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
        return Spread(value, self.number, *powers, pooled=self.pooled, fewest=self.fewest)

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
    value, number, bias, pooled, fewest
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
    pooled: Pooled | None = None
    lost: float = 0.0
    curvature: float = 0.0
    fewest: float = math.inf

    @cached_property
    def spread(self) -> Spread:
        """The moments."""
        squares = np.square(self.of_units)
        second, third, fourth = (float((squares * of).sum()) for of in (1.0, self.of_units, squares))
        powers = second + self.lost, third, fourth
        return Spread(self.value, self.number, *powers, self.bias, self.pooled, self.curvature, self.fewest)


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
    together = None
    if candidate.pooled is not None and baseline.pooled is not None:
        second, fourth = (
            own + abs(factor) ** power * other
            for own, other, power in zip(candidate.pooled, baseline.pooled, (2, 4), strict=True)
        )
        together = second, fourth
    lost = candidate.lost + factor**2 * baseline.lost
    fewest = min(candidate.fewest, baseline.fewest)
    return Influences(value, of_units, number, bias, share, together, lost, fewest=fewest)
