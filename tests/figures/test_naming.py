"""Names above panels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calcli.figures.wording import short, titles


@given(st.lists(st.text("ab_/.$1", min_size=1, max_size=60), unique=True, max_size=12))
def test_no_two_titles_are_alike_and_each_fits(names):
    found = titles(names, 20)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert all(len(title.replace(r"\$", "$")) <= 20 for title in found.values())


@given(st.lists(st.text("ab_/.1", min_size=1, max_size=20), unique=True))
def test_short_names_stay(names):
    assert titles(names, 20) == {name: name for name in names}


def test_long_names_lose_what_they_share():
    names = [f"runs/2026/experiment-with-a-long-name-{seed}/preds.parquet" for seed in ("one", "two")]
    assert list(titles(names).values()) == ["…one…", "…two…"]


def test_a_long_name_keeps_both_ends():
    name = "model_7_of_the_long_series_of_experiments.parquet"
    assert short(name, 21) == "model_7_of…ts.parquet"


def test_halves_of_characters_are_replaced():
    assert short("a\udcff.csv") == "a\ufffd.csv"
