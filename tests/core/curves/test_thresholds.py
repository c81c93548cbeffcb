"""Precision, recall and net benefit against scikit-learn and counting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve

from calcli.core.curves.risk import net_benefit, precision_recall
from calcli.core.problems.problem import ordered_problem


@pytest.fixture(params=["equal rows", "weights", "weights of 0"])
def rows(request):
    """Return scores with ties, outcomes, and weights or None."""
    rng = np.random.default_rng(0)
    score = np.round(rng.random(120), 2)
    weights = None if request.param == "equal rows" else 0.5 + rng.random(120)
    if request.param == "weights of 0":
        weights[score >= np.quantile(score, 0.9)] = 0
    return score, rng.random(120) < score, weights


def test_precision_and_recall_are_those_of_scikit_learn(rows):
    score, outcome, weights = rows
    curve = precision_recall(ordered_problem(score, outcome, weights))
    seen = slice(None) if weights is None else weights > 0
    given = None if weights is None else weights[seen]
    precision, recall, threshold = precision_recall_curve(outcome[seen], score[seen], sample_weight=given)
    np.testing.assert_array_equal(curve.threshold[::-1], threshold)
    np.testing.assert_allclose(curve.precision[::-1], precision[:-1])
    np.testing.assert_allclose(curve.recall[::-1], recall[:-1])
    assert curve.frequency == pytest.approx(np.average(outcome, weights=weights))


def test_of_many_rows_some_points_of_that_curve_are_left():
    rng = np.random.default_rng(1)
    score = rng.random(5000)
    outcome = rng.random(5000) < score
    curve = precision_recall(ordered_problem(score, outcome))
    assert 300 < len(curve.threshold) < 500
    precision, recall, threshold = precision_recall_curve(outcome, score)
    place = np.searchsorted(threshold, curve.threshold)
    np.testing.assert_allclose(curve.precision, precision[place])
    np.testing.assert_allclose(curve.recall, recall[place])
    assert curve.recall[-1] == 1


def test_net_benefit_is_counted_row_by_row(rows):
    score, outcome, weights = rows
    curve = net_benefit(ordered_problem(score, outcome, weights))
    every = np.ones(120) if weights is None else weights
    for t, found, treat_all in zip(curve.threshold, curve.net_benefit, curve.treat_all, strict=True):
        true, false = (every[(score >= t) & (outcome == is_true)].sum() for is_true in (True, False))
        assert found == pytest.approx((true - false * t / (1 - t)) / every.sum())
        share = np.average(outcome, weights=weights)
        assert treat_all == pytest.approx(share - (1 - share) * t / (1 - t))
