"""The one edge rule: every value in exactly one bin, equal values always in the same one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.data.binning import (
    bin_index,
    edge_cuts,
    equal_mass_cuts,
    equal_width_cuts,
    equal_width_edges,
    equal_width_index,
)

unit = st.floats(0, 1)
near_edge = st.builds(
    lambda m, i, step: float(np.clip(np.nextafter(i % (m + 1) / m, step), 0, 1)),
    st.integers(1, 40),
    st.integers(0, 40),
    st.sampled_from([-1.0, 2.0]),
)


def test_edges_of_the_reference(toys):
    case = toys["edges_10_bins"]
    assert equal_width_index(np.array(case["value"]), 10).tolist() == case["bin_index"]


@given(st.lists(unit | near_edge, min_size=1), st.integers(1, 60), st.sampled_from([np.float32, np.float64]))
def test_arithmetic_agrees_with_the_edges(values, bins, dtype):
    values = np.array(values, dtype)
    edges = equal_width_edges(bins)
    naive = [min(bins - 1, max(i for i in range(bins + 1) if edges[i] <= value)) for value in values.tolist()]
    assert equal_width_index(values, bins).tolist() == naive
    assert bin_index(values, edges).tolist() == naive
    ordered, counts = np.sort(values), np.bincount(naive, minlength=bins).tolist()
    assert np.diff(equal_width_cuts(ordered, bins)).tolist() == counts
    assert np.diff(edge_cuts(ordered, edges)).tolist() == counts


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.9]) | unit, min_size=1), st.integers(1, 20))
def test_equal_mass_never_parts_equal_values(values, bins):
    ordered = np.sort(np.array(values))
    cuts = equal_mass_cuts(ordered, bins)
    assert cuts[0] == 0
    assert cuts[-1] == len(ordered)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) - 1 <= bins
    assert all(ordered[cut - 1] < ordered[cut] for cut in cuts[1:-1])


@pytest.mark.parametrize(("n", "bins"), [(10, 3), (100, 15), (7, 15), (15, 15)])
def test_equal_mass_sizes_are_those_of_array_split(n, bins):
    sizes = [len(part) for part in np.array_split(np.arange(n), bins) if len(part)]
    assert np.diff(equal_mass_cuts(np.linspace(0, 1, n), bins)).tolist() == sizes


@given(
    st.lists(st.tuples(unit, st.integers(0, 9)), min_size=1, max_size=60).filter(
        lambda r: any(w for _, w in r)
    ),
    st.integers(1, 8),
    st.sampled_from([1.0, 2.0, 7.3, 0.1, 1 / 3, 1e6, 1e-12]),
)
def test_weights_of_any_scale_are_repeated_rows(rows, bins, scale):
    rows = sorted(rows)
    values, weights = np.array([v for v, _ in rows]), np.array([float(w) for _, w in rows])
    weights /= np.gcd.reduce(weights.astype(int))
    repeated = np.repeat(values, weights.astype(int))
    cuts = equal_mass_cuts(values, bins, weights * scale)
    masses = np.append(0, np.cumsum(weights))[cuts]
    assert masses.tolist() == equal_mass_cuts(repeated, bins).tolist()


def test_the_scale_of_any_weights_is_no_matter():
    rng = np.random.default_rng(0)
    ordered, weights = np.sort(rng.random(5_000)), rng.exponential(size=5_000)
    expected = equal_mass_cuts(ordered, 15, weights).tolist()
    for scale in (7.3, 0.1, 1 / 3, 1e6):
        assert equal_mass_cuts(ordered, 15, weights * scale).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most", [9, 40, 600, 9_000])
def test_multiples_of_either_precision_are_counts(dtype, most):
    rng = np.random.default_rng(most)
    for scale in (0.1, 1 / 3, 7.3, 1e-12, 1e6 / 7, 1e8 + 1 / 3):
        counts = rng.integers(1, most, size=30)
        counts[0] = 1 + most // 2  # else the least may be the unit
        counts = np.append(np.full(2_000 * (most == 40), 4), counts)
        values, weights = np.sort(rng.random(len(counts))), (counts * scale).astype(dtype)
        counts //= np.gcd.reduce(counts)
        for given_weights in (weights, weights.astype(np.float64)):
            masses = np.append(0, np.cumsum(counts))[equal_mass_cuts(values, 15, given_weights)]
            assert masses.tolist() == equal_mass_cuts(np.repeat(values, counts), 15).tolist()
