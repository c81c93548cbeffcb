"""The grid has every score in one cell and every i / 300 on an edge; cells count any number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data.binning import equal_width_edges
from calcli.core.state.cells import ScoreCells, grid_edges, grid_place
from calcli.core.state.deals import rank_edges, rank_index

RNG = np.random.default_rng(0)
POINTS = np.arange(301) / 300
SCORES = np.concatenate(
    [
        RNG.random(20_000),
        1 / (1 + np.exp(-8 * RNG.normal(size=20_000))),
        10 ** RNG.uniform(-30, 0, 20_000),
        1 - 10 ** RNG.uniform(-17, 0, 20_000),
        POINTS,
        np.nextafter(POINTS[1:], 0),
        np.nextafter(POINTS[:-1], 1),
        [5e-324],
    ]
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_score_lies_between_the_edges_of_its_cell(dtype):
    score = np.clip(SCORES.astype(dtype), 0, 1)
    expected = np.searchsorted(grid_edges(), score.astype(np.float64), side="right") - 1
    assert np.array_equal(grid_place(score)[0], expected)
    beside = [rank_edges(), np.nextafter(rank_edges()[1:], 0), np.nextafter(rank_edges()[:-1], 1)]
    score = np.concatenate([score, *beside]).astype(dtype)
    assert np.array_equal(rank_index(score), np.searchsorted(rank_edges()[1:-1], score, side="right"))


def test_equal_width_bins_are_made_of_whole_cells_and_shares_of_few_votes_have_cells_of_their_own():
    for bins in (2, 3, 4, 5, 6, 10, 12, 15, 20, 25, 30, 50, 60, 75, 100, 300):
        assert np.isin(equal_width_edges(bins), grid_edges()).all()
    cells = grid_place(POINTS)[0]
    beside = [grid_place(np.nextafter(POINTS[1:-1], end))[0] for end in (0, 1)]
    assert len(np.unique(cells)) == len(POINTS)
    assert not np.isin(beside, cells).any()


def test_cells_are_fine_where_scores_are_near_zero_or_one():
    edges = grid_edges()
    middle, width = edges[:-1], np.diff(edges)
    distance = np.minimum(middle + width, 1 - middle)
    inner = (distance > 2.0**-40) & (width > 0)
    assert (width[inner] / distance[inner]).max() < 2.0**-3
    assert width.max() < 2.0**-12


@pytest.mark.parametrize("copies", [200, 2**32 - 5])
def test_counts_that_outgrow_their_type(copies):
    """Counts are stored as narrow as they are."""
    keys = np.array([1, 6], np.uint32)
    narrow = {"keys": keys, "count": np.array([copies, 1]).astype(np.min_scalar_type(copies))}
    found = ScoreCells.of_arrays(10, narrow)
    for _ in range(3):
        found.merge(ScoreCells.of_arrays(10, narrow))
    assert found.arrays()["count"].tolist() == [4 * copies, 4]


@pytest.mark.parametrize("copies", [1, 3, 2**21 + 1, 2**30 + 1])
def test_places_of_many_rows_on_the_grid_are_exact(copies):
    """Integers of Python do not round, whatever the count of a score."""
    score = np.random.default_rng(copies).beta(0.4, 0.4, 50)
    once, often = (ScoreCells(5, False, np.dtype(np.float64)) for _ in range(2))
    for own, counts in ((once, 1), (often, copies)):
        keys = np.sort(score.view(np.uint64) << 1)
        own.merge(ScoreCells.of_arrays(50, {"keys": keys, "count": np.full(50, counts, np.int64)}))
    assert not often.exact
    found, expected = often.arrays(), once.arrays()
    assert found["counts"].tolist() == [copies * count for count in expected["counts"].tolist()]
    assert found["places"].tolist() == [copies * place for place in expected["places"].tolist()]
