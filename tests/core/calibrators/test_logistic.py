from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.linear_model import LogisticRegression

from calcli.core.calibrators.fit.newton import minimize as minimize_by_newton
from calcli.core.calibrators.logistic import AT_ONCE, Beta, Platt
from tests.core.samples import columns


def binary(n, seed, power=1.6):
    rng = np.random.default_rng(seed)
    q = rng.beta(0.8, 1.2, n)
    return columns(q), (rng.random(n) < q**power).astype(int)


def log_odds(scores):
    return scores[:, 1] - scores[:, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_agrees_with_scikit_learn(weighted):
    scores, labels = binary(800, seed=1)
    weights = np.random.default_rng(0).integers(1, 4, 800).astype(float) if weighted else None
    fitted = Platt().fit(scores, labels, weights).parameters
    slope, intercept = _sigmoid_calibration(log_odds(scores), labels, sample_weight=weights)
    assert fitted["slope"][0] == pytest.approx(-slope, abs=1e-4)
    assert fitted["intercept"][0] == pytest.approx(-intercept, abs=1e-4)


def test_platt_without_target_smoothing_is_logistic_regression():
    scores, labels = binary(800, seed=2)
    platt = Platt(target_smoothing=False).fit(scores, labels)
    oracle = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(log_odds(scores)[:, None], labels)
    assert platt.parameters["slope"][0] == pytest.approx(oracle.coef_[0, 0], rel=1e-6)
    np.testing.assert_allclose(
        platt.predict_proba(scores), oracle.predict_proba(log_odds(scores)[:, None]), atol=1e-7
    )


@pytest.mark.parametrize("power", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("variant", ["abm", "ab", "am"])
@pytest.mark.parametrize("falling", [False, True])
def test_beta_reaches_the_constrained_optimum(variant, power, falling):
    scores, labels = binary(400, seed=3, power=power)
    labels = 1 - labels if falling else labels
    log_prob, log_complement = scores[:, 1], scores[:, 0]
    features = {
        "abm": np.column_stack([log_prob, -log_complement, np.ones(400)]),
        "ab": np.column_stack([log_prob + np.log(2), -log_complement - np.log(2)]),
        "am": np.column_stack([log_prob - log_complement, np.ones(400)]),
    }[variant]

    def loss(x):
        logit = features @ x
        error = expit(logit) - labels
        return (np.logaddexp(0, logit) - labels * logit).mean(), features.T @ error / 400

    slopes = 1 if variant == "am" else 2
    bounds = [(0, None)] * slopes + [(None, None)] * (features.shape[1] - slopes)
    best = minimize(
        loss, np.ones(features.shape[1]), jac=True, bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10}
    )
    beta = Beta(variant=variant).fit(scores, labels)
    achieved = -beta.apply(scores)[np.arange(400), labels].mean()
    assert achieved == pytest.approx(best.fun, abs=1e-9)
    assert beta.parameters["a"][0] >= 0
    assert beta.parameters["b"][0] >= 0


@pytest.mark.parametrize("unit", [1e-10, 1e-8, 1e8, 1e29])
@pytest.mark.parametrize("score", ["log_loss", "brier"])
def test_the_fit_is_that_of_log_odds_in_any_unit(score, unit):
    rng = np.random.default_rng(4)
    odds = rng.normal(size=500)
    labels = (rng.random(500) < expit(1.3 * odds + 0.4)).astype(int)

    def fitted(scale):
        scores = np.column_stack([np.zeros(500), odds * scale])
        return Platt(score=score).fit(scores, labels).apply(scores)

    np.testing.assert_allclose(fitted(unit), fitted(1.0), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "make", [Platt, lambda: Platt(target_smoothing=False), Beta, lambda: Beta(variant="am")]
)
@pytest.mark.parametrize(
    "labels", [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]]
)
def test_separable_data_have_a_finite_answer(make, labels):
    q = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    scores = columns(q)
    fitted = make().fit(scores, np.array(labels))
    log_probs = fitted.apply(scores)
    assert np.isfinite(log_probs).all()
    assert (log_probs > np.log(1e-6)).all()


def test_separable_data_are_remarked_on():
    q = np.array([0.1, 0.2, 0.6, 0.7])
    scores, labels = columns(q), np.array([0, 0, 1, 1])
    assert "separates" in Beta().fit(scores, labels).notes[0]
    assert "separates" in Beta(variant="ab").fit(scores, labels).notes[0]
    # the step of this variant can only be at one half
    assert Beta(variant="ab").fit(scores, np.array([0, 1, 1, 1])).notes == []
    assert Platt().fit(scores, labels).notes == []


def test_probabilities_of_exactly_0_count_as_half_the_smallest():
    q = np.array([0.0, 0.02, 0.3, 0.5, 0.7, 0.9, 1.0])
    labels = np.array([0, 1, 0, 1, 0, 1, 1])
    scores = columns(q)
    replaced = scores.copy()
    replaced[0, 1], replaced[-1, 0] = np.log(0.01), np.log(0.05)
    platt = Platt().fit(scores, labels)
    features = replaced[:, 1] - replaced[:, 0]
    slope, intercept = _sigmoid_calibration(features, labels)
    np.testing.assert_allclose(
        platt.predict_proba(scores)[:, 1], expit(-slope * features - intercept), atol=1e-4
    )
    assert "exactly 0" in platt.notes[0]


@pytest.mark.parametrize("curvature", [1e-320, 0.0, -1e-320])
def test_newton_goes_straight_down_where_rounding_left_no_curvature(curvature):
    square = SimpleNamespace(
        rounding=1e-15, refresh_cost=1, evaluate=lambda x: (1 + x @ x / 4, x / 2), refresh=lambda: None,
        curve=lambda v: curvature * v, precondition=lambda g: g / curvature if curvature else 0 * g,
        unbounded=lambda: False,
        max_logit_change=lambda v: float(np.abs(v).max()), max_label_loss=lambda v: 0.0,
    )  # fmt: skip
    found = minimize_by_newton(square, np.ones(1), 1e-8)
    assert found.converged
    np.testing.assert_allclose(found.x, 0, atol=1e-7)


@pytest.mark.parametrize("ratio", [1.0, 1e6, 1e10])
def test_rows_of_little_weight_count_beside_one_of_much(ratio):
    score, hit = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.6]), np.array([0, 0, 1, 1, 1, 0])
    odds, weight = np.log(score / (1 - score)), np.array([ratio, 1, 1, 1, 1, 1])

    def loss(at):
        logit = at[0] * odds + at[1]
        return (weight * np.logaddexp(0, np.where(hit == 1, -logit, logit))).sum()

    fine = {"xatol": 1e-12, "fatol": 1e-13, "maxfev": 20000}
    best = min(minimize(loss, start, method="Nelder-Mead", options=fine).fun for start in ([1, 0], [10, 0]))
    fitted = Platt(scores_are="probs", target_smoothing=False).fit(score, hit, weight)
    found = fitted.predict_proba(score)[np.arange(6), hit]
    assert -(weight * np.log(found)).sum() == pytest.approx(best, rel=1e-6)


ROWS, FEATURES, PROBLEMS = 150, 3, 7


@pytest.mark.parametrize("score", ["log_loss", "brier"])
@pytest.mark.parametrize("make", [Beta, Platt])
def test_maps_of_many_classes_are_those_of_each_class_alone(make, score):
    rng = np.random.default_rng(2)
    rows, classes = 500, 80
    assert rows * classes > AT_ONCE
    logits = 2 * rng.normal(size=(rows, classes))
    labels = np.where(rng.random(rows) < 0.7, logits.argmax(1), rng.integers(0, classes, rows))
    settings = {"target_smoothing": False, "score": score} if make is Platt else {"score": score}
    whole = make(**settings).fit(logits, labels).parameters
    names = ["slope", "intercept"] if make is Platt else ["a", "b", "c"]
    for k in (0, 40, 79):
        alone = make(lens=f"class-{k}", **settings).fit(logits, labels).parameters
        np.testing.assert_allclose(
            [whole[name][k] for name in names], [alone[name][0] for name in names], rtol=1e-6, atol=1e-8
        )
