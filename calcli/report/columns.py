"""Columns of numbers -> CSV: what is behind a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def columns_text(tables: Mapping[str, Mapping[str, NDArray[Any]]]) -> str:
    """Return tables below each other as CSV text, the first column says which table a row is of.

    Parameters
    ----------
    tables
        Columns of one length by their head; a column that a table does not have is left empty there.
    """
    heads = dict.fromkeys(head for columns in tables.values() for head in columns)
    text = io.StringIO()
    writer = csv.DictWriter(text, ["name", *heads], lineterminator="\n")
    writer.writeheader()
    for name, columns in tables.items():
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            writer.writerow({"name": name} | dict(zip(columns, row, strict=True)))
    return text.getvalue()
