"""Class-wise errors, what they would be if calibrated, by drawn labels, and the table of the classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Stream, batches, draw_labels, generator
from calcli.core.data.binning import Bins, bin_index, equal_width_edges, equal_width_index
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.estimators.calibrationerror import (
    Null,
    OfVectors,
    OneDimensional,
    compare,
    enough_draws,
    null_distributions,
    with_holm,
)
from calcli.core.estimators.decomposition import class_losses
from calcli.core.estimators.gridded import GridError
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.miscalibration import ECE, BinnedError, binned_error, class_wise_error, from_sums
from calcli.core.estimators.permutation import Side, Swapped, permuted_differences, swapped_sums
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.evaluating.families.base import Family, Findings, Pair, signature
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.recalibrated import NEEDS
from calcli.core.evaluating.results import ClassRow, Estimate, VectorBins
from calcli.core.evaluating.truth import is_known, true_error
from calcli.core.evaluating.usual import tests_classes
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, region_ends
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Seen, VectorProblem, between
from calcli.core.problems.problem import Problem, marginal_problem
from calcli.core.state.needs import Folds, Need, Pass, UnitSums, all_probs, class_sums, through, unit_sums

LABELS = 1_000_000  # drawn at once
BLOCK = 1 << 14  # rows
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


def trained_error(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, problem: Problem
) -> tuple[float, dict[str, float]]:
    """Return the distance of the mean score of each bin to the frequency that other rows have there.

    Parameters
    ----------
    measured
        The rows that are judged, which also tell the bins and the mean score of each.
    call, estimator
        The error; by its argument `training`, frequencies come from the other folds of a cross-validation
        or from the calibration data.
    problem
        The rows through the lens.

    Returns
    -------
    The error, nan if there are no rows or no two folds; and the share of the rows in bins that no training
    row fell into, where nothing is known and no distance is counted.

    Raises
    ------
    UsageError
        If there are no calibration data, or rows, to learn from.
    """
    assert isinstance(estimator, BinnedError)
    seen = measured.look(call.lens)
    edges = _edges(estimator, problem)
    index, size = bin_index(seen.score, edges), len(edges) - 1
    weight = np.ones(len(index)) if seen.weights is None else seen.weights.astype(np.float64)
    weight *= between(seen.score, *region_ends(call.region))
    count = np.bincount(index, weight, size)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(index, weight * seen.score, size) / count
    parts = []  # rows that are judged together, and the frequency of each bin elsewhere
    if call.arguments["training"] == "held-out":
        parts.append((np.ones(len(index), bool), _frequency(_elsewhere(measured, call), edges)))
    else:
        fold = _folds(measured, seen)
        parts += [
            (fold == number, _frequency(_rows(seen, (fold != number) & (fold >= 0)), edges))
            for number in range(fold.max(initial=0) + 1)
            if fold.max() > 0
        ]
    if not parts or not weight.any():
        return np.nan, {}
    weights = np.stack([np.bincount(index[own], weight[own], size) for own, _ in parts])
    learned = np.stack([frequency for _, frequency in parts])
    unknown = np.isnan(learned)
    target = np.where(unknown, mean, learned)
    counted = weights > 0
    score, outcome = (np.where(counted, weights * one, 0).ravel() for one in (mean, target))
    flat: Doubles = weights.ravel().astype(np.float64)
    value = float(estimator.of_sums(Bins(flat.astype(np.int64), flat, score, outcome)))
    return value, {"untrained": float(weights[unknown].sum() / flat.sum())}


def _edges(estimator: BinnedError, problem: Problem) -> Doubles:
    """Return the edges of the bins; between the rows where the rows say where they are."""
    if estimator.binning == "equal-width":
        return equal_width_edges(estimator.bins)
    if isinstance(estimator.parted, tuple):
        return np.array(estimator.parted)
    cuts, score = estimator.cuts(problem)[1:-1], problem.score.astype(np.float64)
    below, above = score[cuts - 1], score[cuts]
    halfway = below + (above - below) / 2
    return np.concatenate([[0], np.where(halfway > below, halfway, above), [1]])


def _frequency(seen: Seen, edges: Doubles) -> Doubles:
    """Return the frequency of the outcome in each bin; nan without rows."""
    index, size = bin_index(seen.score, edges), len(edges) - 1
    weight = np.ones(len(index)) if seen.weights is None else seen.weights
    with np.errstate(invalid="ignore"):
        return np.bincount(index, weight * seen.outcome, size) / np.bincount(index, weight, size)


def _rows(seen: Seen, rows: NDArray[np.bool_]) -> Seen:
    return Seen(seen.score[rows], seen.outcome[rows], None if seen.weights is None else seen.weights[rows])


def _elsewhere(measured: Measurements, call: MetricExpression) -> Seen:
    """Return the calibration data through the lens."""
    rows = measured.companions.calibration
    if rows is None:
        raise UsageError(NEEDS.format("training=held-out", "--calibration-data"))
    require_classes(rows, measured.predictions.classes, measured.predictions.provenance.path)
    settings = measured.settings
    return Measurements.of(rows, settings, [through(call.lens, rows, settings)]).look(call.lens)


def _folds(measured: Measurements, seen: Seen) -> NDArray[np.intp]:
    """Return the fold of each row that is seen; -1 without weight."""
    found = measured.recalibrations
    fold: Array = np.full(measured.predictions.n_rows, -1)
    fold[found.kept] = found.folds
    return fold if seen.rows is None else fold[seen.rows]


MOST_NUMBERS = 1_000_000  # means of bins of vectors that a report holds


class ErrorFamily(Family):
    """Errors through a lens; differences are tested by swapping predictions."""

    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return scores and outcomes of the lens; of class-wise errors sums, or all probabilities."""
        estimator = call.made
        if not (call.is_class_wise or call.is_marginal):
            by_row = isinstance(estimator, OfVectors) or call.trains_bins
            seen = through(call.lens, of.rows, of.settings, each=by_row)
            return (seen, Folds()) if call.trains_bins else (seen,)
        if not from_sums(estimator) or (call.is_marginal and call.region != "all"):
            return (all_probs(of.rows),)
        sums = class_sums(estimator.bins, of.rows, of.settings)
        return sums if call.is_marginal else (*sums, *unit_sums(estimator.bins, of))

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the errors and, if there are draws, their distributions if calibrated."""
        found = calibration_errors(measured, calls, settings)
        scheme = ["predictions:resampled"] if settings.resample_predictions else []
        estimates = {}
        for call in calls:
            value, null, parts, bins = found[str(call)]
            if measured.posteriors is not None and is_known(call, settings):
                true = true_error(call, measured.predictions, measured.posteriors, settings)
                parts = {**parts, "true": true}
            grid = _grid_error(measured, call, settings)
            line = signature(call, measured, settings, f"draws:{settings.draws}", *scheme, grid=grid)
            interval, reason = _interval(measured, call, settings)
            estimates[str(call)] = Estimate(
                call, value, line, interval, reason, null, parts=parts, bins=bins, grid=grid
            )
        return Findings(estimates)

    def swapped(self, call: MetricExpression, pair: Pair) -> Swapped | None:
        """Swap scores of a lens, or sums over the bins of every class."""
        estimator, both = call.made, (pair.baseline.measured, pair.candidate.measured)
        how = pair.rng, pair.paired
        if call.trains_bins or call.is_marginal or isinstance(estimator, OfVectors):
            return None
        if not call.is_class_wise:
            first, second = (_side(one, call) for one in both)
            draws = pair.affordable(estimator.effort) if estimator.effort else pair.settings.draws
            return permuted_differences(first, second, estimator, draws, *how)
        if not (from_sums(estimator) and pair.same_classes):
            return None
        before, after = (one.kept(UnitSums(estimator.bins)).sums for one in both)
        return swapped_sums(
            before,
            after,
            lambda bins: class_wise_error(estimator.of_sums(bins), call.over_classes),
            pair.settings.draws,
            *how,
        )

    def recomputed(self, call: MetricExpression) -> bool:
        """Tell whether an error is quick enough to compute anew; bins would have to be trained anew."""
        return call.made.recomputed and not call.trains_bins

    def effort(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> float:
        """Return what computing an error again costs, where it is on a grid of every class."""
        every = predictions.n_classes if call.is_class_wise else 1
        return super().effort(call, predictions, settings) + call.made.effort * every


class TestedError(NamedTuple):
    """An error, its distribution if calibrated where that was asked for, and numbers to read it with."""

    value: float
    null: Null | None = None
    parts: Mapping[str, float] = MappingProxyType({})
    bins: VectorBins | None = None


def calibration_errors(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings
) -> dict[str, TestedError]:
    """Return what is found out about every calibration error, by canonical expression.

    The error of a region without rows is nan, and so is one of pairs where there are none. Errors of one
    lens and region are tested on the same simulated outcomes, class-wise ones only if the settings say so.

    Raises
    ------
    UsageError
        If an estimator does not fit its lens.
    """
    found: dict[str, TestedError] = {}
    scalar: dict[tuple[str, str], list[tuple[MetricExpression, OneDimensional]]] = {}
    for call in calls:
        estimator = call.made
        own = _of_its_own(measured, call, estimator, settings)
        if own is not None:
            found[str(call)] = own
        elif not isinstance(estimator, OfVectors):
            scalar.setdefault((call.lens, call.region), []).append((call, estimator))
    for pairs in scalar.values():
        problem = _problem(measured, pairs[0][0])
        if not problem.total_weight:
            found |= {str(call): TestedError(math.nan) for call, _ in pairs}
            continue
        estimators = [estimator for _, estimator in pairs]
        values = [estimator.value(problem) for estimator in estimators]
        nulls: Sequence[Null | None] = [None] * len(pairs)
        if settings.draws:
            nulls = null_distributions(problem, estimators, values, settings.draws, _rng(settings))
        for (call, estimator), value, null in zip(pairs, values, nulls, strict=True):
            found[str(call)] = TestedError(value, null, estimator.parts(problem))
    return found


def _of_its_own(
    measured: Measurements,
    call: MetricExpression,
    estimator: OneDimensional | OfVectors,
    settings: Settings,
) -> TestedError | None:
    """Return an error that is not tested with others of its lens; None for one that is."""
    if isinstance(estimator, OfVectors):
        return _of_vectors(measured, call, estimator, settings)
    if call.trains_bins:
        if call.is_class_wise or call.is_marginal:
            raise UsageError(f"{call}: trained bins need one score; expected a lens such as class-1 or top-1")
        _problem(measured, call)
        value, parts = trained_error(measured, call, estimator, measured.problem(call.lens))
        return TestedError(value, parts=parts)
    if call.is_marginal:
        return _marginal(measured, call, estimator, settings)
    return _class_wise(measured, call, estimator, settings) if call.is_class_wise else None


def _grid_error(measured: Measurements, call: MetricExpression, settings: Settings) -> GridError | None:
    """Return what the grid of a state leaves open, where that is known."""
    cells = measured.grid(call.lens)
    if cells is None or call.region != "all" or call.trains_bins:
        return None
    return call.made.on_grid(cells, measured.problem(call.lens))


def _interval(
    measured: Measurements, call: MetricExpression, settings: Settings
) -> tuple[Interval | None, str]:
    """Return the interval of an error that has one, or why there is none."""
    if not call.entry.bounds or not settings.intervals:
        return None, ""
    if call.is_class_wise or call.is_marginal:
        return None, f"the lens {call.lens} has a score for each class"
    if not settings.draws_outcomes:
        return None, "rows depend on each other, or are weighted by their labels"
    problem = _problem(measured, call)
    return call.made.judged(problem, settings.level) if problem.total_weight else (None, "")


def _side(measured: Measurements, call: MetricExpression) -> Side:
    """Return what is swapped of a system: its scores through a lens, in the region of the metric."""

    def made() -> Side:
        score, outcome, weights, inside = measured.look(call.lens)
        units = measured.units if inside is None else measured.units.within(inside)
        return Side(score, outcome, units, weights)

    return measured.once(("side", call.lens), made).within(call.region)


def _rng(settings: Settings) -> np.random.Generator:
    return generator(settings.seed, Stream.OUTCOMES)


def _problem(measured: Measurements, call: MetricExpression) -> Problem:
    if not measured.is_scalar(call.lens):
        raise UsageError(
            f"{call}: the lens {call.lens} has several outcomes; look at them with expected_miscalibration, "
            f"worst_miscalibration or skce"
        )
    problem = measured.problem(call.lens)
    if "@" in call.region:
        raise UsageError(f"{call}: with one score, a region is given by its ends, as in region=0.8..1")
    return problem if call.region == "all" else problem.within(*region_ends(call.region))


def _of_vectors(
    measured: Measurements, call: MetricExpression, estimator: OfVectors, settings: Settings
) -> TestedError:
    if measured.is_scalar(call.lens):
        problem = _problem(measured, call).as_vectors()
    else:
        problem = measured.vector_problem(call.lens)
        problem = problem.in_region(call.region, str(call))
    problem = problem.with_weight()
    if len(problem.probs) < estimator.least_rows:
        return TestedError(math.nan)
    value, null, bins = estimator.found(problem, settings.draws, _rng(settings))
    if bins is None:
        return TestedError(value, null)
    if bins.score.size > MOST_NUMBERS:
        return TestedError(value, null, {"bins_left_out": len(bins.count)})
    return TestedError(value, null, bins=_shown(bins, call, measured))


def _shown(bins: Bins, call: MetricExpression, measured: Measurements) -> VectorBins:
    """Return the bins that have weight, their outcomes by the names of classes and groups."""
    kept = bins.weight > 0
    weight = bins.weight[kept]
    means = ((table[:, kept] / weight).T for table in (bins.score, bins.outcome))
    names = measured.outcomes_of(call.lens, len(bins.score))
    return VectorBins(names, bins.count[kept], weight / weight.sum(), *means)


def _class_wise(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, settings: Settings
) -> TestedError:
    if call.region != "all":
        raise UsageError(f"{call}: a region needs one score; name the class, as in lens=class-0")
    value, parts = class_wise_value(measured, estimator, call.over_classes), dict[str, float]()
    if call.over_classes == "sum":
        parts["absent_classes"] = int(np.count_nonzero(measured.rows_by_class == 0))
    if not _tests_classes(measured, settings):
        return TestedError(value, parts=parts)
    null = class_wise_null(measured, estimator, call.over_classes, value, settings.draws, _rng(settings))
    return TestedError(value, null, parts)


def _tests_classes(measured: Measurements, settings: Settings) -> bool:
    """Tell whether errors of all classes are tested; a sample of rows may not have kept what that takes."""
    rows = measured.predictions
    return measured.state.tells(all_probs(rows)) and tests_classes(rows, settings)


def _marginal(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, settings: Settings
) -> TestedError:
    value = marginal_value(measured, estimator, call.region)
    if math.isnan(value) or not _tests_classes(measured, settings):
        return TestedError(value)
    return TestedError(
        value, marginal_null(measured, estimator, call.region, value, settings.draws, _rng(settings))
    )


FAMILY = ErrorFamily()
