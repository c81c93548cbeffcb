from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.logistic import Beta
from calcli.core.calibrators.odir import Dirichlet, MatrixODIR
from calcli.core.calibrators.softmax import MatrixScaling, VectorScaling
from calcli.core.language.errors import InputError
from tests.core.samples import drawn


def penalized_loss(matrix, intercept, features, labels, lambda_, mu):
    """Equation of section 3 of Kull et al. 2019, spelled out."""
    classes = len(intercept)
    log_probs = special.log_softmax(features @ matrix.T + intercept, axis=1)
    off_diagonal = sum(matrix[i, j] ** 2 for i in range(classes) for j in range(classes) if i != j)
    penalty = lambda_ * off_diagonal / (classes * (classes - 1)) + mu * (intercept**2).sum() / classes
    return -log_probs[np.arange(len(labels)), labels].mean() + penalty


@pytest.mark.parametrize(("lambda_", "mu"), [(0.01, 0.01), (0.1, 2.0), (5.0, 0.1)])
def test_no_scipy_search_does_better(lambda_, mu):
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
