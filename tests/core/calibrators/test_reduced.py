from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.base import make
from calcli.core.calibrators.reduced import Reduced
from calcli.core.calibrators.temperature import Temperature
from calcli.core.calibrators.wrappers import PerPredictedClass
from calcli.core.language.expressions import parse_method
from calcli.core.language.methods import METHODS


def sample(rows=400, classes=4, seed=0):
    """Return over-confident logits and labels."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((rows, classes))
    return 2 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def confidence_and_right(logits, labels):
    probs = special.softmax(logits, axis=1)
    return probs.max(axis=1), probs.argmax(axis=1) == labels


def test_temperature_of_the_confidence_is_the_optimum_of_its_log_odds():
    logits, labels = sample()
    confidence, right = confidence_and_right(logits, labels)
    log_odds = special.logit(confidence)

    def loss(alpha):
        return np.logaddexp(0, np.where(right, -alpha, alpha) * log_odds).mean()

    oracle = optimize.minimize_scalar(loss, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10})
    fitted = Reduced(calibrator=Temperature()).fit(logits, labels)
    assert 1 / fitted.parameters["temperature"] == pytest.approx(oracle.x, rel=1e-6)
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    expected = special.expit(oracle.x * log_odds)
    calibrated = fitted.predict_proba(logits)
    np.testing.assert_allclose(calibrated[rows, top], expected, rtol=1e-6)
    others = special.softmax(logits, axis=1) * ((1 - expected) / (1 - confidence))[:, None]
    others[rows, top] = expected
    np.testing.assert_allclose(calibrated, others, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "lens" in method.arguments])
def test_reduced_problem_of_one_score_is_the_top_class(name):
    logits, labels = sample()
    got = Reduced(calibrator=make(parse_method(name))).fit(logits, labels).apply(logits)
    expected = make(parse_method(f"{name}:lens=top-1")).fit(logits, labels).apply(logits)
    np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.family != "wrapper"])
@pytest.mark.parametrize("classes", [2, 5])
def test_every_method_gives_distributions_and_lowers_the_loss_of_being_right(name, classes):
    logits, labels = sample(classes=classes)
    fitted = Reduced(calibrator=make(parse_method(name))).fit(logits, labels)
    calibrated = fitted.predict_proba(logits)
    np.testing.assert_allclose(calibrated.sum(axis=1), 1, atol=1e-12)
    confidence, right = confidence_and_right(logits, labels)
    after = calibrated[np.arange(len(logits)), logits.argmax(axis=1)]
    assert np.mean((after - right) ** 2) < np.mean((confidence - right) ** 2)


def test_certain_rows_share_the_rest_evenly():
    logits, labels = sample(classes=3)
    certain = np.array([[0.0, -np.inf, -np.inf]])
    fitted = Reduced(calibrator=make(parse_method("platt"))).fit(logits, labels)
    first, second, third = fitted.predict_proba(certain)[0]
    assert 0 < second == pytest.approx(third)
    assert first + second + third == pytest.approx(1)


def test_one_for_each_predicted_class():
    logits, labels = sample()
    whole = PerPredictedClass(calibrator=Reduced(calibrator=Temperature()), min_rows=1).fit(logits, labels)
    own = logits.argmax(axis=1) == 2
    part = Reduced(calibrator=Temperature()).fit(logits[own], labels[own])
    np.testing.assert_allclose(whole.apply(logits[own]), part.apply(logits[own]), rtol=1e-6)
