"""Ranking quality: the area under the ROC curve, average precision, and their standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.binning import is_run_end
from calcli.core.data.folds import numbers_of
from calcli.core.estimators.influences import Spread
from calcli.core.estimators.interval import Interval
from calcli.core.problems.problem import Problem

SURE = 2.5758  # standard deviations that one normal number in 200 is below


@dataclass(frozen=True)
class Placed:
    """A measure, and by run of equal scores: the weight of each outcome, and its influence per weight."""

    area: float
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    of_positive: NDArray[np.float64]
    of_negative: NDArray[np.float64]


Place = Callable[[NDArray[np.bool_], Floats | None, NDArray[np.intp]], Placed | None]


def ranking(problem: Problem, place: Place) -> Spread:
    """Return a measure of the ranking of a binary problem, as `by_roc` or `by_precision` place its rows.

    It is in [0, 1], and nan where one of the outcomes does not occur. Carried it is by no more rows than have
    the rarer outcome, by which all others are ranked.
    """
    placed = place(problem.outcome, problem.weights, problem.run_ends)
    rows = len(problem.outcome)
    if placed is None:
        return Spread(math.nan, rows, math.nan, math.nan, math.nan)
    powers, masses = [], [(placed.positive, placed.negative)] * 3
    if problem.weights is not None:
        hit, ends, own, masses = problem.outcome, problem.run_ends, problem.weights, []
        rows = int(np.count_nonzero(own) if problem.counts is None else problem.counts[own > 0].sum())
        for _ in range(3):
            own = own * problem.mean_row_weights
            masses.append((_run_sums(own * hit, ends), _run_sums(own * ~hit, ends)))
    influences = zip(_powers(placed.of_positive), _powers(placed.of_negative), strict=True)
    for power, (positive, negative), (first, second) in zip((2, 3, 4), masses, influences, strict=True):
        powers.append(float(positive @ first + negative @ second) / problem.total_weight**power)
    squares, cubes, fourths = powers
    both = zip((placed.positive, placed.negative), masses[0], strict=True)
    fewest = min(float(of_equal_weight(weight.sum(), square.sum())) for weight, square in both)
    return Spread(placed.area, rows, squares, cubes, fourths, fewest=fewest)


def of_equal_weight(weight: Any, squares: Any) -> Any:
    """Return how many rows of equal weight tell as much, given the sums of weights and of their squares."""
    return np.divide(weight**2, squares, out=np.zeros(np.shape(weight)), where=squares > 0)


def area_interval(area: Spread, level: float) -> Interval:
    """Return the interval of an area, on the scale of log-odds.

    Where few rows carry its spread, as where nearly all are ranked rightly, that says little about rows that
    happen not to be there. Then it is that of a share of as many rows as have the rarer outcome: no area
    varies more than such a share (Birnbaum & Klose 1957).
    """
    value = area.value
    if not area.enough:
        return Interval.of_share(value * area.fewest, area.fewest, level)
    ends = area.scaled(math.log(value / (1 - value)), 1 / (value * (1 - value))).interval(level)
    return Interval(_of_log_odds(ends.low), _of_log_odds(ends.high), level)


def is_backwards(area: float, sizes: Doubles) -> bool:
    """Tell whether an area is below 1/2 beyond chance, so that scores rank the wrong way round.

    Of scores that say nothing of two classes the variance is (n + 1) / (12 n_0 n_1), less with ties (Mann &
    Whitney 1947). The standard deviation of a mean over more classes, each against the rest, is at most the
    mean of theirs, which takes its place.

    Parameters
    ----------
    area
        Of two classes, or the mean over more; nan where one has no rows.
    sizes
        (K,) independent rows of each class that occurs.
    """
    if not area < 0.5:
        return False
    total = sizes.sum()
    sds = np.sqrt((total + 1) / (12 * sizes * (total - sizes)))
    return bool(area < 0.5 - SURE * sds.mean())


def _of_log_odds(log_odds: float) -> float:
    return math.tanh(log_odds / 2) / 2 + 0.5


def ranking_influences(
    probs: Floats, labels: Array, place: Place, weights: Floats | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Return the mean over the classes that occur, and what each row adds to it (DeLong et al. 1988).

    The squares of the (n,) influences add up to the variance of the area; those of the difference of two
    systems' influences, on the same rows, to the variance of the difference of their areas.

    Parameters
    ----------
    probs
        (K, n) probabilities, class by class.
    labels
        (n,) integers.
    place
        How rows are placed: `by_roc` or `by_precision`.
    weights
        (n,) row weights, or None.
    """
    areas = []
    influence = np.zeros(len(labels))
    for k in numbers_of(labels):
        score = probs[k]
        order = np.argsort(score)
        outcome = (labels == k)[order]
        ends = np.flatnonzero(is_run_end(score[order])) + 1
        placed = place(outcome, None if weights is None else weights[order], ends)
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


def dealt_influences(problem: Problem, place: Place, edges: Doubles, sums: Doubles) -> tuple[Doubles, float]:
    """Return what deals of rows add to the measure of a binary problem, and the variance that cells hide.

    Rows of a cell and an outcome count with their mean influence. How they differ from it is not seen deal by
    deal; two systems may differ in it, so that it is to be added to the variance of each of them.

    Parameters
    ----------
    problem, place
        All rows, and how they are placed.
    edges
        (cells + 1,) of coarse cells.
    sums
        (deals, 3, cells) sums of weight, score and outcome.
    """
    placed = place(problem.outcome, problem.weights, problem.run_ends)
    if placed is None:
        return np.full(len(sums), math.nan), math.nan
    cell = np.searchsorted(edges[1:-1], problem.score[problem.run_ends - 1], side="right")
    cells, total, within, dealt = len(edges) - 1, problem.total_weight, 0.0, np.zeros(len(sums))
    weight, _, hits = np.moveaxis(sums, 1, 0)
    for own, influence, table in (
        (placed.positive, placed.of_positive, hits),
        (placed.negative, placed.of_negative, weight - hits),
    ):
        mass = np.bincount(cell, own, cells)
        mean = np.bincount(cell, own * influence, cells) / np.where(mass > 0, mass, 1)
        within += float(own @ np.square(influence - mean[cell]))
        dealt += table @ mean
    return dealt / total, within / total**2


def by_roc(outcome: NDArray[np.bool_], weights: Floats | None, ends: NDArray[np.intp]) -> Placed | None:
    """Place runs of ascending scores by the area under the ROC curve; ties count one half.

    None if one of the outcomes does not occur.
    """
    positive_end, negative_end = _ends(outcome, weights, ends)
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
    return Placed(area, positive, negative, of_positive, of_negative)


def by_precision(outcome: NDArray[np.bool_], weights: Floats | None, ends: NDArray[np.intp]) -> Placed | None:
    """Place runs of ascending scores by average precision: the mean over positives of the precision there.

    The precision at a score is the share of positives among all rows that score at least as high, equal ones
    included. None if one of the outcomes does not occur.
    """
    positive_end, negative_end = _ends(outcome, weights, ends)
    positives, negatives = float(positive_end[-1]), float(negative_end[-1])
    if positives == 0 or negatives == 0:
        return None
    positive, negative = np.diff(positive_end, prepend=0), np.diff(negative_end, prepend=0)
    hits = positives - positive_end + positive
    above = hits + negatives - negative_end + negative
    there = above > 0  # rows of weight 0 may be the first
    precision = np.divide(hits, above, out=np.zeros_like(hits), where=there)
    average = float(positive @ precision) / positives
    # a row lowers or raises the precision at each positive that does not score higher
    raised = np.cumsum(np.divide(positive, above, out=np.zeros_like(hits), where=there))
    lowered = np.cumsum(np.divide(positive * precision, above, out=np.zeros_like(hits), where=there))
    total = positives + negatives
    of_positive = (precision + raised - lowered - average) * (total / positives)
    of_negative = -lowered * (total / positives)
    return Placed(average, positive, negative, of_positive, of_negative)


def _ends(
    outcome: NDArray[np.bool_], weights: Floats | None, ends: NDArray[np.intp]
) -> tuple[Doubles, Doubles]:
    """Return the weight of positives and of negatives up to the end of each run."""
    if weights is None:
        positive_end = np.cumsum(outcome, dtype=np.float64)[ends - 1]
        return positive_end, ends - positive_end
    positive_end = np.cumsum(weights * outcome, dtype=np.float64)[ends - 1]
    return positive_end, np.cumsum(weights * ~outcome, dtype=np.float64)[ends - 1]


def _powers(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the second to the fourth power; numpy's `**` takes ten times as long for higher ones."""
    squares = np.square(values)
    return squares, squares * values, np.square(squares)


def _run_sums(values: Floats, ends: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.diff(np.cumsum(values, dtype=np.float64)[ends - 1], prepend=0)
