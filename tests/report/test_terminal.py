from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from calcli.report.shown import Column, TextTable
from calcli.report.terminal import terminal_text
from tests.report.conftest import tables_of

WIDE = TextTable(
    "Many columns",
    (Column("", "left"), *(Column(f"column_{n}") for n in range(9))),
    tuple((f"row {n}", *(f"{n}.{m}" for m in range(9))) for n in range(3)),
    ("A note.",),
)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 150])
def test_no_line_is_wider_than_the_terminal(sure, impossible, width):
    for results in ([sure], [sure, impossible]):
        text = terminal_text(tables_of(results), width)
        assert max(map(cell_len, text.splitlines())) <= width


def test_a_wide_table_is_folded_and_loses_nothing():
    text = terminal_text([WIDE], 60)
    assert text.count("row 1") == 2, "each part names its rows"
    assert all(f"column_{n}" in text and f"2.{n}" in text for n in range(9))
    assert text.count("A note.") == 1


def test_a_table_that_fits_stays_whole():
    assert terminal_text([WIDE], 120).count("row 1") == 1


def test_a_width_of_zero_is_none(monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    assert terminal_text([WIDE]) == terminal_text([WIDE], 80)


def test_wide_characters_take_two_cells():
    table = TextTable("", (Column("", "left"), Column("a"), Column("b")), (("漢字" * 5, "x" * 15, "y" * 15),))
    assert max(map(cell_len, terminal_text([table], 40).splitlines())) <= 40
    assert terminal_text([table], 40).count("漢字" * 5) == 2


def test_the_meaning_is_shown_where_there_is_room(sure):
    meaning = "share of rows where the most probable class is the label"
    assert meaning not in terminal_text(tables_of([sure]), 80)
    assert meaning in terminal_text(tables_of([sure]), 160)


def test_names_are_not_taken_for_markup():
    columns = (Column("", "left"), Column("", "left"))
    table = TextTable("[bold]x.csv", columns, (("[red]", ":smile: [/]"),), ("[i]",))
    text = terminal_text([table], 80)
    assert "[bold]x.csv" in text
    assert "[red]" in text
    assert ":smile: [/]" in text
    assert "[i]" in text


def test_escape_sequences_only_when_asked(sure):
    assert "\x1b" not in terminal_text(tables_of([sure]), 80)
    emphasized = terminal_text(tables_of([sure]), 80, color=True)
    assert "\x1b[1m" in emphasized
    plain = re.sub(r"\x1b\[[0-9;]*m", "", emphasized)
    lines = [line.rstrip() for line in plain.splitlines()]
    assert lines == terminal_text(tables_of([sure]), 80).splitlines()
