"""Permutation test of the difference between two systems' calibration errors.

If it does not matter which system made a prediction, their predictions may be swapped. Paired systems are
swapped row by row, others dealt out anew among all rows (Good 2005, chapter 3). Where there are many rows,
deals of rows change sides together; the test is as exact, and no row is visited again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.blocks import Block
from calcli.core.calibration.binning import equal_width_index
from calcli.core.calibration.estimators import OneDimensional
from calcli.core.calibration.lenses import ordered_problem
from calcli.core.calibration.miscalibration import (
    BinnedError,
    KolmogorovSmirnov,
    binned_error,
    class_wise_error,
)
from calcli.core.measure import from_sums
from calcli.core.predictions import Array, Floats
from calcli.core.rows import Bins

Values = NDArray[np.float64]
Statistic = Callable[[Bins], Any]

ROW_LIMIT = 20_000  # rows of a system up to which each may change sides by itself
FEWEST_DEALS = 200
BUDGET = 6_000_000  # sums held in memory for each system
CELLS = 500  # steps of the cumulative gap, if there are more distinct scores
CHUNK = 5_000_000  # memberships held in memory at once
VISITS = 20_000_000  # rows sorted again and again by estimators that need their order
FEWEST_DRAWS = 199


@dataclass(frozen=True)
class Side:
    """One system through a one-dimensional lens: (n,) scores, outcomes and weights, row by row."""

    score: Floats
    outcome: Array
    weights: Floats | None = None


def permuted_differences(
    baseline: Side,
    candidate: Side,
    estimator: OneDimensional,
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> Values:
    """Return differences of an estimator, candidate minus baseline, with predictions swapped at random.

    Parameters
    ----------
    baseline, candidate
        If paired, of the same rows.
    estimator
        A calibration error.
    draws
        How many permutations; fewer where every one of them has to sort very many rows.
    rng
        Source of randomness.
    paired
        Whether predictions are swapped within a row only.

    Returns
    -------
    (draws,) differences. Those of the KS error follow steps of the score where there are very many.
    """
    cells = _Cells.of(estimator, baseline, candidate)
    if cells is None:
        return _sorted_again(baseline, candidate, estimator, draws, rng, paired)
    units = unit_counts([len(side.score) for side in (baseline, candidate)], 3 * cells.number)
    sums = [
        _unit_sums(side, index, cells.number, unit)
        for side, index, unit in zip((baseline, candidate), cells.indices, units, strict=True)
    ]
    return swapped_sums(sums[0], sums[1], cells.statistic, draws, rng, paired)


def unit_counts(rows: Sequence[int], sums: int) -> list[int]:
    """Return into how many units the rows of each system are dealt: every row is one if there is room.

    Units of all systems have about the same size, so that they can change sides.

    Parameters
    ----------
    rows
        Of each system.
    sums
        Kept of each unit.
    """
    most = min(ROW_LIMIT, max(FEWEST_DEALS, BUDGET // sums))
    size = -(-max(rows) // most)
    return [max(1, n // size) for n in rows]


def swapped_sums(
    baseline: Values,
    candidate: Values,
    statistic: Statistic,
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> Values:
    """Return differences of a statistic of sums, with units swapped between the systems at random.

    Parameters
    ----------
    baseline, candidate
        (units, 3, ...) sums of weight, score and outcome over the bins, of each unit.
    statistic
        Of the sums over all units, (B, ...).

    Returns
    -------
    (draws,) differences, candidate minus baseline.
    """
    pooled = np.concatenate([baseline, candidate])
    flat = pooled.reshape(len(pooled), -1)
    total = flat.sum(0)
    parts = []
    step = max(1, CHUNK // len(flat))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        sides = _memberships(size, len(baseline), len(candidate), rng, paired)
        first = sides @ flat
        values = [
            statistic(_as_bins(sums.reshape(size, *pooled.shape[1:]))) for sums in (first, total - first)
        ]
        parts.append(values[1] - values[0])
    return np.concatenate(parts)


def _memberships(draws: int, baseline: int, candidate: int, rng: np.random.Generator, paired: bool) -> Values:
    """Return (draws, units) ones for the units that play the baseline, zeros for the others."""
    if paired:
        kept = rng.integers(0, 2, size=(draws, baseline)).astype(np.float64)
        return np.concatenate([kept, 1 - kept], axis=1)
    sides = np.repeat([1.0, 0.0], [baseline, candidate])
    return rng.permuted(np.tile(sides, (draws, 1)), axis=1)


def _as_bins(sums: Values) -> Bins:
    weight, score, outcome = np.moveaxis(sums, 1, 0)
    return Bins(weight, weight, score, outcome)


@dataclass(frozen=True)
class _Cells:
    """Fixed cells of the score, of which the estimator is a function of sums."""

    number: int
    indices: tuple[NDArray[np.intp], NDArray[np.intp]]
    statistic: Statistic

    @classmethod
    def of(cls, estimator: OneDimensional, baseline: Side, candidate: Side) -> _Cells | None:
        """Return the cells; None where the estimator depends on the order of the rows."""
        scores = (baseline.score, candidate.score)
        if from_sums(estimator):
            norm = estimator.norm
            first, second = (equal_width_index(score, estimator.bins) for score in scores)
            return cls(estimator.bins, (first, second), lambda bins: binned_error(bins, norm))
        if isinstance(estimator, KolmogorovSmirnov):
            steps = np.unique(np.concatenate(scores))
            if len(steps) > CELLS:
                steps = steps[np.linspace(0, len(steps) - 1, CELLS).astype(np.intp)]
            first, second = (np.searchsorted(steps, score) for score in scores)
            return cls(len(steps), (first, second), _largest_cumulative_gap)
        return None


def _largest_cumulative_gap(bins: Bins) -> Values:
    gap = np.cumsum(bins.outcome - bins.score, axis=-1)
    return np.abs(gap).max(-1) / bins.weight.sum(-1)


def _unit_sums(side: Side, index: NDArray[np.intp], cells: int, units: int) -> Values:
    """Return (units, 3, cells) sums of weight, score and outcome."""
    n = len(side.score)
    place = np.resize(np.arange(units) * cells, n)
    place += index
    weights = np.ones(n) if side.weights is None else side.weights
    sums = [
        np.bincount(place, values, units * cells).reshape(units, cells)
        for values in (weights, weights * side.score, weights * side.outcome)
    ]
    return np.stack(sums, axis=1)


def _sorted_again(
    baseline: Side,
    candidate: Side,
    estimator: OneDimensional,
    draws: int,
    rng: np.random.Generator,
    paired: bool,
) -> Values:
    """Permute the rows themselves and compute the estimator anew each time."""
    sides = (baseline, candidate)
    score = np.concatenate([side.score for side in sides])
    outcome = np.concatenate([side.outcome for side in sides])
    weights = None
    if baseline.weights is not None and candidate.weights is not None:
        weights = np.concatenate([baseline.weights, candidate.weights])
    rows = len(baseline.score), len(candidate.score)
    differences = np.empty(min(draws, max(FEWEST_DRAWS, VISITS // sum(rows))))
    for draw in range(len(differences)):
        chosen = _memberships(1, *rows, rng, paired)[0] > 0
        first, second = (
            estimator.value(
                ordered_problem(score[part], outcome[part], None if weights is None else weights[part])
            )
            for part in (chosen, ~chosen)
        )
        differences[draw] = second - first
    return differences


class ClassUnits:
    """Collector of every class's equal-width bins by unit: (units, 3, K, bins) sums.

    Parameters
    ----------
    units, n_classes, bins
        Their numbers.
    """

    def __init__(self, units: int, n_classes: int, bins: int) -> None:
        self.sums = np.zeros((units, 3, n_classes, bins))

    def add(self, block: Block) -> None:
        """Add one block to the sums."""
        units, _, classes, bins = self.sums.shape
        probs = block.exp / block.per_row(block.total)
        probs = probs.T if block.class_axis == 0 else probs
        rows = np.arange(block.rows.start, block.rows.stop) % units
        weights = np.ones(len(rows)) if block.weights is None else block.weights
        index = equal_width_index(probs.ravel(), bins).reshape(probs.shape)
        places = (rows[:, None] * 3 * classes + np.arange(classes)) * bins + index
        flat = self.sums.reshape(-1)
        own = places[np.arange(len(rows)), block.labels]
        np.add.at(flat, places, np.broadcast_to(weights[:, None], probs.shape))
        np.add.at(flat, places + classes * bins, weights[:, None] * probs)
        np.add.at(flat, own + 2 * classes * bins, weights)


def class_wise_statistic(estimator: BinnedError, over: str) -> Statistic:
    """Return the error over the classes, norm 1, 2 or max, as a function of (..., K, bins) sums."""
    return lambda bins: class_wise_error(binned_error(bins, estimator.norm), over)
