"""Results -> text in the form asked for, and the files of a report folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from calcli.core.evaluating.results import Settings
from calcli.core.language.figures import FIGURES
from calcli.report.forms import tables_text
from calcli.report.jsonreport import Digest, report_object, report_text
from calcli.report.markdown import markdown_text
from calcli.report.records import csv_text, records
from calcli.report.summary import Result
from calcli.report.tables import result_tables

Format = Literal["table", "json", "markdown", "csv"]


def render(
    results: Sequence[Result],
    settings: Settings,
    format: Format,
    *,
    per_class: bool = False,
    digest: Digest | None = None,
    color: bool = False,
) -> str:
    """Return results as text for standard output.

    Parameters
    ----------
    results, settings
        What was found out, and how.
    format
        Tables for a terminal, JSON, Markdown, or CSV with a line for each number.
    per_class
        Whether tables and CSV have the figures of each class; JSON always has.
    digest
        Returns the SHA-256 of some files, for JSON.
    color
        Whether tables may be emphasized with escape sequences.
    """
    if format == "json":
        return report_text(report_object(results, settings, digest))
    if format == "csv":
        return csv_text(records(results, per_class))
    return tables_text(result_tables(results, per_class), format, color=color)


def write_report(
    folder: Path, results: Sequence[Result], settings: Settings, *, per_class: bool, digest: Digest | None
) -> None:
    """Write report.json and report.md into a folder; the page shows the figures that are there."""
    report = report_text(report_object(results, settings, digest))
    (folder / "report.json").write_text(report, encoding="utf-8")
    order = list(FIGURES)
    files = sorted(folder.rglob("*.png"), key=lambda file: (file.parent, order.index(file.stem)))
    figures = [file.relative_to(folder).as_posix() for file in files]
    page = markdown_text(result_tables(results, per_class), figures)
    (folder / "report.md").write_text(page, encoding="utf-8")
