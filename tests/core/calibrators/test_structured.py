from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from calcli.core.calibrators.fit.preconditioning import inverse
from calcli.core.calibrators.fit.softmaxloss import SoftmaxLoss
from calcli.core.calibrators.fit.softmaxmodels import PartsModel, Penalty
from calcli.core.calibrators.fit.training import prepare
from calcli.core.calibrators.odir import Dirichlet
from calcli.core.calibrators.softmax import DPAffine, MatrixScaling
from calcli.core.calibrators.structured import (
    SMS,
    SVS,
    BentDP,
    BentTemperature,
    StructuredScaling,
    bends_of,
    beyond_chance,
    rises,
)
from calcli.core.calibrators.temperature import Temperature, TemperatureMix
from calcli.core.language.errors import InputError
from tests.benchmarks.scoresets import as_it_is, shifted_priors, simulated
from tests.core.samples import drawn, log_loss

PENALTIES = [
    Penalty(0.01, 0.02, 0.03, 0.04),
    Penalty(None, 0.02, 0.03, 0.04),
    Penalty(0.01, None, None, None),
    Penalty(0.1, None, 0.2, None),
    Penalty(0.01, 0.02, 0.03, None),
]


def loss_at_random(penalty, classes=4, n=200):
    """A loss, parameters, and which of them are free: the diagonal of the matrix is not."""
    rng = np.random.default_rng(0)
    logits, labels = drawn(n, classes)
    rows = prepare(logits, labels, rng.random(n) + 0.1, normalize=True, keep_zeros=False)
    features = [rows.scores, *bends_of(rows.scores, "both")]
    model = PartsModel(features, penalty, np.array([1.0, 0, 0]))
    loss = SoftmaxLoss(rows, model, model.penalty)
    size = len(model.penalty)
    free = np.ones(size, np.bool_)
    if penalty.matrix is not None:
        free[-(classes**2) :] = ~np.eye(classes, dtype=np.bool_).ravel()
    return loss, 0.2 * rng.standard_normal(size) * free, free


@pytest.mark.parametrize("penalty", PENALTIES)
def test_derivatives_are_those_of_finite_differences(penalty):
    loss, theta, free = loss_at_random(penalty)
    gradient = loss.evaluate(theta)[1]
    numeric = optimize.approx_fprime(theta, lambda t: loss.evaluate(t)[0], 1e-7)
    np.testing.assert_allclose(gradient[free], numeric[free], atol=1e-6)
    loss.evaluate(theta)
    v = np.random.default_rng(1).standard_normal(len(theta)) * free
    product = loss.curve(v)
    ahead, behind = (loss.evaluate(theta + side * 1e-6 * v)[1] for side in (1, -1))
    np.testing.assert_allclose(product[free], ((ahead - behind) / 2e-6)[free], atol=1e-8)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_of_few_rows_the_curvature_of_each_class_is_inverted_by_itself(penalty):
    classes = 5
    loss, theta, free = loss_at_random(penalty, classes, n=12)
    loss.evaluate(theta)
    loss.refresh()
    hessian = np.array([loss.curve(unit) for unit in np.eye(len(theta))])
    end = loss.model._ends[2]
    first = 0 if penalty.slopes is None else 3
    groups = [np.arange(first), *np.arange(first, end).reshape(-1, classes).T]
    groups += [np.array([entry]) for entry in range(end, len(theta)) if free[entry]]
    g = np.random.default_rng(1).standard_normal(len(theta))
    expected = np.zeros(len(theta))
    for group in groups:
        expected[group] = np.linalg.solve(hessian[np.ix_(group, group)], g[group])
    np.testing.assert_allclose(loss.precondition(g), expected, rtol=1e-5, atol=1e-8)


def test_vector_and_parts_are_the_same_parameters():
    loss, theta, _ = loss_at_random(PENALTIES[0])
    np.testing.assert_allclose(loss.model.pack(loss.model.parts(theta)), theta)


def test_features_bend_where_they_should():
    probs = np.array([[0.7, 0.2, 0.1], [1e-9, 1e-9, 1 - 2e-9]])
    complement, softened = bends_of(np.log(probs), "both")
    np.testing.assert_allclose(complement, -np.log1p(-probs), rtol=1e-6)
    assert complement[1, 2] == pytest.approx(-np.log(2e-9), rel=1e-12)  # not from 1 - p, which has few digits
    np.testing.assert_allclose(softened, np.log(probs + 0.01))
    assert len(bends_of(np.log(probs[:, :2]), "both")) == 1
    assert bends_of(np.log(probs), "none") == []


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


def test_squares_of_intercepts_of_chance_are_one_less_than_classes():
    """And so half of such intercepts or more are dropped."""
    dropped = []
    for seed in range(40):
        logits, labels = simulated(500, 5, as_it_is, seed)
        found = DPAffine().fit(logits, labels).parameters
        rows = prepare(logits, labels, None, normalize=True, keep_zeros=False)
        dropped.append(beyond_chance(rows, found["alpha"], found["beta"]) == 0)
    assert np.mean(dropped) == pytest.approx(stats.chi2(4).cdf(4), abs=0.2)  # .59


@pytest.mark.parametrize("base", ["scaled", "centered", "mixed"])
def test_other_priors_cost_nothing(base):
    logits, labels = simulated(1000, 10, shifted_priors, 3)
    dp = DPAffine().fit(logits[:500], labels[:500])
    strong = StructuredScaling(base=base, penalties=(1.0,), form="diagonal").fit(logits[:500], labels[:500])
    assert log_loss(strong, logits[500:], labels[500:]) < log_loss(dp, logits[500:], labels[500:]) + 0.01


def test_strong_penalties_leave_slopes_for_all_classes():
    logits, labels = simulated(400, 4, as_it_is, 0)  # whose intercepts are no more than chance
    strong = StructuredScaling(bends="none", penalties=(1e9,), off_diagonal_penalties=(1e9,))
    temperature = Temperature().fit(logits, labels)
    fitted = strong.fit(logits, labels)
    weak_ridge = abs(log_loss(fitted, logits, labels) - log_loss(temperature, logits, labels))
    assert weak_ridge < 1e-4
    assert np.abs(fitted.parameters["matrix"]).max() < 1e-6


def test_a_class_without_rows_and_separable_rows_have_finite_fits():
    logits, labels = drawn(300, 4)
    for method in (BentTemperature(), BentDP(), SMS(), StructuredScaling()):
        absent = method.fit(logits[labels != 3], labels[labels != 3])
        assert np.isfinite(absent.apply(logits)).all()
        certain = method.fresh().fit(30 * np.eye(4)[labels], labels)
        assert np.isfinite(certain.apply(logits)).all()


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


def test_map_that_falls_is_seen():
    assert rises(np.array([1.0, 0.2, 0.1]), 3)
    assert not rises(np.array([1.0, -0.5, 0.0]), 3)  # falls where p is near 1
    assert rises(np.array([1.0, 0.5]), 2)


def test_chosen_strengths_are_among_those_given():
    logits, labels = drawn(300, 3)
    fitted = StructuredScaling(penalties=(1.0, 0.1), off_diagonal_penalties=(5.0, 0.5)).fit(logits, labels)
    chosen = fitted.parameters["penalty"], fitted.parameters["off_diagonal_penalty"]
    assert chosen[0] in (1.0, 0.1)
    assert chosen[1] in (5.0, 0.5)
    same = StructuredScaling(penalties=chosen[:1], off_diagonal_penalties=chosen[1:]).fit(logits, labels)
    np.testing.assert_array_equal(fitted.apply(logits), same.apply(logits))


def test_other_classes_are_refused():
    logits, labels = drawn(100, 3)
    with pytest.raises(InputError, match="fitted on 3 classes, the scores have 4"):
        SMS().fit(logits, labels).apply(np.zeros((2, 4)))


def test_mixed_temperature_is_its_formula():
    logits, labels = drawn(100, 3)
    temperature = Temperature().fit(logits, labels)
    expected = 100 / 101 * np.exp(temperature.apply(logits)) + 1 / 101 / 3
    np.testing.assert_allclose(TemperatureMix().fit(logits, labels).predict_proba(logits), expected)


@pytest.mark.parametrize("n", [1, 64, 65, 300])
@pytest.mark.parametrize("rank", [5, 600])
def test_an_inverse_is_positive_definite(n, rank):
    features = np.random.default_rng(n).normal(size=(n, rank))
    matrix = features @ features.T
    found, damped = inverse(matrix, 1e-9 * rank), matrix + 1e-9 * rank * np.eye(n)
    np.testing.assert_allclose(found @ damped, np.eye(n), atol=1e-14 * n * np.linalg.cond(damped))
    assert np.linalg.eigvalsh(found).min() > 0


def test_an_indefinite_matrix_is_damped_more():
    found = inverse(np.array([[1.0, 1.001], [1.001, 1.0]]), 1e-5)
    assert np.linalg.eigvalsh(found).min() > 0


def test_a_hessian_of_roundings_is_damped_until_it_is_definite():
    found = inverse(np.array([[-1.0, 5.0], [5.0, 1.0]]), 1e-5)
    assert np.linalg.eigvalsh(found).min() > 0


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
