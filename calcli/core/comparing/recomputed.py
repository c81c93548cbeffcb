"""Permutation test of the difference of two systems in any metric: it is computed again after every swap.

For metrics that are not sums over fixed cells. Nothing is assumed of the metric; it costs its own time twice
for every permutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import ArrayScores, Kind, Predictions
from calcli.core.data.units import Units
from calcli.core.estimators.permutation import Swapped, memberships
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings

VISITS = 100_000_000  # scores that all permutations together may look at, before there are fewer of them
FEWEST_DRAWS = 199


@dataclass(frozen=True)
class Held:
    """A system's predictions in memory.

    Attributes
    ----------
    predictions
        As they were measured.
    table
        (n, K) their scores, of the same kind for all systems.
    units
        Rows that change sides together.
    """

    predictions: Predictions
    table: Floats
    units: Units


def in_memory(systems: Sequence[Predictions], units: Sequence[Units]) -> list[Held]:
    """Read the scores of all systems as one kind, so that rows of one can stand among another's."""
    probs = all(system.kind == "probs" for system in systems)
    if probs:
        tables = [np.concatenate(list(_copies(system))) for system in systems]
    else:
        tables = [rows_of(system).scores for system in systems]
    kind: Kind = "probs" if probs else "logits"
    held = [replace(one, scores=ArrayScores(table, kind)) for one, table in zip(systems, tables, strict=True)]
    return [Held(*found) for found in zip(held, tables, units, strict=True)]


def _copies(system: Predictions) -> list[Floats]:
    return [block.copy() for block in system.scores.blocks(max(1, system.n_rows))]


def recomputed_differences(
    baseline: Held,
    candidate: Held,
    call: MetricExpression,
    settings: Settings,
    rng: np.random.Generator,
    paired: bool = True,
) -> Swapped:
    """Return differences of a metric with predictions swapped at random.

    Parameters
    ----------
    baseline, candidate
        With the same classes; if paired, of the same rows.
    call
        Any metric.
    settings
        What it needs, and how many permutations (`draws`); there are fewer where they cost too much.
    rng
        Source of randomness.
    paired
        Whether predictions are swapped within a row only.

    Returns
    -------
    The differences; permutations in which the metric is undefined do not count.
    """
    plain = replace(
        settings, metrics=(call.asked,), resamples=0, draws=0, test=False, cluster=None, priors=None
    )
    pooled = _joined(baseline, candidate)
    table, weights = np.concatenate([baseline.table, candidate.table]), pooled.weights
    unit = np.concatenate([baseline.units.of_row, baseline.units.number + candidate.units.of_row])
    numbers = baseline.units.number, candidate.units.number
    # in the order of the cases, whichever system they come from
    order = np.argsort(
        np.concatenate([np.arange(len(one.table)) for one in (baseline, candidate)]), kind="stable"
    )

    def value(chosen: NDArray[np.bool_]) -> float:
        rows = order[chosen[order]]
        own = None if weights is None else weights[rows]
        part = replace(
            pooled, scores=ArrayScores(table[rows], pooled.kind), labels=pooled.labels[rows], weights=own
        )
        return evaluate(part, plain).estimates[str(call)].value

    def difference(sides: NDArray[np.float64]) -> float:
        first = sides[unit] > 0
        return value(~first) - value(first)

    draws = min(settings.draws, max(FEWEST_DRAWS, VISITS // table.size))
    found = np.array([difference(memberships(1, *numbers, rng, paired)[0]) for _ in range(draws)])
    return Swapped(difference(np.repeat([1.0, 0.0], numbers)), found[~np.isnan(found)])


def _joined(baseline: Held, candidate: Held) -> Predictions:
    """Return labels and weights of both, with the scores of neither."""
    systems = [baseline.predictions, candidate.predictions]
    weights = None
    if any(system.weights is not None for system in systems):
        own = [np.ones(system.n_rows) if system.weights is None else system.weights for system in systems]
        weights = np.concatenate(own)
    labels = np.concatenate([system.labels for system in systems])
    return replace(systems[0], labels=labels, weights=weights, columns={})
