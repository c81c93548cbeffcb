"""Errors of the marginal lens: the probability of every class in every row, as one problem."""

from __future__ import annotations

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.errors import OneDimensional, null_distributions
from calcli.core.evaluating.classwise import from_sums
from calcli.core.evaluating.measurements import Measurements
from calcli.core.language.expressions import region_ends
from calcli.core.problems.marginal import marginal_problem
from calcli.core.problems.problem import Problem


def marginal_value(measured: Measurements, estimator: OneDimensional, region: str) -> float:
    """Return the error of all pairs; nan if none is in the region."""
    if region == "all" and from_sums(estimator):
        bins = measured.class_bins(estimator.bins)
        pooled = Bins(bins.count.sum(0), bins.weight.sum(0), bins.score.sum(0), bins.outcome.sum(0))
        return float(estimator.of_sums(pooled))
    problem = _pooled(measured, region)
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
    return null_distributions(_pooled(measured, region), [estimator], [value], draws, rng)[0]


def _pooled(measured: Measurements, region: str) -> Problem:
    whole = measured.vector_problem("canonical")
    problem = measured.once("marginal", lambda: marginal_problem(whole.probs, whole.labels, whole.weights))
    return problem if region == "all" else problem.within(*region_ends(region))
