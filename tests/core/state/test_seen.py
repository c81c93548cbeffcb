"""The number of distinct scores is bounded from below, closely."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.problems.problem import keys_of
from calcli.core.state.cells import Seen


@given(
    st.lists(st.lists(st.floats(0, 1, width=32), max_size=30), max_size=4),
    st.integers(1, 50),
    st.sampled_from([np.float32, np.float64]),
)
def test_there_are_no_fewer_scores(parts, limit, dtype):
    seen, total = Seen(limit), 0
    for part in parts:
        scores = np.array(part, dtype)
        total += seen.add([keys_of(scores, np.zeros(len(scores), bool))])
    assert seen.least == total <= len(np.unique(np.concatenate([np.array(part) for part in [[], *parts]])))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_random_scores_few_are_missed(dtype):
    scores = np.random.default_rng(0).beta(0.5, 0.5, 120_000).astype(dtype)
    seen = Seen(100_000)
    seen.add([keys_of(scores, scores > 0.5)])
    assert seen.least > 0.9 * len(np.unique(scores))
