"""Ranking quality: the area under the ROC curve and its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats
from calcli.core.data.binning import is_run_end
from calcli.core.problems.problem import Problem


@dataclass(frozen=True)
class Area:
    """An area under the ROC curve.

    Attributes
    ----------
    value
        The area, in [0, 1]; nan where one of the outcomes does not occur.
    standard_error
        Root of the sum of the squared influences of the rows on it (DeLong et al. 1988).
    """

    value: float
    standard_error: float

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return a normal interval on the scale of log-odds; None at 0 and 1, where there is no spread."""
        if not 0 < self.value < 1:
            return None
        odds = math.log(self.value / (1 - self.value))
        scale = self.standard_error / (self.value * (1 - self.value))
        half = NormalDist().inv_cdf((1 + level) / 2) * scale
        low, high = (math.tanh(end / 2) / 2 + 0.5 for end in (odds - half, odds + half))
        return low, high


def roc_area(problem: Problem) -> Area:
    """Return the area under the ROC curve of a binary problem; ties count one half."""
    placed = _place(problem.outcome, problem.weights, problem.run_ends)
    if placed is None:
        return Area(math.nan, math.nan)
    if problem.weights is None:
        positive, negative = placed.positive, placed.negative
    else:
        squares = np.square(problem.weights)
        positive = _run_sums(squares * problem.outcome, problem.run_ends)
        negative = _run_sums(squares * ~problem.outcome, problem.run_ends)
    spread = positive @ np.square(placed.of_positive) + negative @ np.square(placed.of_negative)
    return Area(placed.area, math.sqrt(spread) / problem.total_weight)


def area_influences(
    probs: Floats, labels: Array, weights: Floats | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Return the mean area over the classes that occur, and what each row adds to it (DeLong et al. 1988).

    The squares of the (n,) influences add up to the variance of the area; those of the difference of two
    systems' influences, on the same rows, to the variance of the difference of their areas.

    Parameters
    ----------
    probs
        (K, n) probabilities, class by class.
    labels
        (n,) integers.
    weights
        (n,) row weights, or None.
    """
    areas = []
    influence = np.zeros(len(labels))
    for k, score in enumerate(probs):
        order = np.argsort(score)
        outcome = (labels == k)[order]
        ends = np.flatnonzero(is_run_end(score[order])) + 1
        placed = _place(outcome, None if weights is None else weights[order], ends)
        if placed is None:
            continue
        areas.append(placed.area)
        sizes = np.diff(ends, prepend=0)
        of_positive, of_negative = np.repeat(placed.of_positive, sizes), np.repeat(placed.of_negative, sizes)
        influence[order] += np.where(outcome, of_positive, of_negative)
    if not areas:
        return math.nan, np.full(len(labels), math.nan)
    if weights is not None:
        influence *= weights
    total = len(labels) if weights is None else weights.sum()
    return float(np.mean(areas)), influence / (len(areas) * total)


@dataclass(frozen=True)
class _Placed:
    """The area, and by run of equal scores: the weight of each outcome, and its influence per weight."""

    area: float
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    of_positive: NDArray[np.float64]
    of_negative: NDArray[np.float64]


def _place(outcome: NDArray[np.bool_], weights: Floats | None, ends: NDArray[np.intp]) -> _Placed | None:
    """Place every run of ascending scores among the rows of the other outcome; None if there are none."""
    if weights is None:
        positive_end = np.cumsum(outcome, dtype=np.float64)[ends - 1]
        negative_end = ends - positive_end
    else:
        positive_end = np.cumsum(weights * outcome, dtype=np.float64)[ends - 1]
        negative_end = np.cumsum(weights * ~outcome, dtype=np.float64)[ends - 1]
    positives, negatives = float(positive_end[-1]), float(negative_end[-1])
    if positives == 0 or negatives == 0:
        return None
    positive, negative = np.diff(positive_end, prepend=0), np.diff(negative_end, prepend=0)
    # share of the other outcome that is ranked rightly, equal scores half
    of_positive = (negative_end - negative / 2) / negatives
    of_negative = 1 - (positive_end - positive / 2) / positives
    area = float(positive @ of_positive) / positives
    total = positives + negatives
    of_positive = (of_positive - area) * (total / positives)
    of_negative = (of_negative - area) * (total / negatives)
    return _Placed(area, positive, negative, of_positive, of_negative)


def _run_sums(values: Floats, ends: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.diff(np.cumsum(values, dtype=np.float64)[ends - 1], prepend=0)
