"""Predictions whose truth is known, and calibrators by their expressions."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special, stats

from calcli.core.calibrators.base import Calibrator, make
from calcli.core.language.expressions import parse_method
from calcli.core.language.methods import METHODS

SMALL = {  # each method, with settings that take no longer than its mathematics needs
    name: f"{name}:calibrator=platt" if method.family == "wrapper" else name
    for name, method in METHODS.items()
} | {
    "pool": "pool:members=dp+svs+isotonic",
    "structured": "structured:penalties=1:off_diagonal_penalties=10",
    "dirichlet": "dirichlet:off_diagonal_penalties=10:intercept_penalties=1/0.01",
}


def made(text) -> Calibrator:
    """Return the calibrator of an expression, not fitted."""
    return make(parse_method(text))


def drawn(n, classes, seed=0):
    """Return over-confident, biased logits and labels that have a finite optimum."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.standard_normal((n, classes))
    cumulative = special.softmax(logits, axis=1).cumsum(axis=1)
    labels = (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)
    return 2 * logits + rng.standard_normal(classes), labels


def columns(prob):
    """Return the log-probabilities, (n, 2), of (n,) probabilities of the second of two classes."""
    with np.errstate(divide="ignore"):
        return np.log(np.column_stack([1 - np.asarray(prob), prob]))


def log_loss(calibrator, scores, labels):
    """Return the log-loss of recalibrated scores."""
    return -calibrator.apply(scores)[np.arange(len(labels)), labels].mean()


def newcombe_low(positives, negatives):
    """Return the lower end of the interval of an area of 1 (Newcombe 2006), with 1.2 times his variance."""
    pairs, mean = positives * negatives, (positives + negatives) / 2 - 1

    def excess(theta):
        variance = theta * (1 + mean * ((1 - theta) / (2 - theta) + theta / (1 + theta))) / pairs
        return 1 - theta - 1.2 * stats.norm.ppf(0.975) ** 2 * variance  # both divided by 1 - theta

    return optimize.brentq(excess, 0, 1)
