"""Units of rows: sums, draws and deals against what a loop over the rows finds."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data.units import DEALS, UNIT_LIMIT, Units

CLUSTERS = np.array(["b", "a", "b", "c", "a", "b"])


def test_rows_by_themselves_and_clusters_of_them():
    single, clusters = Units.of(6), Units.of(6, CLUSTERS)
    assert (single.single, list(single.of_row)) == (True, list(range(6)))
    assert (clusters.single, clusters.number, list(clusters.of_row)) == (False, 3, [1, 0, 1, 2, 0, 1])


def test_sums_over_clusters_with_weights():
    values, weights = np.arange(6, dtype=np.float32), np.array([1.0, 2, 0, 1, 1, 3])
    assert list(Units.of(6, CLUSTERS).sums(values)) == [5, 7, 3]
    assert list(Units.of(6, CLUSTERS).sums(values, weights)) == [6, 15, 3]
    assert Units.of(6).sums(values).dtype == np.float64


def test_weights_tell_as_much_as_so_many_units():
    assert Units.of(6).effective_number(None) == 6
    assert Units.of(6, CLUSTERS).effective_number(None) == pytest.approx(6**2 / (2**2 + 3**2 + 1))


def test_some_rows_keep_their_numbers_or_get_new_ones():
    inside = np.array([True, False, True, True, False, False])
    units = Units.of(6, CLUSTERS)
    assert (units.within(inside).number, list(units.within(inside).of_row)) == (3, [1, 1, 2])
    assert (units.among(inside).number, list(units.among(inside).names)) == (2, ["b", "c"])
    assert list(units.among(np.array([3, 0])).of_row) == [1, 0]
    assert Units.of(6).among(inside).single


@pytest.mark.parametrize("units", [Units.of(40), Units.of(40, np.arange(40) % 7)])
def test_what_is_drawn_is_drawn_whole_and_as_often_as_is_counted(units):
    rows = units.drawn(np.random.default_rng(3))
    times = units.times_drawn(np.random.default_rng(3))
    assert list(np.bincount(rows, minlength=40)) == list(times)
    numbers = np.random.default_rng(3).integers(0, units.number, units.number)
    assert list(times) == [np.count_nonzero(numbers == unit) for unit in units.of_row]


def test_few_units_are_resampled_as_they_are():
    assert Units.of(UNIT_LIMIT).dealt_if_many().single
    assert Units.of(6, CLUSTERS).dealt_if_many().number == 3


def test_the_same_cluster_falls_into_the_same_deal_of_another_file():
    names = np.arange(UNIT_LIMIT + 500).astype(str)
    shuffled = np.random.default_rng(0).permutation(names[:-100])
    deals = dict(zip(names, Units.of(len(names), names).dealt_if_many().of_row, strict=True))
    other = Units.of(len(shuffled), shuffled).dealt_if_many()
    assert other.number == DEALS
    assert all(deals[name] == deal for name, deal in zip(shuffled, other.of_row, strict=True))


def test_rows_are_dealt_like_cards():
    assert list(Units.of(7).dealt(3).of_row) == [0, 1, 2, 0, 1, 2, 0]
    assert list(Units.of(7).dealt(3).sums(np.arange(7))) == [0 + 3 + 6, 1 + 4, 2 + 5]
    assert list(Units.of(6, CLUSTERS).dealt(2).of_row) == [1, 0, 1, 0, 0, 1]
