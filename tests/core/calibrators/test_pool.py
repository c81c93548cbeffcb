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


def test_gradient_is_equal_on_the_used_members_and_worse_on_the_others():
    rng = np.random.default_rng(9)
    likelihoods, weights = rng.random((200, 4)), np.full(200, 1 / 200)
    w = mixture_weights(likelihoods, weights)
    gain = weights @ (likelihoods / (likelihoods @ w)[:, None])  # 1 where w > 0, else at most 1
    np.testing.assert_allclose(gain[w > 0], 1, atol=1e-8)
    assert np.all(gain <= 1 + 1e-8)


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


def test_best_member_takes_all_and_equal_members_share():
    best = np.array([[0.9, 0.9, 0.5]] * 10)
    w = mixture_weights(best, np.full(10, 0.1))
    assert w[2] == 0
    assert w[0] + w[1] == pytest.approx(1)


def test_two_members_that_are_right_in_turn_share_by_frequency():
    right_in_turn = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])
    np.testing.assert_allclose(mixture_weights(right_in_turn, np.full(4, 0.25)), [0.75, 0.25], rtol=1e-8)


def test_rows_that_hardly_any_member_expects_stop_no_fit():
    likelihoods = np.array([[1e-149, 0.0], [0.5, 1.0], [0.0, 1e-149]])
    w = mixture_weights(likelihoods, np.array([1e-12, 1 - 2e-12, 1e-12]))
    assert w.sum() == pytest.approx(1)
    assert np.isfinite(np.log(likelihoods @ w)).all()
