"""Permutation test of the difference of two systems in any metric: it is computed again after every swap.

For metrics that are not sums over fixed cells. Nothing is assumed of the metric; it costs its own time twice
for every permutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calcli.core.calibrators.crossvalidation import rows_of
from calcli.core.data.arrays import Positions
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.slices import gathered
from calcli.core.data.units import Units
from calcli.core.estimators.permutation import FEWEST_DRAWS, VISITS, Swapped, swapped_rows
from calcli.core.evaluating.evaluate import values
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings


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
