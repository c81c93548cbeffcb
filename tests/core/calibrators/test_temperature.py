from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from calcli.core.calibrators.temperature import EnsembleTemperature, Temperature
from tests.conftest import DATASETS
from tests.core.samples import log_loss


def drawn(n, classes, temperature=1.0, seed=0):
    """Return logits and labels for which `temperature` is the true one."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((n, classes))
    cumulative = special.softmax(logits / temperature, axis=1).cumsum(axis=1)
    return logits, (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("name", DATASETS)
def test_reference_temperature_fitted_on_all_rows(name, golden, dataset):
    scores, labels = dataset(name)
    fitted = Temperature().fit(scores, labels)
    assert fitted.notes == []
    assert fitted.parameters["temperature"] == pytest.approx(golden[name]["rcl_tot_ts_T"], rel=1e-8)
    assert log_loss(fitted, scores, labels) == pytest.approx(golden[name]["rcl_tot_ts_ce"], rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_scipy(seed):
    logits, labels = drawn(200, 4, temperature=2.5, seed=seed)
    fitted = Temperature().fit(logits, labels)
    oracle = optimize.minimize_scalar(
        lambda a: -special.log_softmax(a * logits, axis=1)[np.arange(200), labels].mean(),
        bounds=(0.01, 10), method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    assert log_loss(fitted, logits, labels) <= oracle.fun + 1e-14
    assert 1 / fitted.parameters["temperature"] == pytest.approx(oracle.x, rel=1e-6)


class Scores(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier whose logits are its input."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x):
        return x

    def predict(self, x):
        return x.argmax(axis=1)


def test_agrees_with_scikit_learn():
    logits, labels = drawn(500, 4, temperature=2.0)
    theirs = CalibratedClassifierCV(FrozenEstimator(Scores().fit(logits, labels)), method="temperature")
    theirs.fit(logits, labels)
    ours = Temperature().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(ours, theirs.predict_proba(logits), atol=2e-4)  # theirs stops early


@pytest.mark.parametrize("unit", [1e-12, 1e-5, 1e8])
def test_the_unit_of_the_scores_does_not_matter(unit):
    logits, labels = drawn(300, 3)
    fitted, scaled = Temperature().fit(logits, labels), Temperature().fit(unit * logits, labels)
    assert scaled.notes == []
    assert scaled.parameters["temperature"] / unit == pytest.approx(
        fitted.parameters["temperature"], rel=1e-7
    )


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_very_different_size_reach_their_optimum(seed):
    """Where a Newton step goes a small share of the way, as at first the largest scores alone count."""
    rng = np.random.default_rng(seed)
    logits = np.zeros((200, 2))
    logits[np.arange(200), rng.integers(0, 2, 200)] = -744.44  # what the smallest double leaves of a logit
    labels = rng.integers(0, 2, 200)
    labels[:60] = logits[:60].argmax(axis=1)
    fitted = Temperature().fit(logits, labels)
    hits = (labels == logits.argmax(axis=1)).mean()
    assert fitted.notes == []
    assert fitted.parameters["temperature"] == pytest.approx(744.44 / special.logit(hits), rel=1e-6)


def test_separated_labels_give_a_finite_temperature_and_a_note():
    logits, _ = drawn(100, 3)
    fitted = Temperature().fit(logits, logits.argmax(axis=1))
    (note,) = fitted.notes
    assert "largest score" in note
    # the penalty pulls with (1/T - 1) / n, the loss with its mean slope: at the optimum they are equal
    alpha = 1 / fitted.parameters["temperature"]
    probs = special.softmax(alpha * logits, axis=1)
    slope = ((probs * logits).sum(axis=1) - logits.max(axis=1)).mean()
    assert (alpha - 1) / 100 == pytest.approx(-slope, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_scores_that_mislead_are_flattened_and_noted(scale):
    logits, labels = drawn(500, 3)
    fitted = Temperature().fit(-scale * logits, labels)
    assert any("unrelated to the labels" in note for note in fitted.notes)
    np.testing.assert_allclose(fitted.predict_proba(-scale * logits), 1 / 3, atol=0.01)


def test_ensemble_is_the_mixture_it_says_and_beats_its_members():
    logits, labels = drawn(2000, 4, temperature=2.0)
    labels[:200] = np.random.default_rng(0).integers(0, 4, 200)
    fitted = EnsembleTemperature().fit(logits, labels)
    temperature, (w1, w2, w3) = fitted.parameters["temperature"], fitted.parameters["weights"]
    scaled, plain = special.softmax(logits / temperature, axis=1), special.softmax(logits, axis=1)
    mixture = w1 * scaled + w2 * plain + w3 / 4
    np.testing.assert_allclose(fitted.predict_proba(logits), mixture, rtol=1e-12)
    alone = Temperature().fit(logits, labels)
    assert temperature == alone.parameters["temperature"]
    assert log_loss(fitted, logits, labels) <= log_loss(alone, logits, labels)


def test_no_scipy_search_does_better_than_the_joint_ensemble():
    logits, labels = drawn(400, 3, seed=2)
    logits[::10] = -logits[::10]  # rows that call for other members than temperature scaling
    fitted = EnsembleTemperature(joint=True).fit(logits, labels)
    ours = -fitted.apply(logits)[np.arange(400), labels].mean()

    def loss(t):
        w = special.softmax(t[1:])
        probs = [special.softmax(logits * np.exp(t[0]), axis=1), special.softmax(logits, axis=1)]
        return -np.log((w[0] * probs[0] + w[1] * probs[1] + w[2] / 3)[np.arange(400), labels]).mean()

    found = [
        optimize.minimize(
            loss, [log, 0, 0, 0], method="Nelder-Mead", options={"maxiter": 2000, "fatol": 1e-12}
        )
        for log in (-1.0, 0.5)
    ]
    assert ours <= min(one.fun for one in found) + 1e-7
    separate = EnsembleTemperature().fit(logits, labels)
    assert ours <= -separate.apply(logits)[np.arange(400), labels].mean() + 1e-12
