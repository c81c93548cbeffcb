from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from calcli.core.data.arrays import as_floats, log_softmax, log_sum_exp


@pytest.mark.parametrize("shape", [(1, 2), (7, 3), (500, 40), (3, 200_000)])
def test_log_softmax_agrees_with_scipy(shape):
    scores = 20 * np.random.default_rng(0).standard_normal(shape)
    expected = special.logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(log_softmax(scores), scores - expected, atol=1e-13)
    np.testing.assert_allclose(log_sum_exp(scores), expected, atol=1e-13)
    strided = np.asfortranarray(scores)[::2]
    np.testing.assert_allclose(log_softmax(strided), strided - expected[::2], atol=1e-13)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 5, 10, 40, 300])
def test_a_row_is_the_same_wherever_it_stands(k, kind):
    scores = (3 * np.random.default_rng(k).normal(size=(200, k))).astype(kind)
    whole = log_softmax(scores)
    for first, last in ((0, 1), (1, 4), (3, 20), (150, 200)):
        np.testing.assert_array_equal(log_softmax(scores[first:last]), whole[first:last])


def test_probability_zero_stays_zero_and_nothing_overflows():
    scores = np.array([[0.0, -np.inf, 0.0], [1000.0, 999.0, -1000.0], [-np.inf, -1e5, -np.inf]])
    log_probs = log_softmax(scores)
    assert log_probs[0].tolist() == [-np.log(2), -np.inf, -np.log(2)]
    assert log_probs[1, 2] == pytest.approx(-2000 - np.log1p(np.exp(-1)))
    assert log_probs[2].tolist() == [-np.inf, 0, -np.inf]


@pytest.mark.parametrize(
    ("given", "computed"),
    [("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int32", "float64")],
)
def test_precision_of_the_input_is_kept(given, computed):
    scores = np.array([[1, 2, 3]], given)
    assert as_floats(scores).dtype == log_softmax(scores).dtype == computed
