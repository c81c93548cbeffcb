"""Ranking: functions of the order of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.estimators.gridded import area_on_grid
from calcli.core.estimators.influences import Influences, Spread
from calcli.core.estimators.ranking import area_influences, area_interval, dealt_influences, roc_area
from calcli.core.evaluating.families.base import Entrant, Family, Findings
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.state.remains import Remains
from calcli.core.state.swaps import swap_edges


class RankingFamily(Family):
    """The area under the ROC curve, of the second of two classes or the mean over more."""

    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Keep the probabilities, to put each class in order."""
        if made.predictions.n_classes == 2:
            made.keep_lens("class-0")
            made.keep_lens("class-1")
        else:
            made.keep_probs()

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the areas; rows of one cluster count as one observation in their standard errors."""
        estimates = {}
        for call in calls:
            area = _area(measured)
            interval, reason = None, ""
            if settings.intervals and not math.isnan(area.value):
                unit = "row" if settings.cluster is None else "cluster"
                interval, reason = area_interval(area, settings.level, unit)
            cells = measured.grid("class-1") if measured.predictions.n_classes == 2 else None
            grid = None if cells is None else area_on_grid(cells)
            line = signature(call, measured, settings, "interval:delong", grid=grid)
            estimates[str(call)] = Estimate(call, area.value, line, interval, reason, grid=grid)
        return Findings(estimates)

    def influences(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Influences]:
        """Return the influences of the units on the area (DeLong et al. 1988)."""
        measured, rows = system.measured, system.measured.predictions
        if isinstance(rows, Remains) and rows.state.body.is_dealt_slice:
            return {}
        coarse = measured.by_deal("class-1") if measured.predictions.n_classes == 2 else None
        if coarse is None:
            found = _influences(measured)
        else:
            problem = measured.problem("class-1")
            of_units, lost = dealt_influences(problem, swap_edges(), coarse)
            area, fewest = roc_area(problem).value, _fewest(measured)
            found = Influences(area, of_units, len(of_units), lost=lost, fewest=fewest)
        return {} if math.isnan(found.value) else {str(call): found for call in calls}


def _area(measured: Measurements) -> Spread:
    if measured.units.single and measured.predictions.n_classes == 2:
        return replace(roc_area(measured.problem("class-1")), fewest=_fewest(measured))
    return _influences(measured).spread


def _fewest(measured: Measurements) -> float:
    """Return how many units of equal weight carry a class: the rarer of two, or one of more on average."""
    return _rarer(measured) if measured.predictions.n_classes == 2 else _of_a_class(measured)


def _rarer(measured: Measurements) -> float:
    """Return how many units of equal weight carry the rarer class, by whose rows all others are ranked."""
    kinds = (np.asarray, np.logical_not)
    if measured.units.single:
        problem = measured.problem("class-1")
        if (weight := problem.weights) is None:
            ones = int(np.count_nonzero(problem.outcome))
            return min(ones, len(problem.outcome) - ones)
        own = [(weight * of(problem.outcome), problem.squared_weights * of(problem.outcome)) for of in kinds]
    else:
        _, outcome, weights, *_ = measured.look("class-1")
        sums = [measured.units.sums(1.0 * of(outcome), weights) for of in kinds]
        own = [(one, np.square(one)) for one in sums]
    return min(_of_equal_weight(first.sum(), second.sum()) for first, second in own)


def _of_equal_weight(first: float, second: float) -> float:
    return float(first**2 / second) if second else 0.0


def _of_a_class(measured: Measurements) -> float:
    """Return how many units of equal weight carry a class that occurs, in the harmonic mean.

    By their reciprocals they enter the variance of the mean area, which is too small where they are few.
    """
    predictions, units = measured.predictions, measured.units
    weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    if units.single:
        first = np.bincount(predictions.labels, weights)
        second = np.bincount(predictions.labels, np.square(weights))
    else:
        sums = [units.sums(1.0 * (predictions.labels == k), weights) for k in np.unique(predictions.labels)]
        first, second = np.array([[one.sum(), np.square(one).sum()] for one in sums]).T
    occurs = first > 0
    return float(occurs.sum() / (second[occurs] / np.square(first[occurs])).sum())


def _influences(measured: Measurements) -> Influences:
    """Return the area with the influences of the units on it."""

    def found() -> Influences:
        units, weights = measured.units, measured.predictions.weights
        if measured.predictions.n_classes == 2:
            probs = np.stack([measured.look(lens).score for lens in ("class-0", "class-1")])
        else:
            probs = measured.class_probs
        area, influences = area_influences(probs, measured.predictions.labels, weights)
        weight = units.weights(weights)
        number = int(np.count_nonzero(weight))
        return Influences(area, units.sums(influences), number, fewest=_fewest(measured))

    return measured.once("influences", found)


FAMILY = RankingFamily()
