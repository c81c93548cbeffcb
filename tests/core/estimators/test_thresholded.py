"""Scores at a threshold, and the ranked probability score, against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score, precision_score, recall_score

from calcli.core.estimators.rules import scoring_rule
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.settings import Settings


def found(rows, *names, **more):
    return [*evaluate(rows, Settings(names, draws=0, **more)).estimates.values()]


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_scikit_learn(predict, threshold, weighted):
    rng = np.random.default_rng(0)
    probs = np.floor(10 * rng.dirichlet(np.ones(3), 300)) / 10
    probs[:, 0] = 1 - probs[:, 1] - probs[:, 2]
    labels, weights = rng.integers(0, 3, 300), rng.integers(1, 4, 300) if weighted else None
    rows = predict(probs, labels, weights=weights)
    taken, own = probs[:, 2] >= threshold, labels == 2
    each = ("precision", "recall", "f1", "net_benefit")
    names = [f"{name}:threshold={threshold}:lens=class-2" for name in each]
    estimates = found(rows, *names)
    of = {"sample_weight": weights}
    expected = [score(own, taken, **of) for score in (precision_score, recall_score, f1_score)]
    benefit = np.where(own, 1, -threshold / (1 - threshold)) * taken
    expected.append(np.average(benefit, weights=weights))
    assert [one.value for one in estimates] == pytest.approx(expected, abs=1e-12)
    repeated = predict(np.repeat(probs, weights, axis=0), np.repeat(labels, weights)) if weighted else rows
    assert [one.value for one in found(repeated, *names)] == pytest.approx(expected, abs=1e-12)


def test_shares_of_some_rows_have_exact_intervals(binary):
    rng = np.random.default_rng(1)
    score = rng.random(120)
    labels = (rng.random(120) < score).astype(int)
    precision, recall = found(binary(score, labels), "precision:threshold=0.7", "recall:threshold=0.7")
    hits = int((labels * (score >= 0.7)).sum())
    for one, rows in ((precision, int((score >= 0.7).sum())), (recall, int(labels.sum()))):
        exact = stats.binomtest(hits, rows).proportion_ci(0.95, "exact")
        assert (one.interval.low, one.interval.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_what_is_not_there_is_undefined(binary):
    nobody = binary(np.array([0.1, 0.2]), [0, 0])
    values = [one.value for one in found(nobody, "precision", "recall", "f1", "net_benefit")]
    assert [math.isnan(value) for value in values] == [True, True, True, False]
    assert values[3] == 0


def test_net_benefit_of_treating_all_or_none(binary):
    rows = binary(np.array([0.1, 0.9, 0.8, 0.3]), [0, 1, 0, 1])
    low, high = found(rows, "net_benefit:threshold=0.2", "net_benefit:threshold=0.6")
    assert low.parts["constant"] == pytest.approx(0.5 - 0.5 * 0.25)
    assert high.parts["constant"] == 0


def test_rps_by_hand(predict):
    rng = np.random.default_rng(2)
    probs, labels = rng.dirichlet(np.ones(4), 30), rng.integers(0, 4, 30)
    by_hand = [
        sum((row[: k + 1].sum() - (label <= k)) ** 2 for k in range(3)) / 3
        for row, label in zip(probs, labels, strict=True)
    ]
    (rps,) = found(predict(probs, labels), "rps")
    assert rps.value == pytest.approx(np.mean(by_hand), abs=1e-12)
    rule, posteriors = scoring_rule("rps"), rng.dirichlet(np.ones(4), 30)
    each = np.stack([rule.losses(np.log(probs), np.full(30, k)) for k in range(4)], axis=1)
    expected = (posteriors * each).sum(1)
    assert rule.expected(np.log(probs), np.log(posteriors)) == pytest.approx(expected, abs=1e-12)
    priors = np.bincount(labels, minlength=4) / 30
    constant = np.mean([rule.losses(np.log(priors)[None], labels[i : i + 1])[0] for i in range(30)])
    assert rps.parts["constant"] == pytest.approx(constant, abs=1e-12)
