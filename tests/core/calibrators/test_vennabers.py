from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from calcli.core.calibrators.vennabers import VennAbers, with_a_hit
from tests.core.samples import drawn


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=25))
def test_one_pass_gives_what_an_isotonic_fit_for_each_score_gives(groups):
    weight = np.array([float(size) for size, _ in groups])
    hits = np.array([float(min(size, hit)) for size, hit in groups])
    found = with_a_hit(weight, hits)
    for i, value in enumerate(found):
        more, won = weight.copy(), hits.copy()
        more[i] += 1
        won[i] += 1
        assert value == pytest.approx(isotonic_regression(won / more, sample_weight=more)[i], abs=1e-12)


def test_two_probabilities_of_rows_between_and_beyond_the_scores_of_the_fit():
    logits, labels = drawn(60, 2)
    odds = logits[:, 1] - logits[:, 0]
    unseen = np.concatenate(
        [[odds.min() - 1], (np.sort(odds)[1:] + np.sort(odds)[:-1]) / 2, [odds.max() + 1]]
    )
    fitted = VennAbers().fit(logits, labels)
    found = fitted.predict_proba(np.column_stack([np.zeros(len(unseen)), unseen]))[:, 1]
    for value, score in zip(found, unseen, strict=True):
        order = np.argsort(np.append(odds, score))
        place = np.flatnonzero(order == len(odds))[0]
        both = [isotonic_regression(np.append(labels, own).astype(float)[order])[place] for own in (0, 1)]
        assert value == pytest.approx(both[1] / (1 - both[0] + both[1]), abs=1e-12)
    assert found.min() > 0
    assert found.max() < 1


def test_sums_of_weights_that_are_rounded_give_no_more_than_1():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weight = rng.uniform(0.01, 2, 100)
        found = with_a_hit(weight, weight * (rng.random(100) < 0.6))
        assert found.min() >= 0
        assert found.max() <= 1
