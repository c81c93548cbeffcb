"""Matrices with penalties: ODIR and Dirichlet, structured scaling and its bends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.fit.training import prepare
from calcli.core.calibrators.logistic import Beta
from calcli.core.calibrators.softmax import Dirichlet, DPAffine, MatrixODIR, MatrixScaling, VectorScaling
from calcli.core.calibrators.structured import (
    SMS,
    SVS,
    BentDP,
    BentTemperature,
    StructuredScaling,
    beyond_chance,
)
from calcli.core.calibrators.temperature import Temperature, TemperatureMix
from calcli.core.language.errors import InputError
from tests.core.samples import drawn, log_loss


def spelled_out(x, labels, rows, classes, *, matrix):
    """The objective of Berta et al. 2025, its strengths K / n and K (K - 1) / n, as a function of (V, b)."""

    def value(t):
        v, b = np.diag(t[:classes]), t[classes : 2 * classes]
        off = np.zeros((classes, classes))
        if matrix:
            off[~np.eye(classes, dtype=np.bool_)] = t[2 * classes :]
        log_probs = special.log_softmax(x + x @ (v + off).T + b, axis=1)
        cost = (
            classes / rows * ((v**2).sum() + (b**2).sum()) + classes * (classes - 1) / rows * (off**2).sum()
        )
        return cost - log_probs[np.arange(len(labels)), labels].mean()

    return value


@pytest.mark.parametrize("method", [SVS, SMS])
@pytest.mark.parametrize(("classes", "rows"), [(2, 300), (4, 300), (4, 12)])
def test_published_methods_reach_their_objective(method, classes, rows):
    logits, labels = drawn(rows, classes)
    fitted = method().fit(logits, labels)
    first = TemperatureMix().fit(logits, labels)
    objective = spelled_out(first.apply(logits), labels, rows, classes, matrix=method is SMS)
    size = 2 * classes + (classes * (classes - 1) if method is SMS else 0)
    oracle = optimize.minimize(objective, np.zeros(size), method="BFGS", options={"gtol": 1e-7})
    own = [fitted.parameters["own"][0], fitted.parameters["intercept"]]
    if method is SMS:
        own.append(fitted.parameters["matrix"][~np.eye(classes, dtype=np.bool_)])
    assert objective(np.concatenate(own)) == pytest.approx(oracle.fun, abs=1e-9)
    assert fitted.notes == []


@pytest.mark.parametrize("base", ["scaled", "centered", "mixed"])
@pytest.mark.parametrize("form", ["diagonal", "matrix"])
def test_no_scipy_search_does_better(base, form):
    classes, n = 3, 200
    logits, labels = drawn(n, classes)
    fitted = StructuredScaling(base=base, form=form, penalties=(1.0,), off_diagonal_penalties=(3.0,)).fit(
        logits, labels
    )
    dp, beta = map(DPAffine().fit(logits, labels).parameters.get, ("alpha", "beta"))
    log_q = special.log_softmax(logits, axis=1)
    log_p = special.log_softmax(dp * log_q, axis=1)
    p = np.exp(log_p)
    x = {
        "scaled": log_p,
        "centered": log_p - log_p.mean(axis=1, keepdims=True),
        "mixed": np.log(n / (n + 1) * p + 1 / (n + 1) / classes),
    }[base]
    features = np.array([x, -np.log1p(-p), np.log(p + 0.01)])
    centre = np.array([1, 0, 0])
    shrunken = beta * beyond_chance(prepare(logits, labels, None, normalize=True, keep_zeros=False), dp, beta)
    diagonal = np.eye(classes, dtype=np.bool_)

    def objective(t):
        c, u, b = t[:3], t[3:12].reshape(3, 3), t[12:15]
        m = np.zeros((3, 3))
        if form == "matrix":
            m[~diagonal] = t[15:]
        z = np.einsum("j,jnk->nk", c, features) + np.einsum("jk,jnk->nk", u, features) + x @ m.T + b
        cost = ((c - centre) ** 2).sum() / 2 + classes * (
            (u**2).sum() + ((b - shrunken) ** 2).sum() + 3 * (m**2).sum()
        )
        return cost / n - special.log_softmax(z, axis=1)[np.arange(n), labels].mean()

    found = fitted.parameters
    own = [found["slopes"], found["own"].ravel(), found["intercept"]]
    own += [found["matrix"][~diagonal]] if form == "matrix" else []
    start = np.concatenate([centre, np.zeros(12 + 6 * (form == "matrix"))])
    oracle = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-7})
    assert objective(np.concatenate(own)) == pytest.approx(oracle.fun, abs=1e-8)


def test_scale_of_logits_does_not_matter():
    logits, labels = drawn(400, 4)
    for base in ("scaled", "centered", "mixed"):
        method = StructuredScaling(base=base, penalties=(0.3,), off_diagonal_penalties=(1.0,))
        expected = method.fit(logits, labels).apply(logits)
        np.testing.assert_allclose(
            method.fresh().fit(40 * logits, labels).apply(40 * logits), expected, atol=1e-6
        )


def test_intercepts_are_kept_as_far_as_they_are_more_than_chance():
    labels = np.arange(400) % 4
    uniform = prepare(np.zeros((400, 4)), labels, None, normalize=True, keep_zeros=False)
    beta = np.array([0.3, -0.1, 0.0, -0.2])
    probs = special.softmax(beta)
    squares = 400 * (probs @ beta**2 - (probs @ beta) ** 2)
    assert beyond_chance(uniform, 1.0, beta) == pytest.approx(1 - 3 / squares)
    assert beyond_chance(uniform, 1.0, beta + 7) == pytest.approx(1 - 3 / squares)
    assert beyond_chance(uniform, 1.0, 0.1 * beta) == 0
    assert beyond_chance(uniform, 1.0, 0 * beta) == 0


def test_smoothed_labels_call_for_a_bend():
    rng = np.random.default_rng(3)
    truth = 3 * rng.standard_normal((4000, 5))
    labels = (special.softmax(truth, axis=1).cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    smoothed = np.log(0.9 * special.softmax(truth, axis=1) + 0.1 / 5)
    fit, test = slice(0, 2000), slice(2000, None)
    plain = Temperature().fit(smoothed[fit], labels[fit])
    bent = BentTemperature().fit(smoothed[fit], labels[fit])
    assert (
        log_loss(bent, smoothed[test], labels[test]) < log_loss(plain, smoothed[test], labels[test]) - 0.005
    )


def test_chosen_strengths_are_among_those_given():
    logits, labels = drawn(300, 3)
    fitted = StructuredScaling(penalties=(1.0, 0.1), off_diagonal_penalties=(5.0, 0.5)).fit(logits, labels)
    chosen = fitted.parameters["penalty"], fitted.parameters["off_diagonal_penalty"]
    assert chosen[0] in (1.0, 0.1)
    assert chosen[1] in (5.0, 0.5)
    same = StructuredScaling(penalties=chosen[:1], off_diagonal_penalties=chosen[1:]).fit(logits, labels)
    np.testing.assert_array_equal(fitted.apply(logits), same.apply(logits))


def test_mixed_temperature_is_its_formula():
    logits, labels = drawn(100, 3)
    temperature = Temperature().fit(logits, labels)
    expected = 100 / 101 * np.exp(temperature.apply(logits)) + 1 / 101 / 3
    np.testing.assert_allclose(TemperatureMix().fit(logits, labels).predict_proba(logits), expected)


@pytest.mark.parametrize("seed", [30, 48, 57])
def test_a_step_too_long_by_far_is_taken_back(seed):
    rng = np.random.default_rng(seed)
    logits, labels = 700 * np.eye(2)[rng.integers(2, size=30)], rng.integers(2, size=30)
    for fit in (BentDP(), StructuredScaling(penalties=(1e-9,))):
        np.testing.assert_allclose(fit.fit(logits, labels).predict_proba(logits).sum(axis=1), 1)


def test_scores_that_tell_little_are_fitted_to_the_end():
    rng = np.random.default_rng(1)
    logits, labels = 0.01 * rng.normal(size=(400, 40)), rng.integers(40, size=400)
    fit = StructuredScaling(form="diagonal", penalties=(1e-9,))
    fit.fit(logits, labels)
    assert not any("stopped" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("method", "classes"), [(SMS, 1001), (StructuredScaling, 129), (MatrixScaling, 129), (Dirichlet, 129)]
)
def test_a_wide_matrix_needs_more_rows_than_classes(method, classes):
    with pytest.raises(InputError, match=r"learns a matrix of .* from .* rows; expected more rows"):
        method().fit(np.zeros((100, classes)), np.arange(100) % 2)


def penalized_loss(matrix, intercept, features, labels, lambda_, mu):
    """Equation of section 3 of Kull et al. 2019, spelled out."""
    classes = len(intercept)
    log_probs = special.log_softmax(features @ matrix.T + intercept, axis=1)
    off_diagonal = sum(matrix[i, j] ** 2 for i in range(classes) for j in range(classes) if i != j)
    penalty = lambda_ * off_diagonal / (classes * (classes - 1)) + mu * (intercept**2).sum() / classes
    return -log_probs[np.arange(len(labels)), labels].mean() + penalty


@pytest.mark.parametrize(("lambda_", "mu"), [(0.01, 0.01), (0.1, 2.0), (5.0, 0.1)])
def test_no_scipy_search_does_better_with_penalties(lambda_, mu):
    logits, labels = drawn(300, 3)
    features = special.log_softmax(logits, axis=1)
    fitted = MatrixODIR(off_diagonal_penalty=lambda_, intercept_penalty=mu).fit(logits, labels)
    ours = penalized_loss(
        fitted.parameters["matrix"], fitted.parameters["intercept"], features, labels, lambda_, mu
    )
    oracle = optimize.minimize(
        lambda t: penalized_loss(t[:9].reshape(3, 3), t[9:], features, labels, lambda_, mu),
        np.concatenate([np.eye(3).ravel(), np.zeros(3)]), method="BFGS", options={"gtol": 1e-6},
    )  # fmt: skip
    assert fitted.notes == []
    assert ours <= oracle.fun + 1e-12
    assert ours == pytest.approx(oracle.fun, rel=1e-8)


def test_no_penalty_is_matrix_scaling_and_a_huge_one_is_vector_scaling():
    logits, labels = drawn(500, 4)
    free = MatrixODIR(off_diagonal_penalty=0, intercept_penalty=0).fit(logits, labels)
    np.testing.assert_allclose(
        free.apply(logits), MatrixScaling().fit(logits, labels).apply(logits), atol=1e-6
    )
    diagonal = MatrixODIR(off_diagonal_penalty=1e9, intercept_penalty=0).fit(logits, labels)
    np.testing.assert_allclose(
        diagonal.apply(logits), VectorScaling().fit(logits, labels).apply(logits), atol=1e-5
    )


def test_penalty_makes_the_optimum_of_separable_data_finite(dataset):
    scores, labels = dataset("cifar10_resnet-20")
    assert "separated" in MatrixScaling().fit(scores[:100], labels[:100]).notes[0]
    assert MatrixODIR(off_diagonal_penalty=10.0).fit(scores[:100], labels[:100]).notes == []


def test_unpenalized_dirichlet_of_two_classes_is_beta_calibration():
    logits, labels = drawn(800, 2, seed=3)
    dirichlet = Dirichlet(off_diagonal_penalties=(0.0,), intercept_penalties=(0.0,)).fit(logits, labels)
    beta = Beta().fit(logits, labels)
    matrix = dirichlet.parameters["matrix"]
    slopes = matrix[1] - matrix[0]  # of ln(1 - s) and ln(s): beta's constraints are -b <= 0 and a >= 0
    assert slopes[0] < 0 < slopes[1]
    np.testing.assert_allclose(dirichlet.apply(logits), beta.apply(logits), atol=1e-5)


def test_chosen_penalties_have_the_smallest_held_out_loss_of_those_tried():
    logits, labels = drawn(400, 4)
    lambdas = (10.0, 1.0, 0.1)
    fitted = Dirichlet(off_diagonal_penalties=lambdas, intercept_penalties=(0.1,), folds=2).fit(
        logits, labels
    )
    chosen = fitted.parameters["off_diagonal_penalty"]
    assert chosen in lambdas
    same = MatrixODIR(off_diagonal_penalty=chosen, intercept_penalty=0.1).fit(logits, labels)
    np.testing.assert_array_equal(fitted.apply(logits), same.apply(logits))


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="3 folds, there are 2"):
        Dirichlet().fit(np.zeros((2, 2)), np.array([0, 1]))


def test_with_two_classes_no_off_diagonal_penalty_is_chosen():
    logits, labels = drawn(300, 2)
    fitted = Dirichlet(intercept_penalties=(0.01,)).fit(logits, labels)
    assert "off_diagonal_penalty" not in fitted.parameters
    other = MatrixODIR(off_diagonal_penalty=1e-3, intercept_penalty=0.01).fit(logits, labels)
    np.testing.assert_allclose(fitted.apply(logits), other.apply(logits), atol=1e-6)


def test_penalty_at_the_end_of_those_tried_is_told():
    logits, labels = drawn(300, 3)  # calibrated by a vector: nothing off the diagonal
    strong = Dirichlet(off_diagonal_penalties=(0.1, 0.01)).fit(logits, labels)
    assert strong.parameters["off_diagonal_penalty"] == 0.1
    assert strong.notes == [
        "the off-diagonal penalty is the strongest of those tried: the matrix is nearly vector scaling"
    ]


def nearly_constant(rng, logits):
    changed = logits.copy()
    changed[:, 2] = -20 + 1e-6 * rng.standard_normal(len(logits))
    return changed


def duplicated(rng, logits):
    return logits[:, [0, 1, 2, 2]]


def shifted(rng, logits):
    return logits + np.array([0, 100, 0, 0])


def of_a_forest(rng, logits):
    votes = np.array([rng.multinomial(30, p) for p in special.softmax(logits, axis=1)])
    with np.errstate(divide="ignore"):
        return np.log(votes / 30)


@pytest.mark.parametrize("made", [nearly_constant, duplicated, shifted, of_a_forest])
@pytest.mark.parametrize(("lambda_", "mu"), [(1000.0, 0.01), (1.0, 1e-4)])
def test_badly_scaled_features_reach_the_documented_objective(made, lambda_, mu):
    rng = np.random.default_rng(3)
    logits, labels = drawn(400, 4)
    scores = made(rng, logits)
    fitted = MatrixODIR(off_diagonal_penalty=lambda_, intercept_penalty=mu).fit(scores, labels)
    features = special.log_softmax(scores, axis=1)
    features = np.where(features == -np.inf, fitted.parameters["floor"], features)
    assert not any("separated" in note or "stopped" in note for note in fitted.notes)
    scale = features.std(axis=0) + 1e-12  # scipy needs scaled variables
    here = fitted.parameters["matrix"] * scale, fitted.parameters["intercept"]

    def loss(t):
        return penalized_loss(t[:16].reshape(4, 4) / scale, t[16:], features, labels, lambda_, mu)

    start = np.concatenate([here[0].ravel(), here[1]])
    oracle = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 30})
    assert loss(start) == pytest.approx(oracle.fun, abs=1e-9)
