"""Calibration errors with bin frequencies from other rows (Ferrer & Ramos 2024, 2.5.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calcli.core.data.arrays import Doubles, Stream, generator
from calcli.core.data.binning import bin_index, equal_width_edges
from calcli.core.data.derived import select
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.units import random_folds
from calcli.core.language.errors import UsageError
from calcli.works.rows import seen_through

NORMS = {"ece": 1, "ece_l2": 2}


class TrainedError(NamedTuple):
    """An error of trained bins.

    Attributes
    ----------
    value
        In [0, 1]; nan without rows.
    untrained
        Share of the rows in bins without training rows: nothing is known there, and no distance is
        counted.
    """

    value: float
    untrained: float


def trained_error(
    predictions: Predictions,
    calibration: Predictions | None = None,
    *,
    norm: str = "ece",
    lens: str = "top-1",
    bins: int = 15,
    folds: int = 5,
    seed: int = 0,
) -> TrainedError:
    """Return the distance of the mean score of each bin from the frequency of other rows in it.

    Parameters
    ----------
    predictions
        The rows to judge.
    calibration
        The rows to train bins on; the other folds of a cross-validation if None.
    norm : {"ece", "ece_l2"}
        Mean distance, or root of the mean square.
    lens
        On one score.
    bins
        Of equal width.
    folds, seed
        Of the cross-validation.

    Raises
    ------
    InputError
        If the training rows have other classes.
    UsageError
        If there is no such norm or lens.
    """
    if norm not in NORMS:
        raise UsageError(f"{norm}: its bins are not trained; expected ece or ece_l2")
    edges = equal_width_edges(bins)
    if calibration is not None:
        require_classes(calibration, predictions.classes, predictions.provenance.path)
        splits = [(predictions, calibration)]
    else:
        fold = random_folds(predictions.n_rows, folds, generator(seed, Stream.FOLDS))
        splits = [(select(predictions, fold == n), select(predictions, fold != n)) for n in range(folds)]
    weights, scores, learned = [], [], []
    for rows, training in splits:
        score, _, weight = seen_through(rows, lens)
        index = bin_index(score, edges)
        weights.append(np.bincount(index, weight, bins))
        scores.append(np.bincount(index, weight * score, bins))
        learned.append(_frequency(training, lens, edges))
    weight, frequency = np.stack(weights), np.stack(learned)
    # a bin has one mean score: that of all rows
    with np.errstate(invalid="ignore"):
        mean = np.sum(scores, axis=0) / weight.sum(axis=0)
    gap = np.where((weight > 0) & ~np.isnan(frequency), np.abs(frequency - mean), 0)
    power = NORMS[norm]
    total = weight.sum()
    if not total:
        return TrainedError(np.nan, np.nan)
    value = float((weight * gap**power).sum() / total) ** (1 / power)
    return TrainedError(value, float(weight[np.isnan(frequency)].sum() / total))


def _frequency(rows: Predictions, lens: str, edges: Doubles) -> Doubles:
    """Return the frequency of the outcome in each bin; nan without rows."""
    score, outcome, weight = seen_through(rows, lens)
    index, size = bin_index(score, edges), len(edges) - 1
    with np.errstate(invalid="ignore"):
        return np.bincount(index, weight * outcome, size) / np.bincount(index, weight, size)
