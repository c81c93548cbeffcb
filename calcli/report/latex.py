"""Tables as LaTeX, with rules from the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.core.language.text import plain
from calcli.report.shown import Mark, TextTable

SPECIAL = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "…": r"\ldots{}"}
)


def latex_text(tables: Sequence[TextTable]) -> str:
    """Return tables for a document that uses booktabs; notes stand below them."""
    return "\n\n".join(filter(None, map(_table, tables))) + "\n"


def _table(table: TextTable) -> str:
    if not table.rows:
        texts = (" ".join(text.splitlines()) for text in (table.title, *table.notes) if text)
        return "\n".join(f"% {plain(text)}" for text in texts)
    head = [_escaped(column.head) for column in table.columns]
    rows = [
        [_marked(cell, table.marks.get((n, column))) for column, cell in enumerate(row)]
        for n, row in enumerate(table.rows)
    ]
    lines = [rf"{' & '.join(line)} \\" for line in (head, *rows)]
    return "\n".join(
        [
            r"\begin{table}",
            *([rf"\caption{{{_escaped(table.title)}}}"] if table.title else []),
            rf"\begin{{tabular}}{{{''.join(column.align[0] for column in table.columns)}}}",
            *(r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"),
            *(rf"\par\footnotesize {_escaped(note)}" for note in table.notes),
            r"\end{table}",
        ]
    )


def _marked(cell: str, mark: Mark | None) -> str:
    text = _escaped(cell)
    marked = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}
    return (marked | {"both": rf"\textbf{{\underline{{{text}}}}}"}).get(mark or "", text)


def _escaped(text: str) -> str:
    return plain(" ".join(text.splitlines())).translate(SPECIAL)
