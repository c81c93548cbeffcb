from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from calcli.core.calibrators.pool import mixture_weights


def log_loss(likelihoods, weights, w):
    return -weights @ np.log(likelihoods @ w)


@pytest.mark.parametrize("seed", range(8))
def test_no_scipy_search_on_the_simplex_does_better(seed):
    rng = np.random.default_rng(seed)
    likelihoods, weights = rng.random((50, 3)) ** 3 + 1e-3, rng.dirichlet(np.ones(50))
    w = mixture_weights(likelihoods, weights)
    oracle = optimize.minimize(
        lambda v: log_loss(likelihoods, weights, v), np.full(3, 1 / 3), method="SLSQP", bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert w.sum() == pytest.approx(1)
    assert w.min() >= 0
    assert log_loss(likelihoods, weights, w) <= oracle.fun + 1e-10


@pytest.mark.parametrize("seed", range(12))
def test_members_that_are_almost_alike_have_the_least_loss_of_the_simplex(seed):
    rng = np.random.default_rng(seed)
    rows, members = rng.integers(20, 500), rng.integers(2, 7)
    apart = rng.normal(size=(rows, members)) * 10.0 ** -rng.uniform(1, 4)
    likelihoods = np.clip(rng.random((rows, 1)) * 0.8 + 0.1 + apart, 1e-6, 1)
    weights = rng.dirichlet(np.ones(rows))
    w = mixture_weights(likelihoods, weights)
    gain = weights @ (likelihoods / (likelihoods @ w)[:, None])
    np.testing.assert_allclose(gain[w > 0], 1, atol=1e-8)
    assert np.all(gain <= 1 + 1e-8)


def test_rows_that_hardly_any_member_expects_stop_no_fit():
    likelihoods = np.array([[1e-149, 0.0], [0.5, 1.0], [0.0, 1e-149]])
    w = mixture_weights(likelihoods, np.array([1e-12, 1 - 2e-12, 1e-12]))
    assert w.sum() == pytest.approx(1)
    assert np.isfinite(np.log(likelihoods @ w)).all()
