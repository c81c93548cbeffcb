"""Intervals, and the distribution functions and quantiles behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.language.text import counted

TINY = 1e-300
MOST_TERMS = 10_000  # of the continued fraction; about the root of the parameters are needed
MOST_STEPS = 200
MANY, MANY_EACH = 1e7, 1e4  # rows, in all or per hit, mostly known misses
LEAST_LOG = 600.0  # of a density by which a step may be divided


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return P(X <= x) of a Beta(a, b) variable, the regularized incomplete beta function.

    It uses the continued fraction (DLMF 8.17.22), evaluated by Lentz's method.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _continued(x, a, b) / a
    return 1 - front * _continued(1 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the x with P(X <= x) = p, by Newton's method between bounds that close in on it."""
    if not 0 < p < 1:
        return float(p >= 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    mean = a / (a + b)
    x = mean + NormalDist().inv_cdf(p) * math.sqrt(mean * (1 - mean) / (a + b + 1))
    low, high, x = 0.0, 1.0, x if 0 < x < 1 else mean
    for _ in range(MOST_STEPS):
        excess = beta_cdf(x, a, b) - p
        low, high = (x, high) if excess < 0 else (low, x)
        log_density = log_front + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)
        step = excess * math.exp(-log_density) if log_density > -LEAST_LOG else math.inf
        to = x - step if low < x - step < high else (low + high) / 2
        if abs(to - x) <= 1e-15 * x or high - low <= 1e-15 * high:
            return to
        x = to
    return x


def t_upper(t: float, freedom: float) -> float:
    """Return P(T >= t) of Student's t with any number of degrees of freedom above 0."""
    if math.isnan(t):
        return math.nan
    square = t * t
    if square < 1:
        tail = (1 - beta_cdf(square / (freedom + square), 0.5, freedom / 2)) / 2
    else:
        tail = beta_cdf(freedom / (freedom + square), freedom / 2, 0.5) / 2 if math.isfinite(t) else 0.0
    return tail if t >= 0 else 1 - tail


def share_least(hits: float, rows: float, tail: float) -> float:
    """Return the share at which this many hits or more have a given probability (Clopper & Pearson 1934)."""
    return beta_quantile(tail, hits, rows - hits + 1) if hits else 0.0


def share_most(hits: float, rows: float, tail: float) -> float:
    """Return the share at which this many hits or fewer have a given probability."""
    return beta_quantile(1 - tail, hits + 1, rows - hits) if hits < rows else 1.0


def jeffreys(hits: float, rows: float, level: float) -> tuple[float, float]:
    """Return Jeffreys' limits of a share (Brown, Cai & DasGupta 2001), 0 without a hit, 1 without a miss."""
    tail, shape = (1 - level) / 2, (hits + 0.5, rows - hits + 0.5)
    return beta_quantile(tail, *shape) * (hits > 0), beta_quantile(1 - tail, *shape) if hits < rows else 1.0


def coin_upper(heads: int, tosses: int) -> float:
    """Return the probability of this many heads or more with a fair coin."""
    return beta_cdf(0.5, heads, tosses - heads + 1) if heads else 1.0


@lru_cache(1024)
def t_quantile(p: float, freedom: float) -> float:
    """Return the t with P(T <= t) = p."""
    if p < 0.5:
        return -t_quantile(1 - p, freedom)
    log_front = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = NormalDist().inv_cdf(p)  # below it, from where Newton's method ascends: the tail is convex
    for _ in range(MOST_STEPS):
        density = math.exp(log_front - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (t_upper(t, freedom) - (1 - p)) / density
        t += step
        if step <= 1e-13 * max(1, t):  # or downwards, as rounding errors lead
            break
    return t


def _continued(x: float, a: float, b: float) -> float:
    """Return the value of the continued fraction."""
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or TINY)
    fraction = d
    for m in range(1, MOST_TERMS):
        even = a + 2 * m
        for term in (m * (b - m) * x / ((even - 1) * even), -(a + m) * (a + b + m) * x / (even * (even + 1))):
            d = 1 / ((1 + term * d) or TINY)
            c = (1 + term / c) or TINY  # a denominator must not be 0
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return fraction


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function on [low, high] crosses zero; `high` if it does not."""
    while (middle := (low + high) / 2) - low > 1e-13 * high + 1e-16:
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return high


def level_percent(level: float) -> str:
    """Return the level of an interval as a percentage, unrounded."""
    return f"{100 * level:.10g}%"


@dataclass(frozen=True)
class Interval:
    """An interval that contains the true value with a known probability.

    Attributes
    ----------
    low, high
        Its ends.
    level
        Its nominal coverage, such as 0.95.
    """

    low: float
    high: float
    level: float

    @classmethod
    def of_share(cls, hits: float, rows: float, level: float) -> Interval:
        """Return the exact interval of a share of independent rows (Clopper & Pearson 1934).

        For fractional numbers, as with partial rows, it interpolates by beta quantiles.
        """
        tail = (1 - level) / 2
        return cls(share_least(hits, rows, tail), share_most(hits, rows, tail), level)

    @classmethod
    def of_parts(cls, mean: float, squares: float, heaviest: float, level: float) -> Interval:
        """Return the interval of a mean in [0, 1] to which few of many rows contribute nearly everything.

        The interval of Fay & Feuer 1997, for sums of rare events of unlike weight, with beta in place of
        gamma distributions: the weight is the mean weight of the events seen, and for the upper end another
        event, of the greatest weight, is added. For events of equal weight it is Clopper & Pearson's.

        Parameters
        ----------
        mean
            Sum of the row contributions.
        squares
            Sum of their squares.
        heaviest
            The largest possible contribution of a row.
        level
            Of the interval.
        """
        tail = (1 - level) / 2

        def end(of: Callable[[float, float, float], float], hits: float, rows: float) -> float:
            capped = min(rows, max(MANY, MANY_EACH * hits))  # beyond it, scales as 1 / rows
            return of(hits, capped, tail) * (capped / rows)

        low = end(share_least, mean * mean / squares, mean / squares) if squares > 0 else 0.0
        mean, squares = mean + heaviest, squares + heaviest * heaviest
        return cls(low, end(share_most, mean * mean / squares - 1, mean / squares), level)

    @classmethod
    def of_mean(cls, values: Sequence[float], intervals: Sequence[Interval], level: float) -> Interval:
        """Return the interval of the mean of independent estimates (square and add, Zou & Donner 2008)."""
        estimates, ends = np.array(values), np.array([(ci.low, ci.high) for ci in intervals]).T
        ends = estimates.sum() + np.linalg.norm(estimates - ends, axis=1) * [-1, 1]
        low, high = (ends / len(values)).tolist()
        return cls(low, high, level)

    @classmethod
    def of_area(cls, area: float, positives: float, negatives: float, level: float, least: float) -> Interval:
        """Return the score interval of an area under the ROC curve, by method 5 of Newcombe 2006.

        At a true area it has the variance of exponential scores times a factor, chosen to make the square of
        half its width, at the area itself, no less than `least`.
        """

        def variance(of: float) -> float:
            odds = (1 - of) / (2 - of) + of / (1 + of)
            return of * (1 - of) * (1 + ((positives + negatives) / 2 - 1) * odds) / (positives * negatives)

        reach = CAREFUL * NormalDist().inv_cdf((1 + level) / 2) ** 2
        reach = max(reach, least / variance(area)) if 0 < area < 1 else reach

        def low(area: float) -> float:
            return root(lambda of: reach * variance(of) - (of - area) ** 2, 0.0, area) if area else 0.0

        return cls(low(area), 1 - low(1 - area), level)

    @classmethod
    def of_ratio(cls, value: float, divisor: float, ends: Interval, of_divisor: Interval) -> Interval:
        """Return the interval of a ratio, given both estimates and their intervals (Donner & Zou 2012)."""
        product = value * divisor
        above, of_above = ends.high * (2 * value - ends.high), of_divisor.low * (2 * divisor - of_divisor.low)
        below, of_below = ends.low * (2 * value - ends.low), of_divisor.high * (2 * divisor - of_divisor.high)
        low = below / (product + math.sqrt(product**2 - below * of_below)) if below else 0.0
        return cls(low, (product + math.sqrt(product**2 - above * of_above)) / of_above, ends.level)

    def within(self, outer: Interval) -> Interval:
        """Return the interval limited to another one at both ends."""
        return Interval(max(self.low, outer.low), min(self.high, outer.high), self.level)

    def contains(self, value: float) -> bool:
        """Return whether a value lies in the interval, ends included, up to rounding."""
        slack = 1e-12 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
        return self.low - slack <= value <= self.high + slack


ERROR = "error"  # units that an estimate needs in number
FEWEST = 5  # observations that carry an estimate with an interval
ROUNDING = 1e-11  # relative to the value: a smaller spread counts as constant
NEEDED = f"; an interval needs {FEWEST}"
SECOND_ORDER = "it is not linear over the width of an interval"
BIASED = "its bias is more than half the width of an interval"
CAREFUL = 1.2  # times the variance of an area, as it rests on a model
STRAIGHT = 1e-6  # skewness below which there is nothing to remove


def effective_size(squares: float, fourths: float) -> float:
    """Return the effective number of observations in a sum, given the sums of squares and fourth powers."""
    size = squares * squares / fourths if fourths > 0 else 0.0
    return size if math.isfinite(size) else 0.0  # powers of losses such as 1e200


def carried_by(number: float, unit: str = "row", scarce: str = "") -> str:
    """Return why there is no interval: too few units carry the estimate, or have the rare outcome."""
    count = math.floor(number)
    if not scarce:
        carry = f"{counted(count, unit)} carr{'ies' if count == 1 else 'y'} nearly all of it"
        return (carry if count else f"no {unit} tells how much it varies") + NEEDED
    within = "" if unit == "row" else f"{counted(count, unit)} with "
    return f"{within}{f'{scarce}s' if within else counted(count, scarce)}{NEEDED}"


@dataclass(frozen=True)
class Spread:
    """An estimate, and the moments of the observations' influences.

    Attributes
    ----------
    value
        The estimate.
    number
        Number of observations with a positive weight.
    squares, cubes, fourths
        Sums of powers of the influences: deviations from the estimate, each times the observation's
        share of the weight.
    bias
        Expected excess of the estimate.
    curvature
        Half the second derivative of the estimate in the direction of the influences.
    fewest
        Number of observations of the scarce kind, such as errors or the rarer of two classes.
    unseen
        The largest influence of an unseen observation; 0 if it is unknown.
    scarce
        What `fewest` counts, such as "error"; empty if users have no word for it.
    degrees
        Degrees of freedom; 0 if they follow from the effective number of observations.
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
    scarce: str = ""
    degrees: float = 0.0

    @property
    def standard_error(self) -> float:
        """Of the estimate; nan for a single observation."""
        return math.sqrt(self.squares * self.number / (self.number - 1)) if self.number > 1 else math.nan

    @property
    def skewness(self) -> float:
        """Of the estimate: the skewness of the observations over the root of their number."""
        return self.cubes / self.squares**1.5 if self.squares else 0.0

    @property
    def effective_size(self) -> float:
        """Number of observations of equal influence with the same spread; 0 if there is no spread."""
        if not self.standard_error > ROUNDING * abs(self.value):
            return 0.0
        return effective_size(self.squares, self.fourths)

    @property
    def carried(self) -> float:
        """Effective number of observations: the least of three counts."""
        unseen = self.unseen * self.unseen
        with_unseen = effective_size(self.squares + unseen, self.fourths + unseen * unseen)
        return min(self.effective_size, self.fewest, with_unseen)

    @property
    def enough(self) -> bool:
        """Whether there are enough observations for an interval."""
        return self.carried >= FEWEST

    def too_few(self, unit: str = "row") -> str:
        """Return why there are not enough."""
        scarce = self.scarce * (self.fewest < FEWEST)
        return carried_by(self.fewest if scarce else self.carried, unit, scarce)

    @property
    def freedom(self) -> float:
        """Degrees of freedom: the effective number of observations less one, unless they are known."""
        return self.degrees or max(1.0, self.carried - 1)

    def judged(
        self, level: float, unit: str = "row", bounded: Interval | None = None
    ) -> tuple[Interval | None, str]:
        """Return the interval, or why there is none.

        With few observations it is the guaranteed interval `bounded`, if there is one; it is never wider.
        """
        if not self.enough:
            return bounded, "" if bounded else self.too_few(unit)
        interval = self.interval(level)
        if bounded is not None:
            return interval.within(bounded), ""
        if 2 * abs(self.curvature) * max(self.value - interval.low, interval.high - self.value) >= 1:
            return None, SECOND_ORDER
        return (interval, "") if interval.contains(self.value) else (None, BIASED)

    def interval(self, level: float) -> Interval:
        """Return the interval of an estimate.

        As in DiCiccio & Efron 1992 (ABC intervals) the ends follow the estimate where it bends, and only the
        bias that this does not explain is subtracted.
        """
        quantile = t_quantile((1 + level) / 2, self.freedom)
        centre = self.value - self.bias + self.curvature * self.standard_error**2
        steps = (-self.standard_error * self._skewed(z) for z in (quantile, -quantile))
        low, high = (centre + step + self.curvature * step**2 for step in steps)
        return Interval(low, high, level)

    def p_above(self, limit: float) -> float:
        """Return the one-sided p-value of "at or below a limit": small values prove it above."""
        return t_upper(self._straight(limit), self.freedom)

    def p_below(self, limit: float) -> float:
        """Return the one-sided p-value of "at or above a limit": small values prove it below."""
        return t_upper(-self._straight(limit), self.freedom)

    def scaled(self, value: float, slope: float) -> Spread:
        """Return the spread of a function of the estimate, from its value and its slope there."""
        powers = (self.squares * slope**2, self.cubes * slope**3, self.fourths * slope**4)
        bias, unseen = self.bias * slope, self.unseen * abs(slope)
        return Spread(value, self.number, *powers, bias, fewest=self.fewest, unseen=unseen)

    def held(
        self, level: float, rows: float, ends: tuple[float, float] = (0.0, 1.0), heaviest: float = 1.0
    ) -> Interval:
        """Return an interval of a mean that is valid for any distribution of rows, however few carry it.

        Parameters
        ----------
        level
            Of the interval.
        rows
            Effective number of rows.
        ends
            The range of the mean.
        heaviest
            The largest contribution of a row, in units of the range over the number of rows.
        """
        low, high = ends
        span = high - low
        mean = min(max((self.value - self.bias - low) / span, 0.0), 1.0)
        turned = mean > 0.5  # count the rarer side
        mean = 1 - mean if turned else mean
        mean = 0.0 if mean < ROUNDING else mean
        squares = self.squares / span**2 + mean * mean / rows if mean else 0.0
        scaled = Interval.of_parts(mean, squares, heaviest / rows, level)
        if turned:
            return Interval(high - span * scaled.high, high - span * scaled.low, level)
        return Interval(low + span * scaled.low, low + span * scaled.high, level)

    def _straight(self, limit: float) -> float:
        """Return the studentized distance to a limit without its skewness."""
        excess, skew = self.value - self.bias - limit, self.skewness
        if not self.standard_error:
            return math.copysign(math.inf, excess) if excess else 0.0
        t = excess / self.standard_error
        return t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6

    def _skewed(self, z: float) -> float:
        """Return the studentized distance that becomes z once its skewness is removed."""
        if abs(self.skewness) < STRAIGHT:
            return z
        return 3 / self.skewness * (math.cbrt(1 + self.skewness * (z - self.skewness / 6)) - 1)


@dataclass(frozen=True)
class Influences:
    """An estimate, and the influence of each observation.

    Attributes
    ----------
    value, number, bias, fewest, scarce
        As for `Spread`.
    of_units
        (n,) deviations from the estimate, each times the observation's share of the weight; they sum to zero.
    share
        (n,) shares of the weight; None if all are equal.
    curvature
        As for `Spread`; unknown for a difference, and then 0.
    lost
        Variance missing from the influences, if they come from coarse cells.
    """

    value: float
    of_units: Doubles
    number: int
    bias: float = 0.0
    share: Doubles | None = None
    lost: float = 0.0
    curvature: float = 0.0
    fewest: float = math.inf
    scarce: str = ""

    @cached_property
    def spread(self) -> Spread:
        """The moments."""
        squares = np.square(self.of_units)
        second, third, fourth = (float((squares * of).sum()) for of in (1.0, self.of_units, squares))
        powers = second + self.lost, third, fourth
        few = self.fewest, 0.0, self.scarce
        return Spread(self.value, self.number, *powers, self.bias, self.curvature, *few)


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
    return Influences(value, of_units, number, bias, share, lost, fewest=fewest, scarce=candidate.scarce)


def wilson_interval(
    frequency: Doubles, rows: NDArray[np.int64 | np.float64], level: float
) -> tuple[Doubles, Doubles]:
    """Return the ends of the score interval of a probability (Wilson 1927).

    Parameters
    ----------
    frequency
        (m,) observed frequencies, in [0, 1].
    rows
        (m,) numbers of rows behind them, or effective numbers, at least 1.
    level
        Coverage, in (0, 1).
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    center = frequency + z**2 / (2 * rows)
    half = z * np.sqrt(frequency * (1 - frequency) / rows + (z / (2 * rows)) ** 2)
    scale = 1 + z**2 / rows
    return np.maximum(center - half, 0) / scale, np.minimum((center + half) / scale, 1)


def of_equal_weight(weight: Any, squares: Any) -> Any:
    """Return the effective number of rows, given the sums of weights and of their squares."""
    return np.divide(weight**2, squares, out=np.zeros(np.shape(weight)), where=squares > 0)
