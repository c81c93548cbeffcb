"""The marginal lens: the probability of every class in every row, as one problem (Kendall & Gal 2017).

Vaicenavicius et al. 2019, example 4. The K pairs of a row have one label, so that they are drawn together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calcli.core.data.batches import batches
from calcli.core.data.binning import Bins
from calcli.core.data.drawing import draw_labels
from calcli.core.estimators.consistency import Null, compare
from calcli.core.estimators.errors import OneDimensional
from calcli.core.evaluating.classwise import from_sums
from calcli.core.evaluating.measurements import Measurements
from calcli.core.language.expressions import region_ends
from calcli.core.problems.problem import Problem, ordered_problem

LABELS = 1_000_000  # drawn at once


def marginal_value(measured: Measurements, estimator: OneDimensional, region: str) -> float:
    """Return the error of all pairs; nan if none is in the region."""
    if region == "all" and from_sums(estimator):
        bins = measured.class_bins(estimator.bins)
        pooled = Bins(bins.count.sum(0), bins.weight.sum(0), bins.score.sum(0), bins.outcome.sum(0))
        return float(estimator.of_sums(pooled))
    problem = _within(_pooled(measured), region)
    return estimator.value(problem) if problem.total_weight else np.nan


def marginal_null(
    measured: Measurements,
    estimator: OneDimensional,
    region: str,
    value: float,
    draws: int,
    rng: np.random.Generator,
) -> Null:
    """Return the distribution of the error if calibrated: labels are drawn from the predictions.

    Parameters
    ----------
    measured
        With all probabilities.
    estimator, region
        As for `marginal_value`.
    value
        The observed error.
    draws
        Simulated data sets, B.
    rng
        Source of chance.
    """
    whole = measured.vector_problem("canonical")
    problem = _pooled(measured)
    n = len(whole.labels)
    place = np.empty(whole.probs.size, np.intp)  # of each class and row in the order of the scores
    place[np.argsort(whole.probs.T, axis=None, kind="stable")] = np.arange(place.size)
    errors = np.empty(draws)
    for batch in batches(draws, n, LABELS):
        labels = draw_labels(whole.probs, batch.stop - batch.start, rng).T
        for draw, drawn in enumerate(labels, batch.start):
            outcome = np.zeros(place.size, np.bool_)
            outcome[place[drawn * n + np.arange(n)]] = True
            errors[draw] = estimator.value(_within(replace(problem, outcome=outcome, _bins={}), region))
    return compare(value, errors)


def _pooled(measured: Measurements) -> Problem:
    probs, labels = measured.class_probs, measured.predictions.labels
    outcome = np.equal.outer(np.arange(len(probs)), labels)
    weights = measured.predictions.weights
    own = None if weights is None else np.tile(weights, len(probs))
    return ordered_problem(probs.ravel(), outcome.ravel(), own)


def _within(problem: Problem, region: str) -> Problem:
    return problem if region == "all" else problem.within(*region_ends(region))
