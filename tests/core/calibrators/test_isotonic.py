from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from calcli.core.calibrators.histogram import CenteredIsotonic, Isotonic
from tests.core.samples import columns, drawn


def binary(n, seed):
    rng = np.random.default_rng(seed)
    q = rng.beta(0.4, 0.6, n)
    return columns(q), (rng.random(n) < q**1.5).astype(int), q


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 5.0])
def test_unseen_scores_as_scikit_learn_has_them(smoothing):
    scores, labels, q = binary(500, seed=1)
    unseen, _, unseen_q = binary(2000, seed=2)
    # the smoothed fit is the plain one to rows that contradict the order at both ends
    extended_q = np.concatenate([[q.min() - 1e-9], q, [q.max() + 1e-9]])
    extended_labels = np.concatenate([[1], labels, [0]])
    weight = np.concatenate([[smoothing / 2 + 1e-300], np.ones(500), [smoothing / 2 + 1e-300]])
    oracle = IsotonicRegression(out_of_bounds="clip").fit(extended_q, extended_labels, sample_weight=weight)
    # clipped to the scores that were seen: the added rows do not stretch the range
    expected = oracle.predict(np.clip(unseen_q, q.min(), q.max()))
    got = Isotonic(smoothing=smoothing).fit(scores, labels).predict_proba(unseen)[:, 1]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_steps_take_the_block_below():
    q = np.array([0.1, 0.2, 0.6, 0.7])
    scores = columns(q)
    steps = Isotonic(interpolation="steps", smoothing=0).fit(scores, np.array([0, 1, 0, 1]))
    between = np.array([0.05, 0.15, 0.2, 0.59, 0.69, 0.9])
    got = steps.predict_proba(columns(between))[:, 1]
    np.testing.assert_allclose(got, [0, 0, 1 / 2, 1 / 2, 1 / 2, 1])


def test_tied_float32_scores_are_in_their_own_block():
    """Also where they are applied in double precision, as files are."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 12, 3000)
    logits = np.column_stack([np.full(3000, 0.1), (level - 5.5) / 3 + 0.1]).astype(np.float32)
    labels = (rng.random(3000) < 1 / (1 + np.exp((5.5 - level) / 2))).astype(int)
    expected = IsotonicRegression().fit_transform(level, labels)
    fitted = Isotonic(interpolation="steps", smoothing=0).fit(logits, labels)
    for scores in (logits, logits.astype(np.float64)):
        np.testing.assert_allclose(fitted.predict_proba(scores)[:, 1], expected, atol=1e-12)


@pytest.mark.parametrize("labels", [np.zeros(4, int), np.ones(4, int)])
def test_an_outcome_never_seen_keeps_a_probability(labels):
    scores, _, _ = binary(4, seed=3)
    got = Isotonic().fit(scores, labels).predict_proba(scores)[:, 1]
    np.testing.assert_allclose(got, (labels.sum() + 0.5) / 5)


@pytest.mark.parametrize("trees", [10, 20, 100])
def test_votes_of_a_forest_are_tied_as_scikit_learn_has_them(trees):
    rng = np.random.default_rng(trees)
    probs = rng.multinomial(trees, rng.dirichlet(np.full(5, 0.4), 800)) / trees
    labels = np.array([rng.choice(5, p=np.sqrt(row) / np.sqrt(row).sum()) for row in probs])
    with np.errstate(divide="ignore"):
        got = Isotonic(smoothing=0).fit(np.log(probs), labels).predict_proba(np.log(probs))
    columns = [
        IsotonicRegression(out_of_bounds="clip").fit(probs[:, k], labels == k).predict(probs[:, k])
        for k in range(5)
    ]
    expected = np.column_stack(columns)
    np.testing.assert_allclose(got, expected / expected.sum(1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_centered_fit_has_the_blocks_at_their_mean_scores(weighted):
    rng = np.random.default_rng(4)
    prob = np.round(rng.random(200), 2) * 0.98 + 0.01
    labels = (rng.random(200) < prob).astype(int)
    weights = rng.integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    fitted = CenteredIsotonic(smoothing=0).fit(columns(prob), labels, weights)
    level = IsotonicRegression().fit_transform(prob, labels, sample_weight=weights)
    for value in np.unique(level)[1:-1]:
        rows = level == value
        center = np.average(prob[rows], weights=weights[rows])
        found = fitted.predict_proba(np.log([[1 - center, center]]))[0, 1]
        assert found == pytest.approx(value, abs=1e-9)


def test_centered_fit_makes_no_ties_between_the_blocks():
    logits, labels = drawn(300, 2)
    fitted = CenteredIsotonic().fit(logits, labels)
    inner = np.linspace(*fitted.parameters["scores"][[0, -1]], 500)
    assert (np.diff(fitted.predict_proba(columns(inner))[:, 1]) > 0).all()
