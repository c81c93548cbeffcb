"""Calibration errors of metric expressions: their values, and what they would be if calibrated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calcli.core.classwise import class_wise_null
from calcli.core.consistency import Null
from calcli.core.errors import UsageError
from calcli.core.estimators import (
    OfVectors,
    OneDimensional,
    find_estimator,
    null_distributions,
)
from calcli.core.expressions import MetricCall
from calcli.core.lenses import Problem
from calcli.core.measure import Measurements
from calcli.core.results import Settings

Found = tuple[float, Null | None]


def calibration_errors(
    measured: Measurements, calls: Sequence[MetricCall], settings: Settings
) -> dict[str, Found]:
    """Return the value and the null distribution of every calibration error, by canonical expression.

    Errors of one lens and region are tested on the same simulated outcomes. Class-wise errors are tested only
    if the settings ask for every test.

    Raises
    ------
    UsageError
        If an estimator does not fit its lens, or a region holds no row.
    """
    found: dict[str, Found] = {}
    scalar: dict[tuple[str, str], list[tuple[MetricCall, OneDimensional]]] = {}
    for call in calls:
        estimator = find_estimator(call, settings.edges)
        if isinstance(estimator, OfVectors):
            found[str(call)] = _of_vectors(measured, call, estimator, settings)
        elif call.is_class_wise:
            found[str(call)] = _class_wise(measured, call, estimator, settings)
        else:
            scalar.setdefault((call.lens, call.region), []).append((call, estimator))
    for (_, region), pairs in scalar.items():
        problem = _problem(measured, pairs[0][0], region)
        estimators = [estimator for _, estimator in pairs]
        values = [estimator.value(problem) for estimator in estimators]
        nulls: Sequence[Null | None] = [None] * len(pairs)
        if settings.draws:
            nulls = null_distributions(problem, estimators, values, settings.draws, _rng(settings))
        for (call, _), value, null in zip(pairs, values, nulls, strict=True):
            found[str(call)] = value, null
    return found


def _rng(settings: Settings) -> np.random.Generator:
    return np.random.default_rng([settings.seed, 2])


def _problem(measured: Measurements, call: MetricCall, region: str) -> Problem:
    if not measured.is_scalar(call.lens):
        raise UsageError(
            f"{call}: the lens {call.lens} has several outcomes; look at them with expected_miscalibration, "
            f"worst_miscalibration or skce"
        )
    return measured.problem(call.lens).in_region(region, str(call))


def _of_vectors(measured: Measurements, call: MetricCall, estimator: OfVectors, settings: Settings) -> Found:
    problem = measured.vector_problem(call.lens)
    value = estimator.value(problem)
    return value, estimator.null(problem, settings.draws, _rng(settings)) if settings.draws else None


def _class_wise(
    measured: Measurements, call: MetricCall, estimator: OneDimensional, settings: Settings
) -> Found:
    if call.region != "all":
        raise UsageError(f"{call}: a region is of one score; name the class, as in lens=class-0")
    value = measured.class_wise(estimator, call.over_classes)
    if not (settings.test and settings.draws):
        return value, None
    null = class_wise_null(measured, estimator, call.over_classes, value, settings.draws, _rng(settings))
    return value, null
