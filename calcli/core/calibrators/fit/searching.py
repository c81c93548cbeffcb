"""Temperatures by other objectives than the log-loss: the Brier score, or a calibration error on a grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.data.arrays import Doubles
from calcli.core.data.binning import equal_width_index
from calcli.core.data.logspace import log_softmax

BINS = 15
FACTOR = 4.0  # the grid reaches from the log-loss optimum over this to it times this
POINTS = 401
GOLDEN = (np.sqrt(5) - 1) / 2
NARROW = 1e-9  # in the logarithm of the temperature
CALIBRATION_ERRORS = ("ece", "ece_l2", "cw_ece", "cw_ece_l2")


def best_scale(rows: TrainingRows, alpha: float, score: str) -> tuple[float, list[str]]:
    """Return 1 / T that minimizes a score near the log-loss optimum `alpha`, and what there is to say."""
    objective = OBJECTIVES[score]
    grid = alpha * np.geomspace(1 / FACTOR, FACTOR, POINTS)
    values = [objective(_probs(rows, scale), rows) for scale in grid]
    place = int(np.argmin(values))
    found = float(grid[place])
    ends = f"{1 / grid[-1]:.4g} to {1 / grid[0]:.4g}"
    notes = []
    if score in CALIBRATION_ERRORS:
        notes.append(
            f"the temperature is that of the least {score} ({BINS} bins) of {POINTS} from {ends}, around "
            f"{1 / alpha:.4g}, the optimum of the log-loss"
        )
    elif 0 < place < POINTS - 1:
        low, high = np.log(grid[[place - 1, place + 1]])
        found = _narrowed(lambda log: objective(_probs(rows, np.exp(log)), rows), low, high)
    if place in (0, POINTS - 1):
        notes.append(f"the least {score} is at an end of the temperatures tried, {ends}")
    return found, notes


def _narrowed(value: Callable[[float], float], low: float, high: float) -> float:
    """Return the exponential of where a function has its minimum, by golden sections."""
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [value(inner[0]), value(inner[1])]
    while high - low > NARROW:
        if values[0] <= values[1]:
            high = inner[1]
            inner = [high - GOLDEN * (high - low), inner[0]]
            values = [value(inner[0]), values[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + GOLDEN * (high - low)]
            values = [values[1], value(inner[1])]
    return float(np.exp((low + high) / 2))


def _probs(rows: TrainingRows, alpha: float) -> Doubles:
    scaled = np.multiply(rows.scores, alpha, dtype=np.float64)
    return np.exp(log_softmax(scaled)).astype(np.float64, copy=False)


def _brier(probs: Doubles, rows: TrainingRows) -> float:
    own = probs[np.arange(len(probs)), rows.labels]
    return float(rows.weights @ (np.vecdot(probs, probs) - 2 * own + 1))


def _binned(score: Doubles, outcome: Doubles, weights: Doubles, power: int) -> float:
    """Return sum_b n_b/N |mean outcome - mean score|^power over equal-width bins."""
    cells = equal_width_index(score, BINS)
    weight = np.bincount(cells, weights, BINS)
    gap = np.bincount(cells, weights * (outcome - score), BINS)
    share = np.divide(np.abs(gap), weight, out=np.zeros(BINS), where=weight > 0)
    return float(weight @ share**power)


def _of_confidence(power: int) -> Callable[[Doubles, TrainingRows], float]:
    def error(probs: Doubles, rows: TrainingRows) -> float:
        hit = (probs.argmax(axis=1) == rows.labels).astype(np.float64)
        return _binned(probs.max(axis=1), hit, rows.weights, power) ** (1 / power)

    return error


def _of_classes(power: int) -> Callable[[Doubles, TrainingRows], float]:
    def error(probs: Doubles, rows: TrainingRows) -> float:
        each = [
            _binned(prob, (rows.labels == k).astype(np.float64), rows.weights, power)
            for k, prob in enumerate(probs.T)
        ]
        return float(np.mean(each)) ** (1 / power)

    return error


OBJECTIVES: dict[str, Callable[[Doubles, TrainingRows], float]] = {
    "brier": _brier,
    "ece": _of_confidence(1),
    "ece_l2": _of_confidence(2),
    "cw_ece": _of_classes(1),
    "cw_ece_l2": _of_classes(2),
}
