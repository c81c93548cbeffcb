"""Predictions whose truth is known, shared by the tests of this folder."""

from __future__ import annotations

import numpy as np
from scipy import special


def drawn(n, classes, seed=0):
    """Return over-confident, biased logits and labels that have a finite optimum."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.standard_normal((n, classes))
    cumulative = special.softmax(logits, axis=1).cumsum(axis=1)
    labels = (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)
    return 2 * logits + rng.standard_normal(classes), labels


def log_loss(calibrator, scores, labels):
    """Return the log-loss of recalibrated scores."""
    return -calibrator.apply(scores)[np.arange(len(labels)), labels].mean()
