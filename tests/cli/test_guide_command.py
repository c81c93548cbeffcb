"""`calcli guide`: the list of pages, a page, and a page that there is not."""

from __future__ import annotations

import re
import sys

import pytest

from calcli.guide import PAGES, page_text, summary


def test_it_lists_the_pages(run):
    done = run("guide")
    assert done.status == 0
    assert done.err == ""
    found = " ".join(done.out.split())
    for page in PAGES:
        assert f"{page} {' '.join(summary(page).split())[:20]}" in found


@pytest.mark.parametrize("page", PAGES)
def test_a_pipe_gets_the_page_as_it_is(run, page):
    done = run("guide", page)
    assert done.status == 0
    assert done.out == page_text(page)
    assert "<!--" not in done.out


@pytest.mark.parametrize("page", PAGES)
def test_a_terminal_gets_it_set(run, monkeypatch, page):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    done = run("guide", page)
    assert "\x1b" not in done.out
    words = set(re.findall(r"\w{3,}", page_text(page)))
    assert len(words & set(re.findall(r"\w{3,}", done.out))) > 0.9 * len(words)


def test_a_page_in_a_terminal_is_the_same(run, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run("guide", "gates-and-ci").out == page_text("gates-and-ci")


def test_an_unknown_page(run):
    done = run("guide", "metric")
    assert done.status == 2
    assert done.out == ""
    assert (
        done.err
        == "calcli: the guide has no page 'metric', did you mean 'metrics'; calcli guide lists its pages\n"
    )
