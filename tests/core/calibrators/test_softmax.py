"""Temperature, bias, DP affine, vector and matrix scaling: the optimum, whatever the scores are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from calcli.core.calibrators.base import make
from calcli.core.calibrators.softmax import BiasOnly, DPAffine, MatrixScaling, VectorScaling
from calcli.core.calibrators.temperature import EnsembleTemperature, Temperature
from calcli.core.language.expressions import parse_method
from tests.conftest import DATASETS
from tests.core.samples import drawn, log_loss

METHODS = [BiasOnly, DPAffine, VectorScaling, MatrixScaling]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
MODELS = {  # test-side definitions: parameters as one vector -> scores
    "bias": lambda x, t: x + t,
    "dp": lambda x, t: t[0] * x + t[1:],
    "vector": lambda x, t: t[: x.shape[1]] * x + t[x.shape[1] :],
    "matrix": lambda x, t: x @ t.reshape(-1, x.shape[1])[1:].T + t[: x.shape[1]],
}


@pytest.mark.parametrize("name", DATASETS)
def test_reference_dp_fitted_on_all_rows(name, golden, dataset):
    scores, labels = dataset(name)
    fitted = DPAffine().fit(scores, labels)
    assert fitted.parameters["alpha"] == pytest.approx(golden[name]["rcl_tot_dp_alpha"], rel=1e-6)
    assert log_loss(fitted, scores, labels) == pytest.approx(golden[name]["rcl_tot_dp_ce"], rel=1e-9)


def separable_by_a_matrix(n, classes):
    """Return logits whose labels are the largest entries of a linear map of the log-probabilities."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((n, classes))
    matrix = rng.standard_normal((classes, classes))
    return logits, (special.log_softmax(logits, axis=1) @ matrix.T).argmax(axis=1)


def test_matrix_scaling_of_separable_data_ends_at_the_penalized_optimum_with_a_note():
    logits, labels = separable_by_a_matrix(300, 4)
    fitted = MatrixScaling().fit(logits, labels)
    assert "separated" in fitted.notes[0]
    features = special.log_softmax(logits, axis=1)

    def penalized(theta):
        z = MODELS["matrix"](features, theta)
        away = theta - np.concatenate([np.zeros(4), np.eye(4).ravel()])
        return -special.log_softmax(z, axis=1)[np.arange(300), labels].mean() + away @ away / (2 * 300)

    ours = np.concatenate([fitted.parameters["intercept"], fitted.parameters["matrix"].ravel()])
    oracle = optimize.minimize(penalized, ours, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(
        special.log_softmax(MODELS["matrix"](features, oracle.x), axis=1), fitted.apply(logits), atol=1e-4
    )


def test_models_too_small_to_separate_the_labels_have_no_note():
    logits, labels = separable_by_a_matrix(300, 4)
    for method in (BiasOnly, DPAffine, VectorScaling):
        assert not any("separated" in note for note in method().fit(logits, labels).notes)


def separating_direction(scores, labels):
    """Mean margin of the best w x + b that lowers no label against another, by linear programming."""
    classes = scores.shape[1]
    scaled = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    margins = []
    for row, label in zip(scaled, labels, strict=True):
        for k in set(range(classes)) - {label}:
            one = np.zeros(2 * classes)
            one[[label, k, classes + label, classes + k]] = row[label], -row[k], 1, -1
            margins.append(one)
    found = optimize.linprog(
        -np.mean(margins, axis=0), A_ub=-np.array(margins), b_ub=np.zeros(len(margins)), bounds=(-1, 1)
    )
    return -found.fun


@pytest.mark.parametrize("seed", [3, 22, 40, 126, 138])
def test_separability_is_claimed_where_a_linear_programme_finds_it(seed):
    rng = np.random.default_rng(1000 + seed)
    classes, n = int(rng.integers(2, 5)), int(rng.integers(60, 200))
    logits = rng.standard_normal((n, classes)) * rng.choice([1, 2, 4])
    probs = special.softmax(logits * rng.choice([0.5, 1]), axis=1)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    logits[:, -1] = logits[:, -1] * 10.0 ** -rng.integers(0, 7) - rng.choice([0, 50])  # nearly constant
    outliers = rng.integers(0, n, 2)
    logits[outliers, rng.integers(0, classes)] *= rng.choice([1, 30, 1000])
    notes = VectorScaling(input="raw").fit(logits, labels).notes
    assert any("separated" in note for note in notes) == (separating_direction(logits, labels) > 1e-7)


def test_rows_that_only_ties_keep_from_separation_are_guarded_still():
    odds = np.r_[np.linspace(-3, 3, 41), 0]
    logits, labels = np.column_stack([np.zeros(42), odds]), np.r_[odds[:-1] > 0, True].astype(int)
    assert "separated" in DPAffine().fit(logits, labels).notes[0]


@every_method
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_no_scipy_search_does_better(method, classes):
    logits, labels = drawn(400, classes)
    features = special.log_softmax(logits, axis=1)
    fitted = method().fit(logits, labels)
    size = {"bias": classes, "dp": classes + 1, "vector": 2 * classes, "matrix": classes * (classes + 1)}

    def loss(theta):
        z = MODELS[method.name](features, theta)
        return -special.log_softmax(z, axis=1)[np.arange(400), labels].mean()

    start = np.random.default_rng(0).standard_normal(size[method.name])
    oracle = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-6})
    assert fitted.notes == []
    assert log_loss(fitted, logits, labels) <= oracle.fun + 1e-12
    assert log_loss(fitted, logits, labels) == pytest.approx(oracle.fun, rel=1e-7)


def test_matrix_scaling_is_multinomial_logistic_regression():
    logits, labels = drawn(500, 4)
    features = special.log_softmax(logits, axis=1)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(features, labels)
    ours = MatrixScaling().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(ours, theirs.predict_proba(features), atol=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
def test_dp_of_two_classes_is_logistic_regression_on_the_log_odds(sign):
    """Also of scores in inverse order."""
    logits, labels = drawn(500, 2)
    logits *= sign
    log_odds = logits[:, 1:] - logits[:, :1]
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds, labels)
    ours = DPAffine().fit(logits, labels)
    assert ours.parameters["alpha"] == pytest.approx(theirs.coef_[0, 0], rel=1e-5)
    assert np.ptp(ours.parameters["beta"]) == pytest.approx(abs(theirs.intercept_[0]), rel=1e-4)


def test_restricted_models_are_the_smaller_ones():
    logits, _ = drawn(50, 4)
    alpha, beta = 0.7, np.array([0.3, -0.1, 0.2, -0.4])
    dp, vector, matrix, temperature = DPAffine(), VectorScaling(), MatrixScaling(), Temperature()
    dp.parameters = {"alpha": alpha, "beta": beta}
    vector.parameters = {"scale": np.full(4, alpha), "intercept": beta, "floor": -50.0}
    matrix.parameters = {"matrix": alpha * np.eye(4), "intercept": beta, "floor": -50.0}
    np.testing.assert_allclose(vector.apply(logits), dp.apply(logits), atol=1e-12)
    np.testing.assert_allclose(matrix.apply(logits), dp.apply(logits), atol=1e-12)
    dp.parameters = {"alpha": alpha, "beta": np.zeros(4)}
    temperature.parameters = {"temperature": 1 / alpha}
    np.testing.assert_allclose(dp.apply(logits), temperature.apply(logits), atol=1e-12)


@every_method
def test_constant_column_and_equal_scores_are_no_obstacle(method):
    logits, labels = drawn(300, 3)
    logits[:, 1] = 0.0
    fitted = method().fit(logits, labels)
    assert log_loss(fitted, logits, labels) < -special.log_softmax(logits, axis=1)[range(300), labels].mean()
    equal = method().fit(np.zeros((300, 3)), labels).predict_proba(np.zeros((1, 3)))
    np.testing.assert_allclose(equal[0], np.bincount(labels) / 300, atol=1e-6)


@pytest.mark.parametrize("calibrator", [DPAffine(), VectorScaling(input="raw"), MatrixScaling(input="raw")])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_logits_of_any_scale_reach_the_optimum(calibrator, scale):
    logits, labels = drawn(300, 3)
    expected = log_loss(calibrator.fit(logits, labels), logits, labels)
    scaled = scale * logits
    assert log_loss(calibrator.fit(scaled, labels), scaled, labels) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", ["bias", "dp", "vector:input=raw", "matrix:input=raw", "bent-dp"])
@pytest.mark.parametrize("shift", [20.0, 100.0, 500.0])
def test_other_priors_however_far_away_change_nothing(method, shift):
    """Free intercepts undo them; the first probabilities are all 0 or 1, and tell no direction."""
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=2, size=(600, 4))
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    shifted = scores + shift * np.array([0, 1, -1, 0.5])
    expected = make(parse_method(method)).fit(scores, labels)
    fitted = make(parse_method(method)).fit(shifted, labels)
    found = log_loss(fitted, shifted, labels)
    if method == "bent-dp":  # whose bends are drawn to where they start
        assert found == pytest.approx(log_loss(expected, scores, labels), abs=2e-3)
    else:
        assert found == pytest.approx(log_loss(expected, scores, labels), abs=1e-8)
        assert fitted.notes == []


def flattened(n, classes, temperature=1.0, seed=0):
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
    logits, labels = flattened(200, 4, temperature=2.5, seed=seed)
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
    logits, labels = flattened(500, 4, temperature=2.0)
    theirs = CalibratedClassifierCV(FrozenEstimator(Scores().fit(logits, labels)), method="temperature")
    theirs.fit(logits, labels)
    ours = Temperature().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(ours, theirs.predict_proba(logits), atol=2e-4)  # theirs stops early


@pytest.mark.parametrize("unit", [1e-12, 1e-5, 1e8])
def test_the_unit_of_the_scores_does_not_matter(unit):
    logits, labels = flattened(300, 3)
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
    logits, _ = flattened(100, 3)
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
    logits, labels = flattened(500, 3)
    fitted = Temperature().fit(-scale * logits, labels)
    assert any("unrelated to the labels" in note for note in fitted.notes)
    np.testing.assert_allclose(fitted.predict_proba(-scale * logits), 1 / 3, atol=0.01)


def test_ensemble_is_the_mixture_it_says_and_beats_its_members():
    logits, labels = flattened(2000, 4, temperature=2.0)
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
    logits, labels = flattened(400, 3, seed=2)
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
