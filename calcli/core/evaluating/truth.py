"""What calibration errors would be if the posteriors of the labels were known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.binning import Bins
from calcli.core.data.blocks import sweep
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.errors import VectorMiscalibration, find_estimator
from calcli.core.estimators.miscalibration import (
    BinnedError,
    KolmogorovSmirnov,
    binned_error,
    class_wise_error,
)
from calcli.core.estimators.partitions import miscalibration
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.families import ERROR
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import find_lens
from calcli.core.problems.vectors import VectorLens, members_by_name
from calcli.core.state.collectors import RowTable
from calcli.core.state.vectors import VectorTable


def true_error(
    call: MetricExpression, predictions: Predictions, posteriors: Doubles, settings: Settings
) -> float:
    """Return a calibration error without bins: the calibration function stands in for frequencies.

    The calibration function at a prediction is the mean posterior of the rows with that prediction
    (Vaicenavicius et al. 2019, eq. 4 and 5).

    Parameters
    ----------
    call
        An error of bins, or ks.
    predictions
        Scores; their labels are not used.
    posteriors
        (N, K) true probabilities of the labels.
    settings
        Groups of classes and named edges.

    Raises
    ------
    UsageError
        If the error has no such value.
    """
    estimator = find_estimator(call, settings.edges) if call.entry.family is ERROR else None
    known = isinstance(estimator, BinnedError | KolmogorovSmirnov | VectorMiscalibration)
    special = call.region != "all" or call.is_marginal or getattr(estimator, "of_top", False)
    if not known or special or call.arguments.get("weights", "equal") != "equal":
        raise UsageError(
            f"{call}: no true value of it is known; expected ece and its kin, ks or expected_miscalibration, "
            "over all rows"
        )
    if not call.is_class_wise:
        return _true(estimator, predictions, posteriors, call.lens, settings)
    lenses = [f"class-{k}" for k in range(predictions.n_classes)]
    errors = [_true(estimator, predictions, posteriors, lens, settings) for lens in lenses]
    return float(class_wise_error(np.array(errors), call.over_classes))


def _true(
    estimator: object, predictions: Predictions, posteriors: Doubles, lens: str, settings: Settings
) -> float:
    scores, expected = _induced(predictions, posteriors, lens, settings)
    bins = _of_equal(scores, expected, predictions.weights)
    if isinstance(estimator, VectorMiscalibration):
        return float(miscalibration(bins, estimator.distance, estimator.norm))
    first = Bins(bins.count, bins.weight, bins.score[0], bins.outcome[0])
    if isinstance(estimator, BinnedError):
        return float(binned_error(first, estimator.norm))
    return float(np.abs(np.cumsum(first.outcome - first.score)).max() / first.weight.sum())


def _induced(
    predictions: Predictions, posteriors: Doubles, lens: str, settings: Settings
) -> tuple[Floats, Doubles]:
    """Return the (N, d) predictions and true probabilities of the outcomes of a lens."""
    found = find_lens(lens, predictions.n_classes, members_by_name(settings.groups, predictions.classes))
    expected: Doubles | None = None
    for k, own in enumerate(posteriors.T):  # what a lens makes of a row's label, for every label it may have
        rows = replace(predictions, labels=np.full(predictions.n_rows, k))
        if isinstance(found, VectorLens):
            table = VectorTable(found, rows, np.dtype(np.float64))
            sweep(rows, [table])
            scores, outcome = table.problem.probs, table.problem.labels
        else:
            columns = RowTable(predictions.n_rows, found.statistics)
            sweep(rows, [columns])
            score = columns[found.score].astype(np.float64)
            scores, outcome = np.stack([score, 1 - score], axis=1), 1 - columns[found.outcome].astype(np.intp)
        if expected is None:
            expected = np.zeros(scores.shape)
        expected[np.arange(len(own)), outcome] += own
    assert expected is not None
    return scores, expected


def _of_equal(scores: Floats, expected: Doubles, weights: Floats | None) -> Bins:
    """Return the sums over rows of equal predictions, in ascending order of the first one."""
    order = np.lexsort(scores.T[::-1])
    ordered = scores[order]
    starts = np.concatenate([[0], np.flatnonzero((ordered[1:] != ordered[:-1]).any(1)) + 1])
    own = np.ones(len(order)) if weights is None else weights[order].astype(np.float64)
    count = np.diff([*starts, len(order)])
    sums = [
        np.add.reduceat(values, starts, axis=-1) for values in (own, ordered.T * own, expected[order].T * own)
    ]
    return Bins(count, *sums)
