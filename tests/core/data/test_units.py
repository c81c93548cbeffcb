"""Units of rows: sums, draws, deals and folds against what a loop over the rows finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calcli.core.data.units import GROUPS, UNIT_LIMIT, Units, random_folds


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3), st.booleans()), min_size=1))
def test_rows_of_a_name_are_one_unit(rows):
    names, weights, inside = (np.array(column) for column in zip(*rows, strict=True))
    units, values = Units.of(len(rows), names), np.arange(len(rows), dtype=np.float32)
    chosen = [(names == name).nonzero()[0] for name in np.unique(names)]
    assert units.sums(values).tolist() == [values[own].sum() for own in chosen]
    assert units.sums(values, weights).tolist() == [(values * weights)[own].sum() for own in chosen]
    sizes = np.array([len(own) for own in chosen])
    assert units.effective_number(None) == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())
    if inside.any():
        assert units.among(inside).number == len(set(names[inside]))
    deals = units.dealt(units.number + 1 if units.number == 2 else 2).of_row
    assert all(len(set(deals[own])) == 1 for own in chosen)


def test_rows_without_names_are_units_by_themselves():
    units = Units.of(7)
    assert units.effective_number(None) == 7
    assert units.sums(np.arange(7, dtype=np.float32)).dtype == np.float64
    assert units.among(np.arange(7) > 3).single


def test_deals_are_alike_whatever_the_order_of_the_rows():
    """The sums of a sorted column over deals vary as those of independent ones: chi-squared over its mean."""
    for rows in (25_000, 400_000):
        deals, values = Units.of(rows).dealt_if_many(), np.arange(rows) - (rows - 1) / 2
        assert deals.weights(None).tolist() == np.bincount(deals.of_row, minlength=GROUPS).tolist()
        for column in (values, np.sign(values), values % 1_999 - 999, np.square(values) - rows**2 / 12):
            varied = np.square(deals.sums(column)).sum() / np.square(column).sum()
            assert 0.0005 < stats.chi2(GROUPS).cdf(GROUPS * varied) < 0.9995


@pytest.mark.parametrize("units", [Units.of(40), Units.of(40, np.arange(40) % 7)])
def test_what_is_drawn_is_drawn_whole_and_as_often_as_is_counted(units):
    times = np.bincount(units.drawn(np.random.default_rng(3)), minlength=40).tolist()
    numbers = np.random.default_rng(3).integers(0, units.number, units.number)
    assert times == [np.count_nonzero(numbers == unit) for unit in units.of_row]


def test_the_same_cluster_falls_into_the_same_deal_of_another_file():
    names = np.arange(UNIT_LIMIT + 500).astype(str)
    shuffled = np.random.default_rng(0).permutation(names[:-100])
    deals = dict(zip(names, Units.of(len(names), names).dealt_if_many().of_row, strict=True))
    other = Units.of(len(shuffled), shuffled).dealt_if_many()
    assert other.number == GROUPS
    assert all(deals[name] == deal for name, deal in zip(shuffled, other.of_row, strict=True))
    assert Units.of(UNIT_LIMIT).dealt_if_many().single


@given(st.integers(1, 60), st.integers(2, 6), st.integers(0, 9))
def test_folds_share_the_rows_evenly(rows, folds, seed):
    fold = random_folds(rows, folds, np.random.default_rng(seed))
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1


def test_how_often_a_class_is_in_a_fold_is_left_to_chance():
    """Hypergeometric: rows drawn without replacement, whatever the labels."""
    labels = np.repeat([0, 1], [150, 50])
    rng = np.random.default_rng(0)
    held = [np.bincount(random_folds(200, 5, rng)[labels == 1], minlength=5)[0] for _ in range(2000)]
    expected = stats.hypergeom(200, 50, 40)
    assert np.mean(held) == pytest.approx(expected.mean(), abs=4 * expected.std() / np.sqrt(2000))
    assert np.var(held) == pytest.approx(expected.var(), rel=0.15)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_a_group_is_in_one_fold_and_the_folds_share_the_groups_evenly(groups, folds, seed):
    groups = np.array(groups)
    units = Units.of(len(groups), groups.astype(str))
    fold = random_folds(len(groups), folds, np.random.default_rng(seed), units)
    first = {group: fold[groups == group][0] for group in np.unique(groups)}
    np.testing.assert_array_equal(fold, [first[group] for group in groups])
    assert np.ptp(np.bincount(list(first.values()), minlength=folds)) <= 1
