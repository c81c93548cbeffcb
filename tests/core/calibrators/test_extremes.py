"""Whatever the probabilities, a fit gives distributions: no row of nan, none of zeros, and no warning."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from calcli.core.calibrators.base import make
from calcli.core.calibrators.isotonic import Isotonic
from calcli.core.calibrators.onevsrest import interpolated
from calcli.core.calibrators.reduced import Reduced
from calcli.core.calibrators.spline import Spline
from calcli.core.calibrators.wrappers import PerPredictedClass, PreserveTop1
from calcli.core.language.expressions import parse_method
from calcli.core.language.methods import METHODS
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import fit

EXTREMES = [0.0, 5e-324, 1e-323, 2.3e-308, 1e-300, 1e-17, 1e-3, 0.5, 1.0]
SETTINGS = [
    "isotonic:smoothing=0", "isotonic:interpolation=steps:smoothing=0", "isotonic:lens=top-1",
    "spline:smoothing=0", "spline:lens=within-top-2", "histogram:smoothing=0",
    "spline:lens=top-2", "isotonic:lens=within-top-2", "platt:lens=top-wise", "histogram:lens=class-1",
    "spline:constrained=true:monotone=true", "spline:target=cumulative:constrained=true:monotone=true",
    "spline:monotone=true",
    "histogram:binning=equal-width", "histogram:lens=top-1", "scaling-binning:lens=top-1",
    "platt:target_smoothing=false", "beta:variant=ab",
]  # fmt: skip
SMALL = {  # in place of settings that take long
    "pool": "pool:members=dp+svs+isotonic",
    "structured": "structured:penalties=1:off_diagonal_penalties=10",
}
ALONE = [name for name, method in METHODS.items() if method.family != "wrapper"]
AROUND = {
    "reduced": Reduced,
    "per-predicted-class": partial(PerPredictedClass, min_rows=6),
    "preserve-top1": PreserveTop1,
}


def probabilities(rows):
    return [np.array(row) / sum(row) if any(row) else np.eye(len(row))[0] for row in rows]


def enough(weights):
    """Return whether a row for each of five folds has a weight."""
    return np.count_nonzero(weights) >= 5


@st.composite
def problems(draw):
    """Draw log-probabilities to fit to, labels, weights or None, and log-probabilities to apply it to."""
    classes, n = draw(st.integers(3, 4)), draw(st.integers(12, 24))
    row = st.lists(st.sampled_from(EXTREMES) | st.floats(0, 1), min_size=classes, max_size=classes)
    probs = np.array(probabilities(draw(st.lists(row, min_size=n + 5, max_size=n + 5))))
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))
    weight = st.sampled_from([0.0, 1e-300, 1e-8, 1.0, 1e10])
    weights = draw(st.none() | st.lists(weight, min_size=n, max_size=n).filter(enough))
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    return logs[:n], np.array(labels), weights, logs


def assert_distributions(log_probs):
    assert not np.isnan(log_probs).any()
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1, atol=1e-9)


calmly = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("expression", [*(SMALL.get(name, name) for name in ALONE), *SETTINGS])
@calmly
@given(problems())
def test_any_method_gives_distributions(expression, problem):
    scores, labels, weights, unseen = problem
    assert_distributions(make(parse_method(expression)).fit(scores, labels, weights).apply(unseen))


@pytest.mark.parametrize(
    "method", ["temperature", "bias", "vector", "platt", "spline", "histogram", "isotonic"]
)
@pytest.mark.parametrize("wrapper", AROUND)
@calmly
@given(problems())
def test_any_wrapper_gives_distributions(wrapper, method, problem):
    scores, labels, weights, unseen = problem
    calibrator = AROUND[wrapper](calibrator=make(parse_method(method)))
    assert_distributions(calibrator.fit(scores, labels, weights).apply(unseen))


@pytest.fixture(scope="module")
def naive_bayes():
    """Return labels of digits and the probabilities of a Gaussian naive Bayes, many exactly 0 or 1."""
    pixels, labels = load_digits(return_X_y=True)
    probs = cross_val_predict(GaussianNB(), pixels, labels, cv=2, method="predict_proba")
    assert (probs == 1).any()
    assert 0 < probs[probs > 0].min() < 1e-307
    return probs, labels


def test_all_wrappers_are_tried():
    assert sorted([*ALONE, *AROUND]) == sorted(METHODS)


@pytest.mark.parametrize("method", ALONE)
def test_naive_bayes_can_be_recalibrated_by_any_method(naive_bayes, method):
    probs, labels = naive_bayes
    with np.errstate(divide="ignore"):
        scores = np.log(probs)
    for half in (0, 1):
        fitted = make(parse_method(SMALL.get(method, method))).fit(scores[half::2], labels[half::2])
        assert_distributions(fitted.apply(scores))


@pytest.mark.parametrize(
    "methods", [["isotonic"], ["spline:lens=class-wise"], ["temperature", "dp", "spline", "isotonic"]]
)
def test_naive_bayes_can_be_fitted_and_chosen_for(naive_bayes, predict, methods):
    found = fit(predict(*naive_bayes), [parse_method(name) for name in methods], FitSettings(folds=3))
    assert np.isfinite(found.after["log_loss"])
    assert found.after["log_loss"] < 1


@pytest.mark.parametrize("calibrator", [Isotonic(smoothing=0), Isotonic(), Spline(), Spline(smoothing=0)])
def test_maps_between_neighboring_smallest_doubles_stay_within_their_values(calibrator):
    tiny = np.array([0, 5e-324, 1e-323, 1.5e-323, 1e-310, 1e-300] * 20)
    with np.errstate(divide="ignore"):
        scores = np.log(np.column_stack([1 - tiny, tiny]))
    labels = np.arange(len(tiny)) % 6 % 2
    assert_distributions(calibrator.fit(scores, labels).apply(scores))


def test_lines_between_probabilities():
    ends, values = np.array([0.0, 5e-324, 1e-323, 0.25, 1.0]), np.array([0.1, 0.9, 0.3, 0.5, 0.8])
    np.testing.assert_array_equal(interpolated(ends, ends, values), values)
    inside = np.random.default_rng(0).uniform(0, 1, 1000)
    np.testing.assert_array_equal(interpolated(inside, ends, values), np.interp(inside, ends, values))


def test_a_row_that_every_map_gives_nothing_keeps_its_probabilities():
    fitted = Isotonic(smoothing=0)
    maps = {"scores": np.array([0.4, 0.6] * 3), "values": np.array([0.0, 1.0] * 3), "sizes": np.full(3, 2)}
    fitted.parameters = {"classes": 3, **maps}
    row = np.array([[0.35, 0.33, 0.32], [0.7, 0.2, 0.1]])
    np.testing.assert_allclose(fitted.predict_proba(np.log(row)), [row[0], [1, 0, 0]], rtol=1e-12)


@pytest.mark.parametrize(
    "expression", ["pool", "structured", "structured:penalties=1:off_diagonal_penalties=10"]
)
@pytest.mark.parametrize("least", [1e-300, 1e-8])
def test_rows_of_hardly_any_weight_do_no_harm(expression, least):
    with np.errstate(divide="ignore"):
        scores = np.log(np.tile(np.eye(4)[0], (16, 1)))
    weights = np.r_[np.full(13, least), np.full(3, 1e10)]
    fitted = make(parse_method(expression)).fit(scores, np.zeros(16, int), weights)
    assert_distributions(fitted.apply(scores))


@pytest.mark.parametrize("expression", [SMALL.get(name, name) for name in ALONE])
@pytest.mark.parametrize("seed", [7, 32])
def test_fits_to_rows_of_which_few_count_go_on_where_curvature_is_lost(expression, seed):
    rng = np.random.default_rng(seed)
    scores, labels = rng.normal(size=(12, 3)) * 0.1, rng.integers(0, 3, 12)
    fitted = make(parse_method(expression)).fit(scores, labels, rng.choice([1e-30, 1.0, 1e6], 12))
    assert_distributions(fitted.apply(scores))
    steep = np.tile([[-500.0, 0], [0, -1000], [0, -600]], (2, 1))
    fitted = make(parse_method(expression)).fit(steep, [0, 1, 0] * 2, [1e6, 1, 0.3] * 2)
    assert_distributions(fitted.apply(steep))


@pytest.mark.parametrize("expression", [SMALL.get(name, name) for name in ALONE])
def test_scores_in_half_precision_are_taken(expression):
    rng = np.random.default_rng(0)
    half, labels = rng.normal(size=(80, 3)).astype(np.float16), np.arange(80) % 3
    found = [make(parse_method(expression)).fit(own, labels).apply(own) for own in (half, half.astype("f4"))]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("lowest", [-3.4e38, -1e160, -1.7e308])
@pytest.mark.parametrize("expression", [*(SMALL.get(name, name) for name in ALONE), "vector:input=raw"])
def test_classes_masked_by_a_low_number_are_those_of_probability_0(expression, lowest):
    rng = np.random.default_rng(0)
    logits, labels = rng.standard_normal((80, 3)), np.arange(80) % 3
    masked = rng.random((80, 3)) < 0.1
    masked[np.arange(80), logits.argmax(axis=1)] = False
    found = []
    for low in (lowest, -np.inf):
        scores = np.where(masked, low, logits)
        fitted = make(parse_method(expression)).fit(scores, labels)
        found.append((fitted.predict_proba(scores), fitted.predict_proba(logits), fitted.notes))
    for one, other in zip(*(of[:2] for of in found), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert found[0][2] == found[1][2]
