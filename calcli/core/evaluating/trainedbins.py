"""Errors of bins whose frequencies were learned from other rows (Ferrer & Ramos 2024, section 2.5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.binning import Bins, bin_index, equal_width_edges
from calcli.core.data.predictions import require_classes
from calcli.core.estimators.calibrationerror import OneDimensional
from calcli.core.estimators.miscalibration import BinnedError
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.recalibrated import NEEDS
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, region_ends
from calcli.core.problems.lenses import Seen
from calcli.core.problems.problem import Problem
from calcli.core.problems.vectors import between
from calcli.core.state.needs import through


def trained_error(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, problem: Problem
) -> tuple[float, dict[str, float]]:
    """Return the distance of the mean score of each bin to the frequency that other rows have there.

    Parameters
    ----------
    measured
        The rows that are judged, which also tell the bins and the mean score of each.
    call, estimator
        The error; by its argument `training`, frequencies come from the other folds of a cross-validation
        or from the calibration data.
    problem
        The rows through the lens.

    Returns
    -------
    The error, nan if there are no rows or no two folds; and the share of the rows in bins that no training
    row fell into, where nothing is known and no distance is counted.

    Raises
    ------
    UsageError
        If there are no calibration data, or rows, to learn from.
    """
    assert isinstance(estimator, BinnedError)
    seen = measured.look(call.lens)
    edges = _edges(estimator, problem)
    index, size = bin_index(seen.score, edges), len(edges) - 1
    weight = np.ones(len(index)) if seen.weights is None else seen.weights.astype(np.float64)
    weight *= between(seen.score, *region_ends(call.region))
    count = np.bincount(index, weight, size)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(index, weight * seen.score, size) / count
    parts = []  # rows that are judged together, and the frequency of each bin elsewhere
    if call.arguments["training"] == "held-out":
        parts.append((np.ones(len(index), bool), _frequency(_elsewhere(measured, call), edges)))
    else:
        fold = _folds(measured, seen)
        parts += [
            (fold == number, _frequency(_rows(seen, (fold != number) & (fold >= 0)), edges))
            for number in range(fold.max(initial=0) + 1)
            if fold.max() > 0
        ]
    if not parts or not weight.any():
        return np.nan, {}
    weights = np.stack([np.bincount(index[own], weight[own], size) for own, _ in parts])
    learned = np.stack([frequency for _, frequency in parts])
    unknown = np.isnan(learned)
    target = np.where(unknown, mean, learned)
    counted = weights > 0
    score, outcome = (np.where(counted, weights * one, 0).ravel() for one in (mean, target))
    flat: Doubles = weights.ravel().astype(np.float64)
    value = float(estimator.of_sums(Bins(flat.astype(np.int64), flat, score, outcome)))
    return value, {"untrained": float(weights[unknown].sum() / flat.sum())}


def _edges(estimator: BinnedError, problem: Problem) -> Doubles:
    """Return the edges of the bins; between the rows where the rows say where they are."""
    if estimator.binning == "equal-width":
        return equal_width_edges(estimator.bins)
    if isinstance(estimator.binning, tuple):
        return np.array(estimator.binning)
    cuts, score = problem.cuts(estimator.binning, estimator.bins)[1:-1], problem.score.astype(np.float64)
    below, above = score[cuts - 1], score[cuts]
    halfway = below + (above - below) / 2
    return np.concatenate([[0], np.where(halfway > below, halfway, above), [1]])


def _frequency(seen: Seen, edges: Doubles) -> Doubles:
    """Return the frequency of the outcome in each bin; nan without rows."""
    index, size = bin_index(seen.score, edges), len(edges) - 1
    weight = np.ones(len(index)) if seen.weights is None else seen.weights
    with np.errstate(invalid="ignore"):
        return np.bincount(index, weight * seen.outcome, size) / np.bincount(index, weight, size)


def _rows(seen: Seen, rows: NDArray[np.bool_]) -> Seen:
    return Seen(seen.score[rows], seen.outcome[rows], None if seen.weights is None else seen.weights[rows])


def _elsewhere(measured: Measurements, call: MetricExpression) -> Seen:
    """Return the calibration data through the lens."""
    rows = measured.companions.calibration
    if rows is None:
        raise UsageError(NEEDS.format("training=held-out", "--calibration-data"))
    require_classes(rows, measured.predictions.classes, measured.predictions.provenance.path)
    settings = measured.settings
    return Measurements.of(rows, settings, [through(call.lens, rows, settings)]).look(call.lens)


def _folds(measured: Measurements, seen: Seen) -> NDArray[np.intp]:
    """Return the fold of each row that is seen; -1 without weight."""
    found = measured.recalibrations
    fold: Array = np.full(measured.predictions.n_rows, -1)
    fold[found.kept] = found.folds
    return fold if seen.rows is None else fold[seen.rows]
