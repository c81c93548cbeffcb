"""The grid has every score in one cell, and every i / 300 on an edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.data.binning import equal_width_edges
from calcli.core.state.grid import grid_edges, grid_place

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


@given(st.floats(0, 1))
def test_any_score_lies_between_the_edges_of_its_cell(score):
    edges, cell = grid_edges(), int(grid_place(np.array([score]))[0][0])
    assert edges[cell] <= score < edges[cell + 1]


@pytest.mark.parametrize("bins", [2, 3, 4, 5, 6, 10, 12, 15, 20, 25, 30, 50, 60, 75, 100, 300])
def test_equal_width_bins_are_made_of_whole_cells(bins):
    assert np.isin(equal_width_edges(bins), grid_edges()).all()


def test_shares_of_few_votes_have_cells_of_their_own():
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
