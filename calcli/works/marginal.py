"""The marginal lens: the probabilities of all classes of all rows together (Kendall & Gal 2017)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Stream, draw_labels, generator
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.calibrationerror import Null, compare
from calcli.core.evaluating.evaluate import values
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.works.rows import log_probabilities


def marginal_errors(
    predictions: Predictions, metrics: Sequence[str], draws: int = 1000, seed: int = 0
) -> dict[str, tuple[float, Null | None]]:
    """Return errors over all pairs of a class probability and its outcome, with their nulls.

    Under perfect calibration one label per row is drawn from its probabilities, as its pairs depend on each
    other (Vaicenavicius et al. 2019, example 4).

    Parameters
    ----------
    predictions
        N rows of K classes.
    metrics
        Errors of one score, as expressions without a lens.
    draws
        Simulated data sets; 0 for none.
    seed
        Of the draws.

    Raises
    ------
    UsageError
        If a metric is unknown, or needs more than one score.
    """
    probs = np.exp(log_probabilities(predictions))
    for name in metrics:
        if "lens=" in name:
            raise UsageError(f"{name}: all probabilities are looked at; leave out the lens")
    names = [f"{name}:lens=class-1" for name in metrics]
    settings = Settings(metrics=tuple(names), intervals=False, draws=0)

    def errors(labels: Array) -> list[float]:
        return list(values(_pairs(probs, labels, predictions.weights), settings).values())

    observed = errors(predictions.labels)
    if not draws:
        return {name: (value, None) for name, value in zip(metrics, observed, strict=True)}
    rng = generator(seed, Stream.OUTCOMES)
    simulated = np.array([errors(draw_labels(probs, 1, rng)[:, 0]) for _ in range(draws)])
    return {
        name: (value, compare(value, simulated[:, place]))
        for place, (name, value) in enumerate(zip(metrics, observed, strict=True))
    }


def _pairs(probs: Doubles, labels: Array, weights: Array | None) -> Predictions:
    """Return the N K pairs as predictions of two classes."""
    rows, classes = probs.shape
    score, outcome = probs.ravel(), np.zeros(rows * classes, np.intp)
    outcome[np.arange(rows) * classes + labels] = 1
    scores = ArrayScores(np.column_stack([1 - score, score]), "probs")
    return Predictions(scores, outcome, ("0", "1"), None if weights is None else np.repeat(weights, classes))
