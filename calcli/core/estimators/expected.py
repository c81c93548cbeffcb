"""Proper scores of two classes as integrals of Bayes risks over the threshold, weighted by a beta density.

A wrong decision costs 1 / a_1 where the first class is true, 1 / a_2 = 1 / (1 - a_1) where the second one is,
which is then decided for where its probability is above the threshold t = a_2 = 1 - a_1. What weighs the
risks is the density of Beta(a, b) in a_1 (Ferrer & Ramos 2024, eq. 10 to 12), which is the density of Beta(b,
a) in t: (1, 1) gives the log-loss, (2, 2) one and a half times the Brier score that is summed over both
classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Labels, Positions
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.estimators.costs import CostMatrix
from calcli.core.estimators.rules import ScoringRule
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import UNIFORM

REACH = 40.0  # log-odds beyond which 1 - q or q is 1 in double precision
COARSEST = 1 / 32
POINTS_A_WIDTH = 20  # grid points within the width of the density: cubic interpolation is then good to 1e-8
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(5)


class Upper(Protocol):
    """An integral over the threshold, from any point upwards."""

    def upper(self, start: Doubles) -> Doubles:
        """Return the integrals from `start`, (...) log-odds, to the largest threshold."""


class IntegralOfRisks:
    """A score of two classes that weights the risks of all thresholds."""

    @property
    def column(self) -> str:
        """Name of the row statistic that is the loss."""
        raise NotImplementedError

    @property
    def _second(self) -> Upper:
        """The integral of W(t) / t over t, a threshold on the probability of the second class."""
        raise NotImplementedError

    @property
    def _first(self) -> Upper:
        """The integral of W(1 - s) / s over s, a threshold on the probability of the first class."""
        raise NotImplementedError

    def weight(self, threshold: Doubles) -> Doubles:
        """Return W(t) at (...) thresholds within (0, 1) on the probability of the second class."""
        raise NotImplementedError

    @property
    def statistics(self) -> dict[str, RowStatistic]:
        """How it is computed from a block of two classes, by name."""
        return {self.column: lambda block: self.losses(block.log_odds, block.labels)}

    def losses(self, log_odds: Array, labels: Array) -> Doubles:
        """Return the (n,) losses of rows, given the log-odds of the second class and their labels, 0 or 1.

        A row with probability 0 of its label has an infinite loss if thresholds near 0 weigh too much for it.
        """
        log_odds = log_odds.astype(np.float64, copy=False)
        second = labels == 1
        losses = np.empty(len(log_odds))
        losses[second] = self._second.upper(log_odds[second])
        losses[~second] = self._first.upper(-log_odds[~second])
        return losses

    def constant(self, priors: Doubles) -> Doubles:
        """Return the (...) score of constant class frequencies, (..., 2)."""
        with np.errstate(divide="ignore"):
            log_odds = np.log(priors[..., 1]) - np.log(priors[..., 0])
        losses = (self._first.upper(-log_odds), self._second.upper(log_odds))
        terms = [np.where(share > 0, share, 1) * np.where(share > 0, loss, 0)
                 for share, loss in zip(np.moveaxis(priors, -1, 0), losses, strict=True)]  # fmt: skip
        return np.asarray(terms[0] + terms[1])


@dataclass(frozen=True)
class BetaScore(IntegralOfRisks):
    """The score of one beta density.

    Attributes
    ----------
    a, b
        Its parameters, above 0, as for a_1: the threshold on the probability of the first class.
    """

    a: float
    b: float

    @property
    def column(self) -> str:
        """Name of the row statistic that is the loss."""
        return f"risks weighted by beta {self.a} {self.b}"

    @cached_property
    def _second(self) -> _TailIntegral:
        return _TailIntegral(self.b - 1, self.a, _log_beta(self.a, self.b))

    @cached_property
    def _first(self) -> _TailIntegral:
        return _TailIntegral(self.a - 1, self.b, _log_beta(self.a, self.b))

    def weight(self, threshold: Doubles) -> Doubles:
        """Return the density of Beta(a, b) at a_1 = 1 - t."""
        log_density = (self.a - 1) * np.log1p(-threshold) + (self.b - 1) * np.log(threshold)
        return np.exp(log_density - _log_beta(self.a, self.b))


@dataclass(frozen=True)
class _TailIntegral:
    """The integral of p^power (1 - p)^rest exp(-log_scale) over the log-odds of p, from any point upwards.

    It is summed panel by panel on a grid, interpolated by cubics with the known slopes, and continued beyond
    the grid by the exponentials of the integrand there.
    """

    power: float
    rest: float
    log_scale: float

    def upper(self, start: Doubles) -> Doubles:
        """Return the integrals from `start`, (...), to infinity; `start` may be infinite."""
        grid, values, slopes = self._table
        step = grid[1] - grid[0]
        inside = np.clip(start, -REACH, REACH)
        cell = np.minimum(((inside + REACH) / step).astype(np.intp), len(grid) - 2)
        u = (inside - grid[cell]) / step
        at_left = (1 + 2 * u) * values[cell] + u * step * slopes[cell]
        at_right = (3 - 2 * u) * values[cell + 1] + (u - 1) * step * slopes[cell + 1]
        integral = np.asarray((1 - u) ** 2 * at_left + u**2 * at_right)
        below, above = start < -REACH, start > REACH
        integral[below] += self._below(start[below])
        integral[above] = np.exp(-self.rest * start[above] - self.log_scale) / self.rest
        return integral

    def _below(self, start: Doubles) -> Doubles:
        """Return the integral of exp(power t - log_scale) from `start` to the left end of the grid."""
        width = -REACH - start
        if self.power == 0:
            return width * math.exp(-self.log_scale)
        at_end = math.exp(-self.power * REACH - self.log_scale)
        with np.errstate(over="ignore"):
            return -at_end * np.expm1(-self.power * width) / self.power

    @cached_property
    def _table(self) -> tuple[Doubles, Doubles, Doubles]:
        """Grid of log-odds, integrals from there upwards, and their slopes."""
        width = math.sqrt(1 / (1 + self.power) + 1 / self.rest)
        panels = math.ceil(2 * REACH / min(COARSEST, width / POINTS_A_WIDTH))
        grid = np.linspace(-REACH, REACH, panels + 1)
        half = REACH / panels
        nodes = (grid[:-1] + half)[:, None] + half * NODES
        sums = half * self._integrand(nodes) @ NODE_WEIGHTS
        tail = math.exp(-self.rest * REACH - self.log_scale) / self.rest
        values = np.append(np.cumsum(sums[::-1])[::-1], 0) + tail
        return grid, values, -self._integrand(grid)

    def _integrand(self, log_odds: Doubles) -> Doubles:
        log_p, log_rest = -np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds)
        return np.exp(self.power * log_p + self.rest * log_rest - self.log_scale)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


Weights = Sequence[tuple[float, float]]


class Risk(ScoringRule):
    """The cost of the decisions with the least expected cost."""

    def __init__(self, costs: CostMatrix) -> None:
        self.costs = costs

    def of_block(self, block: Block) -> Array:
        """Return the (n,) costs of the decisions for the rows of a block."""
        return self.costs.statistics[self.costs.column](block)

    def losses(self, log_probs: Floats, labels: Labels) -> Doubles:
        """Return the (N,) costs of the decisions, given (N, K) log-probabilities."""
        return self.costs.cost[labels, self._decisions(log_probs)]

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected costs of the decisions."""
        return np.vecdot(np.exp(posteriors), self.costs.cost.T[self._decisions(log_probs)])

    def constant(self, priors: Doubles) -> Doubles:
        """Return the cost of the best constant decision."""
        return (priors @ self.costs.cost).min(axis=-1)

    def _decisions(self, log_probs: Floats) -> Positions:
        return self.costs.best(np.exp(log_probs.T, dtype=np.float64))


class Weighted(ScoringRule):
    """Risks of two classes at all thresholds, weighted."""

    def __init__(self, score: IntegralOfRisks) -> None:
        self.score = score

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return self.score.statistics[self.score.column](block)

    def losses(self, log_probs: Floats, labels: Labels) -> Doubles:
        """Return the (N,) losses of (N, 2) log-probabilities."""
        return self.score.losses(log_probs[:, 1] - log_probs[:, 0], labels)

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) expected losses."""
        sum_ = np.zeros(len(log_probs))
        for k, share in enumerate(np.exp(posteriors).T):
            loss = self.losses(log_probs, np.full(len(log_probs), k))
            sum_ += np.where(share > 0, share * np.where(share > 0, loss, 0), 0)
        return sum_

    def constant(self, priors: Doubles) -> Doubles:
        """Return the score of the class frequencies."""
        return self.score.constant(priors)


@dataclass(frozen=True)
class WeightedRisk(IntegralOfRisks):
    """The score of one table of weights.

    Attributes
    ----------
    table
        Thresholds on the probability of the second class, ascending in [0, 1], and weights of at least 0.
    """

    table: tuple[tuple[float, float], ...]

    @property
    def column(self) -> str:
        """Name of the row statistic that is the loss; it tells the table, as states keep it by name."""
        return f"weighted risk {' '.join(f'{threshold}:{weight}' for threshold, weight in self.table)}"

    @cached_property
    def _second(self) -> _Trapezoids:
        threshold, weight = np.array(self.table).T
        return _Trapezoids(threshold, weight)

    @cached_property
    def _first(self) -> _Trapezoids:
        threshold, weight = np.array(self.table[::-1]).T
        return _Trapezoids(1 - threshold, weight)

    def weight(self, threshold: Doubles) -> Doubles:
        """Return the weights of (...) thresholds: linear between the thresholds of the table, 0 outside."""
        grid, weight = np.array(self.table).T
        return np.interp(threshold, grid, weight, left=0, right=0)


class _Trapezoids:
    """The integral of W(t) / t over t, from any point upwards, in closed form.

    Where W(t) = level + slope t, it is level ln t + slope t.

    Parameters
    ----------
    threshold, weight
        (m,) ascending thresholds and their weights, between which W is linear.
    """

    def __init__(self, threshold: Doubles, weight: Doubles) -> None:
        self._end = threshold[1:]
        self._slope = np.diff(weight) / np.diff(threshold)
        self._level = weight[1:] - self._slope * self._end
        self._level[0] = weight[0] - self._slope[0] * threshold[0]  # exactly 0 for a weight of 0 at 0
        self._threshold = threshold
        with np.errstate(divide="ignore"):
            areas = self._piece(np.arange(len(self._end)), np.log(threshold[:-1]), threshold[:-1])
        self._above = np.append(np.cumsum(areas[:0:-1])[::-1], 0)  # of the pieces above each

    def upper(self, start: Doubles) -> Doubles:
        """Return the integrals from `start`, (...) log-odds of t, upwards."""
        low, high = self._threshold[0], self._threshold[-1]
        with np.errstate(over="ignore", divide="ignore"):
            point = np.clip(1 / (1 + np.exp(-start)), low, high)
            log_point = np.clip(-np.logaddexp(0, -start), np.log(low), np.log(high))
        piece = np.clip(np.searchsorted(self._threshold, point, side="right") - 1, 0, len(self._end) - 1)
        return np.asarray(self._piece(piece, log_point, point) + self._above[piece])

    def _piece(self, piece: Positions, log_start: Doubles, start: Doubles) -> Doubles:
        """Return the integrals over pieces from a point within each to its end."""
        level, end = self._level[piece], self._end[piece]
        rising = np.where(level == 0, 0, np.log(end) - np.where(level == 0, 0, log_start))
        return np.asarray(level * rising + self._slope[piece] * (end - start))


def find_weights(name: str, tables: Mapping[str, Weights]) -> WeightedRisk:
    """Return the score of the weights with a name.

    Raises
    ------
    UsageError
        If there are none.
    """
    if name in tables:
        return WeightedRisk(tuple(tables[name]))
    if name == UNIFORM:
        return WeightedRisk(((0.0, 1.0), (1.0, 1.0)))
    names = ", ".join([UNIFORM, *tables])
    raise UsageError(
        f"no weights are called {name!r}; expected a CSV file of threshold,weight, or one of {names}"
    )
