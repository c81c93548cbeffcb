"""Procedures of the works on a file of predictions, each a table of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.calibrationerror import Null
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.evaluating.evaluate import values
from calcli.core.language.expressions import parse_metrics
from calcli.core.language.settings import Settings
from calcli.works.marginal import marginal_errors
from calcli.works.objectives import least_error
from calcli.works.resampling import bootstrap_sd, consistency_resampling
from calcli.works.rows import log_probabilities, posteriors_of
from calcli.works.settings import Asked
from calcli.works.trained_bins import trained_error
from calcli.works.truth import true_error

METRICS: Mapping[str, tuple[str, ...]] = {  # default metrics
    "posteriors": ("ece", "ks"),
    "resampling": ("ece", "ks"),
    "marginal": ("ece", "ks"),
    "trained-bins": ("ece",),
    "objectives": ("ece", "ece_l2", "cw_ece", "cw_ece_l2"),
}
NOTES: Mapping[str, str] = {
    "posteriors": "true: the value if --posteriors are true; mean, spread and p: of estimates from labels "
    "drawn from them. unexplained: share of the normalized score that they do not explain.",
    "resampling": "sd: bootstrap standard deviation. mean and spread: of the error if calibrated, rows drawn "
    "with replacement and their labels from their predictions.",
    "marginal": "All probabilities of all rows together. mean and spread: of the error if calibrated, one "
    "label a row being drawn from its probabilities.",
    "trained-bins": "Frequencies of bins come from other rows. untrained: share of the rows in bins "
    "without any.",
    "objectives": "Temperature of the least error among 401 from a quarter of the one of the least "
    "log-loss to four times it; log-loss there, and the least.",
}


def results(procedure: str, predictions: Predictions, options: Asked) -> list[dict[str, Any]]:
    """Return the numbers of a procedure, one dictionary per row of its table.

    Raises
    ------
    CalcliError
        If a metric does not fit the procedure or the rows.
    """
    metrics = options.metrics or METRICS[procedure]
    procedures = (_if_true, _resampled, _marginal, _trained, _objectives)
    return dict(zip(METRICS, procedures, strict=True))[procedure](predictions, metrics, options)


def _if_true(predictions: Predictions, metrics: Sequence[str], options: Asked) -> list[dict[str, Any]]:
    """Compare errors with their values under true posteriors, then scores with their expectations."""
    assert options.posteriors is not None
    settings = Settings(metrics=tuple(metrics), intervals=False, draws=0)
    posteriors = posteriors_of(options.posteriors, predictions)
    calls = parse_metrics(settings.metrics, settings.defaults)
    true = {str(metric): true_error(metric, predictions, posteriors, settings) for metric in calls}
    estimates = values(predictions, settings)
    nulls = consistency_resampling(predictions, metrics, options.draws, options.seed, posteriors, rows=False)
    rows = [
        {"metric": metric.text, "estimate": estimates[str(metric)], "true": true[str(metric)]}
        | _null(nulls[str(metric)])
        for metric in calls
    ]
    return rows + [_expected(score, predictions, posteriors) for score in ("log_loss", "brier")]


def _expected(score: str, predictions: Predictions, posteriors: Doubles) -> dict[str, Any]:
    """Return a score, its expectation under the posteriors, and the share that they leave unexplained.

    Ferrer & Ramos 2024, eq. 24 and table 1.
    """
    rule, log_probs = decomposable_rule(score, predictions.n_classes), log_probabilities(predictions)
    weights = predictions.weights
    observed = float(np.average(rule.losses(log_probs, predictions.labels), weights=weights))
    with np.errstate(divide="ignore"):
        expected = float(np.average(rule.expected(log_probs, np.log(posteriors)), weights=weights))
    k = posteriors.shape[1]
    frequency = np.bincount(predictions.labels, weights, k) / np.bincount(predictions.labels, weights).sum()
    normalized = observed / float(rule.constant(frequency))
    explained = expected / float(rule.constant(np.average(posteriors, axis=0, weights=weights)))
    return {
        "metric": score,
        "estimate": observed,
        "true": expected,
        "unexplained": 1 - explained / normalized,
    }


def _resampled(predictions: Predictions, metrics: Sequence[str], options: Asked) -> list[dict[str, Any]]:
    settings = Settings(metrics=tuple(metrics), intervals=False, draws=0)
    calls = parse_metrics(settings.metrics, settings.defaults)
    estimates = values(predictions, settings)
    errors = [metric.text for metric in calls if metric.entry.family.has_null]
    nulls = consistency_resampling(predictions, errors, options.draws, options.seed) if errors else {}
    sd = bootstrap_sd(predictions, metrics, options.draws, options.seed)
    return [
        {"metric": metric.text, "estimate": estimates[str(metric)], "sd": sd[str(metric)]}
        | _null(nulls.get(str(metric)))
        for metric in calls
    ]


def _marginal(predictions: Predictions, metrics: Sequence[str], options: Asked) -> list[dict[str, Any]]:
    errors = marginal_errors(predictions, metrics, options.draws, options.seed)
    return [{"metric": name, "estimate": value} | _null(null) for name, (value, null) in errors.items()]


def _trained(predictions: Predictions, metrics: Sequence[str], options: Asked) -> list[dict[str, Any]]:
    rows = []
    for metric in parse_metrics(metrics):
        lens, bins = metric.lens, int(metric.arguments.get("bins", 15))
        error = trained_error(
            predictions, options.calibration, norm=metric.entry.name, lens=lens, bins=bins, seed=options.seed
        )
        rows.append({"metric": metric.text, "estimate": error.value, "untrained": error.untrained})
    return rows


def _objectives(predictions: Predictions, metrics: Sequence[str], options: Asked) -> list[dict[str, Any]]:
    fitted = Temperature(scores_are="log-probs").fit(
        log_probabilities(predictions), predictions.labels, predictions.weights
    )
    optimum = float(fitted.learned("temperature"))
    rows = []
    for score in metrics:
        least = least_error(predictions, score, optimum)
        rows.append(
            {"metric": score, "estimate": least.error, "temperature": least.temperature,
             "log_loss": least.log_loss, "least_log_loss": least.least_log_loss}
        )  # fmt: skip
    return rows


def _null(null: Null | None) -> dict[str, Any]:
    return {} if null is None else {"mean": null.mean, "spread": null.sd, "p_value": null.p_value}
