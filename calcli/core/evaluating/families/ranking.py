"""Ranking: functions of the order of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.estimators.intervals import FEWEST, Influences, Spread
from calcli.core.estimators.ranking import (
    Ranking,
    dealt_influences,
    is_backwards,
    is_not_backwards,
    of_equal_weight,
    ranking_influences,
    row_influences,
)
from calcli.core.evaluating.families.base import Family, Findings, signature
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.usual import area_of
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.state.deals import rank_edges
from calcli.core.state.needs import Need, Pass, Scores, every_class, through


class RankingFamily(Family):
    """Functions of the order of rows by the score of a lens.

    Without a lens they are those of the second of two classes, or the mean over more.
    """

    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return scores and outcomes of the lens, or the probabilities, to put each class in order."""
        if call.lens:
            need = through(call.lens, of.rows, of.settings)
            if not isinstance(need, Scores) or need.lens.given:
                raise UsageError(
                    f"{call} needs one score in every row; expected a lens such as top-1 or class-1"
                )
            return (need,)
        return every_class(of.rows, of.settings)

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the measures; rows of one cluster count as one observation in their standard errors."""
        estimates = {}
        for call in calls:
            ranking, lens, spread = _ranking(call), _lens(call, measured), _spread(measured, call)
            interval, reason = None, ""
            if settings.intervals and not math.isnan(spread.value):
                unit = "row" if settings.cluster is None else "cluster"
                interval, reason = ranking.interval(spread, settings.level, unit)
            cells = measured.grid(lens) if lens else None
            grid = None if cells is None else ranking.on_grid(cells)
            parts = ranking.parts(measured.problem(lens)) if lens else {}
            line = signature(call, measured, settings, "interval:delong", grid=grid)
            estimates[str(call)] = Estimate(
                call, spread.value, line, interval, reason, parts=parts, grid=grid
            )
        return Findings(estimates)

    def influences(
        self, calls: Sequence[MetricExpression], measured: Measurements
    ) -> Mapping[str, Influences]:
        """Return the influences of the units (DeLong et al. 1988); slices of large states lack them."""
        every = {}
        for call in calls:
            ranking, lens = _ranking(call), _lens(call, measured)
            if not ranking.moves:
                continue
            coarse = measured.by_deal(lens) if lens else None
            if lens is not None and coarse is not None:
                problem = measured.problem(lens)
                of_units, lost = dealt_influences(ranking, problem, rank_edges(), coarse)
                spread = ranking.spread(problem)
                found = Influences(spread.value, of_units, len(of_units), lost=lost, fewest=spread.fewest)
            elif lens is None or _sees_rows(lens, measured):
                found = _influences(measured, call)
            else:
                continue
            if not math.isnan(found.value):
                every[str(call)] = found
        return every


def _ranking(call: MetricExpression) -> Ranking:
    found: Ranking = call.made
    return found


def _sees_rows(lens: str, measured: Measurements) -> bool:
    """Tell whether each row is seen through a lens."""
    return measured.state.tells(through(lens, measured.predictions, measured.settings, each=True))


def _lens(call: MetricExpression, measured: Measurements) -> str | None:
    """Return the lens of one score; None where every class has one."""
    return call.lens or ("class-1" if measured.predictions.n_classes == 2 else None)


def _spread(measured: Measurements, call: MetricExpression) -> Spread:
    lens = _lens(call, measured)
    if measured.units.single and lens:
        return _ranking(call).spread(measured.problem(lens))
    return _influences(measured, call).spread


def backwards_area(measured: Measurements) -> float | None:
    """Return the area if the scores rank the wrong way round beyond chance, else None."""
    call = area_of(measured.settings)
    lens = _lens(call, measured)
    if lens and _sees_rows(lens, measured) and is_not_backwards(*measured.look(lens)[:3]):
        return None  # which is sooner told than the area
    area = _spread(measured, call)
    if math.isnan(area.value) or area.fewest < FEWEST:
        return None
    return area.value if is_backwards(area.value, _sizes(measured)) else None


def _fewest(measured: Measurements) -> float:
    """Return how many units of equal weight the areas of the classes rest on, in the harmonic mean.

    Each rests on the rarer of its own rows and all others. By their reciprocals they enter the variance of
    the mean area, which is too small where they are few.
    """
    own, rest = _masses(measured)
    rarer = np.minimum(of_equal_weight(*own), of_equal_weight(*rest))[own[0] > 0]
    return float(len(rarer) / (1 / rarer).sum()) if rarer.all() else 0.0


def _sizes(measured: Measurements) -> Doubles:
    """Return how many units of equal weight carry each of two classes, or of more each that occurs."""
    if measured.predictions.n_classes == 2 and measured.units.single:
        problem = measured.problem("class-1")
        if (weight := problem.weights) is None:
            ones = np.count_nonzero(problem.outcome)
            return np.array([len(problem.outcome) - ones, ones], np.float64)
        of = (~problem.outcome, problem.outcome)
        return np.array([of_equal_weight(weight @ one, problem.squared_weights @ one) for one in of])
    own, _ = _masses(measured)
    return of_equal_weight(*own)[own[0] > 0]


def _masses(measured: Measurements) -> tuple[Any, Any]:
    """Return (2, K) sums of weights and of their squares, of the units of each class and of all others."""
    rows, units = measured.predictions, measured.units
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    if units.single:
        found = np.stack([np.bincount(rows.labels, weights**power, rows.n_classes) for power in (1, 2)])
        return found, found.sum(axis=1, keepdims=True) - found
    whole = units.weights(rows.weights)
    of_class = [units.sums(1.0 * (rows.labels == k), weights) for k in range(rows.n_classes)]
    own, rest = (
        np.array([[one.sum(), np.square(one).sum()] for one in sums]).T
        for sums in (of_class, [whole - one for one in of_class])
    )
    return own, rest


def _influences(measured: Measurements, call: MetricExpression) -> Influences:
    """Return a measure with the influences of the units on it."""
    ranking = _ranking(call)

    def found() -> Influences:
        units, weights, labels = measured.units, measured.predictions.weights, measured.predictions.labels
        if call.lens:
            score, outcome, *_ = measured.look(call.lens)
            value, influences = row_influences(ranking, score, outcome.astype(bool), weights)
            fewest = _rarer(measured, outcome.astype(bool))
        else:
            if measured.predictions.n_classes == 2:
                probs = np.stack([measured.look(lens).score for lens in ("class-0", "class-1")])
            else:
                probs = measured.class_probs
            value, influences = ranking_influences(ranking, probs, labels, weights)
            fewest = _fewest(measured)
        number = int(np.count_nonzero(units.weights(weights)))
        return Influences(value, units.sums(influences), number, fewest=fewest / ranking.rows_each)

    return measured.once(f"influences of {call}", found)


def _rarer(measured: Measurements, outcome: Array) -> float:
    """Return how many units of equal weight have the rarer of two outcomes of rows."""
    rows, units = measured.predictions, measured.units
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    sums = (units.sums(1.0 * own, weights) for own in (outcome, ~outcome))
    return min(float(of_equal_weight(one.sum(), np.square(one).sum())) for one in sums)


FAMILY = RankingFamily()
