from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from calcli.core.calibrators.temperature import EnsembleTemperature, Temperature
from calcli.core.language.errors import UsageError
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


@pytest.mark.parametrize("name", DATASETS)
def test_reference_log_loss_on_the_other_half(name, golden, dataset):
    if "split_temperature_logloss" not in golden[name]:
        pytest.skip("no reference of this split")
    scores, labels = dataset(name)
    half = len(labels) // 2
    fitted = Temperature().fit(scores[:half], labels[:half])
    expected = golden[name]["split_temperature_logloss"]
    assert log_loss(fitted, scores[half:], labels[half:]) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_true_temperature_comes_back(temperature):
    logits, labels = drawn(40_000, 5, temperature)
    fitted = Temperature().fit(logits, labels)
    assert fitted.parameters["temperature"] == pytest.approx(temperature, rel=0.03)


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


@given(st.integers(0, 10_000), st.floats(0.05, 20))
def test_order_of_the_classes_is_kept_and_scale_and_shift_of_the_logits_do_not_matter(seed, scale):
    logits, labels = drawn(60, 3, seed=seed)
    fitted = Temperature().fit(logits, labels)
    probs = fitted.predict_proba(logits)
    assume(fitted.notes == [])
    np.testing.assert_array_equal(np.argsort(probs, axis=1), np.argsort(logits, axis=1))
    shifts = np.random.default_rng(seed).standard_normal((60, 1))
    changed = scale * logits + 10 * shifts
    np.testing.assert_allclose(
        Temperature().fit(changed, labels).predict_proba(changed), probs, rtol=1e-5, atol=1e-9
    )


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


@given(st.integers(0, 10_000))
def test_weight_2_is_the_row_twice_and_weight_0_is_no_row(seed):
    logits, labels = drawn(80, 3, seed=seed)
    times = np.random.default_rng(seed).integers(0, 3, 80)
    weighted = Temperature().fit(logits, labels, times)
    repeated = Temperature().fit(np.repeat(logits, times, axis=0), np.repeat(labels, times))
    assert weighted.notes == repeated.notes
    assert weighted.parameters["temperature"] == pytest.approx(repeated.parameters["temperature"], rel=1e-6)


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


def test_large_single_precision_input_reaches_the_optimum():
    logits, labels = drawn(60_000, 100, temperature=1.5)
    single = Temperature().fit(logits.astype(np.float32), labels)
    double = Temperature().fit(logits, labels)
    assert single.parameters["temperature"] == pytest.approx(double.parameters["temperature"], rel=1e-5)


@pytest.mark.parametrize("method", [Temperature, EnsembleTemperature])
def test_warm_start_ends_at_the_same_place(method):
    logits, labels = drawn(3000, 4, temperature=3.0)
    cold = method().fit(logits, labels)
    warm = method().fit(logits, labels, start={"temperature": 0.5})
    np.testing.assert_allclose(warm.apply(logits), cold.apply(logits), rtol=1e-6)


@pytest.mark.parametrize("method", [Temperature, EnsembleTemperature])
def test_apply_before_fit_is_refused(method):
    with pytest.raises(UsageError, match="has not been fitted"):
        method().apply(np.zeros((1, 2)))


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


def test_ensemble_finds_the_mixture_the_labels_were_drawn_from():
    logits, _ = drawn(100_000, 4)
    truth = 0.7 * special.softmax(logits, axis=1) + 0.3 / 4
    labels = (np.random.default_rng(1).random((100_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    fitted = EnsembleTemperature().fit(logits, labels)
    np.testing.assert_allclose(fitted.predict_proba(logits), truth, atol=0.02)


def test_settings_and_repr():
    assert Temperature().get_params() == {"scores_are": "logits", "score": "log_loss"}
    logits, labels = drawn(50, 3)
    fitted = Temperature().fit(logits, labels)
    assert repr(Temperature(score="brier")) == "Temperature(score='brier')"
    learned = fitted.parameters["temperature"]
    assert repr(fitted).startswith(f"Temperature() fitted: temperature={learned:.3f}")


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
