from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from calcli.core.calibrators.fit.training import prepare
from calcli.core.calibrators.odir import Dirichlet
from calcli.core.calibrators.softmax import DPAffine, MatrixScaling
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
