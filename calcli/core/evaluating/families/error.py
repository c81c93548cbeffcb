"""Calibration errors: biased upward near zero, so that they stand beside their values if calibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from calcli.core.data.streams import Stream, generator
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.errors import (
    KernelError,
    OfVectors,
    OneDimensional,
    find_estimator,
    null_distributions,
)
from calcli.core.estimators.kernelswaps import swapped_kernel_error
from calcli.core.estimators.miscalibration import (
    BinnedError,
    KolmogorovSmirnov,
    class_wise_error,
)
from calcli.core.estimators.permutation import Side, Swapped, permuted_differences, swapped_sums
from calcli.core.evaluating.classwise import class_wise_null, class_wise_value, from_sums
from calcli.core.evaluating.families.base import Entrant, Family, Findings, Match
from calcli.core.evaluating.marginal import marginal_null, marginal_value
from calcli.core.evaluating.measurements import Measurements, Pass
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, region_ends
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import Problem


class ErrorFamily(Family):
    """Errors through a lens; differences are tested by swapping predictions."""

    def needs(self, call: MetricExpression, made: Pass) -> None:
        """Keep scores and outcomes of the lens; of class-wise errors sums, or all probabilities."""
        estimator = find_estimator(call, made.settings.edges)
        if call.is_marginal:
            if call.region == "all" and from_sums(estimator):
                made.keep_bins(estimator.bins)
            else:
                made.keep_probs()
        elif not call.is_class_wise:
            made.keep_lens(call.lens)
        elif from_sums(estimator):
            made.keep_bins(estimator.bins)
            made.keep_unit_bins(estimator.bins)
        else:
            made.keep_probs()

    def estimates(
        self, calls: Sequence[MetricExpression], measured: Measurements, settings: Settings
    ) -> Findings:
        """Return the errors and, if there are draws, their distributions if calibrated."""
        found = calibration_errors(measured, calls, settings)
        scheme = ["predictions:resampled"] if settings.resample_predictions else []
        estimates = {}
        for call in calls:
            value, null, parts = found[str(call)]
            line = signature(call, measured, settings, f"draws:{settings.draws}", *scheme)
            estimates[str(call)] = Estimate(call, value, line, if_calibrated=null, parts=parts)
        return Findings(estimates)

    def kept(self, calls: Sequence[MetricExpression], system: Entrant) -> Mapping[str, Any]:
        """Keep what the quickest way to swap predictions needs of each error, if there is one."""
        measured, kept = system.measured, dict[str, Any]()
        if not system.settings.draws:
            return kept
        for call in calls:
            estimator = find_estimator(call, system.settings.edges)
            if isinstance(estimator, KernelError):
                if system.paired:
                    kept[str(call)] = measured.vector_problem(call.lens)
            elif not (call.is_class_wise or call.is_marginal) and measured.is_scalar(call.lens):
                side = (*measured.columns(call.lens), measured.units, measured.predictions.weights)
                kept[str(call)] = Side(*side)
            elif call.is_class_wise and from_sums(estimator):
                kept[str(call)] = measured.collected(("unit bins", estimator.bins)).sums
        return kept

    def swapped(self, call: MetricExpression, match: Match) -> Swapped | None:
        """Swap predictions, by the quickest way there is."""
        estimator, draws = find_estimator(call, match.settings.edges), match.settings.draws
        first, second = match.both(call)
        if isinstance(first, Side) and isinstance(second, Side):
            sides = first.within(call.region), second.within(call.region)
            found = permuted_differences(*sides, estimator, draws, match.rng, match.paired)
            if found is not None:
                return found
        if not match.same_classes:
            return None
        if isinstance(estimator, KernelError):
            if not match.paired or call.region != "all":
                return None  # every permutation would have to look at all pairs of rows
            return swapped_kernel_error(first, second, estimator, match.baseline.units, draws, match.rng)
        if call.is_class_wise and from_sums(estimator):
            over = call.over_classes
            return swapped_sums(
                first,
                second,
                lambda bins: class_wise_error(estimator.of_sums(bins), over),
                draws,
                match.rng,
                match.paired,
            )
        return match.recompute(call)


class TestedError(NamedTuple):
    """An error, its distribution if calibrated where that was asked for, and numbers to read it with."""

    value: float
    null: Null | None = None
    parts: Mapping[str, float] = MappingProxyType({})


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
        estimator = find_estimator(call, settings.edges)
        if isinstance(estimator, OfVectors):
            found[str(call)] = _of_vectors(measured, call, estimator, settings)
        elif call.is_marginal:
            found[str(call)] = _marginal(measured, call, estimator, settings)
        elif call.is_class_wise:
            found[str(call)] = _class_wise(measured, call, estimator, settings)
        else:
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
            found[str(call)] = TestedError(value, null, _parts(estimator, problem))
    return found


def _parts(estimator: OneDimensional, problem: Problem) -> dict[str, float]:
    if isinstance(estimator, KolmogorovSmirnov):
        return {"signed": estimator.signed(problem)}
    if isinstance(estimator, BinnedError) and estimator.debiased:
        return {"squared": estimator.debiased_square(problem)}  # of which the value is the root
    return {}


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
        raise UsageError(f"{call}: of one score a region is told by its ends, as in region=0.8..1")
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
    if not settings.draws:
        return TestedError(estimator.value(problem))
    return TestedError(*estimator.tested(problem, settings.draws, _rng(settings)))


def _class_wise(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, settings: Settings
) -> TestedError:
    if call.region != "all":
        raise UsageError(f"{call}: a region needs one score; name the class, as in lens=class-0")
    value, parts = class_wise_value(measured, estimator, call.over_classes), dict[str, float]()
    if call.over_classes == "sum":
        present = np.unique(measured.predictions.labels)
        parts["absent_classes"] = measured.predictions.n_classes - len(present)
    if not (settings.test and settings.draws):
        return TestedError(value, parts=parts)
    null = class_wise_null(measured, estimator, call.over_classes, value, settings.draws, _rng(settings))
    return TestedError(value, null, parts)


def _marginal(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, settings: Settings
) -> TestedError:
    value = marginal_value(measured, estimator, call.region)
    if math.isnan(value) or not (settings.test and settings.draws):
        return TestedError(value)
    return TestedError(
        value, marginal_null(measured, estimator, call.region, value, settings.draws, _rng(settings))
    )


FAMILY = ErrorFamily()
