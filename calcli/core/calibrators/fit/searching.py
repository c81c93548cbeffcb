"""Other objectives than the log-loss: calibration errors on grids, and the Brier score of a temperature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.data.arrays import Doubles
from calcli.core.data.binning import equal_width_index
from calcli.core.data.logspace import log_softmax
from calcli.core.language.errors import InputError

BINS = 15
FACTOR = 4.0  # the grid reaches from the log-loss optimum over this to it times this
POINTS = 401
COARSE = 17  # points where each takes a fit of its own
GOLDEN = (np.sqrt(5) - 1) / 2
REACH = 0.5  # half the side of the box: of a slope as a share of it, of an intercept as it is
STEPS = 21  # values of each parameter in the box
ROUNDS = 5  # over all parameters, at most
MOST = 1000  # parameters
FEW = 64  # of them
ROWS = 4  # for each of more
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
            f"{1 / alpha:.4g}, the optimum of the log-loss, which rises from "
            f"{_log_loss(_probs(rows, alpha), rows):.4g} to {_log_loss(_probs(rows, found), rows):.4g}"
        )
    elif 0 < place < POINTS - 1:
        low, high = np.log(grid[[place - 1, place + 1]])
        found = _narrowed(lambda log: objective(_probs(rows, np.exp(log)), rows), low, high)
    if place in (0, POINTS - 1):
        notes.append(f"the least {score} is at an end of the temperatures tried, {ends}")
    return found, notes


def best_in_box(rows: TrainingRows, theta: Vector, score: str) -> tuple[Vector, str]:
    """Return alpha and beta, of alpha x + beta, of the least calibration error around those of the log-loss.

    Parameters
    ----------
    rows
        What is fitted to.
    theta
        (K + 1,) parameters by log-loss, in the middle of the box.
    score
        One of `CALIBRATION_ERRORS`.

    Returns
    -------
    The parameters, and a sentence on how they were found.

    Raises
    ------
    InputError
        If there are too many of them.
    """
    if len(theta) > (most := _most(len(rows.scores))):
        raise InputError(
            f"score={score} tries {STEPS} values of each parameter, of {len(theta):,} parameters; expected "
            f"{most:,} at most, of {len(rows.scores):,} rows"
        )
    reach = REACH * np.abs(theta)
    reach[1:] = REACH

    def probs(at: Vector) -> Doubles:
        return np.exp(log_softmax(at[0] * rows.scores.astype(np.float64, copy=False) + at[1:]))

    found, least = theta, OBJECTIVES[score](probs(theta), rows)
    for _ in range(ROUNDS):
        before = least
        for place in range(len(theta)):
            for step in np.linspace(-1, 1, STEPS):
                point = found.copy()
                point[place] = theta[place] + step * reach[place]
                if (value := OBJECTIVES[score](probs(point), rows)) < least:
                    found, least = point, value
        if least == before:
            break
    losses = [_log_loss(probs(at), rows) for at in (theta, found)]
    return found, (
        f"the parameters are those of the least {score} ({BINS} bins) found, each in turn at {STEPS} values, "
        f"slopes within {100 * REACH:.0f}% and intercepts within {REACH:g} of the optimum of the log-loss, "
        f"which rises from {losses[0]:.4g} to {losses[1]:.4g}"
    )


def _most(rows: int) -> int:
    """Return how many parameters so many rows allow: one each if they are few, then one for `ROWS`."""
    return min(rows, max(FEW, rows // ROWS), MOST)


def _log_loss(probs: Doubles, rows: TrainingRows) -> float:
    with np.errstate(divide="ignore"):
        return float(-rows.weights @ np.log(probs[np.arange(len(probs)), rows.labels]))


def least_near(value: Callable[[float], float], scale: float) -> float:
    """Return where a function is least, of some scales around `scale`, and then near the best of them."""
    grid = scale * np.geomspace(1 / FACTOR, FACTOR, COARSE)
    place = int(np.argmin([value(float(one)) for one in grid]))
    low, high = np.log(grid[[max(place - 1, 0), min(place + 1, COARSE - 1)]])
    found = _narrowed(lambda log: value(float(np.exp(log))), low, high)
    return min(found, scale, key=value)


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
    """Return sum_b n_b/N |mean outcome - mean score|^power over equal-width bins; of columns, their sum."""
    columns = score[0].size
    cells = (equal_width_index(score, BINS) + BINS * np.arange(columns)).ravel()
    weight = np.bincount(cells, np.broadcast_to(weights, score.shape).ravel(), BINS * columns)
    gap = np.bincount(cells, (weights * (outcome - score)).ravel(), BINS * columns)
    share = np.divide(np.abs(gap), weight, out=np.zeros(weight.shape), where=weight > 0)
    return float(weight @ share**power)


def _of_confidence(power: int) -> Callable[[Doubles, TrainingRows], float]:
    def error(probs: Doubles, rows: TrainingRows) -> float:
        hit = (probs.argmax(axis=1) == rows.labels).astype(np.float64)
        return _binned(probs.max(axis=1), hit, rows.weights, power) ** (1 / power)

    return error


def _of_classes(power: int) -> Callable[[Doubles, TrainingRows], float]:
    def error(probs: Doubles, rows: TrainingRows) -> float:
        outcomes = np.zeros(probs.shape)
        outcomes[np.arange(len(probs)), rows.labels] = 1
        classes = probs.shape[1]
        return (_binned(probs, outcomes, rows.weights[:, None], power) / classes) ** (1 / power)

    return error


OBJECTIVES: dict[str, Callable[[Doubles, TrainingRows], float]] = {
    "brier": _brier,
    "ece": _of_confidence(1),
    "ece_l2": _of_confidence(2),
    "cw_ece": _of_classes(1),
    "cw_ece_l2": _of_classes(2),
}
