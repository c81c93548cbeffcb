"""Where the search for a linear map begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calcli.core.calibrators.fit.scale import derivatives, sample, solve_temperature
from calcli.core.calibrators.fit.training import NEVER, TrainingRows
from calcli.core.data.arrays import Doubles

ROUGH = 1e-3  # tolerance of a scale to begin with


def first_map(rows: TrainingRows, *, scales: bool) -> tuple[float, Doubles]:
    """Return a rough 1/T and intercepts, (K,): 0, or those that shift each class to its frequency.

    What has less log-loss on a part of the rows: where classes are far from their frequencies, all
    probabilities are 0 or 1, and there is no slope to follow from the first.

    Parameters
    ----------
    rows
        What is fitted to.
    scales
        Whether scores can be multiplied; else 1/T is 1.
    """
    part = sample(rows)
    away = _away(part)
    found = []
    for shift in (np.zeros_like(away), away):
        shifted = replace(part, scores=part.scores - shift.astype(part.scores.dtype))
        alpha = solve_temperature(shifted, 1.0, ROUGH)[0] if scales else 1.0
        found.append((float(derivatives(shifted, alpha).sums[0, 0]), alpha, -alpha * shift))
    return min(found, key=lambda one: one[0])[1:]


def _away(rows: TrainingRows) -> Doubles:
    """Return by how much the mean score of each class is above the logarithm of its frequency, (K,)."""
    known = rows.scores > NEVER
    weights = np.where(known, rows.weights[:, None], 0)
    total = weights.sum(axis=0)
    sums = np.where(known, rows.scores, 0).astype(np.float64) * weights
    means = sums.sum(axis=0) / np.where(total > 0, total, 1)
    counts = np.bincount(rows.labels, rows.weights, minlength=len(means))
    away: Doubles = means - np.log(np.maximum(counts, rows.ridge))
    return away - away.mean()
