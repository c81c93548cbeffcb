"""Fits by other objectives than the log-loss, against scipy and the metrics themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from calcli import Beta, BiasOnly, DPAffine, MatrixScaling, Platt, Temperature, VectorScaling
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_methods


@pytest.fixture(scope="module")
def rows():
    """Over-confident logits of three classes with unequal slopes."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(600, 3)) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    return logits * [2.5, 1.5, 2.0] + [0.5, 0, -0.5], labels


def brier(probs, labels):
    return np.square(probs - np.eye(probs.shape[1])[labels]).sum(1).mean()


def best(value, start):
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 40_000, "maxfev": 40_000}
    found = minimize(value, start, method="BFGS", options={"gtol": 1e-10})
    return minimize(value, found.x, method="Nelder-Mead", options=options).fun


def test_temperature_by_brier_score(rows):
    logits, labels = rows
    fitted = Temperature(score="brier").fit(logits, labels)
    expected = best(lambda t: brier(softmax(logits / t[0], axis=1), labels), [2.0])
    assert brier(fitted.predict_proba(logits), labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("calibrator", "model", "start"),
    [
        (BiasOnly, lambda z, p: z + p, np.zeros(3)),
        (DPAffine, lambda z, p: z * p[0] + p[1:], np.array([0.5, 0, 0, 0])),
        (VectorScaling, lambda z, p: z * p[:3] + p[3:], np.array([0.5] * 3 + [0.0] * 3)),
        (MatrixScaling, lambda z, p: z @ p[:9].reshape(3, 3) + p[9:], np.eye(4, 3).ravel() / 2),
    ],
)
def test_linear_maps_by_brier_score(rows, calibrator, model, start):
    logits, labels = rows
    fitted = calibrator(score="brier").fit(logits, labels)
    assert fitted.notes == []
    z = log_softmax(logits, axis=1)
    expected = best(lambda p: brier(softmax(model(z, p), axis=1), labels), start)
    assert brier(fitted.predict_proba(logits), labels) == pytest.approx(expected, abs=1e-7)
    by_log_loss = calibrator().fit(logits, labels).predict_proba(logits)
    assert brier(by_log_loss, labels) > expected + 1e-6


@pytest.mark.parametrize("calibrator", [Platt(score="brier", target_smoothing=False), Beta(score="brier")])
def test_maps_of_one_score_by_brier_score(calibrator):
    rng = np.random.default_rng(0)
    odds = rng.normal(size=800) * 2
    labels = (rng.random(800) < expit(0.4 * odds + 0.3)).astype(int)
    logits = np.column_stack([np.zeros(800), odds])
    s = expit(odds)

    def value(p):
        if calibrator.name == "platt":
            return np.mean((expit(p[0] * odds + p[1]) - labels) ** 2)
        return np.mean((expit(p[0] * np.log(s) - p[1] * np.log1p(-s) + p[2]) - labels) ** 2)

    start = [0.4, 0.3] if calibrator.name == "platt" else [0.4, 0.4, 0.3]
    found = calibrator.fit(logits, labels).predict_proba(logits)
    assert brier(found, labels) / 2 == pytest.approx(best(value, start), abs=1e-9)


def test_a_brier_score_that_is_least_at_a_step():
    """One row is wrong: it counts as 1 however sure the others are, so that the best slope is infinite."""
    odds = np.array([-4.0, -3, -2, -1, 1, 2, 3, 4, 6])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0])
    calm = np.array([1.0, -1, 2, 0, -1, 0, 1, -2, 0])
    fitted = Platt(input="raw", score="brier", target_smoothing=False)
    fitted.fit(np.column_stack([calm, odds]), labels)
    assert any(note.startswith("1 of 2 classes: the Brier score is least at a step") for note in fitted.notes)

    def prob(at, logit):
        return expit(at[0] * logit / np.abs(logit).max() + at[1])

    def log_loss(at):
        return -np.mean(np.log(np.where(labels, prob(at, odds), 1 - prob(at, odds))))

    middle = minimize(log_loss, [1, 0], options={"gtol": 1e-9}).x
    held = minimize(
        lambda at: np.mean((prob(at, odds) - labels) ** 2) + np.sum((at - middle) ** 2) / len(odds) / 2,
        middle,
    ).x
    free = minimize(lambda at: np.mean((prob(at, calm) - (labels == 0)) ** 2), [1, 0]).x
    np.testing.assert_allclose(fitted.parameters["slope"], [free[0] / 2, held[0] / 6], rtol=1e-4)
    np.testing.assert_allclose(fitted.parameters["intercept"], [free[1], held[1]], rtol=1e-4, atol=1e-4)


def test_platt_scaling_of_raw_logits(rows):
    """Each class has the slope and intercept of its own logit; the sum over the classes is then 1."""
    logits, labels = rows
    fitted = Platt(input="raw", target_smoothing=False).fit(logits, labels)
    mapped = np.empty(logits.shape)
    for k in range(3):
        z, hit = logits[:, k], labels == k
        loss = lambda p: np.mean(np.logaddexp(0, p[0] * z + p[1]) - hit * (p[0] * z + p[1]))  # noqa: B023, E731
        slope, intercept = minimize(loss, [1, 0], options={"gtol": 1e-9}).x
        assert fitted.parameters["slope"][k] == pytest.approx(slope, abs=1e-6)
        assert fitted.parameters["intercept"][k] == pytest.approx(intercept, abs=1e-6)
        mapped[:, k] = expit(slope * z + intercept)
    expected = mapped / mapped.sum(1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, atol=1e-6)
    shifted = fitted.predict_proba(logits + 1)
    assert np.abs(shifted - expected).max() > 0.01  # it is not the map of log-probabilities
    two = Platt(input="raw").fit(logits[:, :2], (labels > 0).astype(int))
    assert two.parameters["slope"].shape == (2,)
    with pytest.raises(UsageError, match="input=raw takes every logit by itself"):
        Platt(input="raw", lens="top-1")


def test_beta_maps_may_fall():
    rng = np.random.default_rng(1)
    odds = rng.normal(size=500)
    labels = (rng.random(500) < expit(-odds)).astype(int)
    logits = np.column_stack([np.zeros(500), odds])
    free, rising = (Beta(constrained=flag).fit(logits, labels).parameters for flag in (False, True))
    assert rising["a"] == rising["b"] == 0
    assert free["a"] + free["b"] < -1
    sample = Beta(constrained=False).fit(logits, 1 - labels).parameters
    assert sample["a"] == pytest.approx(Beta().fit(logits, 1 - labels).parameters["a"], abs=1e-6)


def test_other_methods_do_not_minimize_calibration_errors():
    with pytest.raises(UsageError, match="score"):
        parse_methods(["platt:score=ece"])
