"""Wrappers: the predicted class kept, a calibrator for each, and the problem of being right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special
from scipy.optimize import minimize

from calcli.core.calibrators.base import make
from calcli.core.calibrators.histogram import Isotonic
from calcli.core.calibrators.logistic import Beta
from calcli.core.calibrators.temperature import Temperature
from calcli.core.calibrators.wrappers import PerPredictedClass, PreserveTop1, Reduced, keep_top, top1_changes
from calcli.core.language.expressions import parse_method
from calcli.core.language.methods import METHODS

ROWS = st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(any)


@given(ROWS, st.data())
def test_no_class_exceeds_the_kept_one_and_the_row_sums_to_one(row, data):
    probs = np.array([row]) / sum(row)
    top = data.draw(st.integers(0, len(row) - 1))
    kept = keep_top(probs, np.array([top]))[0]
    assert kept.argmax() == top
    assert kept.sum() == pytest.approx(1, abs=1e-11)
    assert (kept >= 0).all()
    below = probs[0] < kept.max() - 1e-9
    np.testing.assert_array_equal(
        np.delete(kept, top)[np.delete(below, top)], np.delete(probs, top)[np.delete(below, top)]
    )


@pytest.mark.parametrize("seed", range(5))
def test_kept_row_is_the_nearest(seed):
    rng = np.random.default_rng(seed)
    row, top = rng.dirichlet(np.ones(5)), 2
    limits = [{"type": "ineq", "fun": lambda x, j=j: x[top] - x[j]} for j in range(5) if j != top]
    nearest = minimize(
        lambda x: ((x - row) ** 2).sum(),
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints=[*limits, {"type": "eq", "fun": lambda x: x.sum() - 1}],
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(keep_top(row[None], np.array([top]))[0], nearest.x, atol=1e-6)


@pytest.mark.parametrize("name", ["cifar100_vgg19_bn", "agnews_gpt2"])
def test_accuracy_stays_and_only_changed_rows_move(dataset, name):
    scores, labels = dataset(name)
    half = len(labels) // 2
    plain = Isotonic().fit(scores[:half], labels[:half])
    wrapped = PreserveTop1(calibrator=Isotonic()).fit(scores[:half], labels[:half])
    before, after = plain.apply(scores[half:]), wrapped.apply(scores[half:])
    predicted = scores[half:].argmax(1)
    same = before.argmax(1) == predicted
    np.testing.assert_array_equal(after.argmax(1), predicted)
    np.testing.assert_array_equal(np.exp(after).argmax(1), predicted)
    np.testing.assert_array_equal(after[same], before[same])
    assert not same.all()
    changed, _ = top1_changes(scores[:half], plain.apply(scores[:half]))
    assert wrapped.notes[-1].startswith(f"on {changed:,} of {half:,} rows")


def test_changes_and_ties_are_counted():
    before = np.array([[3, 2, 1], [3, 2, 1], [3, 2, 1], [2, 2, 1]])
    after = np.array([[3, 2, 1], [1, 2, 0], [2, 2, 1], [2, 2, 1]])
    assert top1_changes(before, after) == (1, 1)


def predicted_sample(n=900):
    rng = np.random.default_rng(0)
    scores = rng.normal([1, 0.5, -1.5], 1, (n, 3))
    probs = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    return scores * 2, (rng.random((n, 1)) > probs.cumsum(1)).sum(1)


def test_each_predicted_class_has_its_own_and_rare_ones_the_common_calibrator():
    scores, labels = predicted_sample()
    predicted = scores.argmax(1)
    counts = np.bincount(predicted)
    assert counts[2] < 50 < counts[1]
    got = PerPredictedClass(calibrator=Beta(), min_rows=50).fit(scores, labels)
    log_probs = got.apply(scores)
    for k, rows in ((0, predicted == 0), (1, predicted == 1), (2, np.full(900, True))):
        alone = Beta().fit(scores[rows], labels[rows])
        np.testing.assert_array_equal(log_probs[predicted == k], alone.apply(scores[predicted == k]))
    assert "1 of 3 classes are predicted on fewer than 50 rows" in got.notes[-1]


def sample(rows=400, classes=4, seed=0):
    """Return over-confident logits and labels."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((rows, classes))
    return 2 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def confidence_and_right(logits, labels):
    probs = special.softmax(logits, axis=1)
    return probs.max(axis=1), probs.argmax(axis=1) == labels


def test_temperature_of_the_confidence_is_the_optimum_of_its_log_odds():
    logits, labels = sample()
    confidence, right = confidence_and_right(logits, labels)
    log_odds = special.logit(confidence)

    def loss(alpha):
        return np.logaddexp(0, np.where(right, -alpha, alpha) * log_odds).mean()

    oracle = optimize.minimize_scalar(loss, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10})
    fitted = Reduced(calibrator=Temperature()).fit(logits, labels)
    assert 1 / fitted.parameters["temperature"] == pytest.approx(oracle.x, rel=1e-6)
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    expected = special.expit(oracle.x * log_odds)
    calibrated = fitted.predict_proba(logits)
    np.testing.assert_allclose(calibrated[rows, top], expected, rtol=1e-6)
    others = special.softmax(logits, axis=1) * ((1 - expected) / (1 - confidence))[:, None]
    others[rows, top] = expected
    np.testing.assert_allclose(calibrated, others, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "lens" in method.arguments])
def test_reduced_problem_of_one_score_is_the_top_class(name):
    logits, labels = sample()
    got = Reduced(calibrator=make(parse_method(name))).fit(logits, labels).apply(logits)
    expected = make(parse_method(f"{name}:lens=top-1")).fit(logits, labels).apply(logits)
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_certain_rows_share_the_rest_evenly():
    logits, labels = sample(classes=3)
    certain = np.array([[0.0, -np.inf, -np.inf]])
    fitted = Reduced(calibrator=make(parse_method("platt"))).fit(logits, labels)
    first, second, third = fitted.predict_proba(certain)[0]
    assert 0 < second == pytest.approx(third)
    assert first + second + third == pytest.approx(1)
