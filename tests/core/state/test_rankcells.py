"""Coarse cells of scores."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.state.deals import rank_edges, rank_index


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_are_found_as_by_a_search(dtype):
    rng, edges = np.random.default_rng(0), rank_edges()
    beside = [edges, np.nextafter(edges[1:], 0), np.nextafter(edges[:-1], 1)]
    score = np.concatenate([rng.beta(0.1, 0.1, 10_000), *beside]).astype(dtype)
    expected = np.searchsorted(edges[1:-1], score, side="right")
    np.testing.assert_array_equal(rank_index(score), expected)
