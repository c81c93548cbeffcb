"""What a family of metrics is: what it needs of the pass, its estimates, and its evidence in a comparison."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from calcli.core.data.blocks import RowStatistic
from calcli.core.data.chance import Stream, generator
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Units
from calcli.core.estimators.effort import CALL, CLASS, affordable_draws
from calcli.core.estimators.evidence import Evidence, Nearness, Permuted, Studentized, Untested, sum_of_errors
from calcli.core.estimators.influences import Influences, Spread, carried_by
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.permutation import Swapped, swapped_signs
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Decision, Estimate
from calcli.core.language.errors import NeedsRows
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings

T = TypeVar("T")
INFINITE = "its value is infinite"


@dataclass(frozen=True)
class Findings:
    """What is found out about metrics.

    Attributes
    ----------
    estimates
        By canonical expression.
    notes
        What the fits behind them want said.
    decisions
        How often each decision was taken, for each of the costs in use.
    """

    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    decisions: Mapping[str, tuple[Decision, ...]] = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: Iterable[Findings]) -> Findings:
        """Return the findings of several families."""
        estimates: dict[str, Estimate] = {}
        notes: list[str] = []
        decisions: dict[str, tuple[Decision, ...]] = {}
        for part in parts:
            estimates |= part.estimates
            notes += part.notes
            decisions |= part.decisions
        return cls(estimates, tuple(notes), decisions)


@dataclass(frozen=True)
class Entrant:
    """One of the systems of a comparison.

    Attributes
    ----------
    measured
        What a pass over its rows found.
    settings
        Of the comparison: permutations (`draws`), seed.
    paired
        Whether all systems have the same rows.
    """

    measured: Measurements
    settings: Settings
    paired: bool


@dataclass(frozen=True)
class System:
    """What is kept of a system to compare it.

    Attributes
    ----------
    predictions
        As they were measured.
    units
        Rows that change sides together.
    values
        Of the metrics, by canonical expression, as all that follows.
    influences
        What each unit brings to the metrics that have intervals.
    kept
        What else families keep of their metrics.
    """

    predictions: Predictions
    units: Units
    values: Mapping[str, float]
    influences: Mapping[str, Influences]
    kept: Mapping[str, Any]


@dataclass(frozen=True)
class Match:
    """Two systems, and how they are compared.

    Attributes
    ----------
    baseline, candidate
        The systems.
    settings
        Of the comparison.
    paired
        Whether row i is the same case in both.
    tests
        How many pairs of systems, on how many slices, are tested on the same metric.
    recompute
        Swaps predictions so often, and computes any metric again: the way that always works.
    """

    baseline: System
    candidate: System
    settings: Settings
    paired: bool
    tests: int
    recompute: Callable[[MetricExpression, int], Swapped | None]

    def both(self, call: MetricExpression) -> tuple[Any, Any]:
        """Return what is kept of a metric of baseline and candidate; None where nothing is."""
        return self.baseline.kept.get(str(call)), self.candidate.kept.get(str(call))

    @property
    def values(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """The values of baseline and candidate."""
        return self.baseline.values, self.candidate.values

    @property
    def unit(self) -> str:
        """What is one observation."""
        return "row" if self.settings.cluster is None else "cluster"

    @property
    def same_classes(self) -> bool:
        """Whether both have as many classes, so that their predictions can be swapped."""
        return self.baseline.predictions.n_classes == self.candidate.predictions.n_classes

    @property
    def has_rows(self) -> bool:
        """Whether both have rows, of which metrics can be computed again."""
        return self.baseline.predictions.has_rows and self.candidate.predictions.has_rows

    def affordable(self, effort: float) -> int:
        """Return how many permutations are made, if computing the metric of one system costs so much."""
        sizes = [math.prod(one.predictions.scores.shape) for one in (self.baseline, self.candidate)]
        draws = self.settings.draws
        return affordable_draws(draws, 2 * effort + sum(sizes), sum(sizes), self.tests)

    @property
    def rng(self) -> np.random.Generator:
        """Source of chance of the permutations, the same for every metric."""
        return generator(self.settings.seed, Stream.SWAPS)


def losses(call: MetricExpression, rule: ScoringRule, settings: Settings) -> dict[str, RowStatistic]:
    """Return the losses of rows by the score that a metric is about, by its name."""
    return {call.score: rule.statistic(settings.clip)}


def judged(spread: Spread | None, value: float, settings: Settings) -> tuple[Interval | None, str]:
    """Return the interval of a metric, or why there is none; neither of what is undefined."""
    unit = "row" if settings.cluster is None else "cluster"
    if spread is not None:
        return spread.judged(settings.level, unit)
    if math.isnan(value):
        return None, ""
    return None, INFINITE if math.isinf(value) else carried_by(0, math.inf, unit)


class Family(ABC):
    """Metrics that are measured, estimated and compared in one way."""

    @abstractmethod
    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Say what a pass must keep for a metric.

        Raises
        ------
        UsageError
            If the metric is not defined for these predictions.
        """

    @abstractmethod
    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return what is found out about metrics of the family.

        Raises
        ------
        CalcliError
            If a metric does not fit the data, or needs a file that is not there.
        """

    def influences(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Influences]:
        """Return what each unit brings to those metrics that have intervals, for comparisons."""
        return {}

    def kept(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Any]:
        """Return what else comparisons need of a system."""
        return {}

    def evidence(self, call: MetricExpression, match: Match) -> Evidence:
        """Return what the data say about the difference of two systems.

        Influences, where so many rows carry the difference that they tell; else predictions are swapped,
        which says nothing of how near two values are to the best one between others.
        """
        first, second = (system.influences.get(str(call)) for system in (match.baseline, match.candidate))
        target = call.entry.target
        if first is not None and second is not None:
            studentized = Studentized(first, second, match.paired)
            enough = studentized.difference.spread.enough
            found = studentized if enough else self.of_few(call, match, studentized.difference)
            if target is None:
                return found
            return Nearness(found, sum_of_errors(first, second, target, match.paired))
        if target is not None:
            return Untested()
        baseline, candidate = (values[str(call)] for values in match.values)
        if not (match.settings.draws and math.isfinite(baseline) and math.isfinite(candidate)):
            return Untested()
        swapped = self.swapped(call, match)
        if swapped is None:
            return Untested()
        return Permuted(candidate - baseline, baseline, swapped, match.paired)

    def of_few(self, call: MetricExpression, match: Match, difference: Influences) -> Evidence:
        """Return the evidence on a difference that few rows carry: what each brings changes its sign."""
        reason = difference.spread.too_few(match.unit)
        if not (match.paired and match.settings.draws):
            return Untested(no_interval=reason)
        swapped = swapped_signs(difference, match.settings.draws, match.rng)
        baseline = match.values[0][str(call)]
        return Permuted(difference.value, baseline, swapped, True, reason)

    def swapped(self, call: MetricExpression, match: Match) -> Swapped | None:
        """Return differences with predictions swapped; None where they cannot be, or fits were repeated."""
        if call.fitted is not None or not (match.same_classes and match.has_rows):
            return None
        draws = match.affordable(self.effort(call, match.baseline.predictions, match.settings))
        return match.recompute(call, draws) if draws else None

    def effort(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> float:
        """Return what computing a metric again costs, besides looking at the scores."""
        return CALL + CLASS * predictions.n_classes

    def variance(self, call: MetricExpression, system: System) -> float:
        """Return the variance of a metric of one system; nan where there is none, or few rows tell it."""
        influences = system.influences.get(str(call))
        if influences is None or not influences.spread.enough:
            return math.nan
        return influences.spread.standard_error**2


def available(
    of: Callable[[Sequence[MetricExpression], Entrant], Mapping[str, T]],
    calls: Sequence[MetricExpression],
    entrant: Entrant,
) -> dict[str, T]:
    """Return what a family has of metrics, without those that need rows which are not there."""
    try:
        return dict(of(calls, entrant))
    except NeedsRows:
        if len(calls) == 1:
            return {}
        return {name: one for call in calls for name, one in available(of, [call], entrant).items()}
