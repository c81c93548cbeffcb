"""Which rows of a union are in the sample depends on the union alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.state.sample import Rows, Sample

N = 900
RNG = np.random.default_rng(0)
HASHES = RNG.integers(0, 2**64, N, np.uint64)
LABELS, WEIGHTS, SCORES = RNG.integers(0, 3, N), RNG.random(N), RNG.normal(size=(N, 3)).astype(np.float32)


def sample_of(rows, room):
    found = Sample(3, weighted=True)
    found.room = room
    found.add(HASHES[rows], LABELS[rows], WEIGHTS[rows], SCORES[rows])
    return found


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, N), max_size=5),
    st.integers(0, 99),
    st.sampled_from([1, 40, 200, N - 1, N, 2 * N]),
)
def test_it_has_the_lowest_hashes_of_any_partition(cuts, seed, room):
    order = np.random.default_rng(seed).permutation(N)
    whole = Sample(3, weighted=True)
    whole.room = room
    for rows in np.split(order, np.sort(cuts)):
        whole.merge(sample_of(rows, room))
    expected = np.argsort(HASHES)[:room]
    for found, column in zip(whole.rows, (HASHES, LABELS, WEIGHTS, SCORES), strict=True):
        assert np.array_equal(found, column[expected])
    assert whole.below == (2**64 if room >= N else np.sort(HASHES)[room])


def test_rows_of_equal_hashes_are_in_it_together_or_not_at_all():
    own = Sample(3, weighted=False)
    own.room = 2
    for hashes in ([5, 3], [5, 9]):
        own.add(np.array(hashes, np.uint64), LABELS[:2], None, SCORES[:2])
    assert own.rows.hashes.tolist() == [3]


@pytest.mark.parametrize(("classes", "rows"), [(2, 20_000), (10, 20_000), (1000, 1048), (2000, 524)])
def test_it_is_bounded_in_bytes(classes, rows):
    assert Sample(classes, weighted=False).room == rows


def test_a_stored_sample_goes_on_where_it_was():
    own = sample_of(np.arange(600), 100)
    again = Sample.of_rows(Rows(*own.rows), own.below)
    again.room = 100
    for one in (own, again):
        one.merge(sample_of(np.arange(600, N), 100))
    assert np.array_equal(own.rows.hashes, again.rows.hashes)


def test_the_first_of_scores_that_are_alike_in_single_precision_stays_the_first():
    scores = np.array([[0.5 - 1e-9, 0.5 + 1e-9], [0.5, 0.5], [0.3, 0.7]])
    own = Sample(2, weighted=False)
    own.add(HASHES[:3], LABELS[:3], None, scores)
    kept = own.rows.scores[np.argsort(np.argsort(HASHES[:3]))]
    np.testing.assert_array_equal(kept[:2], scores[:2])
    np.testing.assert_allclose(kept[2], scores[2], rtol=1e-7)
    assert Sample.of_rows(own.rows, own.below).rows.scores.dtype == np.float64
