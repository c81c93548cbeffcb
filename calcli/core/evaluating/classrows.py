"""The table of the classes: how often each occurs, what it is given, and how far that is off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calcli.core.data.chance import Stream, generator
from calcli.core.estimators.consistency import Null, compare
from calcli.core.estimators.decomposition import class_losses
from calcli.core.estimators.miscalibration import BinnedError, binned_error
from calcli.core.estimators.multiple import enough_draws, with_holm
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.evaluating.classwise import simulated_class_errors
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import ClassRow
from calcli.core.language.settings import Settings

ENOUGH_OF_CLASS = 30  # rows, by label or by probability, from which a class is judged
LABELS = 50_000_000  # or errors of classes, drawn at most to have draws enough for many classes


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
    columns = zip(
        predictions.classes,
        rows.tolist(),
        (weight / total).tolist(),
        mean_prob.tolist(),
        np.divide(hits, weight, out=np.full(k, np.nan), where=weight > 0).tolist(),
        errors.tolist(),
        *(column.tolist() for column in class_losses(table, decomposable_rule("brier"))),
        _nulls(measured, settings, errors, enough.tolist()) if test else [None] * k,
        strict=True,
    )
    return [ClassRow(*column) for column in columns]


def _nulls(
    measured: Measurements, settings: Settings, errors: Sequence[float], enough: Sequence[bool]
) -> list[Null | None]:
    if not (settings.test and settings.draws):
        return [None] * len(errors)
    rng = generator(settings.seed, Stream.CLASS_OUTCOMES)
    affordable = min(enough_draws(sum(enough)), LABELS // max(measured.predictions.n_rows, len(errors)))
    draws = max(settings.draws, affordable)
    drawn = simulated_class_errors(measured, BinnedError(bins=settings.bins), draws, rng)
    return with_holm([compare(*pair) for pair in zip(errors, drawn.T, strict=True)], enough)


def rows_needed(rows: Sequence[ClassRow]) -> int:
    """Return how many rows in all, with classes as frequent as here, are enough to judge every class.

    Classes that neither occur nor get any probability never have rows enough, and do not count.
    """
    shares = [max(row.frequency, row.mean_prob) for row in rows]
    return max((math.ceil(ENOUGH_OF_CLASS / share) for share in shares if share > 0), default=0)
