"""Calibration errors of metric expressions: their values, and what they would be if calibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from calcli.core.estimators.consistency import Null
from calcli.core.estimators.errors import (
    OfVectors,
    OneDimensional,
    find_estimator,
    null_distributions,
)
from calcli.core.estimators.miscalibration import BinnedError, KolmogorovSmirnov
from calcli.core.evaluating.classwise import class_wise_null
from calcli.core.evaluating.measure import Measurements
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, region_ends
from calcli.core.language.settings import Settings
from calcli.core.problems.problem import Problem


class Found(NamedTuple):
    """An error, its distribution if calibrated where that was asked for, and numbers to read it with."""

    value: float
    null: Null | None = None
    parts: Mapping[str, float] = MappingProxyType({})


def calibration_errors(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings
) -> dict[str, Found]:
    """Return what is found out about every calibration error, by canonical expression.

    The error of a region without rows is nan, and so is one of pairs where there are none. Errors of one
    lens and region are tested on the same simulated outcomes, class-wise ones only if the settings say so.

    Raises
    ------
    UsageError
        If an estimator does not fit its lens.
    """
    found: dict[str, Found] = {}
    scalar: dict[tuple[str, str], list[tuple[MetricExpression, OneDimensional]]] = {}
    for call in calls:
        estimator = find_estimator(call, settings.edges)
        if isinstance(estimator, OfVectors):
            found[str(call)] = _of_vectors(measured, call, estimator, settings)
        elif call.is_class_wise:
            found[str(call)] = _class_wise(measured, call, estimator, settings)
        else:
            scalar.setdefault((call.lens, call.region), []).append((call, estimator))
    for pairs in scalar.values():
        problem = _problem(measured, pairs[0][0])
        if not problem.total_weight:
            found |= {str(call): Found(math.nan) for call, _ in pairs}
            continue
        estimators = [estimator for _, estimator in pairs]
        values = [estimator.value(problem) for estimator in estimators]
        nulls: Sequence[Null | None] = [None] * len(pairs)
        if settings.draws:
            nulls = null_distributions(problem, estimators, values, settings.draws, _rng(settings))
        for (call, estimator), value, null in zip(pairs, values, nulls, strict=True):
            found[str(call)] = Found(value, null, _parts(estimator, problem))
    return found


def _parts(estimator: OneDimensional, problem: Problem) -> dict[str, float]:
    if isinstance(estimator, KolmogorovSmirnov):
        return {"signed": estimator.signed(problem)}
    if isinstance(estimator, BinnedError) and estimator.debiased:
        return {"squared": estimator.debiased_square(problem)}  # of which the value is the root
    return {}


def _rng(settings: Settings) -> np.random.Generator:
    return np.random.default_rng([settings.seed, 2])


def _problem(measured: Measurements, call: MetricExpression) -> Problem:
    if not measured.is_scalar(call.lens):
        raise UsageError(
            f"{call}: the lens {call.lens} has several outcomes; look at them with expected_miscalibration, "
            f"worst_miscalibration or skce"
        )
    problem = measured.problem(call.lens)
    return problem if call.region == "all" else problem.within(*region_ends(call.region))


def _of_vectors(
    measured: Measurements, call: MetricExpression, estimator: OfVectors, settings: Settings
) -> Found:
    if measured.is_scalar(call.lens):
        problem = _problem(measured, call).as_vectors()
    else:
        problem = measured.vector_problem(call.lens)
        if call.region != "all":
            problem = problem.within(*region_ends(call.region))
    problem = problem.with_weight()
    if len(problem.probs) < estimator.least_rows:
        return Found(math.nan)
    if not settings.draws:
        return Found(estimator.value(problem))
    return Found(*estimator.tested(problem, settings.draws, _rng(settings)))


def _class_wise(
    measured: Measurements, call: MetricExpression, estimator: OneDimensional, settings: Settings
) -> Found:
    if call.region != "all":
        raise UsageError(f"{call}: a region is of one score; name the class, as in lens=class-0")
    value = measured.class_wise(estimator, call.over_classes)
    if not (settings.test and settings.draws):
        return Found(value)
    null = class_wise_null(measured, estimator, call.over_classes, value, settings.draws, _rng(settings))
    return Found(value, null)
