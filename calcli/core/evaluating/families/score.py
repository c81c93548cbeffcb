"""Scores: smooth functions of means over rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.estimators.costs import CostMatrix, Decided
from calcli.core.estimators.evidence import NORMAL, Evidence, ExactShares, Normal
from calcli.core.estimators.intervals import Influences, Interval, Spread
from calcli.core.estimators.scores import Proper, Score
from calcli.core.estimators.scoring import OfMeans, rival
from calcli.core.estimators.sums import Sums
from calcli.core.evaluating.families.base import HITS, Family, Findings, Pair, judged, signature
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Decision, Estimate, OfClass
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.state.needs import Mean, Need, Pass, RowValues


class ScoreFamily(Family):
    """With intervals by the jackknife, also of differences; shares of independent rows have exact ones."""

    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return the losses of the rows, and the decisions that costs lead to."""
        score: Score = call.made.score(of.rows, of.settings)
        needs: list[Need] = [Mean(*statistic) for statistic in score.statistics.items()]
        if of.settings.intervals:
            needs.append(HITS)
        if score.costs is not None:
            needs.append(RowValues(score.costs.decision_column, score.costs.decided))
        return needs

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the scores, and how often each decision was taken."""
        scores = {str(call): _score(call, measured) for call in calls}
        means = _sums(measured, scores.values()).means()
        influences = _influences(scores, measured) if settings.intervals else {}
        estimates = {}
        for call, score in zip(calls, scores.values(), strict=True):
            value = float(score.value(means))
            how, interval, reason = "jackknife", None, ""
            if settings.intervals and _is_exact(score, measured) and not math.isnan(value):
                rows = round(measured.predictions.n_rows * float(score.among(means) if score.among else 1))
                how, interval = "exact", Interval.of_share(round(value * rows), rows, settings.level)
            elif settings.intervals:
                found = influences.get(str(call))
                if found is not None:
                    spread, held = _bounded(score, found.spread, measured, settings.level)
                    interval, reason = judged(spread, value, settings, held)
                else:
                    interval, reason = judged(None, value, settings)
                if interval is not None and score.over is not None:
                    interval = _widened(interval, score, measured)
            parts = {"constant": float(score.constant(means))} if score.constant else {}
            parts |= score.parts
            line = signature(call, measured, settings, *([f"interval:{how}"] if settings.intervals else []))
            estimates[str(call)] = Estimate(call, value, line, interval, reason, parts=parts)
        costs = {score.costs.title: score.costs for score in scores.values() if score.costs is not None}
        decisions = {name: tuple(_decisions(measured, matrix)) for name, matrix in costs.items()}
        return Findings(estimates, decisions=decisions)

    def influences(
        self, calls: Sequence[MetricExpression], measured: Measurements
    ) -> Mapping[str, Influences]:
        """Return what each unit brings to the scores."""
        return _influences({str(call): _score(call, measured) for call in calls}, measured)

    def of_few(self, call: MetricExpression, pair: Pair, difference: Influences) -> Evidence | None:
        """Return exact evidence on shares; systems whose losses are all the same are taken for the same."""
        first, second = (_exact_hits(call, one.measured) for one in (pair.baseline, pair.candidate))
        baseline, candidate = pair.baseline.value(call), pair.candidate.value(call)
        if first is not None and second is not None:
            if pair.paired:
                gained, lost = (np.count_nonzero(a & ~b) for a, b in ((second, first), (first, second)))
            else:
                gained, lost = (np.count_nonzero(hits) for hits in (second, first))
            counts = int(gained), len(second), int(lost), len(first)
            return ExactShares(*counts, baseline, pair.paired)
        if pair.paired and isinstance(call.made, Proper) and not difference.of_units.any():
            return Normal(baseline, candidate, (0.0, 0.0), 0.0, "same-losses")
        return None

    def recomputed(self, call: MetricExpression) -> bool:
        """Return False: what has no influences is infinite or undefined."""
        return False


def _score(call: MetricExpression, measured: Measurements) -> Score:
    found: Score = call.made.score(measured.predictions, measured.settings)
    return found


def _sums(measured: Measurements, scores: Iterable[Score]) -> Sums:
    """Return the sums that every score is a function of."""
    scores = list(scores)
    costs = [score.costs for score in scores if isinstance(score.costs, Decided)]
    of_classes = [one.column for one in costs if one.balanced]  # other decisions turn with the frequencies
    return measured.sums([name for score in scores for name in score.statistics], of_classes)


def _influences(scores: Mapping[str, Score], measured: Measurements) -> dict[str, Influences]:
    """Return what each unit brings to scores; those of labels rest on as many units as there are errors."""

    def made() -> dict[str, Influences]:
        sums = _sums(measured, scores.values())
        found = sums.influences({name: score.value for name, score in scores.items()})
        return {
            name: replace(one, fewest=measured.errors) if scores[name].of_labels else one
            for name, one in found.items()
        }

    return measured.once(("score influences", *scores), made)


def _bounded(
    score: Score, spread: Spread, measured: Measurements, level: float
) -> tuple[Spread, Interval | None]:
    """Return the spread with what a row may bring that was not seen, and the interval that holds anyway.

    An error brings no more than the range of the values: errors need not be seen.
    """
    if score.ends is None:
        return spread, None
    sums, rows = _sums(measured, [score]), measured.effective_rows
    scale = float(score.scale(sums.means())) if score.scale else 1.0
    low, high = (end / scale for end in score.ends)
    if score.of_labels:
        most = max(spread.value - low, high - spread.value) if score.less is None else high - spread.value
        single = measured.predictions.n_rows if measured.settings.cluster else rows
        spread = replace(spread, unseen=most / single)
    if score.scale is not None:
        return spread, None
    spread = replace(spread, fewest=math.inf)
    if score.less is None:
        return spread, spread.held(level, rows, score.ends)

    def of(part: OfMeans, greatest: float) -> Interval:
        one = sums.influences({"": part})[""].spread
        held = one.held(level, rows, (0.0, greatest))
        return one.interval(level).within(held) if one.enough else held

    less, greatest = score.less
    whole, off = of(lambda means: score.value(means) + less(means), 1.0), of(less, greatest)
    return spread, Interval(whole.low - off.high, whole.high - off.low, level)


def _widened(interval: Interval, score: Score, measured: Measurements) -> Interval:
    """Return the interval of a normalized risk down to that over any decision that may be the best one."""
    assert score.over is not None
    sums = _sums(measured, [score])
    priors = sums.means().priors
    cost = 1 - np.eye(len(priors)) if score.costs is None else score.costs.cost
    reach = NORMAL.inv_cdf((1 + interval.level) / 2)
    decision = rival(priors, cost, reach / math.sqrt(measured.effective_rows))
    other = sums.influences({"other": score.over(decision)})
    low = other["other"].spread.interval(interval.level).low if other else interval.low
    return replace(interval, low=min(interval.low, low))


def _is_exact(score: Score, measured: Measurements) -> bool:
    """Tell whether a score is a share of independent rows that all count alike."""
    alike = measured.predictions.weights is None and measured.units.codes is None
    return alike and (score.is_share or score.among is not None)


def _exact_hits(call: MetricExpression, measured: Measurements) -> NDArray[np.bool_] | None:
    """Return the (N,) rows whose share a score is, if it has an exact interval and they are known."""
    score = _score(call, measured)
    if not (score.is_share and _is_exact(score, measured)):
        return None
    (column,) = score.statistics
    if column not in measured.columns:
        return None
    found: Array = measured.columns[column]
    return found == 0 if score.is_of_misses else found != 0


def _decisions(measured: Measurements, costs: CostMatrix) -> Iterator[Decision]:
    """Yield how often each decision was taken and what it cost."""
    weights = measured.predictions.weights
    taken, paid = measured.columns[costs.decision_column], measured.columns[costs.column]
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
