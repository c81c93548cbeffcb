"""Scores of rows: proper, of costs, of a threshold, and of likelihood ratios.

A likelihood ratio is posterior odds over prior odds; both classes count alike, however often they occur.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Bools, Doubles, Floats
from calcli.core.data.blocks import ROW_STATISTICS, Block, RowStatistic, blocks
from calcli.core.data.derived import slice_names
from calcli.core.data.predictions import TIMES, Predictions
from calcli.core.estimators import scoring
from calcli.core.estimators.costs import (
    CostMatrix,
    Decided,
    FromThreshold,
    by_amounts,
    decided,
    find_costs,
    matrix_of,
)
from calcli.core.estimators.evidence import FEW_DISCORDANT, NORMAL, ByProxy, Evidence, ExactShares, Untested
from calcli.core.estimators.expected import BetaScore, IntegralOfRisks, Risk, Weighted, find_weights
from calcli.core.estimators.fewlabels import FEWEST_LABELS, FewLabels
from calcli.core.estimators.intervals import ERROR, ROUNDING, Influences, Interval, Spread, of_equal_weight
from calcli.core.estimators.rules import ScoringRule, decomposable_rule, scoring_rule
from calcli.core.estimators.scoring import Means, OfMeans, ratio, rival
from calcli.core.estimators.unittable import UnitTable
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import HITS, Calls, Pair, judged, signature
from calcli.core.evaluating.results import Decision, Estimate, OfClass
from calcli.core.language.entries import CLASSICAL, SCORE, arg, metric
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import AUTO_LENS, Measure
from calcli.core.language.metrics import ALMOST, LENS, UNIFORM
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Lens, find_lens
from calcli.core.problems.problem import pav
from calcli.core.state.needs import ONLY_SUMS, Mean, Need, Pass, RowValues
from calcli.core.state.state import StatePredictions


@dataclass(frozen=True)
class Cllr:
    """The cost of ratios, under prior odds.

    Attributes
    ----------
    prior_odds
        Of the second class.
    of_labels
        Prior odds of the labels, if the prior odds depend on them; None if the priors of training are known.
    """

    prior_odds: float
    of_labels: float | None

    @property
    def statistics(self) -> dict[str, RowStatistic]:
        """Costs of the rows of each class, 0 in rows of the other, and their slopes, by name.

        The name tells the odds: states of parts with other odds share no sums.
        """
        under = f"under prior odds of {self.prior_odds:.9g}"
        return {
            f"cost of ratios of class 0 {under}": partial(self._costs, 0),
            f"cost of ratios of class 1 {under}": partial(self._costs, 1),
            f"slope of cost of class 0 {under}": partial(self._slopes, 0),
            f"slope of cost of class 1 {under}": partial(self._slopes, 1),
        }

    def _costs(self, k: int, block: Block) -> Array:
        bits = np.logaddexp(0, self._against(k, block)) / np.log(2)
        return np.where(block.labels == k, bits, 0)

    def _slopes(self, k: int, block: Block) -> Array:
        """Return the derivatives of the costs by the logarithm of the prior odds."""
        slope = (1 if k else -1) / np.log(2) * np.exp(-np.logaddexp(0, -self._against(k, block)))
        return np.where(block.labels == k, slope, 0)

    def _against(self, k: int, block: Block) -> Doubles:
        """Return the log-likelihood ratios of the other class."""
        log_ratio = block.log_odds.astype(np.float64, copy=False) - np.log(self.prior_odds)
        return log_ratio if k == 0 else -log_ratio

    def value(self, means: Means) -> Doubles:
        """Return the mean over the classes of the mean costs of their rows.

        Without some rows the prior odds change too, if the labels determine them.
        """
        odds = ratio(means.priors[..., 1], means.priors[..., 0])
        usual = odds if self.of_labels is None else self.of_labels
        away = np.log(odds / usual, out=np.full(np.shape(odds), np.nan), where=odds > 0)
        of_zero, of_one, *slopes = (
            ratio(means[name], means.priors[..., n % 2]) for n, name in enumerate(self.statistics)
        )
        return np.asarray((of_zero + of_one + away * (slopes[0] + slopes[1])) / 2)


def find_cllr(name: str, predictions: Predictions, settings: Settings) -> Cllr:
    """Return the cost of ratios under the odds of the labels, with the posteriors' target priors included.

    Raises
    ------
    UsageError
        If there are not two classes that both occur, or the prior odds of the posteriors are unclear.
    """
    if predictions.n_classes != 2:
        raise UsageError(
            f"{name} is for two classes, and there are {predictions.n_classes}; see --against-rest"
        )
    shift = settings.shift_to_priors
    if settings.priors is not None and shift is None:
        raise UsageError(
            f"{name} does not depend on class frequencies; leave out --priors, or move the probabilities "
            "there with --shift-to-priors"
        )
    negatives, positives = np.bincount(predictions.labels, predictions.weights, 2).tolist()
    if not negatives or not positives:
        raise UsageError(f"{name} needs rows of both classes")
    prior_odds = positives / negatives
    if shift is None:
        return Cllr(prior_odds, prior_odds)
    (negatives, positives), fixed = shift.of(predictions.classes).tolist(), settings.trained_at is not None
    return Cllr(positives / negatives, None if fixed else prior_odds)


def min_cllr(log_odds: Floats, labels: Array, weights: Floats | None) -> float:
    """Return the least cost of any increasing map of the (N,) log-odds on these rows."""
    weights = np.ones(len(labels)) if weights is None else weights.astype(np.float64, copy=False)
    counted = weights > 0
    log_odds, labels, weights = log_odds[counted], labels[counted], weights[counted]
    balanced = weights / np.bincount(labels, weights, 2)[labels]
    blocks = pav(log_odds, labels == 1, balanced)
    return decomposable_rule("log_loss", 2).of_frequencies(blocks.hits, blocks.weight) / float(np.log(2))


@dataclass(frozen=True)
class Score:
    """A score ready to be computed.

    Attributes
    ----------
    statistics
        The row statistics it needs, by name.
    value
        The score as a function of their means.
    constant
        The same for the best constant system; None if that says nothing.
    costs
        The costs of the decisions it judges, if it judges any.
    is_share
        Whether the score is a share of the rows.
    is_of_misses
        Whether the score is the share of rows without a hit.
    over
        The score divided by the risk of a constant decision, by its number, if it is relative to the best.
    parts
        Numbers to read it with, by name.
    shares
        The hits, and the rows of the denominator. The score is the mean of such shares, of
        independent rows.
    of_share
        The increasing function of that mean which the score is.
    ends
        The range of the row values behind this mean; None if unknown.
    scale
        The divisor of that mean; None for 1.
    loss
        That mean, for a score that with few errors is 1 minus its ratio to `scale`.
    of_labels
        Whether it depends on the labels.
    less
        A mean that is subtracted from another mean of values in [0, 1], and its largest value; the least is
        0.
    """

    statistics: Mapping[str, RowStatistic]
    value: OfMeans
    constant: OfMeans | None = None
    costs: CostMatrix | None = None
    is_share: bool = False
    is_of_misses: bool = False
    over: Callable[[int], OfMeans] | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    shares: Sequence[tuple[OfMeans, OfMeans]] = ()
    of_share: Callable[[Any], Any] = float
    ends: tuple[float, float] | None = None
    scale: OfMeans | None = None
    loss: OfMeans | None = None
    of_labels: bool = True
    less: tuple[OfMeans, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Scored(Measure, ABC):
    """A smooth function of means over rows.

    It and its differences have jackknife intervals; shares of independent rows have exact intervals.
    """

    family = SCORE

    @abstractmethod
    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the score of some data.

        Parameters
        ----------
        predictions
            The measurements.
        settings
            Costs and weights that arguments may name, given decisions, and the least probability of
            a label.

        Raises
        ------
        UsageError
            If the costs or weights are unknown, or the score is not defined for that number of classes.
        InputError
            If the costs do not fit the classes.
        """

    def rule(self, predictions: Predictions, settings: Settings) -> ScoringRule:
        """Return the scoring rule of the mean, if it has an expectation under posteriors; see `score`."""
        raise NotImplementedError

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return the losses of the rows, and the decisions under costs."""
        score = self.score(of.rows, of.settings)
        needs: list[Need] = [Mean(*statistic) for statistic in score.statistics.items()]
        if of.settings.intervals:
            needs.append(HITS)
        if score.costs is not None:
            needs.append(RowValues(score.costs.decision_column, score.costs.decided))
        return needs

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return it with its interval."""
        score = self.of(measured)
        means = _table(measured, score).means()
        value = float(score.value(means))
        how, interval, reason = "jackknife", None, ""
        if settings.intervals and (score.shares or score.is_share) and not math.isnan(value):
            how = "exact" if _are_alike(measured) else how
            interval, reason = _of_shares(score, measured)
        elif settings.intervals:
            influence_values = self.influences(measured)
            spread = influence_values and influence_values.spread
            bounded = _bounded(score, spread, measured, settings.level) if spread else (None, None)
            interval, reason = judged(bounded[0], value, settings, bounded[1])
            if interval is not None and score.over is not None:
                assert score.over is not None
                table = _table(measured, score)
                priors = table.means().priors
                cost = 1 - np.eye(len(priors)) if score.costs is None else score.costs.cost
                reach = NORMAL.inv_cdf((1 + interval.level) / 2)
                decision = rival(priors, cost, reach / math.sqrt(measured.effective_rows))
                of_rival = table.influences(score.over(decision))
                low = of_rival.spread.interval(interval.level).low if of_rival else interval.low
                interval = replace(interval, low=min(interval.low, low))
        terms = {"constant": float(score.constant(means))} if score.constant else {}
        terms |= score.parts
        line = signature(self, measured, settings, *([f"interval:{how}"] if settings.intervals else []))
        return Estimate(self, value, line, interval, reason, parts=terms)

    def influences(self, measured: Measurements) -> Influences | None:
        """Return the influences of units; a mean over labels rests on the number of errors."""

        def made() -> Influences | None:
            score = self.of(measured)
            influence_values = _table(measured, score).influences(score.value)
            if influence_values and score.of_labels:
                return replace(influence_values, fewest=measured.errors, scarce=ERROR)
            return influence_values

        return measured.once(f"influences of {self}", made)

    def of_few(self, pair: Pair, difference: Influences) -> Evidence | None:
        """Return exact evidence on a difference of shares that rests on few rows or few discordant pairs."""
        before, after = (self._exact_hits(side.measured) for side in (pair.baseline, pair.candidate))
        if before is None or after is None:
            return None
        few = not difference.spread.enough
        if pair.paired:
            gained, lost = (int(np.count_nonzero(a & ~b)) for a, b in ((after, before), (before, after)))
            few = few or gained + lost < FEW_DISCORDANT
        else:
            gained, lost = (int(np.count_nonzero(hits)) for hits in (after, before))
        counts = gained, len(after), lost, len(before)
        return ExactShares(*counts, pair.baseline.value(self), pair.paired) if few else None

    def of(self, measured: Measurements) -> Score:
        """Return the score from measurements."""
        return measured.once(f"score {self}", lambda: self.score(measured.predictions, measured.settings))

    def _exact_hits(self, measured: Measurements) -> Bools | None:
        """Return the (N,) rows in its share, if it has an exact interval and the rows are known."""
        score = self.of(measured)
        if not (score.is_share and _are_alike(measured)):
            return None
        (column,) = score.statistics
        if column not in measured.columns:
            return None
        values: Array = measured.columns[column]
        return values == 0 if score.is_of_misses else values != 0


def _table(measured: Measurements, score: Score) -> UnitTable:
    """Return the sums behind a score; decisions change with the frequencies unless given."""
    costs = score.costs
    return measured.unit_table(costs.column if isinstance(costs, Decided) and costs.balanced else "")


def _bounded(
    score: Score, spread: Spread, measured: Measurements, level: float
) -> tuple[Spread, Interval | None]:
    """Return the spread with the largest unseen influence, and the interval that is valid anyway.

    An error contributes no more than the range of the values, whether errors were seen or not.
    """
    if score.ends is None:
        return spread, None
    table, rows = _table(measured, score), measured.effective_rows
    scale = float(score.scale(table.means())) if score.scale else 1.0
    if not scale:
        return replace(spread, fewest=0.0), None
    low, high = (end / scale for end in score.ends)
    if score.of_labels:
        value = 1 - spread.value if score.loss else spread.value
        farthest = max(value - low, high - value) if score.less is None else high - value
        single = measured.predictions.n_rows if measured.settings.cluster else rows
        spread = replace(spread, unseen=farthest / single)

    def of(part: OfMeans, greatest: float) -> Interval:
        influence_values = table.influences(part)
        assert influence_values is not None
        with_unseen = replace(influence_values.spread, unseen=greatest / rows)
        guaranteed = with_unseen.held(level, rows, (0.0, greatest))
        return with_unseen.interval(level).within(guaranteed) if with_unseen.enough else guaranteed

    if score.loss is not None and score.scale is not None:
        of_scale, loss = table.influences(score.scale), float(score.loss(table.means()))
        assert of_scale is not None
        if not of_scale.spread.enough and of_scale.spread.effective_size:
            return replace(spread, fewest=of_scale.spread.carried, scarce=""), None
        quotient = Interval.of_ratio(
            loss, scale, of(score.loss, score.ends[1]), of_scale.spread.interval(level)
        )
        bent = (1 - spread.value) * scale / loss if loss else 1.0
        return spread, Interval(max(1 - bent * quotient.high, -1.0), 1 - bent * quotient.low, level)
    if score.scale is not None:
        return spread, None
    spread = replace(spread, fewest=math.inf)
    if score.less is None:
        return spread, spread.held(level, rows, score.ends)
    less, greatest = score.less
    upper, off = of(lambda means: score.value(means) + less(means), 1.0), of(less, greatest)
    return spread, Interval(upper.low - off.high, upper.high - off.low, level)


def _are_alike(measured: Measurements) -> bool:
    """Return whether rows are independent and have equal weights."""
    return measured.predictions.weights is None and measured.units.codes is None


def _of_shares(score: Score, measured: Measurements) -> tuple[Interval | None, str]:
    """Return the interval of a mean of shares: exact for rows of equal weight, else conservative."""
    table, level, values, intervals = _table(measured, score), measured.settings.level, [], []
    means = table.means()
    for hits, among in score.shares or ((score.value, lambda means: np.ones(())),):
        rows = float(among(means)) * measured.predictions.n_rows
        if not rows > ROUNDING:
            return None, "a class has no rows"
        values.append(share := float(hits(means) / among(means)))
        if _are_alike(measured):
            intervals.append(Interval.of_share(round(share * rows), round(rows), level))
            continue
        weight = table.influences(among)
        influence_values = table.influences(partial(_quotient, hits, among))
        if influence_values is None or weight is None:
            return judged(None, share, measured.settings)
        assert weight.share is not None
        of_unit = weight.of_units + weight.share * weight.value
        single, rows = rows, of_equal_weight(of_unit.sum(), np.square(of_unit).sum())
        unseen = max(share, 1 - share) / (single if measured.settings.cluster else rows)
        spread = replace(influence_values.spread, unseen=unseen)
        intervals += filter(None, spread.judged(level, bounded=spread.held(level, rows))[:1])
    mean = Interval.of_mean(values, intervals, level)
    return Interval(score.of_share(mean.low), score.of_share(mean.high), level), ""


def _quotient(value: OfMeans, reference: OfMeans, means: Means) -> Doubles:
    return ratio(value(means), reference(means))


def decisions_of(measured: Measurements, costs: CostMatrix) -> Iterator[Decision]:
    """Yield how often each decision was taken, and its cost."""
    weights = measured.predictions.weights
    decisions, paid = measured.columns[costs.decision_column], measured.columns[costs.column]
    size = len(costs.decisions)
    count = np.bincount(decisions, minlength=size)
    weight = np.bincount(decisions, weights, size)
    cost = np.bincount(decisions, paid if weights is None else paid * weights, size)
    mean = np.divide(cost, weight, out=np.full(size, np.nan), where=weight > 0)
    columns = (costs.decisions, count.tolist(), (weight / weight.sum()).tolist(), mean.tolist())
    by_class = _by_class(measured, decisions, size)
    yield from (Decision(*row) for row in zip(*columns, by_class, strict=True))


def _by_class(measured: Measurements, decided: Array, size: int) -> list[dict[str, OfClass]]:
    """Return the classes for which each decision was taken: N_ij and R_ij (Ferrer & Ramos 2024, eq. 7)."""
    rows = measured.predictions
    cells, place = np.unique(decided * rows.n_classes + rows.labels, return_inverse=True)
    count = np.bincount(place).tolist()
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    weight, total = np.bincount(place, weights), np.bincount(rows.labels, weights, rows.n_classes)
    decisions: list[dict[str, OfClass]] = [{} for _ in range(size)]
    for cell, number, mass in zip(cells.tolist(), count, weight.tolist(), strict=True):
        decision, k = divmod(cell, rows.n_classes)
        decisions[decision][rows.classes[k]] = OfClass(number, mass / total[k] if total[k] else np.nan)
    return decisions


@dataclass(frozen=True, kw_only=True)
class RowScore(Scored):
    """The mean of a number per row without a known range."""

    @abstractmethod
    def of_rows(self, block: Block) -> Array:
        """Return the (n,) numbers of the rows of a block."""

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return their mean."""
        return Score({str(self): self.of_rows}, itemgetter(str(self)))


SHARE = (0.0, 1.0)
SECOND = "second"  # whether a row is of the second of two classes
NO_SAMPLE = "the labelled rows are no random sample"
NOT_DRAWN, SURELY_NOT = 0.01, 0.001  # smallest p-value of labelled rows that pass as a random sample


def mean_of(
    statistic: str, value: OfMeans | None = None, ends: tuple[float, float] | None = SHARE, **facts: Any
) -> Score:
    """Return the mean of a row statistic, or a function of it; see `Score`."""
    return Score({statistic: ROW_STATISTICS[statistic]}, value or itemgetter(statistic), ends=ends, **facts)


class MeanOfRows(Scored):
    """A function of the mean of one row statistic, with its expectation where labels are missing."""

    of_all: ClassVar[Score]
    proxied: ClassVar[Mapping[str, RowStatistic]] = MappingProxyType({"hit": ROW_STATISTICS["confidence"]})

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the score; answers have no constant, and grades are no share of the rows."""
        constant, origin = None if predictions.of_answers else self.of_all.constant, predictions.provenance
        averaged = origin.questions and not origin.clustered
        is_share = self.of_all.is_share and origin.outcomes != "grades" and not averaged
        return replace(self.of_all, constant=constant, is_share=is_share)

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return it with its interval, from labels and proxy if rows lack labels."""
        estimate = super().estimate(measured, settings, metrics)
        if not self._has_proxy(measured):
            return estimate
        return _by_proxy(estimate, self.few_labels(measured), settings, misses=self.of_all.is_of_misses)

    def of_few(self, pair: Pair, difference: Influences) -> Evidence | None:
        """Return evidence from labels and proxy if rows lack labels and the proxy helps."""
        alone, sides = super().of_few(pair, difference), (pair.baseline.measured, pair.candidate.measured)
        if not all(map(self._has_proxy, sides)):
            return alone
        baseline, candidate = map(self.few_labels, sides)
        if not pair.paired or len(baseline.unlabelled) != len(candidate.unlabelled):
            return Untested("systems with labels of some rows are compared on the same rows alone")
        if min(baseline.drawn_alike(), candidate.drawn_alike()) < SURELY_NOT:
            return Untested(NO_SAMPLE)
        if self.of_all.is_of_misses:
            baseline, candidate = candidate, baseline
        outcome, proxy = candidate.outcome - baseline.outcome, candidate.proxy - baseline.proxy
        unlabelled = candidate.unlabelled - baseline.unlabelled
        few = FewLabels(outcome, proxy, unlabelled, baseline.units, (-1.0, 1.0))
        spread = few.regression(pair.settings.level) if len(few.outcome) >= FEWEST_LABELS else None
        return alone if spread is None else ByProxy(spread, pair.baseline.value(self))

    def _has_proxy(self, measured: Measurements) -> bool:
        rows = measured.predictions
        has_outcome = not self.proxied.keys().isdisjoint(self.of_all.statistics)
        return has_outcome and rows.unlabelled is not None and rows.weights is None

    def few_labels(self, measured: Measurements) -> FewLabels:
        """Return the outcomes of labelled rows, and the proxy of all rows."""
        rows, unlabelled = measured.predictions, measured.predictions.unlabelled
        assert unlabelled is not None
        ((outcome, expected),) = self.proxied.items()
        name, units = measured.settings.cluster, None
        if name is not None:
            units = np.concatenate([slice_names(of.column(name)) for of in (rows, unlabelled)])
        proxy, expectations = (
            np.concatenate([expected(block).astype(np.float64) for block in blocks(of)])
            for of in (rows, unlabelled)
        )
        proxy = proxy if rows.proxy is None else rows.proxy.astype(np.float64)
        return FewLabels(measured.columns[outcome].astype(np.float64), proxy, expectations, units)


def _by_proxy(alone: Estimate, few: FewLabels, settings: Settings, *, misses: bool) -> Estimate:
    """Return an estimate from labels and proxy, with the estimate from the labels alone."""
    p, n = few.drawn_alike() if len(few.unlabelled) else 1.0, len(few.outcome)
    reweighted = p < NOT_DRAWN and few.of_verdicts
    corrected = few.corrected(settings.level, always=reweighted) if n >= FEWEST_LABELS else None
    expected, expected_of_all = (float((1 - of if misses else of).mean()) for of in (few.proxy, few.every))
    facts = {"labels": float(n), "unlabelled": float(len(few.unlabelled)), "correlation": few.correlation}
    facts |= {"expected_of_labelled": expected, "expected": expected_of_all, "p_random": p}
    if few.of_verdicts:
        facts["false_passes"] = float(((few.proxy == 1) & (few.outcome == 0)).sum())
        facts["false_fails"] = float(((few.proxy == 0) & (few.outcome == 1)).sum())
    if corrected is None:
        interval, why = alone.interval, alone.no_interval
    else:
        low, high, level = corrected.interval.low, corrected.interval.high, settings.level
        interval, why = Interval(1 - high, 1 - low, level) if misses else corrected.interval, ""
        if alone.interval is not None:
            facts["worth"] = float(corrected.worth(n, alone.interval))
        facts |= {"unseen": 2.0} if corrected.how == "proxy and unseen" else {}
        value = 1 - corrected.value if misses else corrected.value
        line = alone.signature.replace("interval:exact", "interval:jackknife")
        alone = replace(alone, value=value, signature=line.replace("jackknife", corrected.how, 1))
    if p < NOT_DRAWN and (corrected is None or (p < SURELY_NOT and corrected.how != "verdicts")):
        interval, why = None, NO_SAMPLE
    interval = interval if settings.intervals else None
    return replace(alone, interval=interval, no_interval=why, parts={**alone.parts, **facts})


class Proper(Scored):
    """The mean loss of a proper scoring rule, or its ratio to the class frequencies' loss."""

    name: ClassVar[str]
    normalized: ClassVar[bool] = False

    def rule(self, predictions: Predictions, settings: Settings) -> ScoringRule:
        """Return the rule, of classes or of answers."""
        return scoring_rule(self.name, predictions.n_classes)

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        rule = self.rule(predictions, settings)
        statistics = {self.name: rule.statistic(settings.clip)}
        score = _over_constant(statistics, itemgetter(self.name), rule.constant, normalized=self.normalized)
        return replace(score, ends=(0.0, rule.most)) if math.isfinite(rule.most) else score


class OfThresholds(Scored):
    """Risks of two classes, integrated over the threshold."""

    normalized: ClassVar[bool] = False

    @abstractmethod
    def weighted(self, settings: Settings) -> IntegralOfRisks:
        """Return what weighs the thresholds."""

    def integral(self, predictions: Predictions, settings: Settings) -> IntegralOfRisks:
        """Return the weights of the thresholds, for two classes."""
        if predictions.n_classes != 2:
            raise UsageError(f"{self.entry.name} is for two classes, and there are {predictions.n_classes}")
        return self.weighted(settings)

    def rule(self, predictions: Predictions, settings: Settings) -> ScoringRule:
        """Return the rule."""
        return Weighted(self.integral(predictions, settings))

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        integral = self.integral(predictions, settings)
        value = itemgetter(integral.column)
        return _over_constant(integral.statistics, value, integral.constant, normalized=self.normalized)


FLATTEST, SHARPEST = 1e-6, 1000.0  # of a and b: beyond, a density lies at the ends, or at a point
OF_DENSITY = "of Beta(a, b), the weight of a_1 = 1 - t"


@dataclass(frozen=True, kw_only=True)
class OfDensity(OfThresholds):
    """Thresholds weighted by a beta density."""

    a: float = arg(OF_DENSITY, default=1.0, least=FLATTEST, most=SHARPEST)
    b: float = arg(OF_DENSITY, default=1.0, least=FLATTEST, most=SHARPEST)

    def weighted(self, settings: Settings) -> IntegralOfRisks:
        """Return the density."""
        return BetaScore(self.a, self.b)


@dataclass(frozen=True, kw_only=True)
class OfWeights(OfThresholds):
    """Thresholds weighted by a table."""

    weights: str = arg(
        "the weight W(t) of each threshold t, from a CSV file of threshold,weight", default=UNIFORM
    )

    def weighted(self, settings: Settings) -> IntegralOfRisks:
        """Return the table."""
        return find_weights(self.weights, settings.threshold_weights)


@dataclass(frozen=True, kw_only=True)
class OfCosts(Scored):
    """Costs of decisions: the best by the probabilities, or the decisions in a column."""

    costs: str = arg("the costs of decisions, by a name from --costs", default="zero-one")
    normalized: ClassVar[bool] = False
    given: ClassVar[bool] = False

    def rule(self, predictions: Predictions, settings: Settings) -> ScoringRule:
        """Return the rule."""
        self._refuse_amounts(settings)
        return Risk(matrix_of(find_costs(self.costs, settings.costs), predictions))

    def _refuse_amounts(self, settings: Settings) -> None:
        """Raise a UsageError where costs have to depend on the class alone."""
        if settings.cost_column is not None:
            raise UsageError(f"{self} takes the same costs for all rows; leave out --cost-column")

    def matrix(self, predictions: Predictions, settings: Settings) -> CostMatrix:
        """Return the costs and how decisions are made."""
        matrix = matrix_of(find_costs(self.costs, settings.costs), predictions)
        if settings.cost_column is not None:
            matrix = by_amounts(matrix, predictions, settings.cost_column)
        if self.given:
            if settings.decision_column is None:
                raise UsageError(f"{self} needs a column of decisions; name it with --decision-column")
            matrix = decided(matrix, predictions, settings.decision_column)
        return matrix

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        matrix = self.matrix(predictions, settings)
        value, constant = itemgetter(matrix.column), partial(scoring.constant_risk, costs=matrix)
        cost = matrix.cost
        if matrix.amounts is not None:  # any row shows how much may be missed
            cost = cost * [[1], [matrix.amounts.max()]]
        ends = None if matrix.balanced else (float(cost.min()), float(cost.max()))
        if self.normalized:
            self._refuse_amounts(settings)
            ratio = partial(scoring.normalized_risk, costs=matrix)
            return Score(
                matrix.statistics, ratio, costs=matrix, ends=ends, scale=constant,
                over=lambda decision: partial(ratio, decision=decision),
            )  # fmt: skip
        is_share = ends is not None and matrix.amounts is None and bool(np.isin(matrix.cost, (0, 1)).all())
        terms = {} if matrix.threshold is None else {"threshold": matrix.threshold}
        return Score(matrix.statistics, value, constant, matrix, is_share, parts=terms, ends=ends)


OF_TWO = "auto"  # the lens of the second of two classes
FROM = "the probability from which the class is predicted"


@dataclass(frozen=True, kw_only=True)
class AtThreshold(Scored):
    """A function of the counts at a threshold of the probability of a class."""

    threshold: float = arg(FROM, default=0.5, least=0, most=1)
    lens: str = arg("the class, such as class-2 (counted from 0); of two the second", default=OF_TWO)
    hits: ClassVar[Sequence[str]] = ("hits",)
    among: ClassVar[Sequence[str]] = ()  # denominator of the share, if the value increases with a share

    def value(self, of: Mapping[str, Doubles]) -> Doubles:
        """Return the value, given shares of the rows: hits, alarms, misses and rejections."""
        return self.of_share(ratio(_sum_of(self.hits, of), _sum_of(self.among, of)))

    def of_share(self, share: Any) -> Any:
        """Return it, given the share of hits."""
        return share

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the score; its constant is the value of always predicting the class, or never if better.

        Raises
        ------
        UsageError
            If no class is named among more than two, or the lens does not have one score per row.
        """
        threshold, lens = float(self.threshold), self._lens(predictions.n_classes)
        names = {kind: f"{kind}:{lens.name}:{threshold!r}" for kind in ("hits", "alarms", "misses")}

        def rows(reached: bool, happened: bool) -> RowStatistic:
            def statistic(block: Block) -> Array:
                score, outcome = (lens.statistics[key](block) for key in (lens.score, lens.outcome))
                return np.asarray(((score >= threshold) == reached) & (outcome == happened))

            return statistic

        def counts(means: Means) -> dict[str, Doubles]:
            share_of = {kind: means[name] for kind, name in names.items()}
            return share_of | {"rejections": 1 - _sum_of(names, share_of)}

        def constant(means: Means) -> Doubles:
            frequency, none = _sum_of(("hits", "misses"), counts(means)), 0 * means.priors[..., 0]
            always = {"hits": frequency, "alarms": 1 - frequency, "misses": none, "rejections": none}
            never = {"hits": none, "alarms": none, "misses": frequency, "rejections": 1 - frequency}
            return np.fmax(self.value(always), self.value(never))

        def hits(means: Means) -> Doubles:
            return _sum_of(self.hits, counts(means))

        def among(means: Means) -> Doubles:
            return _sum_of(self.among, counts(means))

        kinds = rows(True, True), rows(True, False), rows(False, True)
        statistics = dict(zip(names.values(), kinds, strict=True))
        shares = ((hits, among),) if self.among else ()
        return Score(
            statistics,
            lambda means: self.value(counts(means)),
            constant,
            shares=shares,
            of_share=self.of_share,
        )

    def _lens(self, n_classes: int) -> Lens:
        if self.lens == OF_TWO and n_classes > 2:
            raise UsageError(
                f"{self}: there are {n_classes} classes; name the one to be found, such as "
                f"{self}:lens=class-1 (counted from 0)"
            )
        return _single(self, "class-1" if self.lens == OF_TWO else self.lens, n_classes, "class-1")


def _sum_of(names: Iterable[str], of: Mapping[str, Doubles]) -> Doubles:
    return np.asarray(sum(of[name] for name in names))


def _single(measure: Measure, lens: str, n_classes: int, such_as: str) -> Lens:
    seen = find_lens(lens, n_classes)
    if not isinstance(seen, Lens) or seen.given:
        raise UsageError(f"{measure} needs one score in every row; expected a lens such as {such_as}")
    return seen


def _over_constant(
    statistics: Mapping[str, RowStatistic],
    value: OfMeans,
    of_priors: Callable[[Doubles], Doubles],
    *,
    normalized: bool,
) -> Score:
    """Return a score with its constant, or its ratio to the score of the class frequencies."""

    def constant(means: Means) -> Doubles:
        return of_priors(means.priors)

    if normalized:
        return Score(statistics, lambda means: scoring.ratio(value(means), constant(means)), scale=constant)
    return Score(statistics, value, constant)


@metric("log_loss", "Log-loss", tier="to know", range="0 to inf", unit="nats")
class LogLoss(Proper):
    """quality of the probabilities; a confident wrong answer costs without bound

    Formula: mean of -ln q[label]
    Source: Good 1952; Ferrer & Ramos 2024, section 2.2
    Misses: one row of infinite loss hides all others; brier is bounded
    """

    name = "log_loss"


@metric("normalized_log_loss", "Log-loss, normalized", range="0 to inf", unit="ratio")
class NormalizedLogLoss(LogLoss):
    """log-loss divided by the log-loss of the class frequencies: 1 is useless, 0 perfect

    Formula: log_loss / -sum_k P_k ln P_k
    Source: Ferrer & Ramos 2024, section 3.2
    Of answers: log-loss divided by the log-loss of always stating the accuracy: 1 is useless, 0 perfect
    """

    normalized = True


@metric("brier", "Brier score", tier="to know", range="0 to 2, of two classes 0 to 1", unit="ratio")
class Brier(Proper):
    """squared error of the probabilities: (p - y)^2 for two classes, the sum over the classes beyond two

    Formula: mean of sum_k (q_k - [k is label])^2, of two classes half of it
    Source: Brier 1950
    Misses: rare events: small probabilities hardly count; log_loss sees them
    Of answers: mean of (confidence - [right])^2, from 0 to 1
    """

    name = "brier"


@metric("normalized_brier", "Brier score, normalized", range="0 to inf", unit="ratio")
class NormalizedBrier(Brier):
    """Brier score divided by the Brier score of the class frequencies: 1 is useless, 0 perfect

    Formula: brier / (1 - sum_k P_k^2)
    Source: Ferrer & Ramos 2024, section 3.2
    Of answers: Brier score divided by the Brier score of always stating the accuracy: 1 is useless, 0 perfect
    """

    normalized = True


@metric(
    "rps", "RPS", abbreviation_of="ranked probability score", unit="ratio",
    needs_classes="needs classes in an order",
)  # fmt: skip
class RankedProbability(Proper):
    """squared error of the cumulative probabilities of classes in the order of the file

    Formula: mean of sum_(k<K) (F_k - [label <= k])^2 / (K - 1)
    Source: Epstein 1969
    Misses: means nothing for classes without an order; brier is for these
    """

    name = "rps"


@metric("top1_brier", "Top-1 Brier score", tier="works", unit="ratio")
class TopBrier(MeanOfRows):
    """squared error of the confidence as the probability of being right

    Formula: mean of (max_k q_k - [argmax q = label])^2
    Source: Gupta et al. 2021, table 7
    Misses: the probabilities of the other classes; brier sees them
    """

    of_all = mean_of("top1_brier")


@metric("accuracy", "Accuracy", tier="to know", direction="higher", needs_probabilities=False)
class Accuracy(MeanOfRows):
    """share of rows where the most probable class is the label

    Formula: mean of [argmax q = label]
    Misses: says nothing about the probabilities; log_loss does
    Of answers: share of right answers
    """

    of_all = mean_of("hit", constant=lambda means: 1 - scoring.constant_error_rate(means), is_share=True)


@metric(
    "prevalence", "Prevalence", direction="none", needs_probabilities=False,
    needs_classes="counts the rows of a class",
)  # fmt: skip
class Prevalence(MeanOfRows):
    """share of the rows of the second of two classes; their probabilities stand for missing labels

    Formula: mean of [label = 1]
    Misses: it says nothing about the predictions
    """

    of_all = Score({SECOND: lambda block: block.labels == 1}, itemgetter(SECOND), is_share=True, ends=SHARE)
    proxied = MappingProxyType({SECOND: lambda block: block.column(1)})

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it.

        Raises
        ------
        UsageError
            If there are more classes than two.
        """
        if predictions.n_classes != 2:
            raise UsageError(f"{self} is for two classes; --against-rest CLASS makes two of more")
        return self.of_all


@metric("error_rate", "Error rate", needs_probabilities=False)
class ErrorRate(MeanOfRows):
    """share of rows where the most probable class is not the label

    Formula: 1 - accuracy
    Of answers: share of wrong answers
    """

    of_all = mean_of(
        "hit", scoring.error_rate, constant=scoring.constant_error_rate, is_share=True, is_of_misses=True
    )

    def rule(self, predictions: Predictions, settings: Settings) -> ScoringRule:
        """Return the risk of zero-one costs."""
        return OfCosts.rule(BayesRisk(), predictions, settings)


@metric(
    "normalized_error_rate", "Error rate, normalized", range="0 to inf", unit="ratio",
    needs_probabilities=False, needs_classes="compares with always predicting the most frequent class",
)  # fmt: skip
class NormalizedErrorRate(MeanOfRows):
    """error rate divided by the error rate of always predicting the most frequent class

    Formula: error_rate / (1 - max_k P_k)
    Source: Ferrer & Ramos 2024, section 3.1
    """

    of_all = mean_of(
        "hit",
        scoring.normalized_error_rate,
        ends=None,
        over=lambda decision: partial(scoring.normalized_error_rate, decision=decision),
    )


@metric(
    "top5_accuracy", "Top-5 accuracy", direction="higher",
    needs_classes="looks at the five most probable classes",
)  # fmt: skip
class TopFiveAccuracy(MeanOfRows):
    """share of rows with the label among the five most probable classes

    Formula: mean of [label among the 5 largest q]
    """

    of_all = mean_of("top5_hit", is_share=True)


@metric("mean_score", "Mean score", direction="higher", needs_probabilities=False)
class MeanScore(MeanOfRows):
    """mean of grades in [0, 1]; of right and wrong it is the accuracy

    Formula: mean of the grade of each row, or of each question
    Misses: whether many are half right or half are right; look at the grades
    """

    of_all = mean_of("hit", is_share=True)


class Attempts(NamedTuple):
    """Answers to the question of each row.

    Attributes
    ----------
    right, times
        (N,) numbers of right answers, and of all answers.
    rows
        (N,) rows of the question: 1 where a row is the mean of its answers.
    """

    right: Doubles
    times: Doubles
    rows: Doubles

    @classmethod
    def of(cls, predictions: Predictions) -> Attempts:
        """Return how often the question of each row was answered, and how often correctly."""
        hits = np.concatenate([block.hit.astype(np.float64) for block in blocks(predictions)])
        if TIMES in predictions.columns:
            times = predictions.column(TIMES).astype(np.float64)
            return cls(np.rint(hits * times), times, np.ones(len(hits)))
        column = predictions.columns.get(predictions.provenance.identity)
        question = np.arange(len(hits)) if column is None else np.unique(column, return_inverse=True)[1]
        times = np.bincount(question)[question].astype(np.float64)
        right = np.bincount(question, hits).astype(np.float64)
        return cls(right[question], times, times)


@dataclass(frozen=True, kw_only=True)
class OfAttempts(Scored):
    """The mean over questions of a share of all choices of k answers."""

    k: int = arg("how many answers to a question are taken", default=1, least=1)

    @abstractmethod
    def of_questions(self, of: Attempts) -> Doubles:
        """Return (N,) the share of each question."""

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the mean over questions.

        Raises
        ------
        NeedsRows
            If the rows were not kept.
        UsageError
            If a question has fewer answers than k.
        """
        if not predictions.has_rows:
            raise NeedsRows(ONLY_SUMS)
        attempts = Attempts.of(predictions)
        if (few := attempts.times < self.k).any():
            fewest = f"{np.count_nonzero(few):,} of {len(few):,} rows are of questions with fewer"
            raise UsageError(f"{self} takes {self.k} answers to each question, and {fewest}; lower k")
        shares, name, count = self.of_questions(attempts), str(self), f"{self}, questions"
        statistics = {name: lambda block: (shares / attempts.rows)[block.rows]}
        if not np.ptp(attempts.rows):
            is_share = bool(np.isin(shares, SHARE).all())
            return Score(
                {name: lambda block: shares[block.rows]}, itemgetter(name), is_share=is_share, ends=SHARE
            )
        statistics[count] = lambda block: (1 / attempts.rows)[block.rows]
        return Score(statistics, lambda means: ratio(means[name], means[count]), of_labels=False)

    def chosen(self, among: Doubles, times: Doubles) -> Doubles:
        """Return C(among, k) / C(times, k), 0 for fewer than k."""
        logs = np.append(0.0, np.cumsum(np.log(np.arange(1, times.max() + 1))))
        chosen, every = np.maximum(among, self.k).astype(np.intp), times.astype(np.intp)
        ways = logs[chosen] - logs[chosen - self.k] - logs[every] + logs[every - self.k]
        return np.where(among >= self.k, np.minimum(np.exp(ways), 1.0), 0.0)


@metric("pass_at_k", "pass@k", direction="higher", needs_probabilities=False)
class PassAtK(OfAttempts):
    """share of questions that at least one of k answers gets right, without bias

    Formula: mean over questions of 1 - C(n - c, k) / C(n, k), c of n answers right
    Source: Chen et al. 2021
    Misses: how reliable the answers are; see pass_all
    """

    def of_questions(self, of: Attempts) -> Doubles:
        """Return it."""
        return 1 - self.chosen(of.times - of.right, of.times)


@metric("pass_all", "All of k right", direction="higher", needs_probabilities=False)
class PassAll(OfAttempts):
    """share of questions that all of k answers get right, without bias

    Formula: mean over questions of C(c, k) / C(n, k), c of n answers right
    Source: Yao et al. 2024
    Misses: whether one right answer among several can be found; see pass_at_k
    """

    def of_questions(self, of: Attempts) -> Doubles:
        """Return it."""
        return self.chosen(of.right, of.times)


@metric("mean_confidence", "Mean confidence", direction="none", range="1/K to 1")
class MeanConfidence(MeanOfRows):
    """mean probability of the predicted class: the accuracy expected if calibrated

    Formula: mean of max_k q_k
    Of answers: the accuracy expected if the confidence is calibrated
    """

    of_all = mean_of("confidence", of_labels=False)


@metric("mean_gap", "Predicted - observed", tier="to know", direction="zero", range="-1 to 1")
class MeanGap(Scored):
    """mean confidence minus accuracy: above 0 over-confident, below 0 under-confident

    Formula: mean score - mean outcome
    Source: Panchenko et al. 2022
    Misses: gaps of opposite sign cancel; ece adds them up
    Of answers: mean confidence minus accuracy: above 0 over-confident, below 0 under-confident
    """

    lens: str = arg(LENS, default=AUTO_LENS)

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the mean excess of scores minus their mean shortfall."""
        lens = _single(self, predictions.resolve_lens(self.lens), predictions.n_classes, "top-1 or class-1")
        above = f"above:{lens.name}"

        def too_high(block: Block) -> Array:
            score, outcome = (lens.statistics[name](block) for name in (lens.score, lens.outcome))
            return np.asarray(score * (outcome == 0))

        def gap(means: Means) -> Doubles:
            return means[lens.score] - means[lens.outcome]

        state = predictions.state if isinstance(predictions, StatePredictions) else None
        if state and not state.rows and Mean(above, too_high).missing_reason(state):  # by an earlier release
            return Score(lens.statistics, gap, ends=(-1.0, 1.0), less=(itemgetter(lens.outcome), 1.0))
        statistics = lens.statistics | {above: too_high}
        return Score(statistics, gap, ends=(-1.0, 1.0), less=(lambda means: means[above] - gap(means), 1.0))


@metric("oe_ratio", "Observed / predicted", tier="to know", direction="one", range="0 to inf", unit="ratio")
class OERatio(MeanGap):
    """accuracy over mean confidence: above 1 under-confident, below 1 over-confident

    Formula: mean outcome / mean score
    Source: Van Calster et al. 2019
    Misses: gaps of opposite sign cancel; calibration_slope and ece see them
    """

    family = CLASSICAL

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        lens = _single(self, predictions.resolve_lens(self.lens), predictions.n_classes, "top-1 or class-1")
        return Score(lens.statistics, lambda means: scoring.ratio(means[lens.outcome], means[lens.score]))


@metric("bayes_risk", "Bayes risk", range="least to greatest cost", unit="cost")
class BayesRisk(OfCosts):
    """mean cost of the decisions with the least expected cost under these probabilities

    Formula: mean of C[label, argmin_d sum_k q_k C[k, d]]
    Source: Ferrer & Ramos 2024, section 2.1
    Misses: other costs; log_loss and brier average over all costs
    """


@metric("normalized_bayes_risk", "Bayes risk, normalized", range="0 to inf, below 0 with gains", unit="ratio")
class NormalizedBayesRisk(OfCosts):
    """Bayes risk divided by the risk of the best constant decision: above 1 the constant one is better

    Formula: bayes_risk / min_d sum_k P_k C[k, d]
    Source: Ferrer & Ramos 2024, section 3.1
    """

    normalized = True


@metric("threshold_cost", "Cost from a threshold on", range="least to greatest cost", unit="cost")
class ThresholdCost(OfCosts):
    """mean cost of deciding for the second of two classes from a threshold of its probability on

    Formula: mean of C[label, [q_1 >= t]], of missed rows times their amount with --cost-column
    Source: Elkan 2001
    Misses: other thresholds; bayes_risk decides each row by the least expected cost
    """

    threshold: float = arg(FROM, default=0.5, least=0, most=1)

    def matrix(self, predictions: Predictions, settings: Settings) -> CostMatrix:
        """Return the costs of deciding from the threshold on."""
        costs = super().matrix(predictions, settings)
        if costs.cost.shape != (2, 2):
            raise UsageError(f"{self} is for two classes and two decisions; see --against-rest")
        return FromThreshold(**costs.facts, least=float(self.threshold))

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it; the decisions stand in the table of operating points."""
        return replace(super().score(predictions, settings), costs=None)


@metric(
    "expected_cost", "Expected cost", range="least to greatest cost", unit="cost",
    needs_probabilities=False,
)  # fmt: skip
class ExpectedCost(OfCosts):
    """mean cost of the decisions in a column, made in any way

    Formula: sum_ij C[i, j] P_i R_ij, R_ij the share of class i decided j
    Source: Ferrer & Ramos 2024, eq. 7
    Misses: needs --decision-column; bayes_risk takes the decisions from the probabilities
    """

    given = True


@metric(
    "normalized_expected_cost", "Expected cost, normalized", range="0 to inf, below 0 with gains",
    unit="ratio", needs_probabilities=False,
)  # fmt: skip
class NormalizedExpectedCost(OfCosts):
    """expected cost divided by the cost of the best constant decision: above 1 the constant one is better

    Formula: expected_cost / min_d sum_k P_k C[k, d]
    Source: Ferrer & Ramos 2024, section 2.3.1
    Misses: needs --decision-column
    """

    given = normalized = True


@metric("beta_score", "Beta-weighted score", tier="works", range="0 to inf", unit="ratio")
class BetaWeighted(OfDensity):
    """two classes: risk over all thresholds, weighted by Beta(a, b); 1, 1 gives log_loss, 2, 2 gives 3 x
    brier

    Formula: integral over a_1 of bayes_risk[wrong on class 0: 1/a_1, on class 1: 1/(1-a_1)] Beta(a_1; a, b)
    Source: Ferrer & Ramos 2024, eq. 10-12; Buja et al. 2005
    Misses: a_1 = 1 - t, t the threshold of P(class 1): a above b stresses low thresholds t, a below b high
        ones
    Of answers: risk over all thresholds, weighted by Beta(a, b): 1, 1 gives log_loss, 2, 2 gives 3 x brier
    """


@metric(
    "normalized_beta_score", "Beta-weighted score, normalized", tier="works", range="0 to inf",
    unit="ratio",
)  # fmt: skip
class NormalizedBetaWeighted(OfDensity):
    """beta_score divided by the beta_score of the class frequencies: 1 is useless, 0 perfect

    Formula: beta_score / beta_score of the class frequencies
    Source: Ferrer & Ramos 2024, section 2.3
    Misses: a and b are as in beta_score, for a_1 = 1 - t
    """

    normalized = True


@metric("weighted_risk", "Weighted risks", tier="works", range="0 to inf", unit="ratio")
class ThresholdWeighted(OfWeights):
    """two classes: risk over all thresholds, with your own weights; uniform gives log_loss

    Formula: integral over t of bayes_risk[wrong on class 0: 1/(1-t), on class 1: 1/t] W(t)
    Source: Ferrer & Ramos 2024, eq. 10-12
    Misses: t is a threshold of P(class 1), the paper's a_2 = 1 - a_1; W is as given, not scaled;
        weights=FILE.csv is a table of it
    """


@metric(
    "normalized_weighted_risk", "Weighted risks, normalized", tier="works", range="0 to inf", unit="ratio",
)  # fmt: skip
class NormalizedThresholdWeighted(OfWeights):
    """weighted_risk divided by the weighted_risk of the class frequencies: 1 is useless, 0 perfect

    Formula: weighted_risk / weighted_risk of the class frequencies
    Source: Ferrer & Ramos 2024, section 2.3
    """

    normalized = True


@metric("cllr", "Cost of log-likelihood ratios", range="0 to inf", unit="bits")
class CostOfRatios(Scored):
    """two classes: quality of the likelihood ratios, posterior over prior odds; 1 is useless

    Formula: (mean over class 1 of log2(1 + 1/LR) + mean over class 0 of log2(1 + LR)) / 2
    Source: Bruemmer & du Preez 2006
    Misses: the prior odds come from the labels; --shift-to-priors changes both alike
    """

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        cllr = find_cllr(str(self), predictions, settings)
        return Score(cllr.statistics, cllr.value, parts={"prior_odds": cllr.prior_odds})


@metric("precision", "Precision", direction="higher", needs_probabilities=False)
class Precision(AtThreshold):
    """share of the class among the rows with a probability of it of at least a threshold

    Formula: TP / (TP + FP)
    Misses: the rows of the class that are not found; recall sees them
    Of answers: share of right answers among those with at least so much confidence
    """

    among = "hits", "alarms"


@metric("recall", "Recall", direction="higher", needs_probabilities=False)
class Recall(AtThreshold):
    """share of the rows of the class with a probability of it of at least a threshold

    Formula: TP / (TP + FN)
    Misses: false alarms; precision sees them
    Of answers: share of the right answers that have at least so much confidence
    """

    among = "hits", "misses"


@metric("specificity", "Specificity", direction="higher", needs_probabilities=False)
class Specificity(AtThreshold):
    """share of the rows of other classes with a probability of the class below a threshold

    Formula: TN / (TN + FP)
    Misses: the rows of the class that are not found; recall sees them
    Of answers: share of the wrong answers that have less confidence than that
    """

    hits, among = ("rejections",), ("rejections", "alarms")


@metric("alert_rate", "Alert rate", direction="none", needs_probabilities=False)
class AlertRate(AtThreshold):
    """share of all rows with a probability of the class of at least a threshold

    Formula: (TP + FP) / n
    Misses: which of these rows are of the class; precision sees that
    Of answers: share of the answers with at least so much confidence
    """

    hits, among = ("hits", "alarms"), ("hits", "alarms", "misses", "rejections")

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return the score, without a constant, which would say nothing."""
        return replace(super().score(predictions, settings), constant=None)


@metric("f1", "F1 score", direction="higher", needs_probabilities=False)
class F1(AtThreshold):
    """harmonic mean of precision and recall at a threshold

    Formula: 2 TP / (2 TP + FP + FN)
    Misses: what errors cost; bayes_risk and net_benefit weigh them

    It is 2 J / (1 + J), where J is the share of true positives among all rows of or predicted as the class.
    """

    among = "hits", "alarms", "misses"

    def of_share(self, share: Any) -> Any:
        """Return it, given the share of hits."""
        return 2 * share / (1 + share)


@metric("net_benefit", "Net benefit", direction="higher", range="-inf to 1")
class NetBenefit(AtThreshold):
    """true positives per row at a threshold, minus false ones at its odds; 0 predicts none

    Formula: TP/n - FP/n t/(1 - t)
    Source: Vickers & Elkin 2006
    Misses: other thresholds
    """

    threshold: float = arg(FROM, default=0.5, least=0, most=ALMOST)

    def value(self, of: Mapping[str, Doubles]) -> Doubles:
        """Return it."""
        return of["hits"] - of["alarms"] * self._odds

    def score(self, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        score, odds = super().score(predictions, settings), self._odds
        alarms = [*score.statistics][1]
        less = (lambda means: odds * means[alarms], odds) if odds else None
        return replace(score, ends=(-odds, 1.0), less=less)

    @property
    def _odds(self) -> float:
        return self.threshold / (1 - self.threshold)
