"""Proper scores of two classes as integrals of Bayes risks with given weights.

At threshold t on the probability of the second class, a false alarm costs 1 / (1 - t) and a miss 1 / t, and
W(t) is what their risk weighs (Ferrer & Ramos 2024, eq. 10 to 12, with t = a_2). W is a table of thresholds
and weights, linear between them and 0 outside; it is taken as it is, so that a weight of 1 everywhere gives
the log-loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.estimators.beta_scores import IntegralOfRisks
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import UNIFORM

Weights = Sequence[tuple[float, float]]


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
