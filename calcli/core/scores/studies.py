"""Estimates of what recalibration wins, of the parts of scores, and the decisions that costs lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calcli.core.calibrators.selection import Score
from calcli.core.errors import UsageError
from calcli.core.expressions import MetricCall
from calcli.core.measure import Measurements
from calcli.core.predictions import Array
from calcli.core.results import Decision, Estimate, Interval, Settings
from calcli.core.scores.calibration_loss import CalibrationLoss, Companions, Studies, Study
from calcli.core.scores.decomposition import Corp, binned_losses, corp, summed
from calcli.core.signatures import signature

Parts = dict[str, float]


def recalibrations(
    measured: Measurements, calls: Sequence[MetricCall], settings: Settings, companions: Companions
) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """Return the estimates of the family "recalibration", and what the fits want said.

    Raises
    ------
    UsageError
        If a metric needs a file or a column that is not there.
    InputError
        If a companion does not fit.
    """
    calls = [call for call in calls if call.metric.family == "recalibration"]
    if not calls:
        return {}, ()
    predictions = measured.predictions
    names = (settings.cluster, settings.fold_column)
    clusters, folds = (None if name is None else predictions.column(name) for name in names)
    studies = Studies(predictions, companions, settings.seed, settings.clip, clusters, folds)
    estimates = {}
    for call in calls:
        score: Any = call.arguments["score"]
        study, before = studies.of(call), measured.rows[score]
        value, parts = _finding(call, study, score, before)
        interval = None
        if study is not None and call.metric.name in LOSSES and settings.loss_resamples:
            interval = _loss_interval(call, study, score, before, settings)
        note = signature(call, measured, settings, f"resamples:{settings.loss_resamples}")
        estimates[str(call)] = Estimate(call, value, note, interval, parts=parts)
    return estimates, tuple(studies.notes())


LOSSES: dict[str, Callable[[CalibrationLoss], float]] = {
    "calibration_loss": lambda loss: loss.absolute,
    "relative_calibration_loss": lambda loss: loss.relative,
}


def _finding(call: MetricCall, study: Study | None, score: Score, before: Array) -> tuple[float, Parts]:
    """Return the value of a metric and the numbers to read it with; nan without a study."""
    if study is None:
        return float("nan"), {}
    loss = study.calibration_loss(score, before)
    if call.metric.name in LOSSES:
        parts = {"before": loss.before, "after": loss.after, "calibration_loss": loss.absolute}
        return LOSSES[call.metric.name](loss), parts
    expected, entropy = study.expected_score(score), study.entropy(score)
    if call.metric.name == "expected_score":
        return expected, {"score": loss.before, "relative_difference": (loss.before - expected) / loss.before}
    return expected - entropy, {"expected_score": expected, "entropy": entropy}


def _loss_interval(
    call: MetricCall, study: Study, score: Score, before: Array, settings: Settings
) -> Interval | None:
    rng = np.random.default_rng([settings.seed, 5])
    losses = study.resampled_losses(score, before, settings.loss_resamples, rng)
    value = LOSSES[call.metric.name]
    return Interval.of_draws(np.array([value(loss) for loss in losses]), settings.level)


def decompositions(
    measured: Measurements, calls: Sequence[MetricCall], settings: Settings
) -> dict[str, Estimate]:
    """Return the estimates of the family "decomposition".

    Raises
    ------
    UsageError
        If a score cannot be taken apart in the way asked for.
    """
    estimates = {}
    for call in calls:
        if call.metric.family == "decomposition":
            parts = _binned(call, measured) if "bins" in call.arguments else _isotonic(call, measured)
            value = parts[PARTS[call.metric.name]]
            estimates[str(call)] = Estimate(call, value, signature(call, measured, settings), parts=parts)
    return estimates


PARTS = {
    "binned_calibration_loss": "calibration",
    "binned_refinement_loss": "refinement",
    "corp_miscalibration": "miscalibration",
    "corp_discrimination": "discrimination",
    "corp_uncertainty": "uncertainty",
}


def _binned(call: MetricCall, measured: Measurements) -> Parts:
    score: Any = call.arguments["score"]
    found = binned_losses(measured.class_bins(int(call.arguments["bins"])), score)
    losses = measured.rows[score].astype(np.float64, copy=False)
    mean = float(np.average(losses, weights=measured.predictions.weights))
    remainder = mean - found.calibration - found.refinement
    return {
        "score": mean,
        "calibration": found.calibration,
        "refinement": found.refinement,
        "remainder": remainder,
    }


def _isotonic(call: MetricCall, measured: Measurements) -> Parts:
    found = _corp(call, measured)
    return {
        "score": found.score,
        "miscalibration": found.miscalibration,
        "discrimination": found.discrimination,
        "uncertainty": found.uncertainty,
    }


def _corp(call: MetricCall, measured: Measurements) -> Corp:
    score: Any = call.arguments["score"]
    labels, weights = measured.predictions.labels, measured.predictions.weights
    if call.lens == "top-1":
        confidence, hit = measured.rows["confidence"].astype(np.float64), measured.rows["hit"]
        return corp(confidence, hit, _binary_losses(confidence, hit, score), weights, score)
    if measured.predictions.n_classes == 2:
        # the log-odds tell rows apart whose probabilities both round to 1
        one = corp(measured.rows["log_odds"], labels == 1, measured.rows[score], weights, score)
        return one if score == "log_loss" else Corp(one.score, 2 * one.recalibrated, 2 * one.uncertainty)
    if score == "log_loss":
        raise UsageError(
            f"{call}: the log-loss of more than two classes is no sum over classes; "
            "say score=brier or lens=top-1"
        )
    parts = []
    for k, probs in enumerate(measured.class_probs):
        outcome = labels == k
        parts.append(corp(probs, outcome, _binary_losses(probs, outcome, score), weights, score))
    return summed(parts)


def _binary_losses(prob: Array, outcome: Array, score: Score) -> Array:
    if score == "brier":
        return np.square(prob - outcome)
    with np.errstate(divide="ignore"):
        return -np.log(np.where(outcome, prob, 1 - prob))


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
