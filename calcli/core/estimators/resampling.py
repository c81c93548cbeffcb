"""Metrics on resampled rows: the spread of every one of them, and a test that resamples predictions too.

Nothing is assumed of a metric: it is computed again on every resample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Positions
from calcli.core.data.blocks import sweep
from calcli.core.data.chance import draw_labels
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.slices import gathered
from calcli.core.data.units import Units
from calcli.core.estimators.consistency import Null, compare
from calcli.core.problems.vectors import canonical_lens
from calcli.core.state.collectors import VectorTable

Evaluator = Callable[[Predictions], Mapping[str, float]]


def bootstrap_sd(
    predictions: Predictions,
    values: Callable[[Sequence[str]], Evaluator],
    resamples: Mapping[str, int],
    rng: np.random.Generator,
    units: Units,
) -> dict[str, float]:
    """Return the bootstrap standard deviation of metrics; nan where resamples have infinite values.

    Parameters
    ----------
    predictions
        All rows; their scores are held in memory.
    values
        Given metrics, returns what computes them of some rows.
    resamples
        By metric, how many sets of rows are drawn. All see the same ones, as far as they go.
    rng
        Source of chance.
    units
        Rows that are resampled together.
    """
    whole = replace(predictions, scores=gathered(predictions.scores), columns={})
    found: dict[str, list[float]] = {name: [] for name in resamples}
    for least, most in pairwise(sorted({0, *resamples.values()})):
        own = [name for name, number in resamples.items() if number >= most]
        evaluator = values(own)
        for _ in range(least, most):
            drawn = evaluator(_taken(whole, _drawn(whole, units, rng)))
            for name in own:
                found[name].append(drawn[name])
    return {name: _sd(one) for name, one in found.items()}


def resampled_nulls(
    predictions: Predictions,
    values: Evaluator,
    observed: Mapping[str, float],
    draws: int,
    rng: np.random.Generator,
    posteriors: Doubles | None = None,
    *,
    resample: bool = True,
) -> dict[str, Null]:
    """Return the distributions of errors under perfect calibration, with predictions resampled as well.

    This is the scheme of Vaicenavicius et al. (2019, section 4.2): rows are drawn with replacement, their
    labels from their predictions, or from what a known calibration function makes of these, and the error is
    computed again, bins included.

    Parameters
    ----------
    predictions
        All rows; their probabilities are held in memory.
    values
        Computes the errors of some rows.
    observed
        The errors of all rows, by name.
    draws
        Simulated data sets.
    rng
        Source of chance.
    posteriors
        (N, K) probabilities to draw labels from in place of the predictions.
    resample
        Whether rows are drawn; else they stay as they are.
    """
    if not observed:
        return {}
    table = VectorTable(canonical_lens(predictions.n_classes), predictions, np.dtype(np.float64))
    sweep(predictions, [table])
    scores = ArrayScores(np.ascontiguousarray(table.problem.probs), "probs")
    whole = replace(predictions, scores=scores, columns={})
    truth = scores.array if posteriors is None else posteriors
    units, found = Units.of(predictions.n_rows), []
    for _ in range(draws):
        rows = _drawn(whole, units, rng) if resample else np.arange(whole.n_rows)
        labels = draw_labels(truth[rows], 1, rng)[:, 0]
        found.append(values(_taken(whole, rows, labels)))
    return {name: compare(value, np.array([one[name] for one in found])) for name, value in observed.items()}


def _drawn(whole: Predictions, units: Units, rng: np.random.Generator) -> Positions:
    """Draw rows with replacement; again where none of them has weight, as that is not data."""
    rows = units.drawn(rng)
    return rows if whole.weights is None or whole.weights[rows].any() else _drawn(whole, units, rng)


def _taken(whole: Predictions, rows: Positions, labels: Array | None = None) -> Predictions:
    """Return rows of predictions that are in memory, with other labels perhaps."""
    assert isinstance(whole.scores, ArrayScores)
    labels = whole.labels[rows] if labels is None else labels
    weights = None if whole.weights is None else whole.weights[rows]
    if whole.priors is not None and weights is not None:
        share = np.bincount(labels, weights, whole.n_classes) / weights.sum()
        weights = weights * (whole.priors / np.maximum(share, np.finfo(float).tiny))[labels]
    scores = replace(whole.scores, array=whole.scores.array[rows])
    return replace(whole, scores=scores, labels=labels, weights=weights)


def _sd(values: list[float]) -> float:
    drawn = np.array(values)
    drawn = drawn[~np.isnan(drawn)]
    return float(drawn.std(ddof=1)) if len(drawn) > 1 and np.isfinite(drawn).all() else float("nan")
