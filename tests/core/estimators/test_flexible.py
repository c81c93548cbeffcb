"""Flexible calibration curves against scikit-learn, scipy and statsmodels, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from calcli.core.estimators.flexible import flexible_curve


def natural_spline(at: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return a basis of the natural cubic splines, linear beyond the outer knots."""
    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    below, above = np.minimum(at - knots[0], 0), np.maximum(at - knots[-1], 0)
    tails = np.outer(below, spline(knots[0], 1)) + np.outer(above, spline(knots[-1], 1))
    return spline(np.clip(at, knots[0], knots[-1])) + tails


def sample(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 2, n)
    return logit(score), rng.random(n) < score**1.3, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize(("n", "knots"), [(600, 5), (80, 4), (25, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_the_logistic_regression_on_natural_splines(n, knots, weighted):
    log_odds, outcome, weights = sample(n)
    weight = weights if weighted else np.ones(n)
    curve = flexible_curve(log_odds, outcome, weights if weighted else None)
    assert len(curve.knots) == knots
    basis = natural_spline(log_odds, curve.knots)
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    prob = oracle.fit(basis, outcome, weight).predict_proba(basis)[:, 1]
    np.testing.assert_allclose(curve.frequency(log_odds), prob, atol=1e-6)
    spread = prob * (1 - prob)
    bread = np.linalg.inv(basis.T @ (basis * (weight * spread)[:, None]))
    meat = basis.T @ (basis * (weight**2 * spread)[:, None])
    error = np.sqrt(np.einsum("ij,jk,ik->i", basis, bread @ meat @ bread, basis))
    np.testing.assert_allclose(curve.standard_error(log_odds), spread * error, rtol=1e-3)
    for end, sign in zip(curve.interval(log_odds), (-1, 1), strict=True):
        np.testing.assert_allclose(end, expit(logit(prob) + sign * 1.959964 * error), atol=1e-5)


def test_the_curve_and_its_errors_are_those_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.api")
    log_odds, outcome, _ = sample(500)
    curve = flexible_curve(log_odds, outcome)
    basis = natural_spline(log_odds, curve.knots)
    fitted = statsmodels.GLM(outcome, basis, statsmodels.families.Binomial()).fit().get_prediction(basis)
    np.testing.assert_allclose(curve.frequency(log_odds), fitted.predicted_mean, atol=1e-7)
    np.testing.assert_allclose(curve.standard_error(log_odds), fitted.se_mean, rtol=1e-4)


def test_groups_of_equal_rows_are_the_rows():
    log_odds, outcome, weights = sample(400)
    rows = flexible_curve(np.repeat(log_odds, 2), np.repeat(outcome, 2), np.repeat(weights, 2))
    groups = flexible_curve(log_odds, outcome, 2 * weights, 2 * weights**2)
    for function in ("frequency", "standard_error"):
        values = (getattr(curve, function)(log_odds) for curve in (rows, groups))
        np.testing.assert_allclose(*values, rtol=1e-6)


def test_nine_and_a_half_of_ten_intervals_hold_the_true_frequency():
    rng, at = np.random.default_rng(1), logit(np.array([0.05, 0.2, 0.5, 0.8]))
    inside = []
    for _ in range(500):
        log_odds = logit(rng.beta(1, 2, 400))
        low, high = flexible_curve(log_odds, rng.random(400) < expit(0.3 + 0.8 * log_odds)).interval(at)
        inside.append((low <= expit(0.3 + 0.8 * at)) & (expit(0.3 + 0.8 * at) <= high))
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.03)


def test_few_scores_have_a_line_or_a_constant_and_outcomes_told_apart_no_error():
    score = np.repeat([-1.0, 1.0], 50)
    curve = flexible_curve(score, np.arange(100) % 5 < 2 + 2 * (score > 0))
    np.testing.assert_allclose(curve.frequency(np.array([-1.0, 1.0])), [0.4, 0.8], atol=1e-9)
    np.testing.assert_allclose(curve.standard_error(score[:1]), np.sqrt(0.4 * 0.6 / 50), rtol=1e-6)
    constant = flexible_curve(np.zeros(50), np.arange(50) % 5 == 0)
    np.testing.assert_allclose(constant.frequency(np.zeros(1)), 0.2, atol=1e-9)
    assert np.isnan(flexible_curve(score, score > 0).standard_error(score)).all()
