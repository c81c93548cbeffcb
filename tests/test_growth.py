"""Growth of time and memory: the guide shows what was measured, and that memory has an end."""

from __future__ import annotations

from tests.benchmarks.growth import PAGE, RESULTS, SIZES, THREADS, refreshed
from tests.benchmarks.keeping import Kept

FOUND = Kept(RESULTS, "rows").found


def test_the_guide_shows_what_was_measured():
    text = PAGE.read_text(encoding="utf-8")
    assert refreshed(text, FOUND) == text


def test_many_rows_take_no_more_memory_and_no_more_than_their_share_of_time():
    runs = [FOUND["rows"][str(rows)] for rows in SIZES]
    assert all(run[f"peak {threads}"] <= 500 for run in runs for threads in THREADS)
    assert all(run[f"peak {threads}"] <= 350 for run in runs[-2:] for threads in THREADS)
    assert all(runs[-1][f"cpu {threads}"] < 10 * runs[-2][f"cpu {threads}"] for threads in THREADS)
