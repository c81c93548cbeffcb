"""Results that can be shown, and their text in every form; loads without numpy."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from calcli.core.language.declaring import PATH
from calcli.core.language.errors import UsageError
from calcli.core.language.text import json_value, plain_json
from calcli.core.language.version import __version__

if TYPE_CHECKING:
    import pandas

    from calcli.report.page import Picture

Format = Literal["table", "json", "markdown", "csv", "latex", "junit", "github", "html"]
Mark = Literal["best", "second", "both"]
T = TypeVar("T")
ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
OPTION = re.compile(r"--([a-z][a-z0-9-]+)(?: (?=[0-9]))?")  # and text before a number that is its value
COMMAND = re.compile(", `calcli [^`]*`(?=,)")
PAPER = ("csv", "markdown", "latex")  # forms in which several systems are one table
ENDINGS: dict[str, Format] = {
    ".html": "html", ".json": "json", ".md": "markdown", ".csv": "csv", ".txt": "table",
}  # fmt: skip


def hint(text: str) -> str:
    """Return words for the command line; in Python, which shows the same reports, return ""."""
    return text if ON_COMMAND_LINE.get() else ""


def spelled(sentence: str) -> str:
    """Return a sentence; in Python options become keywords, and commands between commas are left out."""
    if ON_COMMAND_LINE.get():
        return sentence
    sentence = COMMAND.sub("", sentence)
    return OPTION.sub(lambda match: match[1].replace("-", "_") + "=" * match[0].endswith(" "), sentence)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    head
        Its heading; may be empty.
    align
        Numbers to the right, words to the left.
    optional
        Whether it is left out if there is no room.
    """

    head: str
    align: Literal["left", "right"] = "right"
    optional: bool = False


@dataclass(frozen=True)
class TextTable:
    """A titled table of text cells with sentences below it, for any form of text.

    Attributes
    ----------
    title
        What it shows.
    columns
        Its columns; the first one names the row and is repeated if a wide table is folded.
    rows
        One cell per column.
    notes
        Sentences below it.
    marks
        Emphasized cells, by row and column: the best and the second best, in each ranking.
    on_pages
        Whether HTML pages show it; facts on how a file was read stay in text.
    """

    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)
    on_pages: bool = True


@dataclass(frozen=True)
class Number:
    """A number of a headline.

    Attributes
    ----------
    name, value, beside
        Its name, its value, and the interval or words beside it.
    """

    name: str
    value: str
    beside: str = ""


@dataclass(frozen=True)
class Headline:
    """The headline of a page.

    Attributes
    ----------
    read
        What was read.
    verdict
        A sentence or two; "" for none.
    tone
        Whether the verdict is good.
    numbers
        The few that matter most.
    systems
        Names of several systems, which tables have in their first column.
    """

    read: str = ""
    verdict: str = ""
    tone: Literal["good", "bad", "plain"] = "plain"
    numbers: Sequence[Number] = ()
    systems: Sequence[str] = ()


def table_of(
    title: str,
    items: Iterable[tuple[str, T]],
    cells: Mapping[Column, Callable[[T], str]],
    notes: Iterable[str] = (),
    *,
    head: str = "",
) -> TextTable:
    """Return a row for each item, with its name first, and a column for each cell.

    Parameters
    ----------
    title
        Of the table.
    items
        Items by name.
    cells
        Columns, each with the function that returns its cell.
    notes
        Sentences below the table.
    head
        Of the column of names.
    """
    rows = tuple((name, *(text(item) for text in cells.values())) for name, item in items)
    return TextTable(title, (Column(head, "left"), *cells), rows, tuple(notes))


class Shown(ABC):
    """The result of a command, in neutral forms from which `render` makes text.

    Attributes
    ----------
    title
        Of a page with its tables.
    schema
        Name and version of its JSON object; "" for an object without a version.
    """

    title: ClassVar[str]
    schema: ClassVar[str] = ""

    @property
    def exit_status(self) -> int:
        """The exit status of the command: 0 unless it says something else."""
        return 0

    @abstractmethod
    def tables(self) -> list[TextTable]:
        """Return its tables."""

    @abstractmethod
    def data(self) -> Mapping[str, Any]:
        """Return everything in the tables as nested values, with tuples, inf and nan."""

    def records(self) -> Iterable[Mapping[str, Any]]:
        """Return a flat record for each of its numbers, if it has a CSV form."""
        raise NotImplementedError

    def of_systems(self) -> tuple[TextTable, Sequence[Mapping[str, Any]]] | None:
        """Return one table with a row for each of several systems, for a paper, and the same as records."""
        return None

    def headline(self) -> Headline:
        """Return the headline of its page."""
        return Headline()

    def pictures(self) -> Sequence[Picture]:
        """Return the figures of a page with its tables."""
        return ()

    def how_read(self) -> list[str]:
        """Return how files were read, in sentences."""
        return []

    def beside(self, format: Format) -> list[str]:
        """Return, in sentences, what a form has no place for."""
        return self.how_read() if format in ("csv", "junit", "github") else []

    def faults(self) -> Iterable[str]:
        """Return the faults, as sentences to show in any case."""
        return ()

    def with_details(self, details: bool | None = True) -> Self:
        """Return it with or without details in its tables; unchanged if it has none, or for None."""
        report: Any = self
        return self if details is None or not hasattr(self, "details") else replace(report, details=details)

    def in_full(self) -> Self:
        """Return it as in files, with long tables."""
        return self.with_details()

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for every number, with what it is of."""
        from calcli.io.frames import to_frame

        return to_frame(self.records())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page with figures as .html, else .json, .md, .csv or .txt.

        Raises
        ------
        InputError
            If it cannot be written.
        UsageError
            If the ending is none of these.
        """
        target: str = PATH.checked("path", path)
        form = ENDINGS.get(Path(target).suffix.lower())
        if form is None:
            raise UsageError(f"{target}: reports are written as {', '.join(ENDINGS)}")
        self.in_full().write(target, form)

    def write(self, path: str, format: Format) -> None:
        """Write it in a form.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        from calcli.io.places.outputs import atomic_path

        with atomic_path(path) as temporary:
            temporary.write_text(render(self, format), encoding="utf-8")

    def verdicts(self, format: Literal["junit", "github"]) -> str:
        """Return its verdicts for continuous integration, if it has any."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return its JSON object: the schema, the version of calcli, and the data.

        Returns
        -------
        Dictionaries, lists, strings, numbers, None; inf and nan, which JSON does not have, are strings.
        """
        head = {"schema": self.schema, "calcli": __version__} if self.schema else {}
        document: dict[str, Any] = json_value({**head, **self.data()})
        return document

    def __str__(self) -> str:
        return render(self, "table").rstrip("\n")

    def _repr_markdown_(self) -> str:
        return render(self, "markdown")

    def _repr_html_(self) -> str:
        from calcli.report.page import fragment

        return fragment(self)


def render(report: Shown, format: Format, *, color: bool = False) -> str:
    """Return results as text in the requested form.

    Parameters
    ----------
    report
        What was found out.
    format
        Tables for a terminal or LaTeX, JSON, a page of Markdown or HTML; CSV with a line per record; for
        checks JUnit XML, or the annotations of GitHub's workflows.
    color
        Whether tables for a terminal may use escape sequences for emphasis.
    """
    if format == "json":
        return plain_json(json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"
    one_table = report.of_systems() if format in PAPER else None
    if format == "csv":
        return csv_text(one_table[1] if one_table else report.records())
    if format == "markdown":
        from calcli.report.markdown import commented, markdown_text

        if one_table:
            return commented(one_table[0], report.beside("csv"))
        return markdown_text(report.tables(), report.title)
    if format == "latex":
        from calcli.report.latex import latex_text

        read = TextTable("What was read", notes=tuple(report.beside("csv")))
        return latex_text([read, one_table[0]] if one_table else report.tables())
    if format == "html":
        from calcli.report.page import page_text

        return page_text(report)
    if format == "junit" or format == "github":
        return report.verdicts(format)
    from calcli.report.terminal import terminal_text

    return terminal_text(report.tables(), color=color)


def csv_text(records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV text below the union of their heads."""
    records = list(records)
    heads = dict.fromkeys(key for record in records for key in record)
    text = io.StringIO()
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
