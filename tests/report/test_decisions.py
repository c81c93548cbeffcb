"""Decisions as tables."""

from __future__ import annotations

from calcli.core.evaluating.results import Decision
from calcli.report.overview import decision_table


def test_decisions_the_most_frequent_first():
    rows = [Decision(f"d{i}", i, i / 120, 0.5) for i in range(16)]
    table = decision_table("mine", rows)
    assert table.title == "Decisions under mine"
    assert table.rows[0] == ("d15", "15", "12.5%", "0.5000")
    assert len(table.rows) == 12
    assert table.notes == ("3 more decisions were taken; JSON has them all.",)
