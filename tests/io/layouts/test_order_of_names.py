"""Names with numbers in them, in their order; two columns of one name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.language.errors import InputError
from calcli.io.tables.table import refuse_duplicates
from calcli.io.words import natural_order


def test_duplicated_names():
    with pytest.raises(InputError, match="more than one column named prob_a; rename"):
        refuse_duplicates(["label", "prob_a", "prob_a"], "t.csv")


@given(st.sets(st.integers(0, 10**6), min_size=1), st.sampled_from(["", "class_", "c"]), st.randoms())
def test_numbers_in_names_sort_as_numbers(numbers, stem, random):
    shuffled = sorted(numbers)
    random.shuffle(shuffled)
    order = natural_order([f"{stem}{number}" for number in shuffled])
    assert [shuffled[i] for i in order] == sorted(numbers)


def test_numbers_in_names_may_be_longer_than_python_converts():
    names = ["p1" + "0" * 6000, "p" + "9" * 6000, "p007", "p8"]
    assert natural_order(names) == [2, 3, 1, 0]


@given(st.lists(st.text("abc", min_size=1), unique=True, min_size=1))
def test_names_without_numbers_keep_their_order(names):
    assert natural_order(names) == list(range(len(names)))
