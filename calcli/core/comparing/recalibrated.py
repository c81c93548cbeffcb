"""Resampled calibration losses, for the difference of two systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array
from calcli.core.estimators.bootstrap import Sums
from calcli.core.evaluating.calibration_loss import Companions, Studies
from calcli.core.evaluating.measure import Measurements
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.settings import Settings

ABSOLUTE, RELATIVE = "calibration_loss", "relative_calibration_loss"


def resampled_losses(
    measured: Measurements,
    calls: Sequence[MetricExpression],
    settings: Settings,
    seed: Sequence[int],
    clusters: Array | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return (B,) resampled values of every calibration loss, by metric expression.

    Rows are resampled with the recalibrated posteriors they have; no transform is fitted again. As the
    score after recalibration is at its least over the parameters of the transform, what these vary by
    changes it in second order only.

    Parameters
    ----------
    measured
        One system; all systems must have the same rows, if their draws are to be paired.
    calls
        Metrics, of which others are passed over.
    settings
        How to recalibrate, and how many resamples.
    seed
        Of the resamples.
    clusters
        (N,) values that dependent rows share, or None.
    """
    calls = [call for call in calls if call.entry.name in (ABSOLUTE, RELATIVE)]
    if not calls:
        return {}
    predictions = measured.predictions
    folds = settings.given_folds(predictions)
    studies = Studies(predictions, Companions(), settings.seed, settings.clip, clusters, folds)
    found = {}
    for call in calls:
        study, score = studies.of(call), call.score
        if study is None:
            continue
        columns = {"before": measured.rows[score][study.kept], "after": study.losses(score)}
        sums = Sums(
            columns, study.rows.labels, predictions.n_classes, study.rows.weights, None, study.clusters
        )
        means = sums.resampled(settings.resamples, np.random.default_rng(seed)).columns
        with np.errstate(invalid="ignore"):  # of infinite losses nothing is won
            won = means["before"] - means["after"]
            found[str(call)] = won / means["before"] if call.entry.name == RELATIVE else won
    return found
