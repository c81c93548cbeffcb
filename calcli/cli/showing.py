"""The options of how results are shown, which subcommands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from typer import BadParameter, Context, Option

from calcli.cli.output import colored, emit

if TYPE_CHECKING:
    from calcli.report.shown import Format, Shown

Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress bar, no remarks.")]


def _page(path: str | None) -> str | None:
    if path == "-":
        raise BadParameter("a page is a file of its own; give a name such as report.html")
    return path


def _digits(context: Context, digits: int | None) -> int | None:
    """Let tables of this command have so many decimals."""
    from calcli.core.language.text import ASKED

    token = ASKED.set(digits)
    context.call_on_close(lambda: ASKED.reset(token))
    return digits


Html = Annotated[
    str | None,
    Option("--html", metavar="FILE", callback=_page, help="Also write everything as one HTML page."),
]


@dataclass(frozen=True)
class Talking:
    """How much is said beside the results, and how."""

    heading: ClassVar[str] = "Output"

    quiet: Quiet = False

    def show(self, found: Shown, format: Format) -> None:
        """Write results to standard output."""
        from calcli.report.shown import render

        emit(render(found, format, color=colored()))


@dataclass(frozen=True)
class Paging(Talking):
    """How results are shown, also on a page for a browser."""

    html: Html = None
    digits: Annotated[
        int | None,
        Option(
            metavar="N", min=0, max=15, callback=_digits,
            help="Decimals of numbers in tables, in place of those that their intervals support.",
        ),
    ] = None  # fmt: skip

    def page(self, found: Shown) -> None:
        """Write results as a page, if one is asked for."""
        if self.html is not None:
            from calcli.work.page import write_page

            write_page(found, self.html)


@dataclass(frozen=True)
class Showing(Paging):
    """How results are shown."""

    format: Annotated[
        Literal["table", "json", "markdown", "csv", "latex"],
        Option("--format", "-f", help="Format of the results on standard output."),
    ] = "table"
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Also write a folder with figures, report.json, .md and .html.",
        ),
    ] = None
    per_class: Annotated[bool, Option("--per-class", help="Add a table of the classes.")] = False
