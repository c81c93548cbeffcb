"""Names from files neither move a terminal's cursor nor act in the log of a build."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calcli.core.language.text import CONTROL, plain, plain_json
from calcli.report.markdown import markdown_text
from calcli.report.shown import Column, TextTable
from calcli.report.terminal import terminal_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a log-loss of 0.3: 5%, \u00b1 2", "a log-loss of 0.3: 5%, \u00b1 2"),
        ("[0.1, 0.4] std::vector", "[0.1, 0.4] std::vector"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("::error file=x::y", ":\\:error file=x::y"),
        ("##[error]x", "#\\#[error]x"),
        ("##vso[task.complete]x", "#\\#vso[task.complete]x"),
        ("t\udcff\u202e\x85", "t\\udcff\\u202e\\x85"),
    ],
)
def test_what_would_act_is_made_visible(text, shown):
    assert plain(text) == shown


NAME = "\x1b[31m\n::error::x [a](http://b) <b>"
TABLE = TextTable(title=NAME, columns=(Column(NAME),), rows=((NAME,),), notes=(NAME,))


def test_tables_carry_no_commands_of_names():
    for text in (terminal_text([TABLE], 200), markdown_text([TABLE], "t")):
        assert "\x1b" not in text
        assert "::error" not in text
        assert text.count(":\\:error") + text.count(":\\\\:error") == 4
    assert "](" not in text
    assert "://" not in text
    assert "<b>" not in text.replace("\\<b>", "")


@settings(max_examples=20)
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_says_the_same_without_control_characters(value):
    text = plain_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(text) == value
    assert not any(CONTROL.search(line) for line in text.split("\n"))
