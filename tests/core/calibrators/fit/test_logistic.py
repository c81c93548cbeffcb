from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.calibrators.logistic import AT_ONCE, Beta, Platt

ROWS, FEATURES, PROBLEMS = 150, 3, 7


def problems(heaviest):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(PROBLEMS, ROWS, FEATURES))
    features[..., -1] = 1
    slopes = rng.normal(0, 2, (PROBLEMS, FEATURES, 1))
    target = (rng.random((PROBLEMS, ROWS)) < expit(features @ slopes)[..., 0]).astype(float)
    weight = heaviest ** rng.random(ROWS)
    return features, target, weight / weight.sum()


def value_and_gradient(features, target, weight):
    def loss(x):
        logit = features @ x
        return weight @ (np.logaddexp(0, logit) - target * logit), features.T @ (
            weight * (expit(logit) - target)
        )

    return loss


def test_values_gradients_and_hessians_are_those_of_each_problem():
    features, target, weight = problems(10.0)
    x = np.random.default_rng(1).normal(size=(PROBLEMS, FEATURES))
    whole = LogisticLoss(features, target, weight)
    values, gradients = whole.evaluate(x)
    whole.refresh()
    for at in range(PROBLEMS):
        loss = value_and_gradient(features[at], target[at], weight)
        assert values[at] == pytest.approx(loss(x[at])[0], rel=1e-12)
        np.testing.assert_allclose(gradients[at], loss(x[at])[1], atol=1e-12)
        hessian = optimize.approx_fprime(x[at], lambda at_x, loss=loss: loss(at_x)[1])
        np.testing.assert_allclose(whole.hessian[at], hessian, atol=1e-6)
    np.testing.assert_allclose(
        whole.precondition(gradients), np.linalg.solve(whole.hessian, gradients[..., None])[..., 0], rtol=1e-8
    )


@pytest.mark.parametrize("heaviest", [1.0, 1e4])
def test_the_minima_are_those_of_scipy(heaviest):
    features, target, weight = problems(heaviest)
    found = minimize(LogisticLoss(features, target, weight), np.zeros((PROBLEMS, FEATURES)), 1e-12).x
    for at in range(PROBLEMS):
        loss = value_and_gradient(features[at], target[at], weight)
        best = optimize.minimize(loss, np.zeros(FEATURES), jac=True, method="BFGS", options={"gtol": 1e-12})
        assert loss(found[at])[0] <= best.fun + 1e-14
        np.testing.assert_allclose(found[at], best.x, rtol=1e-3)


def test_a_feature_of_zeros_gets_no_slope():
    features, target, weight = problems(1.0)
    features[:, :, 1] = 0
    found = minimize(LogisticLoss(features, target, weight), np.zeros((PROBLEMS, FEATURES)), 1e-12).x
    np.testing.assert_allclose(found[:, 1], 0, atol=1e-12)
    rest = LogisticLoss(features[..., [0, 2]], target, weight)
    without = minimize(rest, np.zeros((PROBLEMS, 2)), 1e-12).x
    np.testing.assert_allclose(found[:, [0, 2]], without, rtol=1e-8)


@pytest.mark.parametrize("logit", [-1000.0, -740.0, -720.0])
def test_where_all_is_sure_there_is_no_curvature_to_divide_by(logit):
    loss = LogisticLoss(np.ones((1, 4, 1)), np.zeros((1, 4)), np.full(4, 0.25))
    _, gradient = loss.evaluate(np.array([[logit]]))
    loss.refresh()
    assert loss.hessian < np.finfo(float).tiny
    assert (loss.precondition(gradient) == 0).all()


def test_only_the_problem_whose_rows_can_be_separated_has_its_minimum_at_infinity():
    features, target, weight = problems(1.0)
    target[3] = features[3, :, 0] > 0
    best = minimize(LogisticLoss(features, target, weight), np.zeros((PROBLEMS, FEATURES)), 1e-12)
    assert np.flatnonzero(best.at_infinity).tolist() == [3]


@pytest.mark.parametrize("score", ["log_loss", "brier"])
@pytest.mark.parametrize("make", [Beta, Platt])
def test_maps_of_many_classes_are_those_of_each_class_alone(make, score):
    rng = np.random.default_rng(2)
    rows, classes = 500, 80
    assert rows * classes > AT_ONCE
    logits = 2 * rng.normal(size=(rows, classes))
    labels = np.where(rng.random(rows) < 0.7, logits.argmax(1), rng.integers(0, classes, rows))
    settings = {"target_smoothing": False, "score": score} if make is Platt else {"score": score}
    whole = make(**settings).fit(logits, labels).parameters
    names = ["slope", "intercept"] if make is Platt else ["a", "b", "c"]
    for k in (0, 40, 79):
        alone = make(lens=f"class-{k}", **settings).fit(logits, labels).parameters
        np.testing.assert_allclose(
            [whole[name][k] for name in names], [alone[name][0] for name in names], rtol=1e-6, atol=1e-8
        )
