from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calcli.core.problems.problem import pav

ROWS = st.lists(
    st.tuples(st.integers(-5, 5), st.booleans(), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=40
)


def fitted_at(blocks, score):
    return blocks.value[np.searchsorted(blocks.lower, score, side="right") - 1]


def min_max(score, outcome, weight):
    """Ayer et al. 1955: max over a <= s of min over b >= s of the mean outcome of scores in [a, b]."""
    distinct = np.unique(score)

    def mean(a, b):
        between = (score >= a) & (score <= b)
        return np.average(outcome[between], weights=weight[between])

    value = {
        s: max(min(mean(a, b) for b in distinct if b >= s) for a in distinct if a <= s) for s in distinct
    }
    return np.array([value[s] for s in score])


@given(ROWS)
def test_fit_is_the_min_max_formula(rows):
    score, outcome, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    np.testing.assert_allclose(
        fitted_at(pav(score, outcome, weight), score), min_max(score, outcome, weight), atol=1e-12
    )


@given(ROWS)
def test_without_weights_shifted_scores_take_the_fast_way_to_the_same_blocks(rows):
    score, outcome, _ = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    slow, fast = pav(score - 10, outcome), pav((score + 10).astype(np.float32), outcome.astype(int))
    np.testing.assert_array_equal(fast.lower - 20, slow.lower)
    np.testing.assert_array_equal(fast.upper - 20, slow.upper)
    np.testing.assert_array_equal(fast.hits, slow.hits)
    np.testing.assert_array_equal(fast.weight, slow.weight)
    np.testing.assert_allclose(
        fitted_at(slow, score - 10), min_max(score, outcome, np.ones(len(rows))), atol=1e-12
    )


@pytest.mark.parametrize("decimals", [2, 6, 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(decimals, weighted):
    rng = np.random.default_rng(4)
    score = rng.random(3000).round(decimals)
    outcome = rng.random(3000) < score**2
    weight = rng.integers(1, 4, 3000).astype(float) if weighted else None
    expected = IsotonicRegression().fit(score, outcome, sample_weight=weight).predict(score)
    np.testing.assert_allclose(fitted_at(pav(score, outcome, weight), score), expected, atol=1e-12)


def test_a_tie_of_both_outcomes_among_many_rows_is_one_block():
    score, outcome = np.append(np.arange(2000), 1000), np.append(np.arange(2000) >= 1000, False)
    expected = IsotonicRegression().fit(score, outcome).predict(score)
    np.testing.assert_allclose(fitted_at(pav(score, outcome), score), expected, atol=1e-12)


def test_chain_that_must_be_pooled_from_its_end():
    # rising frequencies, then a heavy block of misses: each merge makes just one more violator
    n = 2000
    score = np.repeat(np.arange(n + 1.0), 2)
    outcome = np.tile([1.0, 0.0], n + 1)
    rising = np.linspace(1, 2, n)
    weight = np.column_stack([np.append(rising, 1e-9), np.ones(n + 1)]).ravel()
    weight[-1] = 3 * n
    oracle = IsotonicRegression().fit(score, outcome, sample_weight=weight)
    np.testing.assert_allclose(
        fitted_at(pav(score, outcome, weight), score), oracle.predict(score), atol=1e-12
    )


@pytest.mark.parametrize("name", ["sst2_gpt2", "fvcaus_plda"])
def test_log_loss_bound_of_real_data(golden, dataset, name):
    scores, labels = dataset(name)
    scores = scores.astype(np.float64)
    blocks = pav(scores[:, 1] - scores[:, 0], labels)
    p = blocks.value
    inner = (p > 0) & (p < 1)
    entropy = -(p[inner] * np.log(p[inner]) + (1 - p[inner]) * np.log(1 - p[inner]))
    assert len(p) == golden[name]["pav_n_blocks"]
    assert entropy @ blocks.weight[inner] / len(labels) == pytest.approx(
        golden[name]["pav_logloss_nats"], abs=1e-12
    )
