"""Sums over deals are the same integers for any partition, and tell rows apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.data.units import DEALS, Units
from calcli.core.language.errors import InputError
from calcli.core.state.deals import Deals, digests_of, same_rows

N, K = 7000, 3
RNG = np.random.default_rng(0)
LOSS = np.where(RNG.random(N) < 0.001, np.inf, RNG.gamma(1, size=N))
HIT = RNG.random(N) < 0.7
LABELS = RNG.integers(0, K, N)
WEIGHTS = RNG.gamma(2, size=N)


def deals_of(rows, weights=None):
    own, labels = None if weights is None else weights[rows], LABELS[rows]
    numbers = np.arange(len(labels))
    columns, digests = {"log_loss": LOSS[rows], "hit": HIT[rows]}, digests_of(labels, numbers)
    return Deals.of(columns, labels, K, own, numbers=numbers, digests=digests)


def joined(cuts, weights=None):
    ends = [0, *sorted(cuts), N]
    parts = [deals_of(slice(*pair), weights) for pair in pairwise(ends)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.merged(part.raised(whole.rows))
    return whole


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, N), max_size=4))
def test_any_partition_gives_the_same_integers(cuts):
    whole, parts = deals_of(slice(None)), joined(cuts)
    for name in ("rows", "count", "digest", "classes", "by_class"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    for name, own in whole.statistics.items():
        other = parts.statistics[name]
        assert np.array_equal(own.sums, other.sums)
        assert np.array_equal(own.infinite, other.infinite)
        assert own.first == other.first


def test_deals_are_those_of_the_bootstrap():
    units = Units(N, DEALS)
    found = deals_of(slice(None))
    finite = np.where(np.isfinite(LOSS), LOSS, 0)
    assert np.array_equal(found.statistics["hit"].sums, units.sums(HIT))
    np.testing.assert_allclose(found.statistics["log_loss"].sums / 2.0**32, units.sums(finite), atol=4e-9)
    assert found.statistics["log_loss"].infinite.sum() == np.isinf(LOSS).sum()
    assert found.statistics["log_loss"].first == tuple(np.flatnonzero(np.isinf(LOSS))[:5])


def test_weighted_sums_are_those_of_the_rows():
    found = joined([10, 3000], WEIGHTS)
    finite = np.where(np.isfinite(LOSS), LOSS, 0)
    assert found.total("log_loss") == pytest.approx(finite @ WEIGHTS, rel=1e-12)
    np.testing.assert_allclose(found.weight.sum(), WEIGHTS.sum(), rtol=1e-12)
    np.testing.assert_allclose(found.squares.sum(), np.square(WEIGHTS).sum(), rtol=1e-12)
    np.testing.assert_allclose(found.classes.sum(0), np.bincount(LABELS, WEIGHTS), rtol=1e-12)


def test_rows_of_other_labels_or_places_are_told_apart():
    whole = joined([1234])
    assert same_rows([whole, deals_of(slice(None))])
    swapped = np.arange(N)
    swapped[[5, 5 + DEALS]] = swapped[[5 + DEALS, 5]]  # within one deal
    assert LABELS[5] != LABELS[5 + DEALS]
    assert not same_rows([whole, deals_of(swapped)])
    assert not same_rows([whole, deals_of(slice(1, None))])


def test_what_is_too_large_to_be_summed_is_refused():
    with pytest.raises(InputError, match="too large"):
        Deals.of({"hit": HIT, "cost": np.full(N, 1e7)}, LABELS, K, numbers=np.arange(N))
