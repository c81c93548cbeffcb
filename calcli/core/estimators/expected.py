"""Expected scores: what every posterior has an expectation of (Ferrer & Ramos 2024, section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import Block
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.beta_scores import BetaScore, IntegralOfRisks
from calcli.core.estimators.costs import CostMatrix, find_costs, matrix_of
from calcli.core.estimators.rules import scoring_rule
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import PROPER, UNIFORM
from calcli.core.language.settings import Settings

Weights = Sequence[tuple[float, float]]


class Risk(ScoringRule):
    """The cost of the decisions that a posterior says cost least."""

    def __init__(self, costs: CostMatrix) -> None:
        self.costs = costs

    def of_block(self, block: Block) -> Array:
        """Return the (n,) costs of the decisions for the rows of a block."""
        return self.costs.statistics[self.costs.column](block)

    def losses(self, log_probs: Floats, labels: NDArray[np.integer[Any]]) -> Doubles:
        """Return the (N,) costs of the decisions, given (N, K) log-probabilities."""
        return self.costs.cost[labels, self._decisions(log_probs)]

    def expected(self, log_probs: Doubles, posteriors: Doubles) -> Doubles:
        """Return the (N,) costs expected of the decisions."""
        return np.vecdot(np.exp(posteriors), self.costs.cost.T[self._decisions(log_probs)])

    def constant(self, priors: Doubles) -> Doubles:
        """Return the cost of the decision that is best for all."""
        return (priors @ self.costs.cost).min(axis=-1)

    def _decisions(self, log_probs: Floats) -> NDArray[np.intp]:
        return self.costs.best(np.exp(log_probs.T, dtype=np.float64))


class Weighted(ScoringRule):
    """Risks of two classes at all thresholds, weighted."""

    def __init__(self, score: IntegralOfRisks) -> None:
        self.score = score

    def of_block(self, block: Block) -> Array:
        """Return the (n,) losses of the rows of a block."""
        return self.score.statistics[self.score.column](block)

    def losses(self, log_probs: Floats, labels: NDArray[np.integer[Any]]) -> Doubles:
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


def expected_score(call: MetricExpression, predictions: Predictions, settings: Settings) -> ScoringRule:
    """Return the rule whose mean a score is.

    Parameters
    ----------
    call
        A proper score, the error rate, a Bayes risk or an integral of risks.
    predictions
        What is to be scored.
    settings
        Costs and weights that expressions may name, beside those that every expression may.

    Raises
    ------
    UsageError
        If costs or weights are unknown, or the score is not defined for that number of classes.
    InputError
        If the costs do not fit the classes.
    """
    name = call.entry.name
    if name in PROPER:
        return scoring_rule(name, of_answers=predictions.of_answers)
    if is_integral(call):
        return Weighted(integral_of_risks(call, predictions, settings))
    named = find_costs(str(call.arguments.get("costs", "zero-one")), settings.costs)
    return Risk(matrix_of(named, predictions))


def is_integral(call: MetricExpression) -> bool:
    """Tell whether a score integrates risks over the threshold."""
    return call.entry.name.endswith(("beta_score", "weighted_risk"))


def integral_of_risks(
    call: MetricExpression, predictions: Predictions, settings: Settings
) -> IntegralOfRisks:
    """Return the weighted risks that an expression asks for.

    Raises
    ------
    UsageError
        If there are more than two classes, or no such weights.
    """
    if predictions.n_classes != 2:
        raise UsageError(f"{call.entry.name} is for two classes, and there are {predictions.n_classes}")
    if "weights" in call.arguments:
        return find_weights(call.arguments["weights"], settings.threshold_weights)
    return BetaScore(call.arguments["a"], call.arguments["b"])


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
        """Return the weights of (...) thresholds: linear between those of the table, 0 outside."""
        known, weight = np.array(self.table).T
        return np.interp(threshold, known, weight, left=0, right=0)


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
            pieces = self._piece(np.arange(len(self._end)), np.log(threshold[:-1]), threshold[:-1])
        self._above = np.append(np.cumsum(pieces[:0:-1])[::-1], 0)  # of the pieces above each

    def upper(self, start: Doubles) -> Doubles:
        """Return the integrals from `start`, (...) log-odds of t, upwards."""
        first, last = self._threshold[0], self._threshold[-1]
        with np.errstate(over="ignore", divide="ignore"):
            point = np.clip(1 / (1 + np.exp(-start)), first, last)
            log_point = np.clip(-np.logaddexp(0, -start), np.log(first), np.log(last))
        piece = np.clip(np.searchsorted(self._threshold, point, side="right") - 1, 0, len(self._end) - 1)
        return np.asarray(self._piece(piece, log_point, point) + self._above[piece])

    def _piece(self, piece: NDArray[np.intp], log_start: Doubles, start: Doubles) -> Doubles:
        """Return the integrals over pieces from a point within each to its end."""
        level, end = self._level[piece], self._end[piece]
        rising = np.where(level == 0, 0, np.log(end) - np.where(level == 0, 0, log_start))
        return np.asarray(level * rising + self._slope[piece] * (end - start))


def find_weights(name: str, tables: Mapping[str, Weights]) -> WeightedRisk:
    """Return the score of the weights of that name.

    Raises
    ------
    UsageError
        If there are none.
    """
    if name in tables:
        return WeightedRisk(tuple(tables[name]))
    if name == UNIFORM:
        return WeightedRisk(((0.0, 1.0), (1.0, 1.0)))
    known = ", ".join([UNIFORM, *tables])
    raise UsageError(
        f"no weights are called {name!r}; expected a CSV file of threshold,weight, or one of {known}"
    )
