"""What a family of metrics is: what it needs of the pass, its estimates, and its evidence in a comparison."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Predictions
from calcli.core.data.streams import Stream, generator
from calcli.core.data.units import Units
from calcli.core.estimators.evidence import Evidence, Permuted, Resampled, Untested
from calcli.core.estimators.permutation import Swapped
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Decision, Estimate
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings


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
        What a pass over its rows brought home.
    settings
        Of the comparison: resamples, permutations (`draws`), seed.
    number
        Of the system.
    paired
        Whether all systems have the same rows.
    """

    measured: Measurements
    settings: Settings
    number: int
    paired: bool

    @property
    def rng(self) -> np.random.Generator:
        """Source of chance of its resamples, which are the same for paired systems."""
        return generator(self.settings.seed, Stream.RESAMPLES, 0 if self.paired else self.number)


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
    draws
        (B,) resampled values, of metrics that can be resampled.
    kept
        What else families keep of their metrics.
    """

    predictions: Predictions
    units: Units
    values: Mapping[str, float]
    draws: Mapping[str, Doubles]
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
    recompute
        Swaps predictions and computes any metric again: the way that always works.
    """

    baseline: System
    candidate: System
    settings: Settings
    paired: bool
    recompute: Callable[[MetricExpression], Swapped]

    def both(self, call: MetricExpression) -> tuple[Any, Any]:
        """Return what is kept of a metric of baseline and candidate; None where nothing is."""
        return self.baseline.kept.get(str(call)), self.candidate.kept.get(str(call))

    @property
    def values(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """The values of baseline and candidate."""
        return self.baseline.values, self.candidate.values

    @property
    def same_classes(self) -> bool:
        """Whether both have as many classes, so that their predictions can be swapped."""
        return self.baseline.predictions.n_classes == self.candidate.predictions.n_classes

    @property
    def rng(self) -> np.random.Generator:
        """Source of chance of the permutations, the same for every metric."""
        return generator(self.settings.seed, Stream.SWAPS)


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

    def draws(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Doubles]:
        """Return (B,) resampled values of those metrics that can be resampled, for comparisons."""
        return {}

    def kept(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Any]:
        """Return what else comparisons need of a system."""
        return {}

    def evidence(self, call: MetricExpression, match: Match) -> Evidence:
        """Return what the data say about the difference of two systems.

        Resampled values, where there are any; else predictions are swapped.
        """
        first, second = (system.draws.get(str(call)) for system in (match.baseline, match.candidate))
        if first is not None and second is not None:
            return Resampled(first, second, match.paired)
        baseline, candidate = (values[str(call)] for values in match.values)
        if not (match.settings.draws and math.isfinite(baseline) and math.isfinite(candidate)):
            return Untested()
        swapped = self.swapped(call, match)
        if swapped is None:
            return Untested()
        return Permuted(candidate - baseline, baseline, swapped, match.paired)

    def swapped(self, call: MetricExpression, match: Match) -> Swapped | None:
        """Return differences with predictions swapped; None where they cannot be."""
        return match.recompute(call) if match.same_classes else None

    def variance(self, call: MetricExpression, system: System) -> float:
        """Return the variance of a metric of one system; nan where there is none."""
        draws = system.draws.get(str(call))
        return float(draws.var(ddof=1)) if draws is not None and np.isfinite(draws).all() else math.nan
