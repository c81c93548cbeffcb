"""Several systems measured once, so that any two of them can be compared on any metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.blocks import sweep
from calcli.core.calibration.estimators import OfVectors, OneDimensional, find_estimator
from calcli.core.comparing.evidence import Evidence, Normal, Permuted, Resampled, Untested
from calcli.core.comparing.permutation import (
    ClassUnits,
    Side,
    class_wise_statistic,
    permuted_differences,
    swapped_sums,
    unit_counts,
)
from calcli.core.evaluate import assess, measure
from calcli.core.expressions import MetricCall, parse_metrics
from calcli.core.measure import Measurements, Watch, from_sums
from calcli.core.predictions import Predictions
from calcli.core.results import Evaluation, Settings

Values = NDArray[np.float64]


@dataclass(frozen=True)
class _System:
    """What is kept of one system: nothing that grows with the number of classes times rows.

    Attributes
    ----------
    draws
        (B,) resampled values of each score.
    influences
        (N,) influences of the rows on the AUROC, or None.
    sides
        Scores and outcomes of each lens.
    class_units
        Sums of the class-wise bins of each unit, by number of bins.
    """

    draws: Mapping[str, Values]
    influences: Values | None
    sides: Mapping[str, Side]
    class_units: Mapping[int, Values]


class Contest:
    """Systems to be compared.

    Parameters
    ----------
    predictions
        Of each system; paired ones have the same cases in the same order.
    settings
        Metrics, resamples, permutations (`draws`) and seed.
    paired
        Whether row i is the same case in all of them.
    watch
        Called with the number of rows measured, of one system after the other.

    Attributes
    ----------
    evaluations
        One a system, values without intervals and tests.
    calls
        The metrics.
    """

    def __init__(
        self,
        predictions: Sequence[Predictions],
        settings: Settings,
        paired: bool = True,
        watch: Watch | None = None,
    ) -> None:
        self.settings = settings
        self.calls = parse_metrics(settings.metrics, settings.defaults)
        self.evaluations: list[Evaluation] = []
        self._paired = paired
        self._systems: list[_System] = []
        rows = [system.n_rows for system in predictions]
        plain = replace(settings, resamples=0, draws=0)
        done = 0
        for number, system in enumerate(predictions):
            measured = measure(system, plain, _counting_on(watch, done))
            self.evaluations.append(assess(measured, plain))
            units = {
                bins: ClassUnits(
                    unit_counts(rows, 3 * system.n_classes * bins)[number], system.n_classes, bins
                )
                for bins in self._class_wise_bins()
            }
            if units and settings.draws:
                sweep(measured.predictions, units.values(), settings.precision)
            self._systems.append(
                _System(
                    self._resampled(measured, number),
                    self._influences(measured),
                    dict(self._sides(measured)),
                    {bins: collector.sums for bins, collector in units.items()},
                )
            )
            done += system.n_rows

    def values(self, call: MetricCall) -> list[float]:
        """Return the value of a metric for each system."""
        return [evaluation.estimates[str(call)].value for evaluation in self.evaluations]

    def evidence(self, call: MetricCall, baseline: int, candidate: int) -> Evidence:
        """Return what the data say about the difference of two systems on a metric."""
        first, second = self._systems[baseline], self._systems[candidate]
        if str(call) in first.draws:
            return Resampled(first.draws[str(call)], second.draws[str(call)], self._paired)
        if call.metric.family == "ranking" and first.influences is not None and second.influences is not None:
            return self._normal(call, baseline, candidate, first.influences, second.influences)
        draws = self._permuted(call, first, second) if self.settings.draws else None
        if draws is None:
            return Untested()
        values = self.values(call)
        return Permuted(values[candidate] - values[baseline], values[baseline], draws, self._paired)

    def variance(self, call: MetricCall, system: int) -> float:
        """Return the variance of a score or AUROC of one system; nan where there is none."""
        found = self._systems[system]
        if str(call) in found.draws:
            draws = found.draws[str(call)]
            return float(draws.var(ddof=1)) if np.isfinite(draws).all() else math.nan
        if call.metric.family == "ranking" and found.influences is not None:
            return float(found.influences @ found.influences)
        return math.nan

    def _class_wise_bins(self) -> set[int]:
        errors = [call for call in self.calls if call.metric.family == "error"]
        estimators = [self._estimator(call) for call in errors if call.is_class_wise]
        return {estimator.bins for estimator in estimators if from_sums(estimator)}

    def _estimator(self, call: MetricCall) -> OneDimensional | OfVectors:
        return find_estimator(call, self.settings.edges)

    def _resampled(self, measured: Measurements, number: int) -> dict[str, Values]:
        """Resample the scores; the same seed draws the same rows of paired systems."""
        if not measured.scores or not self.settings.resamples or measured.predictions.n_rows < 2:
            return {}
        sums = measured.score_sums()
        seed = [self.settings.seed, 1] if self._paired else [self.settings.seed, 1, number]
        means = sums.resampled(self.settings.resamples, np.random.default_rng(seed))
        return {name: score.value(means) for name, score in measured.scores.items()}

    def _influences(self, measured: Measurements) -> Values | None:
        ranked = any(call.metric.family == "ranking" for call in self.calls)
        return measured.roc_influences()[1] if ranked else None

    def _sides(self, measured: Measurements) -> Iterator[tuple[str, Side]]:
        for name in {call.lens for call in self.calls}:
            if measured.is_scalar(name):
                yield name, Side(*measured.columns(name), measured.predictions.weights)

    def _normal(
        self, call: MetricCall, baseline: int, candidate: int, first: Values, second: Values
    ) -> Normal:
        values = self.values(call)
        return Normal(
            values[baseline],
            values[candidate],
            (float(first @ first), float(second @ second)),
            float(first @ second) if self._paired else 0.0,
            f"{'paired' if self._paired else 'unpaired'}-delong",
        )

    def _permuted(self, call: MetricCall, first: _System, second: _System) -> Values | None:
        """Swap predictions; None for errors of vectors or of a region, for which that is not done."""
        if call.metric.family != "error" or call.region != "all":
            return None
        estimator = self._estimator(call)
        rng = np.random.default_rng([self.settings.seed, 3])
        draws = self.settings.draws
        if isinstance(estimator, OfVectors):
            return None
        if call.lens in first.sides:
            sides = first.sides[call.lens], second.sides[call.lens]
            return permuted_differences(*sides, estimator, draws, rng, self._paired)
        if from_sums(estimator):
            units = first.class_units[estimator.bins], second.class_units[estimator.bins]
            if units[0].shape[1:] == units[1].shape[1:]:
                statistic = class_wise_statistic(estimator, call.over_classes)
                return swapped_sums(*units, statistic, draws, rng, self._paired)
        return None


def _counting_on(watch: Watch | None, done: int) -> Watch | None:
    return None if watch is None else lambda rows: watch(done + rows)
