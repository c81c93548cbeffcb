"""Scores of metric expressions: the row statistics each one averages, and what it makes of their means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Predictions
from calcli.core.data.rows import ROW_STATISTICS, RowStatistic
from calcli.core.estimators import rules, scoring
from calcli.core.estimators.costs import CostMatrix, find_costs, matrix_of
from calcli.core.estimators.expected import beta_score
from calcli.core.estimators.scoring import Means
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import PROPER
from calcli.core.language.settings import Costs

OfMeans = Callable[[Means], Doubles]

CONSTANTS: dict[str, OfMeans] = {"error_rate": scoring.constant_error_rate}
NORMALIZED = "normalized_"


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
    """

    statistics: Mapping[str, RowStatistic]
    value: OfMeans
    constant: OfMeans | None = None
    costs: CostMatrix | None = None


def find_score(
    call: MetricExpression, predictions: Predictions, costs: Sequence[Costs] = (), clip: float = 0.0
) -> Score:
    """Return the score that a metric expression asks for.

    Parameters
    ----------
    call
        A metric of the family "score".
    predictions
        What is to be scored.
    costs
        Costs that expressions may name, beside those that every expression may.
    clip
        Least probability of a label that rules without bound count with; 0 for no clipping.

    Raises
    ------
    UsageError
        If the costs are unknown, or the score is not defined for that number of classes.
    InputError
        If the costs do not fit the classes.
    """
    name = call.entry.name
    if "costs" in call.arguments:
        named = find_costs(str(call.arguments["costs"]), costs)
        matrix = matrix_of(named, predictions)
        constant = partial(scoring.constant_risk, costs=matrix) if name == "bayes_risk" else None
        return Score(matrix.statistics, partial(getattr(scoring, name), costs=matrix), constant, matrix)
    if name == "beta_score":
        score = beta_score(call, predictions)
        constant = partial(scoring.constant_beta_score, score=score)
        return Score(score.statistics, partial(scoring.beta_score, score=score), constant)
    if (proper := name.removeprefix(NORMALIZED)) in PROPER:
        return proper_score(proper, name.startswith(NORMALIZED), clip)
    statistics = {key: ROW_STATISTICS[key] for key in call.entry.statistics}
    return Score(statistics, getattr(scoring, name), CONSTANTS.get(name))


def proper_score(name: str, normalized: bool, clip: float = 0.0) -> Score:
    """Return the mean loss of a rule, or what it is of that of the class frequencies."""
    rule = rules.scoring_rule(name)
    statistics = {name: rule.statistic(clip)}

    def constant(means: Means) -> Doubles:
        return rule.constant(means.priors)

    def unbiased(means: Means) -> Doubles:
        if means.of_sample is None:
            return constant(means)
        return scoring.without_bias(constant(means), float(rule.constant(means.of_sample)))

    if normalized:
        return Score(statistics, lambda means: scoring.ratio(means[name], unbiased(means)))
    return Score(statistics, lambda means: means[name], constant)
