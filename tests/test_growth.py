"""Growth of time and memory: the guide shows what was measured, and that memory has an end."""

from __future__ import annotations

from tests.benchmarks.growth import PAGE, RESULTS, SIZES, refreshed
from tests.benchmarks.keeping import Kept

FOUND = Kept(RESULTS, "rows").found


def test_the_guide_shows_what_was_measured():
    text = PAGE.read_text(encoding="utf-8")
    assert refreshed(text, FOUND) == text


def test_many_rows_take_half_a_gigabyte_at_most_and_no_more_than_their_share_of_time():
    runs = [FOUND["rows"][str(rows)] for rows in SIZES]
    assert all(run["peak"] <= 500 for run in runs)
    assert runs[-1]["cpu"] < 10 * runs[-2]["cpu"]
