"""The loss of a softmax against that of scipy, and against differences of itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import log_softmax

from calcli.core.calibrators.fit.newton import minimize
from calcli.core.calibrators.fit.softmaxloss import Coordinates, SoftmaxLoss
from calcli.core.calibrators.fit.softmaxmodels import MatrixModel, PartsModel, Penalty
from calcli.core.calibrators.fit.training import prepare
from calcli.core.calibrators.softmax import DPAffine


def rows_of(classes, n=300, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2, size=(n, classes))
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(1)
    weights = rng.exponential(size=n)
    return prepare(1.5 * scores, labels, weights, normalize=True, keep_zeros=True)


def affine(rows):
    return PartsModel([rows.scores], Penalty(0.0, None, 0.0, None), np.zeros(1))


def in_coordinates(rows):
    coordinates, features = Coordinates.of(rows, axis=0)
    return PartsModel([features], Penalty(None, 0.0, 0.0, None), np.zeros(1), coordinates=coordinates)


@pytest.mark.parametrize("brier", [False, True])
@pytest.mark.parametrize("model", [affine, in_coordinates, MatrixModel])
def test_derivatives_are_those_of_finite_differences(model, brier):
    """The curvature of the Brier score is that of Gauss and Newton, which only is positive."""
    rows = rows_of(3)
    made = model(rows)
    size = {affine: 4, in_coordinates: 6, MatrixModel: 12}[model]
    rng = np.random.default_rng(1)
    loss = SoftmaxLoss(rows, made, rng.random(size), brier=brier)
    loss.hold(0.3 * rng.normal(size=size), 0.2)
    theta, v = 0.5 * rng.normal(size=(2, size))
    gradient = loss.evaluate(theta)[1]
    numeric = optimize.approx_fprime(theta, lambda t: loss.evaluate(t)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    loss.evaluate(theta)
    product = loss.curve(v)
    if brier:
        assert v @ product > 0
        return
    ahead, behind = (loss.evaluate(theta + side * 1e-6 * v)[1] for side in (1, -1))
    np.testing.assert_allclose(product, (ahead - behind) / 2e-6, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 5])
def test_the_minimum_is_that_of_scipy(classes):
    rows = rows_of(classes)

    def loss(theta):
        log_probs = log_softmax(theta[0] * rows.scores + theta[1:], axis=1)
        return -rows.weights @ log_probs[np.arange(len(rows.labels)), rows.labels]

    start = np.append(1.0, np.zeros(classes))
    best = minimize(SoftmaxLoss(rows, affine(rows), np.zeros(classes + 1)), start, 1e-10)
    assert best.converged
    reference = optimize.minimize(loss, start, tol=1e-12)
    assert loss(best.x) == pytest.approx(reference.fun, abs=1e-10)
    assert best.x[0] == pytest.approx(reference.x[0], abs=1e-4)


def test_single_precision_converges_to_the_same_minimum():
    rows = rows_of(3, 20_000)
    single = type(rows)(rows.scores.astype(np.float32), rows.labels, rows.weights, rows.total)
    start = np.append(1.0, np.zeros(3))
    exact, rough = (
        minimize(SoftmaxLoss(one, affine(one), np.zeros(4)), start, one.tolerance) for one in (rows, single)
    )
    assert rough.converged
    shift = rough.x[1:].mean() - exact.x[1:].mean()  # which changes nothing
    np.testing.assert_allclose(rough.x - np.append(0, np.full(3, shift)), exact.x, atol=1e-4)


def test_a_probability_that_stays_0_does_not_count_as_far_away():
    """A step changes the logarithm of a 0 without limit; that is no sign of a minimum at infinity."""
    scores = np.log([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]], where=[[1, 1, 0], [1] * 3, [1] * 3],
                    out=np.full((3, 3), -np.inf))  # fmt: skip
    rows = prepare(scores, np.array([0, 1, 2]), None, normalize=True, keep_zeros=True)
    assert SoftmaxLoss(rows, affine(rows), np.zeros(4)).reach(np.array([0.5, 0, 0, 0])) < 2


def test_labels_that_all_win_have_no_minimum():
    labels = np.arange(15) % 3
    rows = prepare(4 * np.eye(3)[labels], labels, None, normalize=True, keep_zeros=True)
    loss = SoftmaxLoss(rows, affine(rows), np.zeros(4))
    assert minimize(loss, np.append(1.0, np.zeros(3)), 1e-8).at_infinity
    fitted = DPAffine().fit(rows.scores, rows.labels)
    assert "no finite optimum exists" in fitted.notes[0]
    assert np.isfinite(fitted.parameters["alpha"])
