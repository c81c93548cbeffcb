"""`calcli guide`: the manual."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from calcli.cli.options import among
from calcli.cli.output import colored, emit
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.guide import PAGES, page_text, summary


def guide(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAGE]",
            help="The page to show; by default a list of all pages.",
            autocompletion=among(PAGES),
        ),
    ] = None,
) -> None:
    """Read the manual.

    Markdown where standard output is not a terminal.

    \b
    calcli guide
    calcli guide metrics
    calcli guide gates-and-ci > gates-and-ci.md
    """  # noqa: D301 (the escape keeps the lines below it apart)
    if page is None:
        from calcli.report.guide import pages_table
        from calcli.report.terminal import terminal_text

        emit(terminal_text([pages_table({name: summary(name) for name in PAGES})], color=colored()))
    elif page not in PAGES:
        nearest = nearest_name(page, PAGES)
        raise UsageError(f"the guide has no page {page!r}{nearest}; calcli guide lists its pages")
    elif sys.stdout.isatty():
        from calcli.report.guide import page_on_terminal

        emit(page_on_terminal(page_text(page), color=colored()))
    else:
        emit(page_text(page))
