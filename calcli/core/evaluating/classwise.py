"""Class-wise errors, what they would be if calibrated, by drawn labels, and the table of the classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import batches
from calcli.core.data.binning import Bins, equal_width_index
from calcli.core.data.chance import Stream, draw_labels, generator
from calcli.core.estimators.calibrationerror import OneDimensional, null_distributions
from calcli.core.estimators.consistency import Null, compare, enough_draws, with_holm
from calcli.core.estimators.decomposition import class_losses
from calcli.core.estimators.miscalibration import BinnedError, binned_error, class_wise_error, from_sums
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import ClassRow
from calcli.core.language.expressions import region_ends
from calcli.core.language.settings import Settings
from calcli.core.problems.marginal import marginal_problem
from calcli.core.problems.problem import Problem
from calcli.core.problems.vectors import VectorProblem

LABELS = 1_000_000  # drawn at once
ENOUGH_OF_CLASS = 30  # rows, by label or by probability, from which a class is judged
MOST_DRAWN = 50_000_000  # labels, or errors of classes, at most to have draws enough for many classes


def class_wise_value(measured: Measurements, estimator: OneDimensional, over: str) -> float:
    """Return the mean error over the classes; see `class_wise_error`."""
    if from_sums(estimator):
        errors = estimator.of_sums(measured.class_bins(estimator.bins))
        return float(class_wise_error(errors, over))
    errors = np.array([estimator.value(problem) for problem in measured.class_problems()])
    return float(class_wise_error(errors, over))


def class_wise_null(
    measured: Measurements,
    estimator: OneDimensional,
    over: str,
    value: float,
    draws: int,
    rng: np.random.Generator,
) -> Null:
    """Return the null distribution of the error over all classes, given its observed value.

    Parameters
    ----------
    measured
        Measurements that were made for tests, with all probabilities.
    estimator
        Of the error of each class.
    over
        How they are aggregated: norm 1, 2 or max.
    value
        The observed error.
    draws
        Simulated data sets, B.
    rng
        Source of chance.
    """
    drawn = simulated_class_errors(measured, estimator, draws, rng)
    return compare(value, class_wise_error(drawn, over))


def simulated_class_errors(
    measured: Measurements, estimator: OneDimensional, draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the (draws, K) errors of every class in simulated data sets; otherwise as `class_wise_null`."""
    problem = measured.vector_problem("canonical")
    if from_sums(estimator):
        return _sums_only(problem, measured.class_bins(estimator.bins), estimator, draws, rng)
    k = problem.probs.shape[1]
    errors = np.empty((draws, k))
    for start, labels in _drawn(problem, draws, rng):
        for number, score in enumerate(problem.probs.T):
            order = np.argsort(score, kind="stable")
            outcomes = labels[:, order] == number
            weights = None if problem.weights is None else problem.weights[order]
            ordered = Problem(score[order], outcomes[0], weights)
            for draw, outcome in enumerate(outcomes, start):
                errors[draw, number] = estimator.value(replace(ordered, outcome=outcome, _bins={}))
    return errors


def _sums_only(
    problem: VectorProblem, observed: Bins, estimator: BinnedError, draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    n, k = problem.probs.shape
    cells = equal_width_index(problem.probs, estimator.bins) + np.arange(k) * estimator.bins
    own = cells.ravel()
    errors = np.empty((draws, k))
    for start, labels in _drawn(problem, draws, rng):
        for draw, places in enumerate(labels + np.arange(n) * k, start):
            outcome = np.bincount(own.take(places), problem.weights, k * estimator.bins)
            bins = replace(observed, outcome=outcome.reshape(k, -1).astype(np.float64))
            errors[draw] = estimator.of_sums(bins)
    return errors


def _drawn(
    problem: VectorProblem, draws: int, rng: np.random.Generator
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the number of the first of some simulated data sets, and their (b, N) labels."""
    for batch in batches(draws, len(problem.probs), LABELS):
        yield batch.start, draw_labels(problem.probs, batch.stop - batch.start, rng).T


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
    affordable = min(enough_draws(sum(enough)), MOST_DRAWN // max(measured.predictions.n_rows, len(errors)))
    draws = max(settings.draws, affordable)
    drawn = simulated_class_errors(measured, BinnedError(bins=settings.bins), draws, rng)
    return with_holm([compare(*pair) for pair in zip(errors, drawn.T, strict=True)], enough)


def rows_needed(rows: Sequence[ClassRow]) -> int:
    """Return how many rows in all, with classes as frequent as here, are enough to judge every class.

    Classes that neither occur nor get any probability never have rows enough, and do not count.
    """
    shares = [max(row.frequency, row.mean_prob) for row in rows]
    return max((math.ceil(ENOUGH_OF_CLASS / share) for share in shares if share > 0), default=0)
