"""Score cells are the same for any partition and order of the rows."""

from __future__ import annotations

from dataclasses import astuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.estimators.ranking import AREA
from calcli.core.problems.problem import ordered_problem
from calcli.core.state import cells
from calcli.core.state.cells import ScoreCells

LIMITS = {"exact": 10_000, "grid": 5, "at the border": 40}


def rows(n, seed, dtype):
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(0.4, 0.4, n), 3 if seed % 2 else 17).astype(dtype)
    return score, rng.random(n) < score, np.round(rng.gamma(2, size=n), 2)


def cells_of(parts, limit, dtype, weighted=False):
    found = ScoreCells(limit, weighted, np.dtype(dtype))
    for score, outcome, weights in parts:
        own = ScoreCells(limit, weighted, np.dtype(dtype))
        own.add(score, outcome, weights if weighted else None)
        found.merge(own)
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 60),
    st.integers(0, 9),
    st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([*LIMITS]),
    st.sampled_from([(1, 4), (1, 25), cells.WAITING]),
)
def test_any_partition_and_order_gives_the_same_bits(n, seed, cuts, dtype, form, waiting):
    table = rows(n, seed, dtype)
    shuffled = [column[np.random.default_rng(seed).permutation(n)] for column in table]
    ends = np.sort(np.minimum(cuts, n))
    pieces = zip(*(np.split(column, ends) for column in shuffled), strict=True)
    whole = cells_of([table], LIMITS[form], dtype).arrays()
    with mock.patch.object(cells, "WAITING", waiting):
        parts = cells_of(pieces, LIMITS[form], dtype).arrays()
    assert whole.keys() == parts.keys()
    for name, values in whole.items():
        assert np.array_equal(values, parts[name]), name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["exact", "grid"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_bins_are_those_of_the_rows(form, weighted, dtype):
    score, outcome, weights = rows(3000, 4, dtype)
    given_weights = weights if weighted else None
    found = cells_of([(score, outcome, weights)], LIMITS[form], dtype, weighted).problem()
    expected = ordered_problem(score, outcome, given_weights)
    assert found.n_rows == 3000
    for bins in (15, 20):
        own, truth = found.bins("equal-width", bins), expected.bins("equal-width", bins)
        assert np.array_equal(own.count, truth.count)
        np.testing.assert_allclose(own.weight, truth.weight, rtol=1e-12)
        np.testing.assert_allclose(own.outcome, truth.outcome, rtol=1e-12)
        np.testing.assert_allclose(own.score, truth.score, rtol=1e-9)


@pytest.mark.parametrize("weight", [None, 2.5])
def test_the_area_and_its_spread_are_those_of_the_rows(weight):
    score, outcome, _ = rows(3000, 3, np.float64)  # of which many share a cell
    weights = None if weight is None else np.full(3000, weight)
    found = cells_of([(score, outcome, weights)], 10_000, np.float64, weight is not None).problem()
    assert len(found.score) < 1500
    expected = ordered_problem(score, outcome, weights)
    own, truth = (astuple(AREA.spread(one)) for one in (found, expected))
    assert truth[1] == 3000
    np.testing.assert_allclose(own[:5], truth[:5], rtol=1e-9)
    assert found.mean_row_weights.max() == expected.mean_row_weights.max() == (weight or 1)


def test_equal_mass_bins_of_exact_cells_are_those_of_the_rows():
    score, outcome, _ = rows(3001, 3, np.float64)
    found = cells_of([(score, outcome, None)], 10_000, np.float64).problem().bins("equal-mass", 15)
    expected = ordered_problem(score, outcome).bins("equal-mass", 15)
    assert np.array_equal(found.count, expected.count)
    np.testing.assert_allclose(found.outcome, expected.outcome)


@pytest.mark.parametrize("form", ["exact", "grid"])
def test_stored_cells_come_back(form):
    for weighted in (False, True):
        arrays = cells_of([rows(500, 1, np.float64)], LIMITS[form], np.float64, weighted).arrays()
        again = ScoreCells.of_arrays(LIMITS[form], arrays).arrays()
        assert arrays.keys() == again.keys()
        assert all(np.array_equal(values, again[name]) for name, values in arrays.items())


def test_the_form_depends_on_the_union_alone():
    score = np.linspace(0, 1, 41)
    halves = [(half, half > 0.5, None) for half in np.split(score, [20])]
    assert cells_of(halves, 41, np.float64).exact
    assert not cells_of(halves, 40, np.float64).exact


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
