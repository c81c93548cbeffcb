"""Scores of rows: proper, of costs, of a threshold, of the confusion matrix, and of likelihood ratios.

A likelihood ratio is posterior odds over prior odds; both classes count alike, however often they occur.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.blocks import ROW_STATISTICS, Block, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators import confusion, scoring
from calcli.core.estimators.costs import CostMatrix, decided, find_costs, matrix_of
from calcli.core.estimators.expected import integral_of_risks
from calcli.core.estimators.rules import decomposable_rule, scoring_rule
from calcli.core.estimators.scoring import Means, OfMeans, ratio
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Lens, find_lens
from calcli.core.problems.problem import pav


@dataclass(frozen=True)
class Cllr:
    """The cost of ratios, under prior odds.

    Attributes
    ----------
    prior_odds
        Of the second class.
    of_labels
        Those of the labels, which the prior odds depend on; None where those of the training are known.
    """

    prior_odds: float
    of_labels: float | None

    @property
    def statistics(self) -> dict[str, RowStatistic]:
        """Costs of the rows of each class, 0 in those of the other, and their slopes, by name.

        The name says which odds they are under: states of parts with others have no sums in common.
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
        """Return by how much costs grow with the logarithm of the prior odds."""
        slope = (1 if k else -1) / np.log(2) * np.exp(-np.logaddexp(0, -self._against(k, block)))
        return np.where(block.labels == k, slope, 0)

    def _against(self, k: int, block: Block) -> Doubles:
        """Return the log-likelihood ratios of the other class."""
        log_ratio = block.log_odds.astype(np.float64, copy=False) - np.log(self.prior_odds)
        return log_ratio if k == 0 else -log_ratio

    def value(self, means: Means) -> Doubles:
        """Return the mean over the classes of the mean costs of their rows.

        Without some rows the prior odds are others too, if these rows are all that is known of them.
        """
        odds = ratio(means.priors[..., 1], means.priors[..., 0])
        usual = odds if self.of_labels is None else self.of_labels
        away = np.log(odds / usual, out=np.full(np.shape(odds), np.nan), where=odds > 0)
        first, second, *slopes = (
            ratio(means[name], means.priors[..., n % 2]) for n, name in enumerate(self.statistics)
        )
        return np.asarray((first + second + away * (slopes[0] + slopes[1])) / 2)


def find_cllr(name: str, predictions: Predictions, settings: Settings) -> Cllr:
    """Return the cost of ratios under the odds of the labels, those that posteriors were moved to included.

    Raises
    ------
    UsageError
        If there are not two classes that both occur, or it is not clear which prior odds the posteriors have.
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
    first, second = np.bincount(predictions.labels, predictions.weights, 2).tolist()
    if not first or not second:
        raise UsageError(f"{name} needs rows of both classes")
    own = second / first
    if shift is None:
        return Cllr(own, own)
    (first, second), known = shift.of(predictions.classes).tolist(), settings.trained_at is not None
    return Cllr(second / first, None if known else own)


def min_cllr(log_odds: Floats, labels: Array, weights: Floats | None) -> float:
    """Return the least cost that any increasing map of the log-odds, (N,), has on these rows."""
    weights = np.ones(len(labels)) if weights is None else weights.astype(np.float64, copy=False)
    counted = weights > 0
    log_odds, labels, weights = log_odds[counted], labels[counted], weights[counted]
    balanced = weights / np.bincount(labels, weights, 2)[labels]
    blocks = pav(log_odds, labels == 1, balanced)
    return decomposable_rule("log_loss").of_frequencies(blocks.hits, blocks.weight) / float(np.log(2))


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


def rest_share(of: Counts, t: float) -> Doubles:
    """Share of the rows that are of other classes."""
    return 1 - class_share(of, t)


def specificity_of(of: Counts, t: float) -> Doubles:
    """Specificity."""
    return ratio(rest_share(of, t) - of.alarms, rest_share(of, t))


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
        none = 0 * frequency
        always = count(Counts(frequency, 1 - frequency, none), threshold)
        return np.fmax(always, count(Counts(none, none, frequency), threshold))

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
        The same for the best system that gives every row the same answer; None where that says nothing.
    costs
        The costs of the decisions it judges, if it judges any.
    is_share
        Whether it is a share of the rows.
    is_of_misses
        Whether that is the share of those without a hit.
    over
        The score over the risk of a constant decision, by its number, if it is one over that of the best.
    parts
        Numbers to read it with, by name.
    among
        The share of the rows of which it is a share, where these are not all.
    ends
        Between which the values of rows lie whose mean it is; None where that is not known.
    scale
        What that mean is divided by; None for 1.
    of_labels
        Whether it depends on the labels.
    less
        A mean that is taken off another one of values in [0, 1], and its greatest value; the least is 0.
    """

    statistics: Mapping[str, RowStatistic]
    value: OfMeans
    constant: OfMeans | None = None
    costs: CostMatrix | None = None
    is_share: bool = False
    is_of_misses: bool = False
    over: Callable[[int], OfMeans] | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    among: OfMeans | None = None
    ends: tuple[float, float] | None = None
    scale: OfMeans | None = None
    of_labels: bool = True
    less: tuple[OfMeans, float] | None = None


def find_score(call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
    """Return the score that a metric expression asks for.

    Parameters
    ----------
    call
        A metric of the family "score": its entry names a `Scored`, or in another package a function of a
        block of rows, of which it is the mean.
    predictions
        What is to be scored.
    settings
        Costs and weights that expressions may name, decisions that were made, and the least probability of
        a label.

    Raises
    ------
    UsageError
        If the costs or weights are unknown, or the score is not defined for that number of classes.
    InputError
        If the costs do not fit the classes.
    """
    found = call.entry.mathematics
    if isinstance(found, Scored):
        return found.score(call, predictions, settings)
    return Score({str(call): partial(found, **call.arguments)}, itemgetter(str(call)))


class Scored(ABC):
    """What a score is, whatever the data."""

    @abstractmethod
    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return the score of some data; parameters and errors as for `find_score`."""


@dataclass(frozen=True)
class Plain(Scored):
    """A function of the mean of one row statistic; fields as those of `Score`."""

    statistic: str
    value: OfMeans
    constant: OfMeans | None = None
    is_share: bool = False
    is_of_misses: bool = False
    over: Callable[[int], OfMeans] | None = None
    ends: tuple[float, float] | None = None
    of_labels: bool = True

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it; answers have no constant, and grades are no share of the rows."""
        statistics = {self.statistic: ROW_STATISTICS[self.statistic]}
        constant, origin = None if predictions.of_answers else self.constant, predictions.provenance
        is_share = self.is_share and origin.outcomes != "grades" and not origin.questions
        return Score(
            statistics, self.value, constant, None, is_share, self.is_of_misses, self.over,
            ends=self.ends, of_labels=self.of_labels,
        )  # fmt: skip


@dataclass(frozen=True)
class Proper(Scored):
    """The mean loss of a proper scoring rule, or what it is of that of the class frequencies."""

    rule: str
    normalized: bool = False

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        rule = scoring_rule(self.rule, of_answers=predictions.of_answers)
        statistics = {self.rule: rule.statistic(settings.clip)}
        found = _over_constant(statistics, itemgetter(self.rule), rule.constant, normalized=self.normalized)
        return replace(found, ends=(0.0, rule.most)) if math.isfinite(rule.most) else found


@dataclass(frozen=True)
class Integral(Scored):
    """Risks of two classes, integrated over the threshold."""

    normalized: bool = False

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        own = integral_of_risks(call, predictions, settings)
        value = partial(scoring.integral_of_risks, score=own)
        return _over_constant(own.statistics, value, own.constant, normalized=self.normalized)


@dataclass(frozen=True)
class OfCosts(Scored):
    """What decisions cost: the best by the probabilities, or those of a column."""

    normalized: bool = False
    decided: bool = False

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        matrix = matrix_of(find_costs(call.arguments["costs"], settings.costs), predictions)
        if self.decided:
            if settings.decision_column is None:
                raise UsageError(f"{call} needs a column of decisions; name it with --decision-column")
            matrix = decided(matrix, predictions, settings.decision_column)
        value, constant = (partial(of, costs=matrix) for of in (scoring.risk, scoring.constant_risk))
        ends = None if matrix.balanced else (float(matrix.cost.min()), float(matrix.cost.max()))
        if self.normalized:
            over, ratio = partial(_over_risk, matrix), partial(scoring.normalized_risk, costs=matrix)
            return Score(matrix.statistics, ratio, costs=matrix, over=over, ends=ends, scale=constant)
        is_share = not matrix.balanced and bool(np.isin(matrix.cost, (0, 1)).all())
        parts = {} if matrix.threshold is None else {"threshold": matrix.threshold}
        return Score(matrix.statistics, value, constant, matrix, is_share, parts=parts, ends=ends)


@dataclass(frozen=True)
class AtThreshold(Scored):
    """A function of the counts at a threshold of the score of a class, and of how many rows it is a share."""

    count: Count
    among: Count | None = None

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        at = thresholded(call, predictions, self.count, self.among)
        return Score(at.statistics, at.value, at.constant, among=at.among, ends=at.ends, less=at.less)


@dataclass(frozen=True)
class OfConfusion(Scored):
    """A function of the confusion matrix, and its value for the same answer in every row."""

    of: Callable[[confusion.Confusion], Doubles]
    of_constant: Callable[[Doubles], Doubles]

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        statistics, value = confusion.confusion(call, predictions, self.of)
        return Score(statistics, value, lambda means: self.of_constant(means.priors))


class CostOfRatios(Scored):
    """The cost of log-likelihood ratios."""

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        found = find_cllr(call.entry.name, predictions, settings)
        return Score(found.statistics, found.value, parts={"prior_odds": found.prior_odds})


class MeanGap(Scored):
    """The mean score minus the mean outcome of a lens."""

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        lens = find_lens(call.lens, predictions.n_classes)
        if not isinstance(lens, Lens) or lens.given:
            raise UsageError(f"{call} needs one score in every row; expected a lens such as top-1 or class-1")
        return Score(
            lens.statistics,
            lambda means: means[lens.score] - means[lens.outcome],
            ends=(-1.0, 1.0),
            less=(itemgetter(lens.outcome), 1.0),
        )


def _over_risk(matrix: CostMatrix, decision: int) -> OfMeans:
    return partial(scoring.normalized_risk, costs=matrix, decision=decision)


def _over_error_rate(decision: int) -> OfMeans:
    return partial(scoring.normalized_error_rate, decision=decision)


def _over_constant(
    statistics: Mapping[str, RowStatistic],
    value: OfMeans,
    of_priors: Callable[[Doubles], Doubles],
    *,
    normalized: bool,
) -> Score:
    """Return a score with its constant, or what it is of that of the class frequencies."""

    def constant(means: Means) -> Doubles:
        return of_priors(means.priors)

    if normalized:
        return Score(statistics, lambda means: scoring.ratio(value(means), constant(means)), scale=constant)
    return Score(statistics, value, constant)


SHARE = (0.0, 1.0)

log_loss, normalized_log_loss = Proper("log_loss"), Proper("log_loss", normalized=True)
brier, normalized_brier = Proper("brier"), Proper("brier", normalized=True)
rps = Proper("rps")
accuracy = Plain("hit", scoring.accuracy, scoring.constant_accuracy, is_share=True, ends=SHARE)
error_rate = Plain(
    "hit", scoring.error_rate, scoring.constant_error_rate, is_share=True, is_of_misses=True, ends=SHARE
)
normalized_error_rate = Plain("hit", scoring.normalized_error_rate, over=_over_error_rate)
top5_accuracy = Plain("top5_hit", scoring.top5_accuracy, is_share=True, ends=SHARE)
top1_brier = Plain("top1_brier", scoring.top1_brier, ends=SHARE)
mean_confidence = Plain("confidence", scoring.mean_confidence, ends=SHARE, of_labels=False)
mean_gap = MeanGap()
bayes_risk, normalized_bayes_risk = OfCosts(), OfCosts(normalized=True)
expected_cost = OfCosts(decided=True)
normalized_expected_cost = OfCosts(normalized=True, decided=True)
beta_score = weighted_risk = Integral()
normalized_beta_score = normalized_weighted_risk = Integral(normalized=True)
cllr = CostOfRatios()
mean_score = Plain("hit", scoring.accuracy, is_share=True, ends=SHARE)
kappa = OfConfusion(confusion.kappa_of, lambda priors: 0 * priors[..., 0])
mcc = OfConfusion(confusion.mcc_of, lambda priors: 0 * priors[..., 0])
balanced_accuracy = OfConfusion(confusion.balanced_accuracy_of, lambda priors: 1 / (priors > 0).sum(-1))
specificity = AtThreshold(specificity_of, rest_share)
precision, recall = AtThreshold(precision_of, predicted_share), AtThreshold(recall_of, class_share)
f1, net_benefit = AtThreshold(f1_of), AtThreshold(net_benefit_of)
