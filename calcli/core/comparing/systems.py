"""Systems measured once, and the evidence on the difference of any two of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.data.arrays import Positions
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.slices import counted, gathered
from calcli.core.data.units import Units, deal
from calcli.core.estimators.evidence import Evidence, Nearness, Permuted, Studentized, Untested, sum_of_errors
from calcli.core.estimators.influences import Influences
from calcli.core.estimators.permutation import FEWEST_DRAWS, VISITS, Swapped, swapped_rows, swapped_signs
from calcli.core.evaluating.evaluate import assess, measure, values
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Pair, System
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.usual import is_sampled
from calcli.core.language.errors import NeedsRows
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch


def measured_systems(
    predictions: Sequence[Predictions],
    settings: Settings,
    paired: bool = True,
    watch: Watch | None = None,
    judged: int | None = None,
) -> list[System]:
    """Measure systems, so that any two of them can be compared on any metric.

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
        Number of a system that gets intervals and tests of its own; the others have values alone.
    """
    calls = parse_metrics(settings.metrics, settings.defaults)
    predictions = [counted(one) for one in _with_clusters(predictions, settings.cluster if paired else None)]
    units = [Units.of(one.n_rows, one.column_if(settings.cluster)) for one in predictions if settings.draws]
    sampled = any(is_sampled(one, settings) for one in predictions)
    systems, done = list[System](), 0
    for number, rows in enumerate(predictions):
        own = settings if number == judged else replace(settings, draws=0)
        units_for = partial(_dealt, units, number) if settings.draws else None
        measured = measure(rows, own, _counting_on(watch, done), units_for=units_for, sampled=sampled)
        asked = own if number == judged else replace(own, intervals=False)
        evaluation = assess(measured, asked, test_classes=False)
        brought = influences(measured, calls) if settings.intervals else {}
        systems.append(System(measured, evaluation, brought))
        done += rows.n_rows
    return _with_samples(systems, settings, calls)


def evidence(call: MetricExpression, pair: Pair) -> Evidence:
    """Return what the data say about the difference of two systems on a metric.

    It rests on the influences of units if enough rows carry the difference, else on swapped predictions.
    Swaps do not tell which of two values is nearer to the best one, where that lies between others.
    """
    pair, family, target = pair.telling(call), FAMILIES[call.entry.family], call.entry.target
    first, second = (one.influences.get(str(call)) for one in (pair.baseline, pair.candidate))
    if first is not None and second is not None:
        studentized = Studentized(first, second, pair.paired)
        found: Evidence = studentized
        if not (brought := studentized.difference).spread.enough:
            found = family.of_few(call, pair, brought) or _of_signs(call, pair, brought)
        if target is None:
            return found
        return Nearness(found, sum_of_errors(first, second, target, pair.paired))
    baseline = pair.baseline.value(call)
    difference = pair.candidate.value(call) - baseline
    if target is None and pair.settings.draws and math.isfinite(difference):
        with suppress(NeedsRows):
            if swapped := family.swapped(call, pair) or _recomputed(call, pair):
                return Permuted(difference, baseline, swapped, pair.paired)
    return Untested()


def _of_signs(call: MetricExpression, pair: Pair, difference: Influences) -> Evidence:
    """Return the evidence on a difference that few rows carry: what each brings changes its sign."""
    unit = "row" if pair.settings.cluster is None else "cluster"
    reason = difference.spread.too_few(unit)
    if not (pair.paired and pair.settings.draws):
        return Untested(no_interval=reason)
    swapped = swapped_signs(difference, pair.settings.draws, pair.rng)
    return Permuted(difference.value, pair.baseline.value(call), swapped, True, reason)


def influences(measured: Measurements, calls: Sequence[MetricExpression]) -> Mapping[str, Influences]:
    """Return what each unit brings to the metrics that have intervals, without those whose rows are gone."""
    found: dict[str, Influences] = {}
    for family, own in by_family([call for call in calls if str(call) not in measured.left]):
        found |= family.influences(own, measured)
    return found


def _with_samples(
    systems: Sequence[System], settings: Settings, calls: Sequence[MetricExpression]
) -> list[System]:
    """Return systems with samples of their rows, where these tell some of the metrics."""
    asked = tuple(c.asked for c in calls if any(str(c) in one.measured.left for one in systems))
    samples = [one.measured.sample if asked else None for one in systems]
    rows = [own.of(one.predictions) for one, own in zip(systems, samples, strict=True) if own is not None]
    if not rows:
        return [*systems]
    told = iter(measured_systems(rows, replace(settings, metrics=asked, precision="auto")))
    return [
        one if own is None else replace(one, sample=replace(next(told), hashes=own.rows.hashes))
        for one, own in zip(systems, samples, strict=True)
    ]


def _with_clusters(systems: Sequence[Predictions], name: str | None) -> Sequence[Predictions]:
    """Give all systems the baseline's column of clusters: their rows are the same cases."""
    if name is None:
        return systems
    column = systems[0].column(name)
    return [replace(system, columns={**system.columns, name: column}) for system in systems]


def _dealt(units: Sequence[Units], number: int, sums: int) -> Units:
    return deal(units, sums)[number]


def _counting_on(watch: Watch | None, done: int) -> Watch | None:
    return None if watch is None else lambda rows: watch(done + rows)


def _recomputed(call: MetricExpression, pair: Pair) -> Swapped | None:
    """Return differences of a metric computed anew with predictions swapped; None if that is too slow.

    Permutations in which it is undefined do not count, and of very many rows there are fewer of them.
    """
    family, both = FAMILIES[call.entry.family], (pair.baseline, pair.candidate)
    effort = family.effort(call, pair.baseline.predictions, pair.settings)
    if not (family.recomputed(call) and pair.same_classes and (draws := pair.affordable(effort))):
        return None
    given = all(one.predictions.kind == "probs" for one in both)
    first, second = (_in_memory(one, as_given=given) for one in both)
    table = np.concatenate([gathered(one.scores).array for one in (first, second)])
    labels, weights = np.concatenate([first.labels, second.labels]), None
    if not (first.weights is None and second.weights is None):
        each = [np.ones(one.n_rows) if one.weights is None else one.weights for one in (first, second)]
        weights = np.concatenate(each)
    plain = replace(
        pair.baseline.measured.settings,
        metrics=(call.asked,),
        intervals=False,
        draws=0,
        test=False,
        cluster=None,
        priors=None,
    )

    def value(rows: Positions) -> float:
        part = replace(
            first,
            scores=ArrayScores(table[rows], first.kind),
            labels=labels[rows],
            weights=None if weights is None else weights[rows],
            columns={},
        )
        return values(part, plain)[str(call)]

    draws = min(draws, max(FEWEST_DRAWS, VISITS // table.size))
    return swapped_rows(value, [one.measured.units for one in both], draws, pair.rng, pair.paired)


def _in_memory(system: System, *, as_given: bool) -> Predictions:
    """Return the rows with their scores in memory: as they are, or as logits, to stand among others."""

    def made() -> Predictions:
        rows = system.predictions
        scores = gathered(rows.scores) if as_given else ArrayScores(rows_of(rows).scores, "logits")
        return replace(rows, scores=scores)

    return system.measured.once(("in memory", as_given), made)
