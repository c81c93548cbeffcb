"""Estimates of what recalibration wins, and the decisions that costs lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.estimators.bootstrap import Sums
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.scoring import Means
from calcli.core.evaluating.calibration_loss import CalibrationLoss, Companions, Studies, Study
from calcli.core.evaluating.measure import Measurements
from calcli.core.evaluating.results import Decision, Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings


def recalibrations(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings, companions: Companions
) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """Return the estimates of the family "recalibration", and what the fits want said.

    Raises
    ------
    UsageError
        If a metric needs a file or a column that is not there.
    InputError
        If a companion does not fit.
    """
    calls = [call for call in calls if call.entry.family == "recalibration"]
    if not calls:
        return {}, ()
    predictions = measured.predictions
    clusters, folds = settings.clusters(predictions), settings.given_folds(predictions)
    studies = Studies(predictions, companions, settings.seed, settings.clip, clusters, folds)
    estimates = {}
    for call in calls:
        study, before = studies.of(call), measured.rows[call.score]
        value, parts = float("nan"), dict[str, float]()
        interval, resamples = None, settings.loss_resamples
        if study is not None:
            value, parts = _finding(call, study, before)
            if study.recalibration is None:
                resamples = settings.resamples
                interval = _given_interval(call, study, before, measured, settings)
            elif call.entry.name in LOSSES and resamples:
                interval = _trained_interval(call, study, before, settings)
        note = signature(call, measured, settings, f"resamples:{resamples}")
        estimates[str(call)] = Estimate(call, value, note, interval, parts=parts)
    return estimates, tuple(studies.notes())


LOSSES: dict[str, Callable[[CalibrationLoss], float]] = {
    "calibration_loss": lambda loss: loss.absolute,
    "relative_calibration_loss": lambda loss: loss.relative,
}

OF_MEANS: dict[str, Callable[[Means], Doubles]] = {
    "calibration_loss": lambda means: means["before"] - means["after"],
    "relative_calibration_loss": lambda means: 1 - means["after"] / means["before"],
    "expected_score": lambda means: means["expected"],
    "score_divergence": lambda means: means["expected"] - means["entropy"],
}


def _finding(call: MetricExpression, study: Study, before: Array) -> tuple[float, dict[str, float]]:
    """Return the value of a metric and the numbers to read it with."""
    score = call.score
    loss = study.calibration_loss(score, before)
    if call.entry.name in LOSSES:
        parts = {"before": loss.before, "after": loss.after, "calibration_loss": loss.absolute}
        parts["standard_error"] = loss.standard_error
        return LOSSES[call.entry.name](loss), parts
    expected, entropy = study.mean(study.expected_losses(score)), study.mean(study.entropies(score))
    if call.entry.name == "expected_score":
        return expected, {"score": loss.before, "unexplained": study.unexplained(score, loss.before)}
    return expected - entropy, {"expected_score": expected, "entropy": entropy}


def _given_interval(
    call: MetricExpression, study: Study, before: Array, measured: Measurements, settings: Settings
) -> Interval | None:
    """Return the interval under posteriors that depend on no row: all is made of means over rows."""
    if not settings.resamples or len(study.kept) < 2:
        return None
    columns = {
        "before": before[study.kept],
        "after": study.losses(call.score),
        "expected": study.expected_losses(call.score),
        "entropy": study.entropies(call.score),
    }
    rows, predictions = study.rows, measured.predictions
    sums = Sums(columns, rows.labels, predictions.n_classes, rows.weights, predictions.priors, study.clusters)
    means = sums.resampled(settings.resamples, np.random.default_rng([settings.seed, 5]))
    with np.errstate(invalid="ignore", divide="ignore"):  # of infinite scores nothing is won
        return Interval.of_draws(OF_MEANS[call.entry.name](means), settings.level)


def _trained_interval(
    call: MetricExpression, study: Study, before: Array, settings: Settings
) -> Interval | None:
    rng = np.random.default_rng([settings.seed, 5])
    losses = study.resampled_losses(call.score, before, settings.loss_resamples, rng)
    value = LOSSES[call.entry.name]
    return Interval.of_draws(np.array([value(loss) for loss in losses]), settings.level)


def decision_tables(measured: Measurements) -> dict[str, tuple[Decision, ...]]:
    """Return, for all costs that were used, how often each decision was taken and what it cost."""
    weights = measured.predictions.weights
    tables = {}
    for name, costs in measured.costs.items():
        taken, paid = measured.rows[costs.decision_column], measured.rows[costs.column]
        size = len(costs.decisions)
        count = np.bincount(taken, minlength=size)
        weight = np.bincount(taken, weights, size)
        cost = np.bincount(taken, paid if weights is None else paid * weights, size)
        mean = np.divide(cost, weight, out=np.full(size, np.nan), where=weight > 0)
        columns = (costs.decisions, count.tolist(), (weight / weight.sum()).tolist(), mean.tolist())
        tables[name] = tuple(Decision(*row) for row in zip(*columns, strict=True))
    return tables
