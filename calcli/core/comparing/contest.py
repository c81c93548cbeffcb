"""Several systems measured once, so that any two of them can be compared on any metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.data.arrays import Positions
from calcli.core.data.chance import Stream, generator
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.slices import counted, gathered
from calcli.core.data.units import Units, deal
from calcli.core.estimators.evidence import Evidence
from calcli.core.estimators.influences import Influences
from calcli.core.estimators.permutation import FEWEST_DRAWS, VISITS, Swapped, swapped_rows
from calcli.core.evaluating.evaluate import assess, measure, values
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Entrant, Match, System, available
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.usual import is_sampled
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch


class Contest:
    """Systems to be compared.

    Parameters
    ----------
    predictions
        Of each system; paired ones have the same cases in the same order.
    settings
        Metrics, permutations (`draws`), seed, and the column of dependent rows (`cluster`): of
        paired systems, that of the baseline.
    paired
        Whether row i is the same case in all of them.
    watch
        Called with the number of rows measured, of one system after the other.
    judged
        Number of a system that gets intervals and tests of its own.
    slices
        On how many of them systems are compared, each in a contest.
    ranked_by
        The metric on which the best is compared with all others as well.

    Attributes
    ----------
    evaluations
        One a system; values without intervals and tests, but for the one that is judged.
    calls
        The metrics.
    """

    def __init__(
        self,
        predictions: Sequence[Predictions],
        settings: Settings,
        paired: bool = True,
        watch: Watch | None = None,
        judged: int | None = None,
        slices: int = 1,
        ranked_by: MetricExpression | None = None,
    ) -> None:
        self.settings = settings
        self.calls = parse_metrics(settings.metrics, settings.defaults)
        self.evaluations: list[Evaluation] = []
        self._paired = paired
        self._systems: list[System] = []
        self._samples: dict[int, Measurements] = {}
        self._judged = judged
        self._slices, self._ranked_by = slices, str(ranked_by)
        predictions = [counted(one) for one in self._with_clusters(predictions)]
        units = [
            Units.of(one.n_rows, one.column_if(settings.cluster)) for one in predictions if settings.draws
        ]
        done, sampled = 0, any(is_sampled(one, settings) for one in predictions)
        for number, system in enumerate(predictions):
            own, counting = (
                settings if number == judged else replace(settings, draws=0),
                _counting_on(watch, done),
            )
            units_for = partial(_dealt, units, number) if settings.draws else None
            measured = measure(system, own, counting, units_for=units_for, sampled=sampled)
            asked = own if number == judged else replace(own, intervals=False)
            evaluation = assess(measured, asked, test_classes=False)
            self.evaluations.append(evaluation)
            if measured.sample is not None:
                self._samples[number] = measured
            self._systems.append(self._kept(Entrant(measured, settings, paired), evaluation))
            done += system.n_rows

    def values(self, call: MetricExpression) -> list[float]:
        """Return the value of a metric for each system."""
        return [system.values[str(call)] for system in self._systems]

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows each system has."""
        return tuple(evaluation.predictions.n_rows for evaluation in self.evaluations)

    def influences(self, system: int) -> Mapping[str, Influences]:
        """Return what each unit brings to the scores of a system, by metric expression."""
        return self._systems[system].influences

    def evidence(self, call: MetricExpression, baseline: int, candidate: int) -> Evidence:
        """Return what the data say about the difference of two systems on a metric."""
        if self._is_sampled(call):
            return self._of_samples.evidence(call, baseline, candidate)
        first, second = self._systems[baseline], self._systems[candidate]
        recompute = partial(self._recomputed, baseline, candidate)
        rivals = len(self._systems) - 1
        tests = self._slices * (2 * rivals - 1 if str(call) == self._ranked_by else rivals)
        match = Match(first, second, self.settings, self._paired, tests, recompute)
        return FAMILIES[call.entry.family].evidence(call, match)

    def variance(self, call: MetricExpression, system: int) -> float:
        """Return the variance of a score or AUROC of one system; nan where there is none."""
        if self._is_sampled(call):
            return self._of_samples.variance(call, system)
        return FAMILIES[call.entry.family].variance(call, self._systems[system])

    def sampled_rows(self, call: MetricExpression) -> tuple[int, ...]:
        """Return how many rows of each system a metric comes from; none if it comes from all."""
        every = [one.estimates[str(call)].rows for one in self.evaluations if str(call) in one.estimates]
        sizes = zip(every, self.evaluations, strict=False)
        return tuple(rows or one.predictions.n_rows for rows, one in sizes) if any(every) else ()

    @property
    def apart(self) -> bool:
        """Whether samples of paired systems are of different rows, and their metrics compared unpaired."""
        return self._paired and any(map(self._is_sampled, self.calls)) and not self._of_samples._paired

    def _is_sampled(self, call: MetricExpression) -> bool:
        """Tell whether a metric is told by samples of the rows."""
        return any(str(call) in measured.deferred for measured in self._samples.values())

    @cached_property
    def _of_samples(self) -> Contest:
        """The contest of these samples, on the metrics that only they tell."""
        samples = [measured.sample for measured in self._samples.values()]
        hashes = [one.rows.hashes for one in samples if one is not None]
        same = all(np.array_equal(hashes[0], others) for others in hashes[1:])
        rows = [
            measured.sample.of(measured.predictions)
            for measured in self._samples.values()
            if measured.sample is not None
        ]
        names = tuple(call.asked for call in self.calls if self._is_sampled(call))
        settings = replace(self.settings, metrics=names, precision="auto")
        return Contest(rows, settings, self._paired and same, judged=self._judged)

    def _with_clusters(self, systems: Sequence[Predictions]) -> Sequence[Predictions]:
        """Give all paired systems the baseline's column of clusters: their rows are the same cases."""
        name = self.settings.cluster
        if name is None or not self._paired:
            return systems
        column = systems[0].column(name)
        return [replace(system, columns={**system.columns, name: column}) for system in systems]

    def _kept(self, entrant: Entrant, evaluation: Evaluation) -> System:
        """Return what families keep of a system."""
        influences: dict[str, Influences] = {}
        kept: dict[str, Any] = {}
        told = [call for call in self.calls if str(call) not in entrant.measured.deferred]
        for family, calls in by_family(told):
            if self.settings.intervals:
                influences |= available(family.influences, calls, entrant)
            kept |= available(family.kept, calls, entrant)
        values = {name: estimate.value for name, estimate in evaluation.estimates.items()}
        return System(evaluation.predictions, entrant.measured.units, values, influences, kept)

    @cached_property
    def _held(self) -> list[Predictions]:
        return in_memory([system.predictions for system in self._systems])

    def _recomputed(
        self, baseline: int, candidate: int, call: MetricExpression, draws: int
    ) -> Swapped | None:
        systems = self._held[baseline], self._held[candidate]
        units = self._systems[baseline].units, self._systems[candidate].units
        rng = generator(self.settings.seed, Stream.SWAPS)
        return recomputed_differences(systems, units, call, self.settings, draws, rng, self._paired)


def _dealt(units: Sequence[Units], number: int, sums: int) -> Units:
    return deal(units, sums)[number]


def _counting_on(watch: Watch | None, done: int) -> Watch | None:
    return None if watch is None else lambda rows: watch(done + rows)


def in_memory(systems: Sequence[Predictions]) -> list[Predictions]:
    """Read the scores of all systems as one kind, so that rows of one can stand among another's."""
    if all(system.kind == "probs" for system in systems):
        return [replace(system, scores=gathered(system.scores)) for system in systems]
    return [replace(system, scores=ArrayScores(rows_of(system).scores, "logits")) for system in systems]


def recomputed_differences(
    systems: tuple[Predictions, Predictions],
    units: tuple[Units, Units],
    call: MetricExpression,
    settings: Settings,
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> Swapped:
    """Return differences of a metric with predictions swapped at random.

    Parameters
    ----------
    systems
        Baseline and candidate, with the same classes; if paired, of the same rows.
    units
        Rows of each that change sides together.
    call
        Any metric.
    settings
        What it needs.
    draws
        How many permutations; there are fewer of very many rows.
    rng
        Source of randomness.
    paired
        Whether predictions are swapped within a row only.

    Returns
    -------
    The differences; permutations in which the metric is undefined do not count.
    """
    pooled = _joined(systems)
    table, weights = np.concatenate([gathered(system.scores).array for system in systems]), pooled.weights
    plain = replace(
        settings,
        metrics=(call.asked,),
        intervals=False,
        draws=0,
        test=False,
        cluster=None,
        priors=None,
    )

    def value(rows: Positions) -> float:
        own = None if weights is None else weights[rows]
        part = replace(
            pooled,
            scores=ArrayScores(table[rows], pooled.kind),
            labels=pooled.labels[rows],
            weights=own,
        )
        return values(part, plain)[str(call)]

    draws = min(draws, max(FEWEST_DRAWS, VISITS // table.size))
    return swapped_rows(value, units, draws, rng, paired)


def _joined(systems: Sequence[Predictions]) -> Predictions:
    """Return labels and weights of all systems, with the scores of the first."""
    weights = None
    if any(system.weights is not None for system in systems):
        own = [np.ones(system.n_rows) if system.weights is None else system.weights for system in systems]
        weights = np.concatenate(own)
    labels = np.concatenate([system.labels for system in systems])
    return replace(systems[0], labels=labels, weights=weights, columns={})
