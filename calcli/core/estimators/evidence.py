"""Evidence on the difference of two systems: intervals, p-values, tests against a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from calcli.core.data.arrays import Bools, Doubles, Stream, batch_sizes, generator
from calcli.core.data.binning import Bins
from calcli.core.estimators.calibrationerror import SIGNIFICANT, holm
from calcli.core.estimators.intervals import (
    Influences,
    Interval,
    Spread,
    beta_cdf,
    coin_upper,
    contrast,
    root,
    share_least,
    share_most,
)

NORMAL = NormalDist()


@dataclass(frozen=True)
class Margin:
    """The margin by which a system may be worse and still good enough.

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

    @classmethod
    def read(cls, text: str) -> Margin:
        """Return the margin for a number, or for a percentage such as `5%`.

        Raises
        ------
        ValueError
            If it is neither, or below 0.
        """
        share = text.strip().endswith("%")
        size = float(text.strip().removesuffix("%")) / (100 if share else 1)
        if not 0 <= size < math.inf:
            raise ValueError(text)
        return cls(relative=size) if share else cls(size)

    def __str__(self) -> str:
        terms = [f"{self.absolute:g}"] if self.absolute or not self.relative else []
        return " + ".join(terms + ([f"{100 * self.relative:g}%"] if self.relative else []))


NO_MARGIN = Margin()


class Evidence:
    """The spread of a difference, candidate minus baseline; this base has none, for metrics without a test.

    `sign` is +1 where a larger value of the metric is worse, -1 where it is better.

    Attributes
    ----------
    method
        How the spread was estimated, for signatures.
    no_interval
        Why there is no interval; "" if there is one, or if the metric never has one.
    standard_error
        Of the difference; nan without an interval.
    """

    method: Any = "untested"
    no_interval: Any = ""
    standard_error: Any = math.nan

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the difference; None if none is sound."""
        return None

    def p_value(self) -> float:
        """Return the two-sided p-value of no difference; nan without a test."""
        return math.nan

    def p_worse(self, sign: int, margin: Margin) -> float:
        """Return the p-value of "worse by no more than the margin": small values prove it worse."""
        return self._p(sign, margin, worse=True)

    def p_not_worse(self, sign: int, margin: Margin) -> float:
        """Return the p-value of "worse by the margin or more": small values prove it good enough."""
        return self._p(sign, margin, worse=False)

    def _p(self, sign: int, margin: Margin, *, worse: bool) -> float:
        return math.nan


@dataclass(frozen=True)
class Studentized(Evidence):
    """The influence of each unit on the values of both systems."""

    baseline: Influences
    candidate: Influences
    paired: bool
    how: str = "jackknife"

    @property
    def method(self) -> str:
        """Where the influences come from."""
        return f"{'paired' if self.paired else 'unpaired'}-{self.how}"

    @property
    def standard_error(self) -> float:
        """Of the difference."""
        return self.difference.spread.standard_error

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the difference."""
        return self.difference.spread.interval(level)

    def p_value(self) -> float:
        """Return the two-sided p-value, which belongs to the interval."""
        return 2 * min(self.difference.spread.p_above(0), self.difference.spread.p_below(0))

    @cached_property
    def difference(self) -> Influences:
        """Of candidate minus baseline."""
        return contrast(self.candidate, self.baseline, self.paired)

    def _p(self, sign: int, margin: Margin, *, worse: bool) -> float:
        contrasted = self.difference
        if margin.relative:
            factor = 1 + sign * math.copysign(margin.relative, self.baseline.value)
            contrasted = contrast(self.candidate, self.baseline, self.paired, factor)
        limit = sign * margin.absolute
        return contrasted.spread.p_above(limit) if worse == (sign > 0) else contrasted.spread.p_below(limit)


@dataclass(frozen=True)
class ExactShares(Evidence):
    """The difference of two shares of independent rows, with exact, conservative inference.

    Only discordant paired rows count, which one system alone has right. If both systems are
    equally good, the candidate wins each discordant row with probability one half: p comes from McNemar's
    exact test (1947). The interval matches this test, melded with the exact distribution of the number
    of discordant rows (Fay & Lumbard 2021): it contains 0 if and only if p is above its level. For unpaired
    rows the interval combines the exact ones of both shares, each at half of the error (Bonferroni).

    Attributes
    ----------
    gained, of_gained
        Hits of the candidate, for paired rows only those of the candidate alone, and the number of rows.
    lost, of_lost
        The same for the baseline.
    baseline
        The baseline's share.
    paired
        Whether both have the same rows.
    """

    gained: int
    of_gained: int
    lost: int
    of_lost: int
    baseline: float
    paired: bool

    @property
    def method(self) -> str:
        """The exact evidence."""
        return "paired-mcnemar" if self.paired else "unpaired-exact"

    @property
    def standard_error(self) -> float:
        """Of the difference, from the variance of the row contributions."""
        n, m = self.of_gained, self.of_lost
        if self.paired:
            squares, mean = self.gained + self.lost, (self.gained - self.lost) / n
            return math.sqrt((squares / n - mean**2) / (n - 1)) if n > 1 else math.nan
        shares = (self.gained / n, n), (self.lost / m, m)
        return math.sqrt(sum(p * (1 - p) / (k - 1) for p, k in shares)) if min(n, m) > 1 else math.nan

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the difference."""
        tail = (1 - level) / 2
        if not self.paired:
            return Interval(self._least(tail / 2), self._most(tail / 2), level)
        low = root(lambda above: self._p_above(above - 1) - tail, 0.0, 2.0) - 1
        high = root(lambda above: tail - self._p_below(above - 1), 0.0, 2.0) - 1
        return Interval(low, high, level)

    def p_value(self) -> float:
        """Return the two-sided p-value."""
        return min(1.0, 2 * min(self._p_above(0), self._p_below(0)))

    def _p(self, sign: int, margin: Margin, *, worse: bool) -> float:
        limit = sign * margin.of(self.baseline)
        return self._p_above(limit) if worse == (sign > 0) else self._p_below(limit)

    def _p_above(self, limit: float) -> float:
        if self.paired:
            return melded_p(self.gained, self.lost, self.of_gained, limit)
        return root(lambda tail: self._least(tail / 2) - limit, 0.0, 1.0)

    def _p_below(self, limit: float) -> float:
        if self.paired:
            return melded_p(self.lost, self.gained, self.of_gained, -limit)
        return root(lambda tail: limit - self._most(tail / 2), 0.0, 1.0)

    def _least(self, tail: float) -> float:
        return share_least(self.gained, self.of_gained, tail) - share_most(self.lost, self.of_lost, tail)

    def _most(self, tail: float) -> float:
        return share_most(self.gained, self.of_gained, tail) - share_least(self.lost, self.of_lost, tail)


FEW_DISCORDANT = 25  # rows, up to which the exact test is taken
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


def melded_p(gained: int, lost: int, rows: int, limit: float) -> float:
    """Return the p-value of a difference of paired shares of at most a limit: small values prove more.

    The difference is the share of discordant rows times 2 w - 1, where w is the share of these that the
    candidate wins. Both have exact lower or upper confidence distributions, which are beta distributions,
    whichever makes the difference smaller; p is the chance that their product is at most the limit.

    Parameters
    ----------
    gained, lost
        Discordant rows that the candidate alone, or the baseline alone, has right.
    rows
        All rows.
    limit
        In [-1, 1].
    """
    discordant = gained + lost
    if not gained:  # the least w is 0
        return 1.0 if limit >= 0 else float(_at_most(discordant, rows, np.array([-limit]))[0])
    edge = (1 + limit) / 2  # the w at which all rows would have to be discordant
    if not limit:
        return coin_upper(gained, discordant)
    low, high = (edge, 1.0) if limit > 0 else (0.0, edge)
    w = np.clip((low + high + (high - low) * NODES) / 2, 1e-300, 1 - 1e-16)
    log_density = math.lgamma(discordant + 1) - math.lgamma(gained) - math.lgamma(lost + 1)
    density = np.exp(log_density + (gained - 1) * np.log(w) + lost * np.log1p(-w)) * NODE_WEIGHTS
    density *= (high - low) / 2
    share = limit / (2 * w - 1)
    if limit > 0:
        below = beta_cdf(edge, gained, lost + 1)
        return float(below + density @ (1 - _at_most(discordant - 1, rows, share)))
    return float(density @ _at_most(discordant, rows, share))


def _at_most(hits: int, rows: int, share: Doubles) -> Doubles:
    """Return the probability of at most this many hits, for each share."""
    k = np.arange(hits + 1)
    ways = [math.lgamma(rows + 1) - math.lgamma(n + 1) - math.lgamma(rows - n + 1) for n in k]
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = np.where(k == rows, 0.0, (rows - k) * np.log1p(-share[:, None]))
        return np.minimum(np.exp(ways + k * np.log(share[:, None]) + missed).sum(axis=1), 1.0)


@dataclass(frozen=True)
class Normal(Evidence):
    """Two values with their variances and covariance, treated as normally distributed."""

    baseline: float
    candidate: float
    variances: tuple[float, float]
    covariance: float
    method: str
    no_interval: str = ""

    @property
    def standard_error(self) -> float:
        """Of the difference."""
        return self._error(Margin(), 1)

    def interval(self, level: float) -> Interval | None:
        """Return the normal interval of the difference."""
        difference = self.candidate - self.baseline
        half = NORMAL.inv_cdf((1 + level) / 2) * self.standard_error
        return None if math.isnan(difference) else Interval(difference - half, difference + half, level)

    def p_value(self) -> float:
        """Return the two-sided p-value of the z-test."""
        z = self._z(1, Margin())
        return z if math.isnan(z) else 2 * NORMAL.cdf(-abs(z))

    def _p(self, sign: int, margin: Margin, *, worse: bool) -> float:
        z = self._z(sign, margin)
        return z if math.isnan(z) else NORMAL.cdf(-z if worse else z)

    def _z(self, sign: int, margin: Margin) -> float:
        excess = sign * (self.candidate - self.baseline) - margin.of(self.baseline)
        error = self._error(margin, sign)
        if math.isnan(excess + error):
            return math.nan
        if error:
            return excess / error
        return math.copysign(math.inf, excess) if excess else 0.0

    def _error(self, margin: Margin, sign: int) -> float:
        factor = 1 + sign * math.copysign(margin.relative, self.baseline)
        spread = self.variances[1] - 2 * factor * self.covariance + factor**2 * self.variances[0]
        return math.sqrt(max(spread, 0))


@dataclass(frozen=True)
class Equal(Evidence):
    """Two systems with the same value from every unit, up to rounding: the candidate is as good."""

    method = "equal"
    standard_error = 0.0

    def _p(self, sign: int, margin: Margin, *, worse: bool) -> float:
        return float(worse)


@dataclass(frozen=True)
class DistanceEvidence(Evidence):
    """For a metric that is best at a target: whether one of two systems is nearer to it.

    Both are equally far from it if their values are equal, or lie equally far on opposite sides: if the
    difference, or the sum of both errors, is 0. Both must be rejected, and the larger of their p-values is
    valid (an intersection-union test, Berger 1982). The interval belongs to the difference.

    Attributes
    ----------
    difference
        The evidence on the difference.
    errors
        The sum of both errors; None if its spread is unknown.
    """

    difference: Evidence
    errors: Spread | None

    @property
    def method(self) -> str:
        """How the spread was found."""
        return f"{self.difference.method}-of-nearness"

    @property
    def standard_error(self) -> float:
        """Of the difference."""
        return self.difference.standard_error

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the difference."""
        return self.difference.interval(level)

    def p_value(self) -> float:
        """Return the two-sided p-value of both being equally near; nan if few rows carry the errors."""
        if self.errors is None or not self.errors.enough:
            return math.nan
        return max(self.difference.p_value(), 2 * min(self.errors.p_above(0), self.errors.p_below(0)))


def sum_of_errors(baseline: Influences, candidate: Influences, target: float, paired: bool) -> Spread:
    """Return the sum of the distances of two values above a target."""
    spread = contrast(candidate, baseline, paired, factor=-1.0).spread
    return replace(spread, value=spread.value - 2 * target)


@dataclass(frozen=True)
class ByProxy(Evidence):
    """The difference of two means on the same rows, from few labels and a proxy.

    Attributes
    ----------
    spread
        Of the difference, estimated row by row.
    baseline
        The baseline's value.
    """

    spread: Spread
    baseline: float
    method = "paired-by-proxy"

    @property
    def standard_error(self) -> float:
        """Of the difference."""
        return self.spread.standard_error

    def interval(self, level: float) -> Interval:
        """Return the interval of the difference."""
        return self.spread.interval(level)

    def p_value(self) -> float:
        """Return the two-sided p-value, which belongs to the interval."""
        return 2 * min(self.spread.p_above(0), self.spread.p_below(0))

    def _p(self, sign: int, margin: Margin, *, worse: bool) -> float:
        limit = sign * margin.of(self.baseline)
        return self.spread.p_above(limit) if worse == (sign > 0) else self.spread.p_below(limit)


@dataclass(frozen=True)
class Untested(Evidence):
    """No spread: a metric for which no test of differences is known."""

    no_interval: str = ""


PEAKS = 4_999  # drawn
STATISTICS = 4_000_000  # statistics in memory at once


@dataclass(frozen=True)
class Simultaneous:
    """Correction of several two-sided tests by single-step max-T (Westfall & Young 1993).

    The largest of several normal statistics is drawn with their correlations (Hothorn et al. 2008): similar
    systems and similar metrics cost less than Bonferroni's correction, and never more.

    Attributes
    ----------
    number
        How many tests there are.
    peaks
        Drawn absolute values of the largest statistic, in descending order.
    """

    number: int
    peaks: Doubles

    @classmethod
    def of(cls, covariance: Doubles, contrasts: Doubles, seed: int) -> Simultaneous:
        """Return the correction of contrasts of estimates.

        Parameters
        ----------
        covariance
            (k, k), of the estimates.
        contrasts
            (m, k) coefficients of the tested differences; differences without variance are left out.
        seed
            Of the draws.
        """
        values, vectors = np.linalg.eigh(covariance)
        factor = vectors * np.sqrt(np.maximum(values, 0))
        loadings = contrasts @ factor
        sizes = np.sqrt(np.square(loadings).sum(axis=1))
        loadings = loadings[sizes > 0] / sizes[sizes > 0, None]
        if len(loadings) < 2:
            return cls(len(loadings), np.empty(0))
        rng = generator(seed, Stream.PEAKS)
        peaks = [
            np.abs(rng.standard_normal((size, loadings.shape[1])) @ loadings.T).max(axis=1)
            for size in batch_sizes(PEAKS, len(loadings), STATISTICS)
        ]
        return cls(len(loadings), np.sort(np.concatenate(peaks))[::-1])

    def corrected(self, p: float) -> float:
        """Return a p-value corrected for the number of tests; nan without one."""
        if math.isnan(p) or self.number < 2:
            return p
        at_least = np.count_nonzero(self.peaks >= (-NORMAL.inv_cdf(p / 2) if p > 0 else math.inf))
        return max(p, min(self.number * p, float(1 + at_least) / (1 + len(self.peaks))))

    def pointwise(self, level: float) -> float:
        """Return the level of each interval at which all hold simultaneously with a given probability."""
        if self.number < 2:
            return level
        alpha = 1 - level
        allowed = int(alpha * (1 + len(self.peaks)) + 1e-9) - 1
        p_value = 2 * NORMAL.cdf(-float(self.peaks[allowed])) if allowed >= 0 else 0.0
        return 1 - min(alpha, max(alpha / self.number, p_value))


def joint_covariance(influences: Sequence[Influences], *, paired: bool = True) -> Doubles:
    """Return the (k, k) covariance of estimates; it is 0 for estimates from different units."""
    covariance = np.zeros((len(influences), len(influences)))
    units = [len(influence.of_units) if paired else -n for n, influence in enumerate(influences)]
    for number in set(units):
        places = [n for n, unit in enumerate(units) if unit == number]
        table = np.stack([influences[n].of_units for n in places], axis=1)
        covariance[np.ix_(places, places)] = table.T @ table
    covariance[np.diag_indices_from(covariance)] += [influence.lost for influence in influences]
    return covariance


def gap_p_values(bins: Bins, heaviest: float = 1.0) -> Doubles:
    """Return bounds of the p-values of the gaps of bins if the scores are calibrated.

    Outcomes with different probabilities vary less about their mean than the same number with the mean
    probability (Hoeffding 1956), which has a tail of at most Phi(-sqrt(2 n KL)), where KL is the divergence
    of the mean probability from the frequency moved by one outcome towards it (Zubkov & Serov 2013); for both
    sides it is twice this tail. With weights, n is their sum divided by the largest one, and the bound is
    approximate.

    Parameters
    ----------
    bins
        Sums, of any shape.
    heaviest
        The largest weight of a row.

    Returns
    -------
    Of the shape of the bins, in [0, 1]; 1 for empty ones.
    """
    rows = bins.weight / heaviest
    weight = np.where(rows > 0, bins.weight, 1)
    score, frequency = np.clip(bins.score / weight, 0, 1), np.clip(bins.outcome / weight, 0, 1)
    row = heaviest / weight
    nearer = np.where(
        frequency > score, np.maximum(frequency - row, score), np.minimum(frequency + row, score)
    )
    divergence = np.maximum(_terms(nearer, score) + _terms(1 - nearer, 1 - score), 0)
    return np.minimum(np.vectorize(math.erfc, otypes=[float])(np.sqrt(rows * divergence)), 1)


def _terms(observed: Doubles, expected: Doubles) -> Doubles:
    """Return observed * log(observed / expected), or 0 where `observed` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(observed > 0, observed * (np.log(observed) - np.log(expected)), 0)


def beyond_chance(bins: Bins, heaviest: float = 1.0) -> Bools:
    """Return which gaps exceed chance, corrected for the number of bins with rows (Holm, at 5%).

    If the scores are calibrated, the probability of any false finding is at most 5%.
    """
    filled = bins.weight > 0
    beyond = np.zeros(filled.shape, np.bool_)
    beyond[filled] = holm(gap_p_values(bins, heaviest)[filled]) <= SIGNIFICANT
    return beyond


def slice_p_value(
    value: float, interval: Interval | None, overall: float, overall_interval: Interval | None, share: float
) -> float:
    """Return the p-value of "a slice is a random part of all rows", by a normal approximation.

    The standard error is the larger of two: from its own interval, on the side of the value of all rows, and
    from an equal number of rows of all. The first alone is too small where a slice happens to lack the few
    rows that make a mean large, the second if it happens to have them.

    Parameters
    ----------
    value, interval
        Of the slice.
    overall, overall_interval
        Of all rows.
    share
        Of the rows in the slice, in (0, 1].

    Returns
    -------
    In [0, 1]; nan without finite values and intervals.
    """
    if interval is None or overall_interval is None:
        return math.nan
    if value >= overall:
        part, usual = value - interval.low, overall_interval.high - overall
    else:
        part, usual = interval.high - value, overall - overall_interval.low
    half = max(part, usual / math.sqrt(share))
    if not math.isfinite(half) or not math.isfinite(value - overall):
        return math.nan
    if half <= 0:
        return 1.0
    z = abs(value - overall) / half * NORMAL.inv_cdf((1 + interval.level) / 2)
    return 2 * NORMAL.cdf(-z)
