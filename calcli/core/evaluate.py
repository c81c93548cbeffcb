"""The main job: predictions and metric expressions in, estimates out, from one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calcli import __version__
from calcli.core.bootstrap import Sums
from calcli.core.consistency import Null, null_distributions
from calcli.core.errors import KindContradicted
from calcli.core.expressions import MetricCall, parse_metrics
from calcli.core.measure import Measurements, Watch
from calcli.core.miscalibration import binned_error, find_estimator
from calcli.core.predictions import Predictions
from calcli.core.results import ClassRow, Estimate, Evaluation, Interval, Settings

AUROC_LIMIT = 10_000_000  # elements up to which the default report ranks every class


def default_metrics(predictions: Predictions) -> tuple[list[str], list[str]]:
    """Return the expressions of the default report, and a sentence for each metric left out."""
    rows, classes = predictions.scores.shape
    names = ["log_loss", "normalized_log_loss", "brier", "normalized_brier", "accuracy"]
    skipped = []
    if classes > 5:
        names.append("top5_accuracy")
    if classes == 2 or rows * classes <= AUROC_LIMIT:
        names.append("auroc")
    else:
        skipped.append("auroc orders every class in memory and is left out; ask with --metrics auroc")
    names += ["mean_confidence", "mean_gap", "ece", "ece_l2", "mce", "ece:binning=equal-mass", "ks"]
    if classes == 2:
        names.append("ece:lens=class-1")
    return [*names, "cw_ece", "cw_ece_l2"], skipped


def evaluate(
    predictions: Predictions, settings: Settings | None = None, watch: Watch | None = None
) -> Evaluation:
    """Evaluate predictions.

    Parameters
    ----------
    predictions
        Scores and labels.
    settings
        Metrics and how to compute them; the default report if None.
    watch
        Called with the number of rows done as the pass goes on.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = settings or Settings()
    return assess(measure(predictions, settings, watch), settings)


def measure(predictions: Predictions, settings: Settings, watch: Watch | None = None) -> Measurements:
    """Return what one pass finds for the metrics of the settings; otherwise as `evaluate`."""
    calls = _calls(predictions, settings)
    try:
        return Measurements(
            predictions,
            calls,
            settings.bins,
            settings.precision,
            watch,
            costs=settings.costs,
            clip=settings.clip,
        )
    except KindContradicted as found:
        # the first block looked like something a later one cannot be: read again as what it is
        return measure(predictions.as_kind(found.kind, found.reason), settings, watch)


def _calls(predictions: Predictions, settings: Settings) -> list[MetricCall]:
    return parse_metrics(settings.metrics or default_metrics(predictions)[0], {"bins": settings.bins})


def assess(measured: Measurements, settings: Settings) -> Evaluation:
    """Return the evaluation of what `measure` found with the same settings."""
    predictions = measured.predictions
    calls = _calls(predictions, settings)
    estimates = _scores(measured, calls, settings)
    estimates |= _rankings(measured, calls, settings)
    estimates |= _errors(measured, calls, settings)
    confidence = measured.problem("top-1")
    return Evaluation(
        predictions,
        settings,
        measured.dtype,
        measured.facts,
        {str(call): estimates[str(call)] for call in calls},
        _per_class(measured, settings.bins),
        confidence,
        confidence.bins("equal-width", settings.bins),
        measured.class_bins(settings.bins),
        *_infinite(measured),
        () if settings.metrics else tuple(default_metrics(predictions)[1]),
    )


def _scores(measured: Measurements, calls: Sequence[MetricCall], settings: Settings) -> dict[str, Estimate]:
    calls = [call for call in calls if call.metric.family == "score"]
    if not calls:
        return {}
    predictions = measured.predictions
    columns = {name: measured.rows[name] for score in measured.scores.values() for name in score.statistics}
    sums = Sums(columns, predictions.labels, predictions.n_classes, predictions.weights)
    means = sums.means()
    resampled = None
    if settings.resamples and predictions.n_rows > 1:
        resampled = sums.resampled(settings.resamples, np.random.default_rng([settings.seed, 1]))
    estimates = {}
    for call in calls:
        score = measured.scores[str(call)]
        value = float(score.value(means))
        interval = None
        if resampled is not None and not np.isnan(value):
            interval = _interval(score.value(resampled), settings.level)
        parts = {"constant": float(score.constant(means))} if score.constant else {}
        signature = _signature(call, measured, f"resamples:{settings.resamples}", settings.seed)
        estimates[str(call)] = Estimate(call, value, signature, interval, parts=parts)
    return estimates


def _rankings(measured: Measurements, calls: Sequence[MetricCall], settings: Settings) -> dict[str, Estimate]:
    estimates = {}
    for call in calls:
        if call.metric.family == "ranking":
            area = measured.roc_area()
            ends = area.interval(settings.level)
            interval = None if ends is None else Interval(*ends, settings.level)
            signature = _signature(call, measured, "interval:delong", settings.seed)
            estimates[str(call)] = Estimate(call, area.value, signature, interval)
    return estimates


def _interval(draws: NDArray[np.float64], level: float) -> Interval | None:
    """Return the percentile interval, by order statistics so that infinite draws stay infinite."""
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return None
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(draws, tails, method="inverted_cdf")
    return Interval(float(low), float(high), level)


def _errors(measured: Measurements, calls: Sequence[MetricCall], settings: Settings) -> dict[str, Estimate]:
    calls = [call for call in calls if call.metric.family == "error"]
    values, nulls = {}, {}
    for lens in dict.fromkeys(call.lens for call in calls):
        of_lens = [call for call in calls if call.lens == lens]
        estimators = [find_estimator(call) for call in of_lens]
        found: list[Null | None] = [None] * len(of_lens)
        if lens == "class-wise":
            errors = [measured.class_wise(estimator) for estimator in estimators]
        else:
            problem = measured.problem(lens)
            errors = [estimator.value(problem) for estimator in estimators]
            if settings.draws:
                rng = np.random.default_rng([settings.seed, 2])
                found = [*null_distributions(problem, estimators, errors, settings.draws, rng)]
        for call, error, null in zip(of_lens, errors, found, strict=True):
            values[str(call)], nulls[str(call)] = error, null
    return {
        str(call): Estimate(
            call,
            values[str(call)],
            _signature(call, measured, f"draws:{settings.draws}", settings.seed),
            if_calibrated=nulls[str(call)],
        )
        for call in calls
    }


def _signature(call: MetricCall, measured: Measurements, repeats: str, seed: int) -> str:
    rows, classes = measured.predictions.scores.shape
    parts = [call.metric.name, *(f"{key}:{value}" for key, value in call.arguments.items())]
    parts += [f"n:{rows}", f"k:{classes}", f"dtype:{measured.dtype}"]
    if measured.predictions.weights is not None:
        parts.append("weighted")
    return "|".join([*parts, repeats, f"seed:{seed}", f"version:{__version__}"])


def _per_class(measured: Measurements, bins: int) -> list[ClassRow]:
    predictions = measured.predictions
    table = measured.class_bins(bins)
    total = table.weight.sum(-1)
    weights, k = predictions.weights, predictions.n_classes
    hit = measured.rows["hit"] if weights is None else measured.rows["hit"] * weights
    weight = np.bincount(predictions.labels, weights, k)
    hits = np.bincount(predictions.labels, hit, k)
    recall = np.divide(hits, weight, out=np.full(k, np.nan), where=weight > 0)
    columns = zip(
        predictions.classes,
        np.bincount(predictions.labels, minlength=k).tolist(),
        (table.outcome.sum(-1) / total).tolist(),
        (table.score.sum(-1) / total).tolist(),
        recall.tolist(),
        binned_error(table, "1").tolist(),
        strict=True,
    )
    return [ClassRow(*column) for column in columns]


def _infinite(measured: Measurements) -> tuple[NDArray[np.intp], float]:
    """Return the rows of infinite log-loss and the log-loss of the others."""
    if "log_loss" not in measured.rows.columns:
        return np.empty(0, np.intp), float("nan")
    losses = measured.rows["log_loss"]
    weights = measured.predictions.weights
    finite = np.isfinite(losses)
    weightless = np.zeros_like(finite) if weights is None else weights == 0
    infinite = np.flatnonzero(~finite & ~weightless)
    if not finite.any():
        return infinite, float("nan")
    kept = None if weights is None else weights[finite]
    return infinite, float(np.average(losses[finite].astype(np.float64), weights=kept))
