"""Distances of a score from its flexible calibration curve: ICI, E50, E90 and Emax."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from calcli.core.data.arrays import Doubles, Positions, from_log_odds, log_odds
from calcli.core.data.binning import Bins, edge_cuts
from calcli.core.estimators.flexible import flexible_curve
from calcli.core.evaluating.metrics.errors import OneDimensional
from calcli.core.language.entries import metric
from calcli.core.problems.problem import Problem, segment_sums

CELLS = 1000  # cells of equal width in log-odds, in which rows are summed for simulated outcomes


class FromCurve(OneDimensional, ABC):
    """A summary of the distances of the rows from the curve."""

    rounding: ClassVar[float] = 1e-6

    def cuts(self, problem: Problem) -> Positions:
        """Return the positions that split the ordered rows at edges evenly spaced in log-odds."""
        lowest, highest = log_odds(problem.score[[0, -1]].astype(np.float64))
        edges = from_log_odds(np.linspace(lowest, highest, CELLS + 1)[1:-1])
        return edge_cuts(problem.score, np.concatenate([[0], edges, [1]]))

    def value(self, problem: Problem) -> float:
        """Return the summary of the distances, in [0, 1], each row at its own score."""
        score = problem.score.astype(np.float64)
        weight = np.ones(len(score)) if problem.weights is None else problem.weights.astype(np.float64)
        return float(self._summary(score, problem.outcome.astype(np.float64), weight, np.square(weight)))

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the summary with the rows of each cell together, as in the draws."""
        full = bins.weight > 0
        weight, squares = bins.weight[full], segment_sums(problem.squared_weights, self.cuts(problem))[full]
        return self._summary(bins.score[full] / weight, bins.outcome[..., full] / weight, weight, squares)

    def _summary(self, score: Doubles, outcome: Doubles, weight: Doubles, squares: Doubles) -> Any:
        at = log_odds(score)
        distance = np.abs(flexible_curve(at, outcome, weight, squares).frequency(at) - score)
        return self.of_distances(distance, weight / weight.sum())

    @abstractmethod
    def of_distances(self, distance: Doubles, share: Doubles) -> Any:
        """Return the summary of (..., n) distances, given the (n,) shares of the weight."""


@metric("ici", "Integrated calibration index")
class IntegratedCalibrationIndex(FromCurve):
    """mean distance of the probabilities from their flexible calibration curve

    Formula: mean over rows of |p - c(p)|, c a logistic regression on a restricted cubic spline of log-odds
    Source: Austin & Steyerberg 2019
    Misses: biased upward on few rows; a bend between two knots
    """

    def of_distances(self, distance: Doubles, share: Doubles) -> Any:
        """Return the mean."""
        return distance @ share


class Quantile(FromCurve, ABC):
    """A quantile of the distances."""

    probability: ClassVar[float]

    def of_distances(self, distance: Doubles, share: Doubles) -> Any:
        """Return the smallest distance that this share of the rows does not exceed."""
        order = np.argsort(distance, axis=-1)
        covered = np.cumsum(share[order], axis=-1)
        place = (covered < self.probability - 1e-12).sum(axis=-1, keepdims=True)
        chosen = np.take_along_axis(order, np.minimum(place, order.shape[-1] - 1), -1)
        return np.take_along_axis(distance, chosen, -1)[..., 0]


@metric("e50", "E50")
class MedianDistance(Quantile):
    """median distance of the probabilities from their flexible calibration curve

    Formula: median over rows of |p - c(p)|; see ici
    Source: Austin & Steyerberg 2019
    Misses: the half of the rows with larger distances; see e90 and emax
    """

    probability = 0.5


@metric("e90", "E90")
class LargeDistance(Quantile):
    """distance from their flexible calibration curve that nine of ten probabilities do not exceed

    Formula: 90% quantile over rows of |p - c(p)|; see ici
    Source: Austin & Steyerberg 2019
    Misses: the tenth of the rows with larger distances; see emax
    """

    probability = 0.9


@metric("emax", "Emax")
class LargestDistance(FromCurve):
    """largest distance of a probability from the flexible calibration curve

    Formula: max over rows of |p - c(p)|; see ici
    Source: Harrell 2015, section 10.9
    Misses: it rests on the few rows with the most extreme probabilities
    """

    def of_distances(self, distance: Doubles, share: Doubles) -> Any:
        """Return the maximum."""
        return distance.max(axis=-1)
