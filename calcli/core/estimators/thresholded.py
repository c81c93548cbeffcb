"""Scores of predicting a class from a threshold of its probability on: precision, recall, F1, net benefit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.blocks import Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.scoring import Means, OfMeans, ratio
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.problems.lenses import Lens, find_lens

OF_TWO = "auto"  # the lens of the second of two classes


@dataclass(frozen=True)
class Counts:
    """(...) shares of the weight of rows: of the class and predicted as it, and each without the other."""

    hits: Doubles
    alarms: Doubles
    misses: Doubles


Count = Callable[[Counts, float], Doubles]


def predicted_share(of: Counts, t: float) -> Doubles:
    """Share of the rows that are predicted as the class."""
    return of.hits + of.alarms


def class_share(of: Counts, t: float) -> Doubles:
    """Share of the rows that are of the class."""
    return of.hits + of.misses


def precision_of(of: Counts, t: float) -> Doubles:
    """Precision."""
    return ratio(of.hits, of.hits + of.alarms)


def recall_of(of: Counts, t: float) -> Doubles:
    """Recall."""
    return ratio(of.hits, of.hits + of.misses)


def f1_of(of: Counts, t: float) -> Doubles:
    """F1, the harmonic mean of both."""
    return ratio(2 * of.hits, 2 * of.hits + of.alarms + of.misses)


def net_benefit_of(of: Counts, t: float) -> Doubles:
    """Net benefit (Vickers & Elkin 2006)."""
    return of.hits - of.alarms * t / (1 - t)


@dataclass(frozen=True)
class Thresholded:
    """A score at a threshold.

    Attributes
    ----------
    statistics
        Row statistics: hits, false alarms and misses.
    value, constant
        The score as a function of their means, and that of predicting the class always, or never if better.
    among
        The share of the rows of which it is a share; None for one that is no share.
    ends, less
        Between which values it is the mean of, and the false alarms that are taken off; see `Score`.
    """

    statistics: Mapping[str, RowStatistic]
    value: OfMeans
    constant: OfMeans
    among: OfMeans | None
    ends: tuple[float, float] | None = None
    less: tuple[OfMeans, float] | None = None


def thresholded(
    call: MetricExpression, predictions: Predictions, count: Count, among: Count | None
) -> Thresholded:
    """Return a score at a threshold of the score of a lens.

    Raises
    ------
    UsageError
        If no class is named where there are more than two, or the lens has not one score in every row.
    """
    threshold = float(call.arguments["threshold"])
    lens = _lens(call, predictions.n_classes)
    hits, false, misses = (f"{kind}:{lens.name}:{threshold!r}" for kind in ("hits", "alarms", "misses"))

    def rows(reached: bool, happened: bool) -> RowStatistic:
        def statistic(block: Block) -> Array:
            score, outcome = (lens.statistics[key](block) for key in (lens.score, lens.outcome))
            return np.asarray(((score >= threshold) == reached) & (outcome == happened))

        return statistic

    def of(count: Count) -> OfMeans:
        return lambda means: count(Counts(means[hits], means[false], means[misses]), threshold)

    def constant(means: Means) -> Doubles:
        frequency = means[hits] + means[misses]
        always = count(Counts(frequency, 1 - frequency, 0 * frequency), threshold)
        return np.maximum(always, 0)

    statistics = {hits: rows(True, True), false: rows(True, False), misses: rows(False, True)}
    found = Thresholded(statistics, of(count), constant, None if among is None else of(among))
    if count is not net_benefit_of:
        return found
    odds = threshold / (1 - threshold)
    less = (lambda means: odds * means[false], odds) if odds else None
    return replace(found, ends=(-odds, 1.0), less=less)


def _lens(call: MetricExpression, n_classes: int) -> Lens:
    if call.lens == OF_TWO and n_classes > 2:
        raise UsageError(
            f"{call}: there are {n_classes} classes; name the one to be found, such as "
            f"{call.asked}:lens=class-1 (counted from 0)"
        )
    lens = find_lens("class-1" if call.lens == OF_TWO else call.lens, n_classes)
    if not isinstance(lens, Lens) or lens.given:
        raise UsageError(f"{call} needs one score in every row; expected a lens such as class-1")
    return lens
