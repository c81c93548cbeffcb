"""Tables as Markdown for GitHub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from calcli.core.language.text import plain
from calcli.report.shown import Mark, TextTable, spelled


def markdown_text(tables: Sequence[TextTable], title: str, figures: Mapping[str, str] | None = None) -> str:
    """Return tables as a Markdown page.

    Parameters
    ----------
    tables
        What to show.
    title
        Of the page.
    figures
        Image files to embed at the end, with descriptions for readers without the image.
    """
    blocks = [_table(table) for table in tables]
    pictures = (
        (file, re.sub(r"[\[\]]", r"\\\g<0>", _escaped(text))) for file, text in (figures or {}).items()
    )
    blocks += [f"![{text}](<{file}>)" for file, text in pictures]
    return f"# {title}\n\n" + "\n\n".join(blocks) + "\n"


def commented(table: TextTable, comments: Sequence[str]) -> str:
    """Return one table, followed by a hidden comment with sentences."""
    text = "\n".join(plain(comment).replace("--", "- -") for comment in comments)
    return f"{_table(table)}\n\n<!--\n{text}\n-->\n"


def _table(table: TextTable) -> str:
    blocks = [f"## {_escaped(table.title)}"] if table.title else []
    if table.rows:
        rule = [":--" if column.align == "left" else "--:" for column in table.columns]
        head = [_escaped(column.head) for column in table.columns]
        rows = [
            [_marked(cell, table.marks.get((n, column))) for column, cell in enumerate(row)]
            for n, row in enumerate(table.rows)
        ]
        blocks.append("\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows)))
    blocks += [_sentence(note) for note in table.notes]
    return "\n\n".join(blocks)


def _marked(cell: str, mark: Mark | None) -> str:
    text = _escaped(cell)
    marked = {"best": f"**{text}**", "second": f"<u>{text}</u>", "both": f"**<u>{text}</u>**"}
    return marked.get(mark or "", text)


CODE = re.compile(r"(`[^`]+`)")
SPECIAL = re.compile(
    r"[\\|*<`]|(?<=\])\(|(?<=:)/(?=/)|(?<!\w)_|_(?!\w)"
)  # an underscore within a word is literal


def _sentence(text: str) -> str:
    """Return a note with commands as code; unpaired backticks belong to names."""
    text = " ".join(spelled(text).splitlines())
    if "``" in text or text.count("`") % 2:
        return _escaped(text)
    return "".join(plain(part) if CODE.fullmatch(part) else _escaped(part) for part in CODE.split(text))


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", plain(" ".join(text.splitlines())))
