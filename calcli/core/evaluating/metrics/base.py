"""Common parts of metrics: signatures of values, pairs of systems, losses, intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calcli.core.data.blocks import ROW_STATISTICS
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Hashes
from calcli.core.estimators.intervals import Influences, Interval, Spread, carried_by
from calcli.core.estimators.rules import ScoringRule
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.entries import written
from calcli.core.language.expressions import Measure
from calcli.core.language.settings import Settings
from calcli.core.language.version import __version__
from calcli.core.state.needs import ClassRanks, Mean, Pass, Scores


def signature(metric: Measure, measured: Measurements, settings: Settings, *repeats: str) -> str:
    """Return the signature of a metric: name, arguments, data, repetitions, seed, version.

    Parameters
    ----------
    metric, measured, settings
        The metric, the measurements, and the settings.
    repeats
        Resamples, draws and the like, as `key:value`.
    """
    rows, classes = measured.predictions.scores.shape
    arguments, outcomes = metric.used, f"k:{classes}"
    if metric.lens:
        arguments |= {"lens": measured.predictions.resolve_lens(metric.lens)}
    if measured.predictions.of_answers:
        arguments |= {"lens": "confidence"} if metric.lens else {}
        outcomes = "outcome:right"
    fields = [metric.entry.name, *(f"{key}:{written(value)}" for key, value in arguments.items())]
    sampled = [] if measured.of_rows is None else [f"rows:{rows}"]
    fields += [f"n:{measured.of_rows or rows}", *sampled, outcomes, f"dtype:{measured.dtype}"]
    needs = metric.needs(Pass(measured.predictions, measured.settings, True)) if measured.of_cells else ()
    if not metric.is_class_wise and any(isinstance(need, Scores | ClassRanks) for need in needs):
        fields.append("cells")
    if measured.state.head.weighted:
        fields.append("weighted")
    if settings.cluster is not None:
        fields.append(f"cluster:{settings.cluster}")
    if settings.clip and metric.is_clipped:
        fields.append(f"clip:{settings.clip:g}")
    return "|".join([*fields, *repeats, f"seed:{settings.seed}", f"version:{__version__}"])


Calls = Sequence[Measure]

HITS = Mean("hit", ROW_STATISTICS["hit"])  # which tell how many errors there are


@dataclass(frozen=True, eq=False)
class System:
    """One of the compared systems.

    Attributes
    ----------
    measured
        The measurements of its rows.
    evaluation
        The values of the metrics.
    influences
        The influences of units on the metrics that have intervals, by canonical expression.
    sample
        The same for a sample of the rows, if some metrics come from one.
    hashes
        Hashes of the rows, if they are a sample.
    is_mean
        Whether the values are means over several labels, and not the values of the measured rows.
    """

    measured: Measurements
    evaluation: Evaluation
    influences: Mapping[str, Influences]
    sample: System | None = None
    hashes: Hashes | None = None
    is_mean: bool = False

    @property
    def predictions(self) -> Predictions:
        """The rows that were measured."""
        return self.measured.predictions

    def value(self, metric: Measure) -> float:
        """Return the value of a metric."""
        return self.evaluation.estimates[str(metric)].value

    def rows(self, metric: Measure) -> int:
        """Return the number of rows behind a metric."""
        return self.evaluation.estimates[str(metric)].rows or self.predictions.n_rows

    def telling(self, metric: Measure) -> System:
        """Return the system itself, or its sample if the metric comes from the sample."""
        sample = self.sample
        return sample if sample is not None and str(metric) in sample.evaluation.estimates else self

    def variance(self, metric: Measure) -> float:
        """Return the variance of a metric; nan if there is none, or too few rows."""
        influences = self.telling(metric).influences.get(str(metric))
        if influences is None or not influences.spread.enough:
            return math.nan
        return influences.spread.standard_error**2


@dataclass(frozen=True, eq=False)
class Pair:
    """Two compared systems.

    Attributes
    ----------
    baseline, candidate
        The systems.
    settings
        Of the comparison.
    paired
        Whether row i is the same case in both.
    """

    baseline: System
    candidate: System
    settings: Settings
    paired: bool = True

    def telling(self, metric: Measure) -> Pair:
        """Return the pair itself, or the samples behind a metric, which are paired if their rows are."""
        sides = self.baseline.telling(metric), self.candidate.telling(metric)
        hashes, second = (side.hashes for side in sides)
        same = hashes is second or (
            hashes is not None and second is not None and np.array_equal(hashes, second)
        )
        return Pair(*sides, self.settings, self.paired and same)


def loss(score: str, rule: ScoringRule, settings: Settings) -> Mean:
    """Return the losses of each row under the score that a metric is about."""
    return Mean(score, rule.statistic(settings.clip), each=True)


def judged(
    spread: Spread | None, value: float, settings: Settings, bounded: Interval | None = None
) -> tuple[Interval | None, str]:
    """Return the interval of a metric, or why there is none; neither for an undefined value."""
    unit = "row" if settings.cluster is None else "cluster"
    if spread is not None:
        return spread.judged(settings.level, unit, bounded)
    if math.isnan(value):
        return None, ""
    return None, "its value is infinite" if math.isinf(value) else carried_by(0, unit)
