"""Metrics of resampled rows: consistency resampling and the bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Positions, Rng, Stream, draw_labels, generator
from calcli.core.data.derived import gathered
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import Units
from calcli.core.estimators.calibrationerror import Null, compare
from calcli.core.evaluating.evaluate import values
from calcli.core.language.settings import Settings
from calcli.works.rows import log_probabilities


def consistency_resampling(
    predictions: Predictions,
    metrics: Sequence[str],
    draws: int = 1000,
    seed: int = 0,
    posteriors: Doubles | None = None,
    *,
    rows: bool = True,
) -> dict[str, Null]:
    """Return the distributions of errors under perfect calibration, with predictions resampled as well.

    Rows are drawn with replacement, their labels from their predictions, or from these after a known
    calibration function, and the error is computed again, bins included (Vaicenavicius et al. 2019, section
    4.2).

    Parameters
    ----------
    predictions
        All rows, N.
    metrics
        Calibration errors, as expressions.
    draws
        Simulated data sets.
    seed
        Of the draws.
    posteriors
        (N, K) probabilities to draw labels from in place of the predictions.
    rows
        Whether rows are drawn; else they stay the same.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = _plain(metrics)
    observed = values(predictions, settings)
    probs = np.exp(log_probabilities(predictions))
    in_memory = replace(predictions, scores=ArrayScores(probs, "probs"), columns={})
    truth = probs if posteriors is None else posteriors
    rng, units = generator(seed, Stream.RESAMPLED_PREDICTIONS), Units.of(predictions.n_rows)
    runs = []
    for _ in range(draws):
        sample = _drawn(in_memory, units, rng) if rows else np.arange(in_memory.n_rows)
        labels = draw_labels(truth[sample], 1, rng)[:, 0]
        runs.append(values(_taken(in_memory, sample, labels), settings))
    return {name: compare(value, np.array([run[name] for run in runs])) for name, value in observed.items()}


def bootstrap_sd(
    predictions: Predictions,
    metrics: Sequence[str],
    resamples: int = 200,
    seed: int = 0,
    cluster: str | None = None,
) -> dict[str, float]:
    """Return the bootstrap standard deviation of metrics; nan where resamples have infinite values.

    Parameters
    ----------
    predictions
        All rows.
    metrics
        As expressions.
    resamples
        Number of sets of rows: 200 determine the deviation to 5%.
    seed
        Of the draws.
    cluster
        A column: rows that share a value are drawn together.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = _plain(metrics)
    rng, units = generator(seed, Stream.SPREAD), Units.of(predictions.n_rows, predictions.column_if(cluster))
    in_memory = replace(predictions, scores=gathered(predictions.scores), columns={})
    resampled = [values(_taken(in_memory, _drawn(in_memory, units, rng)), settings) for _ in range(resamples)]
    return {name: _sd([run[name] for run in resampled]) for name in resampled[0]}


def _plain(metrics: Sequence[str]) -> Settings:
    return Settings(metrics=tuple(metrics), intervals=False, draws=0)


def _drawn(predictions: Predictions, units: Units, rng: Rng) -> Positions:
    """Draw rows with replacement, and again if no drawn row has a positive weight."""
    rows = units.drawn(rng)
    return (
        rows
        if predictions.weights is None or predictions.weights[rows].any()
        else _drawn(predictions, units, rng)
    )


def _taken(predictions: Predictions, rows: Positions, labels: Array | None = None) -> Predictions:
    """Return rows of predictions in memory, optionally with other labels."""
    assert isinstance(predictions.scores, ArrayScores)
    labels = predictions.labels[rows] if labels is None else labels
    weights = None if predictions.weights is None else predictions.weights[rows]
    scores = replace(predictions.scores, array=predictions.scores.array[rows])
    return replace(predictions, scores=scores, labels=labels, weights=weights)


def _sd(values: list[float]) -> float:
    finite = np.array(values)
    finite = finite[~np.isnan(finite)]
    return float(finite.std(ddof=1)) if len(finite) > 1 and np.isfinite(finite).all() else float("nan")
