"""Scores: the row statistics each one averages, and what it makes of their means."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.blocks import ROW_STATISTICS, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators import rules, scoring
from calcli.core.estimators.cllr import find_cllr
from calcli.core.estimators.costs import CostMatrix, decided, find_costs, matrix_of
from calcli.core.estimators.expected import integral_of_risks
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.estimators.thresholded import (
    Count,
    class_share,
    f1_of,
    net_benefit_of,
    precision_of,
    predicted_share,
    recall_of,
    thresholded,
)
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Lens, find_lens


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
        """Return it; answers have no constant."""
        statistics = {self.statistic: ROW_STATISTICS[self.statistic]}
        constant = None if predictions.of_answers else self.constant
        return Score(
            statistics, self.value, constant, None, self.is_share, self.is_of_misses, self.over,
            ends=self.ends, of_labels=self.of_labels,
        )  # fmt: skip


@dataclass(frozen=True)
class Proper(Scored):
    """The mean loss of a proper scoring rule, or what it is of that of the class frequencies."""

    rule: str
    normalized: bool = False

    def score(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
        """Return it."""
        rule = rules.scoring_rule(self.rule, of_answers=predictions.of_answers)
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
precision, recall = AtThreshold(precision_of, predicted_share), AtThreshold(recall_of, class_share)
f1, net_benefit = AtThreshold(f1_of), AtThreshold(net_benefit_of)
