from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.folds import stratified_folds


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_folds_hold_each_class_and_all_rows_evenly(labels, folds, seed):
    labels = np.array(labels)
    fold = stratified_folds(labels, folds, np.random.default_rng(seed))
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1
    for k in np.unique(labels):
        assert np.ptp(np.bincount(fold[labels == k], minlength=folds)) <= 1


def test_the_generator_decides():
    labels = np.repeat([0, 1], 50)
    first, again, other = (stratified_folds(labels, 5, np.random.default_rng(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(first, other)
