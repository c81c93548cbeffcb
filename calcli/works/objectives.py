"""Fits that minimize a calibration error in place of a proper score (van de Waterlaat 2021, section 6.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Doubles, log_softmax
from calcli.core.data.binning import equal_width_index
from calcli.core.data.predictions import Predictions
from calcli.core.language.errors import UsageError
from calcli.works.rows import log_probabilities

BINS = 15
FACTOR = 4.0  # the grid reaches from the optimum of the log-loss over this to it times this
POINTS = 401
POWERS = {"ece": 1, "ece_l2": 2, "cw_ece": 1, "cw_ece_l2": 2}


class LeastError(NamedTuple):
    """The temperature of the least calibration error.

    Attributes
    ----------
    temperature
        Above 0.
    error
        The error there, in [0, 1].
    log_loss
        The log-loss there, in nats.
    least_log_loss
        The log-loss at the temperature that minimizes it.
    """

    temperature: float
    error: float
    log_loss: float
    least_log_loss: float


def least_error(predictions: Predictions, score: str, optimum: float) -> LeastError:
    """Return the temperature of the least error, from a grid around the temperature of the least log-loss.

    Parameters
    ----------
    predictions
        N rows of K classes.
    score : {"ece", "ece_l2", "cw_ece", "cw_ece_l2"}
        The error to minimize, over 15 bins of equal width.
    optimum
        The temperature of the least log-loss; the grid has 401 values from a quarter of it to four times it.

    Raises
    ------
    UsageError
        If there is no such error.
    """
    if score not in POWERS:
        raise UsageError(f"{score} is not minimized; expected one of {', '.join(POWERS)}")
    logits, labels = log_probabilities(predictions), predictions.labels
    row_weights = predictions.weights
    weights = np.ones(len(labels)) if row_weights is None else row_weights.astype(np.float64)

    def error(temperature: float) -> float:
        return calibration_error(np.exp(log_softmax(logits / temperature)), labels, weights, score)

    def log_loss(temperature: float) -> float:
        of_label = log_softmax(logits / temperature)[np.arange(len(labels)), labels]
        return float(-weights @ of_label / weights.sum())

    grid = optimum * np.geomspace(FACTOR, 1 / FACTOR, POINTS)
    errors = [error(temperature) for temperature in grid]
    place = int(np.argmin(errors))
    best = float(grid[place])
    return LeastError(best, errors[place], log_loss(best), log_loss(optimum))


def calibration_error(probs: Doubles, labels: Array, weights: Doubles, score: str) -> float:
    """Return one of the errors of (N, K) probabilities."""
    power = POWERS[score]
    if score.startswith("cw"):
        outcome = np.zeros(probs.shape)
        outcome[np.arange(len(labels)), labels] = 1
        share = _binned(probs, outcome, weights[:, None], power) / probs.shape[1]
    else:
        hit = (probs.argmax(axis=1) == labels)[:, None].astype(np.float64)
        share = _binned(probs.max(axis=1)[:, None], hit, weights[:, None], power)
    return float((share / weights.sum()) ** (1 / power))


def _binned(score: Doubles, outcome: Doubles, weights: Doubles, power: int) -> float:
    """Return sum_b n_b |mean outcome - mean score|^power over the bins of every column."""
    columns = score.shape[1]
    cells = (equal_width_index(score, BINS) + BINS * np.arange(columns)).ravel()
    weight = np.bincount(cells, np.broadcast_to(weights, score.shape).ravel(), BINS * columns)
    gap = np.bincount(cells, (weights * (outcome - score)).ravel(), BINS * columns)
    share = np.divide(np.abs(gap), weight, out=np.zeros(weight.shape), where=weight > 0)
    return float(weight @ share**power)
