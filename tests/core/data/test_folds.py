from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.data.units import Units, stratified_folds


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_folds_hold_each_class_and_all_rows_evenly(labels, folds, seed):
    labels = np.array(labels)
    fold = stratified_folds(labels, folds, np.random.default_rng(seed))
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1
    for k in np.unique(labels):
        assert np.ptp(np.bincount(fold[labels == k], minlength=folds)) <= 1


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_a_group_is_in_one_fold_and_the_folds_share_the_groups_evenly(groups, folds, seed):
    groups = np.array(groups)
    labels = groups % 3
    fold = stratified_folds(
        labels, folds, np.random.default_rng(seed), Units.of(len(labels), groups.astype(str))
    )
    first = {group: fold[groups == group][0] for group in np.unique(groups)}
    np.testing.assert_array_equal(fold, [first[group] for group in groups])
    held = np.array(list(first.values()))
    assert np.ptp(np.bincount(held, minlength=folds)) <= 1
    for k in range(3):
        of_class = [number for group, number in first.items() if group % 3 == k]
        assert np.ptp(np.bincount(of_class, minlength=folds)) <= 1


def test_the_usual_class_of_a_group_decides():
    groups = np.repeat(np.arange(20), 5)
    usual = np.arange(20) % 2
    labels = np.where(np.arange(100) % 5 < 3, usual[groups], 1 - usual[groups])
    fold = stratified_folds(labels, 5, np.random.default_rng(0), Units.of(len(labels), groups))[::5]
    for number in range(5):
        assert np.bincount(usual[fold == number]).tolist() == [2, 2]
