"""Weights of a pool are the optimum on the simplex, and the pool is the mean of its members by these."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from calcli.core.calibrators.pool import Pool, pool_weights
from calcli.core.language.errors import UsageError
from tests.core.samples import drawn, made


@pytest.mark.parametrize("score", ["log_loss", "brier"])
@pytest.mark.parametrize("seed", range(10))
def test_weights_are_those_that_scipy_finds(score, seed):
    """Of members that differ, or are almost alike, with weights of the rows and without."""
    rng = np.random.default_rng(seed)
    rows, members = rng.integers(20, 400), rng.integers(2, 6)
    apart = rng.normal(size=(members, rows, 4)) * 10.0 ** -rng.uniform(0, 4) * (seed > 1)
    probs = np.exp(rng.normal(size=(rows, 4)) + apart)
    probs /= probs.sum(axis=2, keepdims=True)
    labels = (probs[:2].mean(axis=0).cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    share = rng.random(rows) * (rng.random(rows) < 0.9) if seed % 2 else np.ones(rows)
    own = probs[:, np.arange(rows), labels]

    def loss(w):
        mixed = np.tensordot(w, probs, axes=1)
        losses = -np.log(w @ own) if score == "log_loss" else (mixed**2).sum(axis=1) - 2 * w @ own
        return np.average(losses, weights=share)

    found = pool_weights(np.log(probs), labels, share if seed % 2 else None, score)
    oracle = optimize.minimize(
        loss, np.full(members, 1 / members), bounds=[(0, 1)] * members, method="SLSQP",
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert loss(found) <= oracle.fun + 1e-9
    if score == "log_loss":  # the gradient is equal on the members that are used, and worse on the others
        gain = np.average(own / (found @ own), axis=1, weights=share)
        np.testing.assert_allclose(gain[found > 0], 1, atol=1e-8)
        assert np.all(gain <= 1 + 1e-8)


def test_rows_that_hardly_any_member_expects_stop_no_fit():
    likelihoods = np.array([[1e-149, 0.5, 1e-300], [1e-300, 1.0, 1e-149]])
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.stack([likelihoods, 1 - likelihoods], axis=2))
    found = pool_weights(log_probs, np.zeros(3, int), np.array([1e-12, 1 - 2e-12, 1e-12]), "log_loss")
    assert found.sum() == pytest.approx(1)
    assert np.isfinite(np.log(found @ likelihoods)).all()


def test_a_pool_is_the_mean_of_its_members():
    logits, labels = drawn(200, 3)
    pool = Pool(members="temperature+dp", weights=(0.25, 0.75)).fit(logits, labels)
    first, second = (made(name).fit(logits, labels).predict_proba(logits) for name in ("temperature", "dp"))
    np.testing.assert_allclose(pool.predict_proba(logits), 0.25 * first + 0.75 * second)
    with pytest.raises(UsageError, match="2 members need 2 weights"):
        Pool(members="temperature+dp", weights=(1.0,))
