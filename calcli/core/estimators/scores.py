"""Scores of metric expressions: the row statistics each one averages, and what it makes of their means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from operator import itemgetter

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.blocks import ROW_STATISTICS, RowStatistic
from calcli.core.data.predictions import Predictions
from calcli.core.estimators import rules, scoring
from calcli.core.estimators.beta_scores import IntegralOfRisks
from calcli.core.estimators.cllr import find_cllr
from calcli.core.estimators.costs import CostMatrix, decided, find_costs, matrix_of
from calcli.core.estimators.expected import integral_of_risks, is_integral
from calcli.core.estimators.scoring import Means, OfMeans
from calcli.core.estimators.thresholded import thresholded
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import PROPER
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Lens, find_lens

CONSTANTS: dict[str, OfMeans] = {
    "accuracy": scoring.constant_accuracy,
    "error_rate": scoring.constant_error_rate,
}
MISSES = "error_rate"
SHARES = ("accuracy", MISSES, "top5_accuracy")
NORMALIZED, EXPECTED_COST = "normalized_", "expected_cost"


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


def _of_plugin(call: MetricExpression) -> Score:
    """Return the mean of a function of another package."""
    module, _, function = call.entry.where.partition(":")
    of_block = partial(getattr(import_module(module), function), **call.arguments)
    return Score({str(call): of_block}, itemgetter(str(call)))


def find_score(call: MetricExpression, predictions: Predictions, settings: Settings) -> Score:
    """Return the score that a metric expression asks for.

    Parameters
    ----------
    call
        A metric of the family "score".
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
    name = call.entry.name
    if call.entry.where:
        return _of_plugin(call)
    if "costs" in call.arguments:
        matrix = _costs(call, predictions, settings)
        normalized = name.startswith(NORMALIZED)
        is_share = not (normalized or matrix.balanced) and bool(np.isin(matrix.cost, (0, 1)).all())
        value = scoring.normalized_risk if normalized else scoring.risk
        constant = None if normalized else partial(scoring.constant_risk, costs=matrix)
        parts = {} if normalized or matrix.threshold is None else {"threshold": matrix.threshold}
        of_risk = partial(_over_risk, matrix) if normalized else None
        of_means = partial(value, costs=matrix)
        return Score(matrix.statistics, of_means, constant, matrix, is_share, over=of_risk, parts=parts)
    if "threshold" in call.arguments:
        at = thresholded(call, predictions)
        return Score(at.statistics, at.value, at.constant, among=at.among)
    if name == "cllr":
        found = find_cllr(name, predictions, settings)
        return Score(found.statistics, found.value, parts={"prior_odds": found.prior_odds})
    if is_integral(call):
        integral = integral_of_risks(call, predictions, settings)
        return _integral(integral, normalized=name.startswith(NORMALIZED))
    if (proper := name.removeprefix(NORMALIZED)) in PROPER:
        normalized, of_answers = name.startswith(NORMALIZED), predictions.of_answers
        return proper_score(proper, normalized, settings.clip, of_answers=of_answers)
    if name == "mean_gap":
        return _mean_gap(call, predictions)
    statistics = {key: ROW_STATISTICS[key] for key in call.entry.statistics}
    over = _over_error_rate if name == "normalized_error_rate" else None
    of_means = getattr(scoring, name)
    best = None if predictions.of_answers else CONSTANTS.get(name)
    return Score(statistics, of_means, best, None, name in SHARES, name == MISSES, over)


def _mean_gap(call: MetricExpression, predictions: Predictions) -> Score:
    """Return the mean score minus the mean outcome of a lens."""
    lens = find_lens(call.lens, predictions.n_classes)
    if not isinstance(lens, Lens) or lens.given:
        raise UsageError(f"{call} needs one score in every row; expected a lens such as top-1 or class-1")
    return Score(lens.statistics, lambda means: means[lens.score] - means[lens.outcome])


def _over_risk(matrix: CostMatrix, decision: int) -> OfMeans:
    return partial(scoring.normalized_risk, costs=matrix, decision=decision)


def _over_error_rate(decision: int) -> OfMeans:
    return partial(scoring.normalized_error_rate, decision=decision)


def _costs(call: MetricExpression, predictions: Predictions, settings: Settings) -> CostMatrix:
    """Return the costs that a metric names, with the decisions of a column where it judges those."""
    matrix = matrix_of(find_costs(call.arguments["costs"], settings.costs), predictions)
    if not call.entry.name.endswith(EXPECTED_COST):
        return matrix
    if settings.decision_column is None:
        raise UsageError(f"{call} needs a column of decisions; name it with --decision-column")
    return decided(matrix, predictions, settings.decision_column)


def proper_score(name: str, normalized: bool, clip: float = 0.0, *, of_answers: bool = False) -> Score:
    """Return the mean loss of a rule, or what it is of that of the class frequencies."""
    rule = rules.scoring_rule(name, of_answers=of_answers)
    statistics = {name: rule.statistic(clip)}

    return _over_constant(statistics, lambda means: means[name], rule.constant, normalized=normalized)


def _integral(score: IntegralOfRisks, *, normalized: bool) -> Score:
    value = partial(scoring.integral_of_risks, score=score)
    return _over_constant(score.statistics, value, score.constant, normalized=normalized)


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
        return Score(statistics, lambda means: scoring.ratio(value(means), constant(means)))
    return Score(statistics, value, constant)
