"""Probabilities of exactly 0, and weights, in every method of the softmax family."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from calcli.core.calibrators.softmax import BiasOnly, DPAffine, MatrixODIR, MatrixScaling, VectorScaling
from calcli.core.calibrators.temperature import EnsembleTemperature, Temperature

KEEPING = [Temperature, EnsembleTemperature, BiasOnly, DPAffine]
FILLING = [VectorScaling, MatrixScaling, MatrixODIR]
keeping = pytest.mark.parametrize("method", KEEPING, ids=lambda method: method.name)
filling = pytest.mark.parametrize("method", FILLING, ids=lambda method: method.name)


def rounded(decimals, *, never_true, seed=0, n=400, classes=3, sharpness=1.0):
    """Return log-probabilities rounded so that many are -inf, and labels; some or none have a -inf."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.standard_normal((n, classes))
    cumulative = special.softmax(logits, axis=1).cumsum(axis=1)
    labels = (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)
    probs = special.softmax(sharpness * logits, axis=1).round(decimals)
    probs[probs.sum(axis=1) == 0] = 1
    probs /= probs.sum(axis=1, keepdims=True)
    kept = probs[np.arange(n), labels] > 0 if never_true else np.ones(n, dtype=bool)
    with np.errstate(divide="ignore"):
        return np.log(probs[kept]), labels[kept]


def log_loss(log_probs, labels):
    return -log_probs[np.arange(len(labels)), labels].mean()


@keeping
def test_zero_that_is_never_true_stays_zero(method):
    log_probs, labels = rounded(2, never_true=True)
    fitted = method().fit(log_probs, labels)
    assert f"{np.isinf(log_probs).sum()} probabilities are exactly 0, none of them" in fitted.notes[0]
    if method is EnsembleTemperature:  # the share of the uniform distribution lifts all zeros alike
        assert fitted.parameters["weights"][2] == pytest.approx(0, abs=1e-9)
    calibrated = fitted.predict_proba(log_probs)
    np.testing.assert_array_equal(calibrated[np.isinf(log_probs)], 0)
    assert np.all(calibrated[np.isfinite(log_probs)] > 0)


@keeping
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.3, 1.0, 5.0]), st.integers(2, 4))
def test_fit_with_zeros_is_never_worse_than_the_scores_as_they_are(
    method, seed, decimals, sharpness, classes
):
    never_true = seed % 2 == 0
    log_probs, labels = rounded(
        decimals, never_true=never_true, seed=seed, n=60, classes=classes, sharpness=sharpness
    )
    fitted = method().fit(log_probs, labels)
    after = log_loss(fitted.apply(log_probs), labels)
    assert np.isfinite(after)
    assert after <= log_loss(log_probs, labels) + 1e-9


def test_dp_with_zeros_is_the_optimum_of_the_classes_that_are_left():
    log_probs, labels = rounded(1, never_true=True)
    fitted = DPAffine().fit(log_probs, labels)
    finite = np.where(np.isinf(log_probs), 0, log_probs)

    def loss(theta):
        scores = np.where(np.isinf(log_probs), -np.inf, theta[0] * finite + [0, *theta[1:]])
        return log_loss(special.log_softmax(scores, axis=1), labels)

    oracle = optimize.minimize(
        loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    assert log_loss(fitted.apply(log_probs), labels) == pytest.approx(oracle.fun, abs=1e-10)
    assert fitted.parameters["alpha"] == pytest.approx(oracle.x[0], abs=1e-5)


@keeping
def test_zero_of_a_true_class_counts_as_half_the_smallest(method):
    log_probs, labels = rounded(2, never_true=False)
    assert log_loss(log_probs, labels) == np.inf
    half = np.where(np.isinf(log_probs), log_probs[np.isfinite(log_probs)].min() - np.log(2), log_probs)
    fitted, expected = method().fit(log_probs, labels), method().fit(half, labels)
    assert "counts as half the smallest positive probability" in fitted.notes[0]
    np.testing.assert_allclose(fitted.apply(log_probs), expected.apply(half), rtol=1e-6)


@filling
def test_vector_and_matrix_take_every_zero_for_half_the_smallest(method):
    log_probs, labels = rounded(2, never_true=True)
    fitted = method().fit(log_probs, labels)
    half = np.where(np.isinf(log_probs), log_probs[np.isfinite(log_probs)].min() - np.log(2), log_probs)
    assert fitted.parameters["floor"] == pytest.approx(half.min())
    raw = method(input="raw").fit(half, labels)  # without dividing by the sum, which is not 1 any more
    np.testing.assert_allclose(fitted.apply(log_probs), raw.apply(half), atol=1e-6)


@filling
def test_raw_logits_of_minus_infinity_stay_raw(method):
    rng = np.random.default_rng(0)
    logits = rng.normal(5, 2, size=(300, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    logits[np.isinf(logits).all(axis=1)] = 0
    lowest = logits[np.isfinite(logits)].min() - np.log(2)
    filled = np.where(np.isinf(logits), lowest, logits)
    got = method(input="raw").fit(logits, labels).apply(logits)
    np.testing.assert_allclose(got, method(input="raw").fit(filled, labels).apply(filled), atol=1e-6)
