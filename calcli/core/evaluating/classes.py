"""The table of the classes: how often each occurs, what it is given, and how far that is off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Stream, generator
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.calibrationerror import Null, compare, enough_draws, with_holm
from calcli.core.estimators.decomposition import class_losses
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.errors import simulated_class_errors
from calcli.core.evaluating.metrics.miscalibration import ECE, binned_error
from calcli.core.evaluating.results import ClassRow
from calcli.core.language.settings import Settings

BLOCK = 1 << 14  # rows
ENOUGH_OF_CLASS = 30  # rows, by label or by probability, from which a class is judged
MOST_DRAWN = 50_000_000  # labels, or errors of classes, at most to have draws enough for many classes


def class_rows(measured: Measurements, settings: Settings, test: bool = True) -> list[ClassRow]:
    """Return one entry a class, in the order of the columns; tested where the settings ask for every test."""
    predictions = measured.predictions
    table = measured.class_bins(settings.bins)
    total = table.weight.sum(-1)
    k = predictions.n_classes
    weight = table.outcome.sum(-1)
    rows, hits = measured.rows_by_class, measured.hits_by_class
    errors = binned_error(table, "1")
    mean_prob = table.score.sum(-1) / total
    enough = np.maximum(rows, mean_prob * predictions.n_rows) >= ENOUGH_OF_CLASS
    test = test and predictions.has_probabilities
    columns = zip(
        predictions.classes,
        rows.tolist(),
        (weight / total).tolist(),
        mean_prob.tolist(),
        np.divide(hits, weight, out=np.full(k, np.nan), where=weight > 0).tolist(),
        errors.tolist(),
        *(column.tolist() for column in class_losses(table, decomposable_rule("brier"))),
        _nulls(measured, settings, errors, enough.tolist()) if test else [None] * k,
        [()] * k if predictions.has_probabilities else map(tuple, _confusion(predictions).tolist()),
        strict=True,
    )
    return [ClassRow(*column) for column in columns]


def _confusion(predictions: Predictions) -> NDArray[np.intp]:
    """Return (K, K) numbers of rows of each class that are predicted as each class."""
    k, at = predictions.n_classes, 0
    counts = np.zeros(k * k, np.intp)
    for block in predictions.scores.blocks(BLOCK):
        labels = predictions.labels[at : at + len(block)].astype(np.intp)
        counts += np.bincount(labels * k + block.argmax(1), minlength=k * k)
        at += len(block)
    return counts.reshape(k, k)


def _nulls(
    measured: Measurements, settings: Settings, errors: Sequence[float], enough: Sequence[bool]
) -> list[Null | None]:
    if not (settings.test and settings.draws):
        return [None] * len(errors)
    rng = generator(settings.seed, Stream.CLASS_OUTCOMES)
    affordable = min(enough_draws(sum(enough)), MOST_DRAWN // max(measured.predictions.n_rows, len(errors)))
    draws = max(settings.draws, affordable)
    drawn = simulated_class_errors(measured, ECE(bins=settings.bins), draws, rng)
    return with_holm([compare(*pair) for pair in zip(errors, drawn.T, strict=True)], enough)


def rows_needed(rows: Sequence[ClassRow]) -> int:
    """Return how many rows in all, with classes as frequent as here, are enough to judge every class.

    Classes that neither occur nor get any probability never have rows enough, and do not count.
    """
    shares = [max(row.frequency, row.mean_prob) for row in rows]
    return max((math.ceil(ENOUGH_OF_CLASS / share) for share in shares if share > 0), default=0)
