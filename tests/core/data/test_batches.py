"""Batches cover everything once, in order, and are as large as they may be."""

from __future__ import annotations

import pytest

from calcli.core.data.arrays import batch_sizes, batches


@pytest.mark.parametrize(
    ("number", "size", "most"), [(10, 3, 9), (10, 3, 30), (10, 3, 1), (0, 3, 9), (7, 1, 7)]
)
def test_batches_cover_everything_once(number, size, most):
    slices = list(batches(number, size, most))
    assert [i for batch in slices for i in range(number)[batch]] == list(range(number))
    assert [batch.stop - batch.start for batch in slices] == list(batch_sizes(number, size, most))
    assert all(
        found == max(1, min(most // size, number)) for found in list(batch_sizes(number, size, most))[:-1]
    )
