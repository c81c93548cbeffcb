"""Integrals of risks with weights of one's own against numerical integration and the scores they make up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from calcli.core.estimators.beta_scores import BetaScore
from calcli.core.estimators.expected import WeightedRisk
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings

TABLES = [
    ((0.0, 1.0), (1.0, 1.0)),
    ((0.0, 0.0), (0.3, 2.0), (0.7, 0.5), (1.0, 0.0)),
    ((0.2, 1.0), (0.4, 3.0), (0.5, 0.0)),
    ((0.6, 0.0), (1.0, 4.0)),
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("q", [0.01, 0.2, 0.3, 0.45, 0.55, 0.999])
def test_losses_are_integrals_over_the_threshold(table, q):
    points, weights = np.array(table).T

    def weight(t):
        return np.interp(t, points, weights, left=0, right=0)

    inner = [point for point in points if 0 < point < 1]
    above, below = [p for p in inner if p > q], [p for p in inner if p < q]
    missed = integrate.quad(lambda t: weight(t) / t, q, 1, points=above or None)[0]
    alarmed = integrate.quad(lambda t: weight(t) / (1 - t), 0, q, points=below or None)[0]
    log_odds = np.full(2, np.log(q) - np.log1p(-q))
    losses = WeightedRisk(table).losses(log_odds, np.array([1, 0]))
    np.testing.assert_allclose(losses, [missed, alarmed], atol=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_a_weight_of_one_is_the_log_loss_in_the_farthest_tails(label):
    odds = np.concatenate([np.linspace(-45, 45, 181), [-700.0, 700.0]])
    labels = np.full(len(odds), label)
    log_loss = np.logaddexp(0, np.where(labels == 1, -odds, odds))
    losses = WeightedRisk(TABLES[0]).losses(odds, labels)
    np.testing.assert_allclose(losses, log_loss, atol=1e-15, rtol=1e-12)


def test_a_fine_table_of_a_density_is_the_beta_score():
    points = np.linspace(0, 1, 2001)
    density = stats.beta(2, 3).pdf(1 - points)  # of a_1, where points are thresholds on the second class
    table = tuple(zip(points.tolist(), density.tolist(), strict=True))
    odds = np.linspace(-9, 9, 37)
    for label in (0, 1):
        labels = np.full(len(odds), label)
        expected = BetaScore(2, 3).losses(odds, labels)
        np.testing.assert_allclose(WeightedRisk(table).losses(odds, labels), expected, atol=1e-5)
    np.testing.assert_allclose(
        WeightedRisk(table).constant(np.array([0.3, 0.7])),
        BetaScore(2, 3).constant(np.array([0.3, 0.7])),
        atol=1e-5,
    )


def test_sure_and_wrong_costs_without_bound_if_thresholds_near_zero_weigh():
    never = np.array([-np.inf])
    assert WeightedRisk(TABLES[0]).losses(never, np.array([1]))[0] == np.inf
    assert WeightedRisk(TABLES[0]).losses(never, np.array([0]))[0] == 0
    bounded = integrate.quad(lambda t: np.interp(t, *np.array(TABLES[1]).T) / t, 0, 1, points=[0.3, 0.7])[0]
    assert WeightedRisk(TABLES[1]).losses(never, np.array([1]))[0] == pytest.approx(bounded)


def asked(*metrics, **tables):
    return Settings(metrics=metrics, intervals=False, draws=0, threshold_weights=tables)


def test_it_is_a_score_with_its_normalized_form_and_its_calibration_loss(binary):
    rng = np.random.default_rng(0)
    predictions = binary(rng.beta(1, 2, 300), rng.integers(0, 2, 300))
    pairs = [("weighted_risk", "log_loss"), ("normalized_weighted_risk", "normalized_log_loss")]
    pairs += [("calibration_loss:score=weighted_risk", "calibration_loss"),
              ("expected_score:score=weighted_risk", "expected_score")]  # fmt: skip
    found = evaluate(predictions, asked(*sum(pairs, ()))).estimates
    for own, known in pairs:
        assert found[own].value == pytest.approx(found[known].value, rel=1e-9)
    twice = ((0.0, 2.0), (1.0, 2.0))
    other = "weighted_risk:weights=twice"
    doubled = evaluate(predictions, asked(other, twice=twice)).estimates[other].value
    assert doubled == pytest.approx(2 * found["log_loss"].value, rel=1e-9)


def test_wrong_names_and_classes(binary, predict):
    with pytest.raises(UsageError, match="no weights are called 'his'; expected a CSV file"):
        evaluate(binary([0.5], [0]), asked("weighted_risk:weights=his", mine=TABLES[1]))
    with pytest.raises(UsageError, match="weighted_risk is for two classes, and there are 3"):
        evaluate(predict(np.full((2, 3), 1 / 3), [0, 1]), asked("weighted_risk"))
