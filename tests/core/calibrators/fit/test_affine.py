"""The loss for few classes against that for many, and against differences of the loss itself."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.special import log_softmax

from calcli.core.calibrators.fit.affine import FEW, AffineLoss
from calcli.core.calibrators.fit.linear import AffineMap, SoftmaxLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.calibrators.fit.training import prepare
from calcli.core.calibrators.softmax import DPAffine
from calcli.core.data.logspace import row_blocks


def rows_of(classes, n=300, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2, size=(n, classes)).astype(dtype)
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(1)
    weights = rng.exponential(size=n)
    return prepare(1.5 * scores, labels, weights, normalize=True, keep_zeros=True)


def objectives(rows, penalty=0.0):
    linear = AffineMap(rows.scores.shape[1])
    terms = np.full(linear.classes + 1, penalty), linear.scaled_identity(1)
    return AffineLoss(rows, *terms), SoftmaxLoss(rows, linear, *terms)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("classes", [2, 3, FEW])
def test_it_is_the_same_function(classes, penalty, monkeypatch):
    several = partial(row_blocks, size=5000)
    monkeypatch.setattr("calcli.core.calibrators.fit.affine.row_blocks", several)
    few, many = objectives(rows_of(classes), penalty)
    theta, v = np.random.default_rng(1).normal(size=(2, classes + 1))
    for one, other in zip(few.evaluate(theta), many.evaluate(theta), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    few.refresh()
    v[1:] -= v[1:].mean()  # along a constant added to all of beta it has some curvature of its own
    product, expected = few.curve(v), many.curve(v)
    np.testing.assert_allclose(product[0], expected[0], rtol=1e-11)
    np.testing.assert_allclose(product[1:], expected[1:], rtol=1e-11, atol=1e-13)
    assert few.reach(v) == pytest.approx(many.reach(v), rel=1e-12)
    assert few.unbounded() == many.unbounded()


@pytest.mark.parametrize("classes", [2, 5])
def test_the_minimum_is_that_of_scipy(classes):
    rows = rows_of(classes)

    def loss(theta):
        log_probs = log_softmax(theta[0] * rows.scores + theta[1:], axis=1)
        return -rows.weights @ log_probs[np.arange(len(rows.labels)), rows.labels]

    best = minimize(objectives(rows)[0], np.append(1.0, np.zeros(classes)), 1e-10)
    assert best.converged
    reference = scipy_minimize(loss, np.append(1.0, np.zeros(classes)), tol=1e-12)
    assert loss(best.x) == pytest.approx(reference.fun, abs=1e-10)
    assert best.x[0] == pytest.approx(reference.x[0], abs=1e-4)


def test_single_precision_converges_to_the_same_minimum():
    rows = rows_of(3, 20_000)
    single = type(rows)(rows.scores.astype(np.float32), rows.labels, rows.weights, rows.total)
    start = np.append(1.0, np.zeros(3))
    exact, rough = (minimize(objectives(one)[0], start, one.tolerance) for one in (rows, single))
    assert rough.converged
    np.testing.assert_allclose(rough.x, exact.x, atol=1e-4)


@pytest.mark.parametrize("loss", [0, 1])
def test_a_probability_that_stays_0_does_not_count_as_far_away(loss):
    """A step changes the logarithm of a 0 without limit; that is no sign of a minimum at infinity."""
    scores = np.log([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]], where=[[1, 1, 0], [1] * 3, [1] * 3],
                    out=np.full((3, 3), -np.inf))  # fmt: skip
    rows = prepare(scores, np.array([0, 1, 2]), None, normalize=True, keep_zeros=True)
    assert objectives(rows)[loss].reach(np.array([0.5, 0, 0, 0])) < 2


def test_labels_that_all_win_have_no_minimum():
    labels = np.arange(15) % 3
    rows = prepare(4 * np.eye(3)[labels], labels, None, normalize=True, keep_zeros=True)
    assert minimize(objectives(rows)[0], np.append(1.0, np.zeros(3)), 1e-8).at_infinity
    fitted = DPAffine().fit(rows.scores, rows.labels)
    assert "no finite optimum exists" in fitted.notes[0]
    assert np.isfinite(fitted.parameters["alpha"])
