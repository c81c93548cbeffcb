"""Pages of the guide on a terminal: what can be copied is in one piece, and all else as wide as it is."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from calcli.guide import PAGES, page_text
from calcli.report.guide import page_on_terminal

WIDTHS = (60, 80, 120)


def code_of(page):
    """Return the lines of the examples of a page, and its pieces of code in sentences and tables."""
    tokens = MarkdownIt().enable("table").parse(page)
    lines = [line for token in tokens if token.type == "fence" for line in token.content.splitlines()]
    inline = [one for token in tokens for one in token.children or () if one.type == "code_inline"]
    return [line for line in lines if line.strip()], [one.content for one in inline]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_what_can_be_copied_is_never_cut(name, width):
    page = page_text(name)
    shown = page_on_terminal(page, width)
    lines, inline = code_of(page)
    assert {line.rstrip() for line in lines} <= set(shown.splitlines())
    assert [code for code in inline if code not in shown] == []
    assert shown.count("…") == page.count("…")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_lines_without_code_are_as_wide_as_the_terminal(name, width):
    page = page_text(name)
    lines, inline = code_of(page)
    for line in page_on_terminal(page, width).splitlines():
        if len(line) > width and line not in lines:
            assert any(code in line for code in inline if len(code) > width - 20), line


BESIDE = """entry  what it says  command
────────────────────────────────────
a      one           run --long -o b
"""
BELOW = """a
  what it says: one
  command:
  run --long -o b
"""


@pytest.mark.parametrize(("width", "expected"), [(40, BESIDE), (20, BELOW)])
def test_a_table_without_room_is_shown_row_by_row(width, expected):
    page = "All:\n\n| entry | what it says | command |\n|---|---|---|\n| **a** | one | `run --long -o b` |\n"
    assert page_on_terminal(page, width) == f"All:\n\n{expected}"


SAID = """Say
run with many words
now.

 • say
   run with many words,
   and then again
   something
"""


def test_long_code_is_in_one_piece_in_a_sentence_and_in_a_list():
    page = "Say `run with many words` now.\n\n- say `run with many words`, and then again something\n"
    assert page_on_terminal(page, 20) == SAID
