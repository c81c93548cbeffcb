"""Calibration errors from the cumulative gap between scores and outcomes, without bins: KS and Kuiper.

Where the sum of s (1 - s) is large enough, the gap of calibrated scores behaves as Brownian motion
(Arrieta-Ibarra et al. 2022), and the distributions of its extremes are known; else outcomes are drawn.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from calcli.core.data.arrays import Doubles, Floats, batches
from calcli.core.data.binning import Bins
from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.metrics.errors import OneDimensional
from calcli.core.language.entries import metric
from calcli.core.problems.problem import Problem

ENOUGH_VARIANCE = 10.0  # sum of s (1 - s) from which the Brownian limit is used
CATALAN = 0.915965594177219  # E sup|B|^2 on [0, 1] is twice Catalan's constant
TOGETHER = 1 << 16  # rows whose moments are added up at once
LEAST_RANGE = 0.25  # below which Brownian motion has its range with a probability of less than 1e-30


@dataclass(frozen=True, kw_only=True)
class CumulativeError(OneDimensional):
    """A function of the extremes of the cumulative gap.

    The gap is taken after the last row of a tie, so the order of tied rows does not matter; the gap
    is 0 before the first row.
    """

    mean: ClassVar[float]  # of the same function of Brownian motion on [0, 1]
    sd: ClassVar[float]

    @abstractmethod
    def extent(self, low: Any, high: Any) -> Any:
        """Return the error, given (...) extremes of the gap, with 0 between them."""

    @abstractmethod
    def tail(self, x: float) -> float:
        """Return the probability that Brownian motion on [0, 1] shows at least x."""

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1]."""
        return float(self.extent(*problem.gap_extremes))

    def of_gaps(self, gaps: Floats) -> Any:
        """Return the error of (..., m) cumulative gaps."""
        return self.extent(np.minimum(gaps.min(-1), 0), np.maximum(gaps.max(-1), 0))

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error of (..., m) sums over runs of equal scores."""
        return self.of_sums(bins)

    def of_sums(self, bins: Bins) -> Doubles:
        """Return the error of (..., m) sums over steps of the score, with each step as one score."""
        gaps = np.cumsum(bins.outcome - bins.score, axis=-1)
        return np.asarray(self.of_gaps(gaps) / bins.weight.sum(-1))

    def limit(self, problem: Problem) -> Null | None:
        """Return the null distribution from Brownian motion, if the variance is large enough."""
        spread = problem.score * (1 - problem.score)
        rows = spread if problem.counts is None else spread * problem.counts
        if float(rows.sum(dtype=np.float64)) < ENOUGH_VARIANCE:
            return None
        if problem.weights is not None:
            spread = spread * problem.squared_weights
        scale = math.sqrt(float(spread.sum(dtype=np.float64))) / problem.total_weight
        return Null(self.mean * scale, self.sd * scale, self.tail(self.value(problem) / scale))


@metric("ks", "KS", abbreviation_of="Kolmogorov-Smirnov", tier="to know")
class KolmogorovSmirnov(CumulativeError):
    """largest gap between cumulative confidence and cumulative accuracy, without bins

    Formula: max_t |mean of (outcome - score) [score <= t]|
    Source: Gupta et al. 2021, eq. 11-12
    Misses: gaps of opposite sign cancel along the way; ece adds them up
    """

    mean: ClassVar[float] = math.sqrt(math.pi / 2)
    sd: ClassVar[float] = math.sqrt(2 * CATALAN - math.pi / 2)

    def extent(self, low: Any, high: Any) -> Any:
        """Return the largest distance of the gap from 0."""
        return np.maximum(-low, high)

    def tail(self, x: float) -> float:
        """Return the probability that Brownian motion goes as far from 0 as x."""
        return brownian_supremum_tail(x)

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return the largest gap: above 0 if scores are higher than outcomes."""
        low, high = problem.gap_extremes
        return {"signed": -high if high > -low else -low}


@metric("kuiper", "Kuiper", tier="to know")
class Kuiper(CumulativeError):
    """largest miscalibration over any interval of confidence, without bins; its interval can prove
    calibration

    Formula: max_(a<b) |mean of (outcome - score) [a < score <= b]|
    Source: Arrieta-Ibarra et al. 2022; Rossellini et al. 2025
    Misses: gaps of opposite sign cancel within an interval; ece adds them up
    Bounds: what any other threshold on the score can win over t = c_FP / (c_FP + c_FN), per unit of c_FP +
        c_FN: a row of score s and outcome y that changes sides costs (t - y) = (t - s) + (s - y) more below
        t, the opposite above; the first term never wins, the second adds up to at most kuiper. Its interval
        is kuiper ± 2.498 sqrt(sum (y - s)^2) / n at 95%, so that max = 0.05 with bound = "upper" in a policy
        proves calibration: calibrated uniform scores pass with 1,000 rows in 40% of sets, with 1,500 in 90%

    It is the range of the cumulative gap.
    """

    mean: ClassVar[float] = math.sqrt(8 / math.pi)
    sd: ClassVar[float] = math.sqrt(4 * math.log(2) - 8 / math.pi)

    def extent(self, low: Any, high: Any) -> Any:
        """Return the distance between the extremes."""
        return high - low

    def tail(self, x: float) -> float:
        """Return the probability that Brownian motion has a range of at least x."""
        return brownian_range_tail(x)

    def judged(self, problem: Problem, level: float) -> tuple[Interval | None, str]:
        """Return the interval of independent rows.

        Outcomes are their probabilities and noise. By the triangle inequality the two errors differ by at
        most the range of the noise's cumulative sum. Brownian motion with variance sum (y - s)^2 / n^2, of
        which the error is another part, usually has a larger range. If few rows or none have the less
        probable outcome, the noise comes from their number: it reaches as far as Clopper & Pearson's interval
        of their share.
        """
        value, total = self.value(problem), problem.total_weight
        squares = wrong = 0.0
        for rows in batches(len(problem.score), 1, TOGETHER):
            part = problem.at(rows)
            gap: Doubles = part.outcome - part.score.astype(np.float64, copy=False)
            squares += float(part.squared_weights @ np.square(gap))
            far = np.abs(gap) > 0.5
            wrong += float(np.count_nonzero(far) if part.weights is None else part.weights @ far)
        n = total * total / float(problem.squared_weights.sum(dtype=np.float64))
        share = Interval.of_share(wrong / total * n, n, level)
        reach = max(
            range_quantile(level) * math.sqrt(squares) / total,
            share.high - wrong / total,
            wrong / total - share.low,
        )
        return Interval(max(0.0, value - reach), min(1.0, value + reach), level), ""


def brownian_supremum_tail(x: float) -> float:
    """Return P(sup over [0, 1] of |B(t)| >= x) for Brownian motion B (Feller 1971, X.5)."""
    if x <= 0:
        return 1.0
    if x < 1:  # the two series converge fast on opposite sides
        odd = [2 * k + 1 for k in range(20)]
        terms = [math.exp(-((j * math.pi / x) ** 2) / 8) / j for j in odd]
        return 1 - 4 / math.pi * (sum(terms[::2]) - sum(terms[1::2]))
    return 4 * sum((-1) ** k * _normal_tail((2 * k + 1) * x) for k in range(20))


def brownian_range_tail(x: float) -> float:
    """Return P(max - min over [0, 1] of B(t) >= x) for Brownian motion B (Feller 1951)."""
    if x <= LEAST_RANGE:
        return 1.0
    terms = math.ceil(40 / x) + 1
    return min(1.0, 8 * math.fsum((-1) ** (k - 1) * k * _normal_tail(k * x) for k in range(1, terms + 1)))


def range_quantile(level: float) -> float:
    """Return what the range of Brownian motion on [0, 1] exceeds with probability at most 1 - level.

    It uses the first term of the alternating series: at 95% it is too large by 1 in 75,000.
    """
    return NormalDist().inv_cdf((7 + level) / 8)


def _normal_tail(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2))
