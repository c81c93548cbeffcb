"""Scores: smooth functions of means over rows, which are resampled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.streams import Stream, generator
from calcli.core.estimators.bootstrap import Sums
from calcli.core.estimators.costs import CostMatrix
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.permutation import Swapped
from calcli.core.estimators.scores import Score, find_score
from calcli.core.evaluating.families.base import Entrant, Family, Findings, Match
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Decision, Estimate, OfClass
from calcli.core.evaluating.signatures import signature
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings


class ScoreFamily(Family):
    """With bootstrap intervals, also of differences."""

    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Keep the losses of the rows, and the decisions that costs lead to."""
        score = _score(call, made)
        made.keep_rows(score.statistics)
        if score.costs is not None:
            made.keep_rows({score.costs.decision_column: score.costs.decided})

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the scores, and how often each decision was taken."""
        scores = {str(call): _score(call, measured) for call in calls}
        sums = _sums(measured, scores.values())
        means = sums.means()
        resampled = None
        if settings.resamples and sums.units.number > 1:
            resampled = sums.resampled(settings.resamples, generator(settings.seed, Stream.RESAMPLES))
        estimates = {}
        for call, score in zip(calls, scores.values(), strict=True):
            value = float(score.value(means))
            interval = None
            if resampled is not None and not np.isnan(value):
                interval = Interval.of_draws(score.value(resampled), settings.level)
                if interval is not None and not interval.contains(
                    value
                ):  # its bias is larger than its spread
                    interval = None
            parts = {"constant": float(score.constant(means))} if score.constant else {}
            parts |= score.parts
            line = signature(call, measured, settings, f"resamples:{settings.resamples}")
            estimates[str(call)] = Estimate(call, value, line, interval, parts=parts)
        costs = {score.costs.title: score.costs for score in scores.values() if score.costs is not None}
        decisions = {name: tuple(_decisions(measured, found)) for name, found in costs.items()}
        return Findings(estimates, decisions=decisions)

    def draws(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Doubles]:
        """Resample the scores; the same seed draws the same rows of paired systems."""
        measured, resamples = system.measured, system.settings.resamples
        if not resamples or measured.predictions.n_rows < 2:
            return {}
        scores = {str(call): _score(call, measured) for call in calls}
        sums = _sums(measured, scores.values())
        means = sums.resampled(resamples, system.rng)
        return {name: score.value(means) for name, score in scores.items()}

    def swapped(self, call: MetricExpression, match: Match) -> Swapped | None:
        """Return None: scores are resampled, or not tested at all."""
        return None


def _score(call: MetricExpression, found: Pass | Measurements) -> Score:
    return find_score(call, found.predictions, found.settings)


def _sums(measured: Measurements, scores: Iterable[Score]) -> Sums:
    """Return the sums that every score is a function of, ready to be resampled."""
    rows = measured.predictions
    columns = {name: measured.rows[name] for score in scores for name in score.statistics}

    def made() -> Sums:
        return Sums(columns, rows.labels, rows.n_classes, rows.weights, rows.priors, measured.units)

    return measured.once("score sums", made)


def _decisions(measured: Measurements, costs: CostMatrix) -> Iterator[Decision]:
    """Yield how often each decision was taken and what it cost."""
    weights = measured.predictions.weights
    taken, paid = measured.rows[costs.decision_column], measured.rows[costs.column]
    size = len(costs.decisions)
    count = np.bincount(taken, minlength=size)
    weight = np.bincount(taken, weights, size)
    cost = np.bincount(taken, paid if weights is None else paid * weights, size)
    mean = np.divide(cost, weight, out=np.full(size, np.nan), where=weight > 0)
    columns = (costs.decisions, count.tolist(), (weight / weight.sum()).tolist(), mean.tolist())
    by_class = _by_class(measured, taken, size)
    yield from (Decision(*row) for row in zip(*columns, by_class, strict=True))


def _by_class(measured: Measurements, taken: Array, size: int) -> list[dict[str, OfClass]]:
    """Return for each decision the classes it was taken for: N_ij and R_ij (Ferrer & Ramos 2024, eq. 7)."""
    rows = measured.predictions
    cells, place = np.unique(taken * rows.n_classes + rows.labels, return_inverse=True)
    count = np.bincount(place).tolist()
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    weight, total = np.bincount(place, weights), np.bincount(rows.labels, weights, rows.n_classes)
    found: list[dict[str, OfClass]] = [{} for _ in range(size)]
    for cell, number, own in zip(cells.tolist(), count, weight.tolist(), strict=True):
        decision, k = divmod(cell, rows.n_classes)
        found[decision][rows.classes[k]] = OfClass(number, own / total[k] if total[k] else np.nan)
    return found


FAMILY = ScoreFamily()
