"""What the data say about the difference of two systems: intervals, p-values, proofs against a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.permutation import Swapped

NORMAL = NormalDist()


@dataclass(frozen=True)
class Margin:
    """How much worse is still good enough.

    Attributes
    ----------
    absolute
        In the metric's unit, at least 0.
    relative
        As a share of the baseline's value, at least 0; added to `absolute`.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def of(self, baseline: float) -> float:
        """Return the margin in the metric's unit."""
        return self.absolute + self.relative * abs(baseline) if self.relative else self.absolute

    def __str__(self) -> str:
        parts = [f"{self.absolute:g}"] if self.absolute or not self.relative else []
        return " + ".join(parts + ([f"{100 * self.relative:g}%"] if self.relative else []))


class Evidence(Protocol):
    """The spread behind a difference, candidate minus baseline.

    `sign` is +1 where a larger value of the metric is worse, -1 where it is better.
    """

    @property
    def method(self) -> str:
        """How the spread was found, for signatures."""

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the difference; None where none is sound."""

    def p_value(self) -> float:
        """Return the two-sided p-value of no difference; nan without a test."""

    def p_worse(self, sign: int, margin: Margin) -> float:
        """Return the p-value of "worse by no more than the margin": small values prove it worse."""

    def p_not_worse(self, sign: int, margin: Margin) -> float:
        """Return the p-value of "worse by the margin or more": small values prove it good enough."""


@dataclass(frozen=True)
class Resampled:
    """Bootstrap draws of both systems' values, (B,) each; of paired rows they share their resamples."""

    baseline: Doubles
    candidate: Doubles
    paired: bool

    @property
    def method(self) -> str:
        """Kind and number of resamples."""
        return f"{'paired' if self.paired else 'unpaired'}-bootstrap:{len(self.baseline)}"

    def interval(self, level: float) -> Interval | None:
        """Return the percentile interval of the differences."""
        return Interval.of_draws(self._differences, level)

    def p_value(self) -> float:
        """Return twice the smaller share of draws on one side of 0, which belongs to the interval."""
        draws = self._differences
        if not len(draws):
            return math.nan
        return min(1.0, 2 * min(_share(draws <= 0), _share(draws >= 0)))

    def p_worse(self, sign: int, margin: Margin) -> float:
        """Return the share of draws in which the candidate is worse by no more than the margin."""
        excess = self._excess(sign, margin)
        return _share(excess <= 0) if len(excess) else math.nan

    def p_not_worse(self, sign: int, margin: Margin) -> float:
        """Return the share of draws in which the candidate is worse by the margin or more."""
        excess = self._excess(sign, margin)
        return _share(excess >= 0) if len(excess) else math.nan

    @property
    def _differences(self) -> Doubles:
        return self._excess(1, Margin())

    def _excess(self, sign: int, margin: Margin) -> Doubles:
        with np.errstate(invalid="ignore"):  # both infinite: that draw says nothing
            difference = sign * (self.candidate - self.baseline) - margin.absolute
            if margin.relative:
                difference -= margin.relative * np.abs(self.baseline)
        return difference[~np.isnan(difference)]


@dataclass(frozen=True)
class Normal:
    """Doubles with their variances and covariance, taken for normally distributed."""

    baseline: float
    candidate: float
    variances: tuple[float, float]
    covariance: float
    method: str

    def interval(self, level: float) -> Interval | None:
        """Return the normal interval of the difference."""
        difference = self.candidate - self.baseline
        half = NORMAL.inv_cdf((1 + level) / 2) * self._error(Margin(), 1)
        return None if math.isnan(difference) else Interval(difference - half, difference + half, level)

    def p_value(self) -> float:
        """Return the two-sided p-value of the z-test."""
        z = self._z(1, Margin())
        return z if math.isnan(z) else 2 * NORMAL.cdf(-abs(z))

    def p_worse(self, sign: int, margin: Margin) -> float:
        """Return the one-sided p-value of "worse by no more than the margin"."""
        z = self._z(sign, margin)
        return z if math.isnan(z) else NORMAL.cdf(-z)

    def p_not_worse(self, sign: int, margin: Margin) -> float:
        """Return the one-sided p-value of "worse by the margin or more"."""
        z = self._z(sign, margin)
        return z if math.isnan(z) else NORMAL.cdf(z)

    def _z(self, sign: int, margin: Margin) -> float:
        excess = sign * (self.candidate - self.baseline) - margin.of(self.baseline)
        error = self._error(margin, sign)
        if error > 0 or math.isnan(excess):
            return excess / error
        return math.copysign(math.inf, excess) if excess else 0.0

    def _error(self, margin: Margin, sign: int) -> float:
        factor = 1 + sign * math.copysign(margin.relative, self.baseline)
        spread = self.variances[1] - 2 * factor * self.covariance + factor**2 * self.variances[0]
        return math.sqrt(max(spread, 0))


@dataclass(frozen=True)
class Permuted:
    """A difference beside those that arise when the two systems' predictions are swapped at random.

    They tell what differences arise between systems that are equally good; they give no interval, as an error
    is biased upward near zero. A margin is compared with the difference itself, beside the test.

    Attributes
    ----------
    difference, baseline
        The difference and the baseline's value.
    swapped
        The tested statistic, which for some metrics rests on cells or a kernel that both systems share.
    paired
        Whether predictions were swapped within a row.
    """

    difference: float
    baseline: float
    swapped: Swapped
    paired: bool

    @property
    def method(self) -> str:
        """Kind and number of permutations."""
        return f"{'paired' if self.paired else 'unpaired'}-permutation:{len(self.swapped.draws)}"

    def interval(self, level: float) -> Interval | None:
        """Return None: there is no sound interval."""
        return None

    def p_value(self) -> float:
        """Return the share of permutations with a difference as large, the observed one among them."""
        return self._share(np.abs(self.swapped.draws), abs(self.swapped.observed))

    def p_worse(self, sign: int, margin: Margin) -> float:
        """Return the one-sided p-value of no difference; 1 while the difference is within the margin."""
        if sign * self.difference <= margin.of(self.baseline):
            return 1.0
        return self._share(sign * self.swapped.draws, sign * self.swapped.observed)

    def p_not_worse(self, sign: int, margin: Margin) -> float:
        """Return nan: without an interval nothing is proven to be small."""
        return math.nan

    def least_p(self) -> float:
        """Return the least p-value that so many permutations can show."""
        return 1 / (1 + len(self.swapped.draws))

    def _share(self, draws: Doubles, observed: float) -> float:
        if math.isnan(observed) or not len(draws):
            return math.nan
        return _share(draws >= observed - 1e-12)  # equal sums may differ in the last bits


@dataclass(frozen=True)
class Untested:
    """No spread: a metric for which no test of differences is known."""

    method: str = "untested"

    def interval(self, level: float) -> Interval | None:
        """Return None."""
        return None

    def p_value(self) -> float:
        """Return nan."""
        return math.nan

    def p_worse(self, sign: int, margin: Margin) -> float:
        """Return nan."""
        return math.nan

    def p_not_worse(self, sign: int, margin: Margin) -> float:
        """Return nan."""
        return math.nan


def _share(chosen: NDArray[np.bool_]) -> float:
    """Return a p-value: the observed data count as one more draw."""
    return (1 + int(np.count_nonzero(chosen))) / (1 + len(chosen))
