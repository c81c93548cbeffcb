"""Intervals, and the quantiles of distributions that they are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

TINY = 1e-300
MOST_TERMS = 10_000  # of the continued fraction; about the root of the parameters are needed
MOST_STEPS = 200
MANY, MANY_EACH = 1e7, 1e4  # rows, in all or for each hit, of which most are known to be none
LEAST_LOG = 600.0  # of a density by which a step may be divided


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return P(X <= x) of a Beta(a, b) variable, the regularized incomplete beta function.

    By its continued fraction (DLMF 8.17.22), evaluated by Lentz's method.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _continued(x, a, b) / a
    return 1 - front * _continued(1 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the x of which P(X <= x) is p, by Newton's method between bounds that close in on it."""
    if not 0 < p < 1:
        return float(p >= 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    low, high, x = 0.0, 1.0, a / (a + b)
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
    """Return the least share at which so many hits, or more, have a probability (Clopper & Pearson 1934)."""
    return beta_quantile(tail, hits, rows - hits + 1) if hits else 0.0


def share_most(hits: float, rows: float, tail: float) -> float:
    """Return the greatest share at which so few hits, or fewer, have a probability."""
    return beta_quantile(1 - tail, hits + 1, rows - hits) if hits < rows else 1.0


def coin_upper(heads: int, tosses: int) -> float:
    """Return the probability of so many heads, or more, of a fair coin."""
    return beta_cdf(0.5, heads, tosses - heads + 1) if heads else 1.0


@lru_cache(1024)
def t_quantile(p: float, freedom: float) -> float:
    """Return the t of which P(T <= t) is p."""
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
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found


def _apart(value: float) -> float:
    """Keep a denominator off zero."""
    return value if abs(value) > TINY else TINY


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function of [low, high] crosses zero; `high` if it does not."""
    while (middle := (low + high) / 2) - low > 1e-13 * high + 1e-16:
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return high


def level_percent(level: float) -> str:
    """Return the level of an interval as a percentage, with no digit rounded away."""
    return f"{100 * level:.10g}%"


@dataclass(frozen=True)
class Interval:
    """An interval that holds the truth with a known probability.

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
    def of_draws(cls, draws: NDArray[np.float64], level: float) -> Interval | None:
        """Return the percentile interval of (B,) resampled values, of which those that are nan do not count.

        Its ends are order statistics, so that infinite draws stay infinite. None if no draw counts.
        """
        draws = draws[~np.isnan(draws)]
        if not len(draws):
            return None
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        return cls(float(low), float(high), level)

    @classmethod
    def of_share(cls, hits: float, rows: float, level: float) -> Interval:
        """Return the exact interval of a share of independent rows (Clopper & Pearson 1934).

        Of numbers that are not whole, as of rows that count in part, it is that of beta quantiles in between.
        """
        tail = (1 - level) / 2
        return cls(share_least(hits, rows, tail), share_most(hits, rows, tail), level)

    @classmethod
    def of_parts(cls, mean: float, squares: float, most: float, level: float) -> Interval:
        """Return the interval of a mean in [0, 1] to which few of many rows bring nearly all.

        That of Fay & Feuer 1997, for sums of rare events of unlike weight, with beta in place of gamma
        distributions: the weight is the mean one of what was seen, and for the upper end another event, of
        the greatest weight, counts with those. Of events of equal weight it is that of Clopper & Pearson.

        Parameters
        ----------
        mean
            Sum of what the rows bring.
        squares
            Sum of the squares of that.
        most
            The most that a row can bring.
        level
            Of the interval.
        """
        tail = (1 - level) / 2

        def end(of: Callable[[float, float, float], float], hits: float, rows: float) -> float:
            known = min(rows, max(MANY, MANY_EACH * hits))  # beyond, it is as 1 over the rows
            return of(hits, known, tail) * (known / rows)

        low = end(share_least, mean * mean / squares, mean / squares) if squares > 0 else 0.0
        mean, squares = mean + most, squares + most * most
        return cls(low, end(share_most, mean * mean / squares - 1, mean / squares), level)

    def within(self, other: Interval) -> Interval:
        """Return it no further out than another one at either end."""
        return Interval(max(self.low, other.low), min(self.high, other.high), self.level)

    def contains(self, value: float) -> bool:
        """Return whether a value lies within it, or at an end but for rounding."""
        slack = 1e-12 * max(1.0, abs(value)) if math.isfinite(value) else 0.0
        return self.low - slack <= value <= self.high + slack
