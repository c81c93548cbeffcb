"""Few labels, many predictions: the mean of an outcome known for some rows, with a proxy known for all rows.

The proxy is a judge's verdict, a grade, or the outcome that a probability expects. Verdicts are
post-stratified, anything else is a control variate by regression, as in prediction-powered inference
(Angelopoulos et al. 2023, arXiv 2311.01453), but with intervals that hold for 20 labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.estimators.intervals import (
    FEWEST,
    Interval,
    Spread,
    effective_size,
    jeffreys,
    t_quantile,
    t_upper,
)

FEWEST_LABELS = 20
HELPS = 4.0  # square of the t of the slope from which the proxy is used
LEAST_SLACK = 0.05  # of 1 - leverage
STRONG = 1e-6  # of a p-value, by which hypergeometric probabilities are equal
MOST_TERMS = 100  # of Kolmogorov's distribution
How = Literal["verdicts", "proxy", "proxy and unseen"]


@dataclass(frozen=True)
class Corrected:
    """A mean by labels and proxy.

    Attributes
    ----------
    value
        In the unit of the outcome.
    interval
        Of it.
    how
        By post-stratified verdicts, by regression, or by regression with one unseen disagreement each way.
    """

    value: float
    interval: Interval
    how: How

    def worth(self, labels: int, alone: Interval) -> int:
        """Return how many labels without a proxy tell as much, given the interval of the labels alone."""
        if self.how == "verdicts":
            alone = Interval(*jeffreys(self.value * labels, labels, alone.level), alone.level)
        gain = (alone.high - alone.low) / (self.interval.high - self.interval.low)
        return max(labels, int(labels * gain**2))


@dataclass(frozen=True, eq=False)
class FewLabels:
    """Outcomes of some rows, a random sample, and a proxy of all rows.

    Attributes
    ----------
    outcome
        (n,) of the labelled rows, between the ends.
    proxy
        (n,) of the same rows.
    unlabelled
        (N,) proxy of the rows without a label.
    units
        (n + N,) the question or cluster of each row, labelled ones first; None if rows are independent.
    ends
        Range of outcomes: 0 and 1, or -1 and 1 for differences.
    """

    outcome: Doubles
    proxy: Doubles
    unlabelled: Doubles
    units: Array | None = None
    ends: tuple[float, float] = (0.0, 1.0)

    @cached_property
    def every(self) -> Doubles:
        """(n + N,) proxy of all rows, labelled ones first."""
        return np.concatenate([self.proxy, self.unlabelled])

    @property
    def number(self) -> int:
        """Number of labelled rows, or questions."""
        return len(self.outcome) if self.units is None else len(np.unique(self.units[: len(self.outcome)]))

    @property
    def correlation(self) -> float:
        """Of outcome and proxy on the labelled rows; 0 if either is constant."""
        outcome, proxy = self.outcome - self.outcome.mean(), self.proxy - self.proxy.mean()
        scale = float((outcome @ outcome) * (proxy @ proxy))
        return float(outcome @ proxy) / math.sqrt(scale) if scale > 0 else 0.0

    @property
    def helps(self) -> bool:
        """Whether the proxy is used, decided before any interval is computed."""
        square = self.correlation**2
        return self.correlation > 0 and (self.number - 2) * square >= HELPS * (1 - square)

    @property
    def of_verdicts(self) -> bool:
        """Whether outcomes and proxy are 0 or 1, of independent rows."""
        values = np.append(self.outcome, self.every)
        return self.units is None and self.ends == (0.0, 1.0) and bool(np.isin(values, (0, 1)).all())

    def corrected(self, level: float, *, always: bool = False) -> Corrected | None:
        """Return the mean from both; None if the labels alone are as precise.

        Parameters
        ----------
        level
            Of the interval.
        always
            Whether verdicts are used even if they may not help.
        """
        if self.of_verdicts and (always or self.helps):
            return post_stratified(float(self.every.sum()), len(self.every), *self.by_verdict(), level)
        if (spread := self.regression(level)) is None:
            return None
        interval = spread.interval(level).within(Interval(*self.ends, level))
        return Corrected(spread.value, interval, "proxy" if spread.cubes else "proxy and unseen")

    def by_verdict(self) -> tuple[Doubles, Doubles]:
        """Return the (2,) sums of outcomes, and numbers, of labelled rows that fail and that pass."""
        passed = self.proxy.astype(np.intp)
        hits, of = (np.bincount(passed, values, 2) for values in (self.outcome, np.ones(len(passed))))
        return hits.astype(np.float64), of.astype(np.float64)

    def regression(self, level: float) -> Spread | None:
        """Return the spread of the mean by a regression on the proxy; None if labels alone are as precise.

        Parameters
        ----------
        level
            Of both intervals.
        """
        if not self.helps:
            return None
        n, every = len(self.outcome), self.every
        outcome, proxy, k = self.outcome - self.outcome.mean(), self.proxy - self.proxy.mean(), self.number
        squares = float(proxy @ proxy)
        slope = float(outcome @ proxy) / squares
        value = float(self.outcome.mean() + slope * (every.mean() - self.proxy.mean()))
        slack = np.maximum(1 - 1 / n - proxy**2 / squares, LEAST_SLACK)
        residuals = np.append((outcome - slope * proxy) / np.sqrt(slack) / n, np.zeros(len(self.unlabelled)))
        away, alone = slope * (every - every.mean()) / len(every), np.append(outcome / n, self.unlabelled * 0)
        if self.units is not None:
            codes = np.unique(self.units, return_inverse=True)[1]
            residuals, away, alone = (np.bincount(codes, rows) for rows in (residuals, away, alone))
        of_labels, of_others = float((residuals**2).sum()), float((away**2).sum())
        largest = max(map(abs, self.ends)) / k  # of a disagreement that was not seen
        size = min(_size(residuals), _size(np.append(residuals, largest)))
        freedom, unseen = k - 2.0, 2 * largest**2  # one each way, as in rules of plus two
        if size >= FEWEST:
            terms = of_labels**2 / (size - 1) + of_others**2 / max(_size(away) - 1, 1)
            freedom, unseen = (of_labels + of_others) ** 2 / terms, 0.0
        reach = t_quantile((1 + level) / 2, freedom) * math.sqrt(of_labels + of_others + unseen)
        if reach >= t_quantile((1 + level) / 2, k - 1) * math.sqrt((alone**2).sum()):
            return None
        influence, shrunk = residuals + away, 1 - 1 / k  # as leverages are taken off already
        squares, cubes = float((influence**2).sum()) + unseen, 0.0 if unseen else float((influence**3).sum())
        return Spread(value, k, squares * shrunk, cubes * shrunk**1.5, 0.0, degrees=max(freedom, 1.0))

    def drawn_alike(self) -> float:
        """Test whether the labelled rows are a random sample, by their proxy; return the p-value.

        Verdicts: Fisher's exact test. Other proxies: twice the smaller p of the rank-sum and the Kolmogorov-
        Smirnov test. Clusters: the difference of the means over its cluster-robust error.
        """
        sides = self.proxy, self.unlabelled
        if self.units is not None:
            shares = np.concatenate([(side - side.mean()) / len(side) for side in sides])
            shares[len(self.proxy) :] *= -1
            influence = np.bincount(np.unique(self.units, return_inverse=True)[1], shares)
            error = math.sqrt((influence**2).sum())
            return (
                2 * t_upper(abs(float(self.proxy.mean() - self.unlabelled.mean())) / error, self.number - 1)
                if error
                else 1.0
            )
        if np.isin(self.every, (0, 1)).all():
            return fisher_p(*(int(count) for side in sides for count in (side.sum(), len(side))))
        return min(1.0, 2 * min(rank_sum_p(*sides), kolmogorov_p(*sides)))

    def labels_needed(self, half_width: float, level: float) -> int | None:
        """Return how many labels give an interval of a half-width; None if labels of all rows do not.

        Half a disagreement is added to each verdict of the pilot.
        """
        rows, passes, (hits, of) = len(self.every), float(self.every.sum()), self.by_verdict()
        rates, shares = (hits + 0.5) / (of + 1), np.array([1 - passes / rows, passes / rows])

        def wide(labels: int) -> bool:
            by_verdict = rates * shares * labels, shares * labels
            interval = post_stratified(passes, rows, *by_verdict, level).interval
            return interval.high - interval.low > 2 * half_width

        if wide(rows):
            return None
        low, high = len(self.proxy) - 1, rows
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if wide(middle) else (low, middle)
        return high


def post_stratified(passes: float, rows: int, hits: Doubles, of: Doubles, level: float) -> Corrected:
    """Return the share of right rows, post-stratified by verdicts, with ends by MOVER (Zou & Donner 2008).

    Parameters
    ----------
    passes, rows
        How many of all rows pass.
    hits, of
        (2,) right and labelled rows among the failed and the passed. A verdict without a labelled row
        counts as 0 for the low end, as 1 for the high end.
    level
        Of the interval, made of Jeffreys limits.
    """
    share, of_share = passes / rows, jeffreys(passes, rows, level)
    limits = [jeffreys(*pair, level) for pair in zip(hits.tolist(), of.tolist(), strict=True)]
    values, ends = [], []
    for side in (0, 1):
        failed, passed = (hits[g] / of[g] if of[g] else float(side) for g in (0, 1))
        away = share - of_share[0] if (passed >= failed) == (side == 0) else of_share[1] - share
        reach = math.hypot(
            share * (passed - limits[1][side]),
            (1 - share) * (failed - limits[0][side]),
            away * (passed - failed),
        )
        values.append(share * passed + (1 - share) * failed)
        ends.append(values[-1] + (reach if side else -reach))
    interval = Interval(max(float(ends[0]), 0.0), min(float(ends[1]), 1.0), level)
    return Corrected(float(sum(values)) / 2, interval, "verdicts")


def fisher_p(hits: int, rows: int, other_hits: int, other_rows: int) -> float:
    """Return the two-sided p-value of two equal shares (Fisher 1935)."""
    every, total = hits + other_hits, rows + other_rows
    table = np.arange(max(0, every - other_rows), min(rows, every) + 1)
    logs = np.array([math.lgamma(n + 1) for n in range(max(rows, other_rows) + 1)])
    cells = logs[table] + logs[rows - table] + logs[every - table] + logs[other_rows - every + table]
    tables = math.lgamma(total + 1) - math.lgamma(every + 1) - math.lgamma(total - every + 1)
    probs = np.exp(logs[rows] + logs[other_rows] - cells - tables)
    return float(min(1.0, probs[probs <= probs[table == hits] * (1 + STRONG)].sum()))


def rank_sum_p(values: Doubles, reference: Doubles) -> float:
    """Return the two-sided p-value of the rank-sum test (Mann & Whitney 1947), normal, corrected for ties."""
    n, pooled = len(values), np.concatenate([values, reference])
    _, codes, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    total = len(pooled)
    ties = float((counts.astype(np.float64) ** 3 - counts).sum()) / (total * (total - 1))
    variance = n * (total - n) / 12 * (total + 1 - ties)
    excess = max(abs(float(ranks[:n].sum()) - n * (total + 1) / 2) - 0.5, 0.0)
    return math.erfc(excess / math.sqrt(2 * variance)) if variance > 0 else 1.0


def kolmogorov_p(values: Doubles, reference: Doubles) -> float:
    """Return the p-value of equal distributions by their largest distance (Smirnov 1948), asymptotic."""
    grid = np.unique(np.concatenate([values, reference]))
    shares = [np.searchsorted(np.sort(of), grid, "right") / len(of) for of in (values, reference)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    root = distance * math.sqrt(len(values) * len(reference) / (len(values) + len(reference)))
    k = np.arange(1, MOST_TERMS + 1)
    series = float((2 * (-1.0) ** (k - 1) * np.exp(-2 * (k * root) ** 2)).sum())
    return min(1.0, series) if root > 0.2 else 1.0


def _size(influence: Doubles) -> float:
    return effective_size(float((influence**2).sum()), float((influence**4).sum()))
