"""Tables -> Markdown, as GitHub shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calcli.report.model import Table


CALIBRATION_REPORT = "Calibration report"


def markdown_text(
    tables: Sequence[Table], figures: Sequence[str] = (), title: str = CALIBRATION_REPORT
) -> str:
    """Return tables as a Markdown page.

    Parameters
    ----------
    tables
        What to show.
    figures
        Image files to embed at the end.
    title
        Of the page.
    """
    parts = [_table(table) for table in tables]
    parts += [f"![{file.removesuffix('.png')}](<{file}>)" for file in figures]
    return f"# {title}\n\n" + "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    parts = [f"## {_escaped(table.title)}"]
    if table.rows:
        rule = [":--" if column.align == "left" else "--:" for column in table.columns]
        lines = [[column.head for column in table.columns], rule, *table.rows]
        parts.append("\n".join(f"| {' | '.join(map(_escaped, line))} |" for line in lines))
    parts += [_escaped(note) for note in table.notes]
    return "\n\n".join(parts)


SPECIAL = re.compile(r"[\\|*<`]|(?<!\w)_|_(?!\w)")  # an underscore within a word is one


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", text)
