"""ICI, E50, E90 and Emax, beside a logistic regression of scikit-learn on the spline of Harrell's book."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import calcli
from calcli.io.handed import from_arrays

NAMES = ("ici", "e50", "e90", "emax")


def drawn(rows, seed, bend=0.0):
    rng = np.random.default_rng(seed)
    logit = rng.normal(-0.5, 1.2, rows)
    label = (rng.random(rows) < 1 / (1 + np.exp(-logit - bend * logit**2))).astype(int)
    return 1 / (1 + np.exp(-logit)), label


def spline(score):
    """Return truncated powers of the log-odds, with knots at Harrell's quantiles."""
    logit = np.log(score / (1 - score))
    knots = np.quantile(logit, [0.05, 0.275, 0.5, 0.725, 0.95], method="inverted_cdf")
    cube = np.maximum(logit[:, None] - knots, 0) ** 3
    last, before = knots[-1], knots[-2]
    bends = [
        cube[:, j]
        - cube[:, -2] * (last - knots[j]) / (last - before)
        + cube[:, -1] * (before - knots[j]) / (last - before)
        for j in range(3)
    ]
    features = np.column_stack([logit, *bends])
    return (features - features.mean(0)) / features.std(0)


def distances(score, label):
    """Return |p - c(p)| of a regression on the spline."""
    features = spline(score)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(features, label)
    return np.abs(model.predict_proba(features)[:, 1] - score)


@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_the_distances_are_those_of_a_regression_on_the_same_spline(bend):
    score, label = drawn(711, 3, bend)  # so that no quantile falls between two rows
    found = calcli.evaluate(np.stack([1 - score, score], axis=1), label, metrics=list(NAMES), draws=0)
    distance = distances(score, label)
    expected = (
        distance.mean(),
        *np.quantile(distance, [0.5, 0.9], method="inverted_cdf"),
        distance.max(),
    )
    np.testing.assert_allclose([found[name].value for name in NAMES], expected, atol=2e-5)


def test_the_distances_are_those_of_statsmodels():
    """A generalized linear model by iterated weighted least squares, which ends nearer to the optimum."""
    models = pytest.importorskip("statsmodels.api")
    score, label = drawn(711, 3, 0.4)
    features = models.add_constant(spline(score))
    fitted = models.GLM(label, features, family=models.families.Binomial()).fit(tol=1e-14, maxiter=200)
    found = calcli.evaluate(np.stack([1 - score, score], axis=1), label, metrics=["ici", "emax"], draws=0)
    distance = np.abs(fitted.predict(features) - score)
    assert (found["ici"].value, found["emax"].value) == pytest.approx(
        (distance.mean(), distance.max()), abs=1e-9
    )


def test_clusters_leave_the_values_and_take_the_test():
    score, label = drawn(300, 5, 0.3)
    scores, group = np.stack([1 - score, score], axis=1), np.arange(300) // 3
    rows = from_arrays(scores, label, columns={"patient": group})
    plain = calcli.evaluate(rows, metrics=list(NAMES), draws=19)
    clustered = calcli.evaluate(rows, metrics=list(NAMES), draws=19, cluster="patient")
    for name in NAMES:
        assert clustered[name].value == plain[name].value
        assert plain[name].if_calibrated is not None
        assert clustered[name].if_calibrated is None
        assert clustered[name].interval is None  # biased upward: no bootstrap of clusters mends that
    assert "its tests assume independent outcomes" in " ".join(str(clustered).split())


def test_weights_are_copies_of_rows():
    score, label = drawn(300, 5, 0.3)
    times = np.random.default_rng(1).integers(1, 4, 300)
    scores = np.stack([1 - score, score], axis=1)
    weighted = calcli.evaluate(scores, label, weights=times.astype(float), metrics=list(NAMES), draws=0)
    copied = calcli.evaluate(scores.repeat(times, axis=0), label.repeat(times), metrics=list(NAMES), draws=0)
    for name in NAMES:
        assert weighted[name].value == pytest.approx(copied[name].value, abs=1e-7)


def test_a_calibrated_score_is_told_from_one_that_is_not():
    """Of 300 rows, p is below 5% in about 5% of calibrated sets, and in nearly all bent ones."""
    false = true = 0
    for seed in range(60):
        for bend in (0.0, 0.6):
            score, label = drawn(300, seed, bend)
            scores = np.stack([1 - score, score], axis=1)
            estimate = calcli.evaluate(scores, label, metrics=["ici"], draws=199)["ici"]
            found = estimate.if_calibrated.p_value <= 0.05
            false, true = false + (found and not bend), true + (found and bool(bend))
    assert stats.binomtest(false, 60, 0.05, "greater").pvalue > 0.01
    assert true >= 50
