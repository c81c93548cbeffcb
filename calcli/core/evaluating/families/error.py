"""Calibration errors: biased upward near zero, so that they stand beside their values if calibrated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.data.chance import Stream, generator
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.calibrationerror import (
    OfVectors,
    OneDimensional,
    find_estimator,
    null_distributions,
)
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.gridded import GridError
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.miscalibration import class_wise_error, from_sums
from calcli.core.estimators.permutation import (
    Side,
    Swapped,
    permuted_differences,
    swapped_sums,
)
from calcli.core.evaluating.classwise import (
    class_wise_null,
    class_wise_value,
    marginal_null,
    marginal_value,
)
from calcli.core.evaluating.families.base import Family, Findings, Pair
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Estimate, VectorBins
from calcli.core.evaluating.signatures import signature
from calcli.core.evaluating.trainedbins import trained_error
from calcli.core.evaluating.truth import is_known, true_error
from calcli.core.evaluating.usual import tests_classes
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, region_ends
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import Problem
from calcli.core.state.needs import Folds, Need, Pass, UnitSums, all_probs, class_sums, through, unit_sums

MOST_NUMBERS = 1_000_000  # means of bins of vectors that a report holds


class ErrorFamily(Family):
    """Errors through a lens; differences are tested by swapping predictions."""

    def needs(self, call: MetricExpression, of: Pass) -> Iterable[Need]:
        """Return scores and outcomes of the lens; of class-wise errors sums, or all probabilities."""
        estimator = find_estimator(call)
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
        estimator, both = find_estimator(call), (pair.baseline.measured, pair.candidate.measured)
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
        return find_estimator(call).recomputed and not call.trains_bins

    def effort(self, call: MetricExpression, predictions: Predictions, settings: Settings) -> float:
        """Return what computing an error again costs, where it is on a grid of every class."""
        every = predictions.n_classes if call.is_class_wise else 1
        return super().effort(call, predictions, settings) + find_estimator(call).effort * every


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
        estimator = find_estimator(call)
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
    return find_estimator(call).on_grid(cells, measured.problem(call.lens))


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
    return find_estimator(call).judged(problem, settings.level) if problem.total_weight else (None, "")


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
