"""Several systems measured once, so that any two of them can be compared on any metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calcli.core.comparing.recalibrated import resampled_losses
from calcli.core.comparing.recomputed import Held, in_memory, recomputed_differences
from calcli.core.data.arrays import Doubles
from calcli.core.data.blocks import sweep
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import Units, deal
from calcli.core.estimators.errors import KernelError, OfVectors, OneDimensional, find_estimator
from calcli.core.estimators.evidence import Evidence, Normal, Permuted, Resampled, Untested
from calcli.core.estimators.kernelswaps import swapped_kernel_error
from calcli.core.estimators.permutation import (
    Side,
    Statistic,
    Swapped,
    binned_losses_statistic,
    class_wise_statistic,
    permuted_differences,
    swapped_sums,
)
from calcli.core.evaluating.evaluate import assess, measure
from calcli.core.evaluating.measure import Measurements, Watch, from_sums
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.problems.vectors import VectorProblem
from calcli.core.state.classunits import ClassUnits


@dataclass(frozen=True)
class _System:
    """What is kept of one system.

    Attributes
    ----------
    predictions
        As they were measured.
    units
        Rows that are resampled and change sides together.
    draws
        (B,) resampled values of each score.
    influences
        (units,) influences on the AUROC, or None.
    sides
        Scores and outcomes of each lens.
    class_units
        Sums of the class-wise bins of each unit, by number of bins.
    vectors
        Whole problems of the lenses of kernel errors, which need all pairs of rows.
    """

    predictions: Predictions
    units: Units
    draws: Mapping[str, Doubles]
    influences: Doubles | None
    sides: Mapping[str, Side]
    class_units: Mapping[int, Doubles]
    vectors: Mapping[str, VectorProblem]


class Contest:
    """Systems to be compared.

    Parameters
    ----------
    predictions
        Of each system; paired ones have the same cases in the same order.
    settings
        Metrics, resamples, permutations (`draws`), seed, and the column of dependent rows (`cluster`): of
        paired systems, that of the baseline.
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
        plain = replace(settings, resamples=0, draws=0)
        predictions = self._with_clusters(predictions)
        units = [Units.of(system.n_rows, self.settings.clusters(system)) for system in predictions]
        done = 0
        for number, system in enumerate(predictions):
            measured = measure(system, plain, _counting_on(watch, done))
            self.evaluations.append(assess(measured, plain))
            self._systems.append(
                _System(
                    measured.predictions,
                    units[number],
                    self._resampled(measured, number),
                    self._influences(measured, units[number]),
                    dict(self._sides(measured, units[number])),
                    self._class_units(measured, units, number),
                    dict(self._vectors(measured)),
                )
            )
            done += system.n_rows

    def values(self, call: MetricExpression) -> list[float]:
        """Return the value of a metric for each system."""
        return [evaluation.estimates[str(call)].value for evaluation in self.evaluations]

    def draws(self, system: int) -> Mapping[str, Doubles]:
        """Return (B,) resampled values of each score of a system, by metric expression."""
        return self._systems[system].draws

    def evidence(self, call: MetricExpression, baseline: int, candidate: int) -> Evidence:
        """Return what the data say about the difference of two systems on a metric."""
        first, second = self._systems[baseline], self._systems[candidate]
        if str(call) in first.draws:
            return Resampled(first.draws[str(call)], second.draws[str(call)], self._paired)
        if call.entry.family == "ranking" and first.influences is not None and second.influences is not None:
            return self._normal(call, baseline, candidate, first.influences, second.influences)
        values = self.values(call)
        swapped = None
        if (
            self.settings.draws
            and call.entry.family not in ("score", "ranking")
            and np.isfinite(values).all()
        ):
            swapped = self._swapped(call, baseline, candidate)
        if swapped is None:
            return Untested()
        return Permuted(values[candidate] - values[baseline], values[baseline], swapped, self._paired)

    def variance(self, call: MetricExpression, system: int) -> float:
        """Return the variance of a score or AUROC of one system; nan where there is none."""
        found = self._systems[system]
        if str(call) in found.draws:
            draws = found.draws[str(call)]
            return float(draws.var(ddof=1)) if np.isfinite(draws).all() else math.nan
        if call.entry.family == "ranking" and found.influences is not None:
            return float(found.influences @ found.influences)
        return math.nan

    def _with_clusters(self, systems: Sequence[Predictions]) -> Sequence[Predictions]:
        """Give all paired systems the baseline's column of clusters: their rows are the same cases."""
        name = self.settings.cluster
        if name is None or not self._paired:
            return systems
        column = systems[0].column(name)
        return [replace(system, columns={**system.columns, name: column}) for system in systems]

    def _estimator(self, call: MetricExpression) -> OneDimensional | OfVectors:
        return find_estimator(call, self.settings.edges)

    def _bins(self, call: MetricExpression) -> int:
        """Return how many equal-width bins of each class a metric is made of; 0 if it is not."""
        if call.entry.family == "decomposition":
            return int(call.arguments.get("bins", 0))
        if call.entry.family != "error" or not call.is_class_wise:
            return 0
        estimator = self._estimator(call)
        return estimator.bins if from_sums(estimator) else 0

    def _resampled(self, measured: Measurements, number: int) -> dict[str, Doubles]:
        """Resample the scores; the same seed draws the same rows of paired systems."""
        if not self.settings.resamples or measured.predictions.n_rows < 2:
            return {}
        seed = [self.settings.seed, 1] if self._paired else [self.settings.seed, 1, number]
        clusters = self.settings.clusters(measured.predictions)
        found = resampled_losses(measured, self.calls, self.settings, seed, clusters)
        if measured.scores:
            sums = measured.score_sums(clusters)
            means = sums.resampled(self.settings.resamples, np.random.default_rng(seed))
            found |= {name: score.value(means) for name, score in measured.scores.items()}
        return found

    def _influences(self, measured: Measurements, units: Units) -> Doubles | None:
        if not any(call.entry.family == "ranking" for call in self.calls):
            return None
        of_rows = measured.roc_influences()[1]
        return np.bincount(units.of_row, of_rows, units.number).astype(np.float64, copy=False)

    def _sides(self, measured: Measurements, units: Units) -> Iterator[tuple[str, Side]]:
        for name in {call.lens for call in self.calls}:
            if measured.is_scalar(name):
                yield name, Side(*measured.columns(name), units, measured.predictions.weights)

    def _class_units(self, measured: Measurements, units: Sequence[Units], number: int) -> dict[int, Doubles]:
        """Sum the bins of every class by unit, for each number of bins that is asked for."""
        if not self.settings.draws:
            return {}
        classes = measured.predictions.n_classes
        collectors = {
            bins: ClassUnits(deal(units, 3 * classes * bins)[number], classes, bins)
            for bins in {self._bins(call) for call in self.calls} - {0}
        }
        if collectors:
            sweep(measured.predictions, collectors.values(), self.settings.precision)
        return {bins: collector.sums for bins, collector in collectors.items()}

    def _vectors(self, measured: Measurements) -> Iterator[tuple[str, VectorProblem]]:
        for call in self.calls:
            if self._paired and call.entry.name == "skce":
                yield call.lens, measured.vector_problem(call.lens)

    @cached_property
    def _held(self) -> list[Held]:
        return in_memory(
            [system.predictions for system in self._systems], [system.units for system in self._systems]
        )

    def _normal(
        self, call: MetricExpression, baseline: int, candidate: int, first: Doubles, second: Doubles
    ) -> Normal:
        values = self.values(call)
        return Normal(
            values[baseline],
            values[candidate],
            (float(first @ first), float(second @ second)),
            float(first @ second) if self._paired else 0.0,
            f"{'paired' if self._paired else 'unpaired'}-delong",
        )

    def _swapped(self, call: MetricExpression, baseline: int, candidate: int) -> Swapped | None:
        """Swap predictions, by the quickest way there is; None for systems with other classes."""
        first, second = self._systems[baseline], self._systems[candidate]
        rng, draws = np.random.default_rng([self.settings.seed, 3]), self.settings.draws
        estimator = self._estimator(call) if call.entry.family == "error" else None
        if estimator is not None and call.lens in first.sides and call.lens in second.sides:
            before, after = (system.sides[call.lens].within(call.region) for system in (first, second))
            found = permuted_differences(before, after, estimator, draws, rng, self._paired)
            if found is not None:
                return found
        if first.predictions.n_classes != second.predictions.n_classes:
            return None
        if isinstance(estimator, KernelError):
            if not self._paired or call.region != "all":
                return None  # every permutation would have to look at all pairs of rows
            problems = first.vectors[call.lens], second.vectors[call.lens]
            return swapped_kernel_error(*problems, estimator, first.units, draws, rng)
        if bins := self._bins(call):
            units = first.class_units[bins], second.class_units[bins]
            return swapped_sums(*units, self._class_statistic(call), draws, rng, self._paired)
        held = self._held[baseline], self._held[candidate]
        return recomputed_differences(*held, call, self.settings, rng, self._paired)

    def _class_statistic(self, call: MetricExpression) -> Statistic:
        if call.entry.family == "decomposition":
            return binned_losses_statistic(call)
        estimator = self._estimator(call)
        assert from_sums(estimator)
        return class_wise_statistic(estimator, call.over_classes)


def _counting_on(watch: Watch | None, done: int) -> Watch | None:
    return None if watch is None else lambda rows: watch(done + rows)
