"""A family of metrics: how its members are measured, estimated, compared and described in a line."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calcli.core.data.arrays import Stream, generator
from calcli.core.data.blocks import ROW_STATISTICS
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.evidence import Evidence
from calcli.core.estimators.gridded import GridError
from calcli.core.estimators.intervals import Influences, Interval, Spread, carried_by
from calcli.core.estimators.permutation import CALL, CLASS, Swapped, affordable_draws
from calcli.core.estimators.rules import ScoringRule
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Decision, Estimate, Evaluation
from calcli.core.language.entries import written
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings
from calcli.core.language.version import __version__
from calcli.core.state.deals import Hashes
from calcli.core.state.needs import Mean, Need, Pass


def signature(
    call: MetricExpression,
    measured: Measurements,
    settings: Settings,
    *repeats: str,
    grid: GridError | None = None,
) -> str:
    """Return the signature of a metric: name, arguments, data, what was repeated, seed, version.

    Parameters
    ----------
    call, measured, settings
        The metric, what it was computed from, and how.
    repeats
        Resamples, draws and the like, as `key:value`.
    grid
        What the cells of scores leave open.
    """
    rows, classes = measured.predictions.scores.shape
    used, outcomes = call.used, f"k:{classes}"
    if measured.predictions.of_answers:
        used |= {"lens": "confidence"} if call.lens else {}
        outcomes = "outcome:right"
    parts = [call.entry.name, *(f"{key}:{written(value)}" for key, value in used.items())]
    sampled = [] if measured.of_rows is None else [f"rows:{rows}"]
    parts += [f"n:{measured.of_rows or rows}", *sampled, outcomes, f"dtype:{measured.dtype}"]
    if grid is not None or (call.lens and measured.grid(call.lens) is not None):
        parts.append("cells:grid")
    if grid is not None:
        parts.append(f"bound:{grid.bound:.2g}")
    if measured.state.head.weighted:
        parts.append("weighted")
    if settings.cluster is not None:
        parts.append(f"cluster:{settings.cluster}")
    if settings.clip and call.is_clipped:
        parts.append(f"clip:{settings.clip:g}")
    return "|".join([*parts, *repeats, f"seed:{settings.seed}", f"version:{__version__}"])


HITS = Mean("hit", ROW_STATISTICS["hit"])  # which tell how many errors there are

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


@dataclass(frozen=True, eq=False)
class System:
    """One of the systems that are compared.

    Attributes
    ----------
    measured
        What a pass over its rows found.
    evaluation
        The values of the metrics.
    influences
        What each unit brings to the metrics that have intervals, by canonical expression.
    sample
        The same for a sample of the rows, where that tells some of the metrics.
    hashes
        Of the rows, if they are a sample.
    """

    measured: Measurements
    evaluation: Evaluation
    influences: Mapping[str, Influences]
    sample: System | None = None
    hashes: Hashes | None = None

    @property
    def predictions(self) -> Predictions:
        """The rows that were measured."""
        return self.measured.predictions

    def value(self, call: MetricExpression) -> float:
        """Return the value of a metric."""
        return self.evaluation.estimates[str(call)].value

    def rows(self, call: MetricExpression) -> int:
        """Return how many rows a metric comes from."""
        return self.evaluation.estimates[str(call)].rows or self.predictions.n_rows

    def telling(self, call: MetricExpression) -> System:
        """Return the system itself, or its sample, where that tells a metric."""
        own = self.sample
        return own if own is not None and str(call) in own.evaluation.estimates else self

    def variance(self, call: MetricExpression) -> float:
        """Return the variance of a metric; nan where there is none, or few rows tell it."""
        influences = self.telling(call).influences.get(str(call))
        if influences is None or not influences.spread.enough:
            return math.nan
        return influences.spread.standard_error**2


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems that are compared.

    Attributes
    ----------
    baseline, candidate
        The systems.
    settings
        Of the comparison: permutations (`draws`), seed.
    paired
        Whether row i is the same case in both.
    tests
        How many pairs of systems, on how many slices, are tested on the same metric.
    """

    baseline: System
    candidate: System
    settings: Settings
    paired: bool = True
    tests: int = 1

    def telling(self, call: MetricExpression) -> Pair:
        """Return the pair itself, or the samples that tell a metric, which are paired if their rows are."""
        both = self.baseline.telling(call), self.candidate.telling(call)
        first, second = (one.hashes for one in both)
        same = first is second or (first is not None and second is not None and np.array_equal(first, second))
        return Pair(*both, self.settings, self.paired and same, self.tests)

    @property
    def same_classes(self) -> bool:
        """Whether both have as many classes, so that their predictions can be swapped."""
        return self.baseline.predictions.n_classes == self.candidate.predictions.n_classes

    def affordable(self, effort: float) -> int:
        """Return how many permutations are made, if computing the metric of one system costs so much."""
        sizes = [math.prod(one.predictions.scores.shape) for one in (self.baseline, self.candidate)]
        return affordable_draws(self.settings.draws, 2 * effort + sum(sizes), sum(sizes), self.tests)

    @property
    def rng(self) -> np.random.Generator:
        """Source of chance of the permutations, the same for every metric."""
        return generator(self.settings.seed, Stream.SWAPS)


def loss(call: MetricExpression, rule: ScoringRule, settings: Settings, *, each: bool = False) -> Mean:
    """Return the losses of rows by the score that a metric is about."""
    return Mean(call.score, rule.statistic(settings.clip), each=each)


def judged(
    spread: Spread | None, value: float, settings: Settings, held: Interval | None = None
) -> tuple[Interval | None, str]:
    """Return the interval of a metric, or why there is none; neither of what is undefined."""
    unit = "row" if settings.cluster is None else "cluster"
    if spread is not None:
        return spread.judged(settings.level, unit, held)
    if math.isnan(value):
        return None, ""
    return None, INFINITE if math.isinf(value) else carried_by(0, unit)


class Family(ABC):
    """Metrics that are measured, estimated and compared in one way."""

    @abstractmethod
    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return what a pass must keep for a metric.

        Parameters
        ----------
        call
            The metric.
        of
            Which rows it goes over, and how; they are not read.

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

    def influences(
        self, calls: Sequence[MetricExpression], measured: Measurements
    ) -> Mapping[str, Influences]:
        """Return what each unit brings to those metrics that have intervals, for comparisons."""
        return {}

    def of_few(self, call: MetricExpression, pair: Pair, difference: Influences) -> Evidence | None:
        """Return exact evidence on a difference that few rows carry; None where there is none."""
        return None

    def swapped(self, call: MetricExpression, pair: Pair) -> Swapped | None:
        """Return differences with predictions swapped; None where no way is quicker than computing anew."""
        return None

    def recomputed(self, call: MetricExpression) -> bool:
        """Tell whether a metric is computed anew with predictions swapped, where no way is quicker."""
        return call.fitted is None

    def effort(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> float:
        """Return what computing a metric again costs, besides looking at the scores."""
        return CALL + CLASS * predictions.n_classes
