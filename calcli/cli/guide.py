"""`calcli guide`: the manual."""

from __future__ import annotations

from typing import Annotated

import typer

from calcli.cli.options import among
from calcli.cli.output import colored, emit
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.guide import PAGES, page_text, summary

MORE = "calcli guide PAGE prints a page, such as calcli guide metrics."


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

    Pages are Markdown.

    \b
    calcli guide
    calcli guide metrics
    calcli guide gates-and-ci > gates-and-ci.md
    """  # noqa: D301 (the escape keeps the lines below it apart)
    if page is None:
        from calcli.report.shown import Column, TextTable
        from calcli.report.terminal import terminal_text

        columns = (Column("page", "left"), Column("what it covers", "left"))
        rows = tuple((name, summary(name)) for name in PAGES)
        emit(terminal_text([TextTable("The guide", columns, rows, (MORE,))], color=colored()))
    elif page not in PAGES:
        nearest = nearest_name(page, PAGES)
        raise UsageError(f"the guide has no page {page!r}{nearest}; calcli guide lists its pages")
    else:
        emit(page_text(page))
