"""Estimates of the parts of scores, with intervals for those whose bias can be taken off.

Binned refinement loss and uncertainty are smooth functions of frequencies, and slightly too small on few
rows; their intervals are corrected for that. A binned calibration loss and a CORP miscalibration are biased
upward near zero, and the isotonic fit behind a CORP discrimination learns from the rows it is judged on:
percentile intervals of them cover too rarely, and they have none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calcli.core.data.arrays import Array, Doubles
from calcli.core.data.binning import equal_width_index
from calcli.core.data.blocks import Block, sweep
from calcli.core.estimators import scoring
from calcli.core.estimators.bootstrap import Sums, effective_number
from calcli.core.estimators.decomposition import Corp, RefinedBins, binned_losses, corp, summed
from calcli.core.estimators.interval import Interval
from calcli.core.estimators.scoring import Means
from calcli.core.evaluating.measure import Measurements
from calcli.core.evaluating.results import Estimate
from calcli.core.evaluating.signatures import signature
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import ScoreName
from calcli.core.language.settings import Settings
from calcli.core.state.collectors import RowTable

Parts = dict[str, float]

PARTS = {
    "binned_calibration_loss": "calibration",
    "binned_refinement_loss": "refinement",
    "corp_miscalibration": "miscalibration",
    "corp_discrimination": "discrimination",
    "corp_uncertainty": "uncertainty",
}
WITH_INTERVAL = ("binned_refinement_loss", "corp_uncertainty")


def decompositions(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings
) -> dict[str, Estimate]:
    """Return the estimates of the family "decomposition".

    Raises
    ------
    UsageError
        If a score cannot be taken apart in the way asked for.
    """
    estimates = {}
    for call in calls:
        if call.entry.family == "decomposition":
            parts = _binned(call, measured) if "bins" in call.arguments else _isotonic(call, measured)
            value = parts[PARTS[call.entry.name]]
            interval, repeats = None, []
            if call.entry.name in WITH_INTERVAL and settings.resamples and measured.predictions.n_rows > 1:
                interval = _interval(call, value, measured, settings)
                repeats = [f"resamples:{settings.resamples}"]
            line = signature(call, measured, settings, *repeats)
            estimates[str(call)] = Estimate(call, value, line, interval, parts=parts)
    return estimates


def _interval(
    call: MetricExpression, value: float, measured: Measurements, settings: Settings
) -> Interval | None:
    """Return a bootstrap interval of the value without its bias; None where that leads too far from it."""
    rows = measured.predictions
    clusters = settings.clusters(rows)
    rng = np.random.default_rng([settings.seed, 7])

    def resampled(column: Array) -> Means:
        sums = Sums({"value": column}, rows.labels, rows.n_classes, rows.weights, rows.priors, clusters)
        return sums.resampled(settings.resamples, rng)

    if call.entry.name == "binned_refinement_loss":
        refined = RefinedBins(measured.class_bins(int(call.arguments["bins"])), call.score)
        share = effective_number(rows.n_rows, rows.weights, clusters) / rows.n_rows
        draws = resampled(_refined_losses(refined, measured, settings))["value"] - refined.bias(share)
    else:
        draws = _uncertainty(call, resampled(measured.rows["hit"]))
        draws = scoring.without_bias(draws, value)
    interval = Interval.of_draws(draws, settings.level)
    if interval is None or interval.low == interval.high or not interval.contains(value):
        return None
    return interval


def _refined_losses(refined: RefinedBins, measured: Measurements, settings: Settings) -> Array:
    """Return the (N,) losses of the rows if each probability were the frequency of its bin."""

    def losses(block: Block) -> Array:
        probs = block.probs
        cells = equal_width_index(probs.ravel(), refined.bins).reshape(probs.shape)
        return refined.losses(cells, block.labels)

    table = RowTable(measured.predictions.n_rows, {"loss": losses})
    sweep(measured.predictions, [table], settings.precision)
    return table["loss"]


def _uncertainty(call: MetricExpression, means: Means) -> Doubles:
    if call.lens == "top-1":
        hits = means["value"]
        means = Means({}, np.stack([1 - hits, hits], axis=-1))
    if call.score == "log_loss":
        return scoring.prior_entropy(means)
    return scoring.prior_brier(means) / (2 if call.lens == "top-1" else 1)


def _binned(call: MetricExpression, measured: Measurements) -> Parts:
    score = call.score
    found = binned_losses(measured.class_bins(int(call.arguments["bins"])), score)
    losses, weights = measured.rows[score].astype(np.float64, copy=False), measured.predictions.weights
    if weights is not None:  # rows without weight do not count, whatever their loss
        losses, weights = losses[weights > 0], weights[weights > 0]
    mean = float(np.average(losses, weights=weights))
    remainder = mean - found.calibration - found.refinement
    return {
        "score": mean,
        "calibration": found.calibration,
        "refinement": found.refinement,
        "remainder": remainder,
    }


def _isotonic(call: MetricExpression, measured: Measurements) -> Parts:
    found = _corp(call, measured)
    return {
        "score": found.score,
        "miscalibration": found.miscalibration,
        "discrimination": found.discrimination,
        "uncertainty": found.uncertainty,
    }


def _corp(call: MetricExpression, measured: Measurements) -> Corp:
    score = call.score
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


def _binary_losses(prob: Array, outcome: Array, score: ScoreName) -> Array:
    if score == "brier":
        return np.square(prob - outcome)
    with np.errstate(divide="ignore"):
        return -np.log(np.where(outcome, prob, 1 - prob))
