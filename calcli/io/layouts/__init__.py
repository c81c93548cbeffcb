"""Layouts of files from frameworks, declared in `layouts.toml`, which the guide shows as a table.

A layout without plain columns of scores names a module of this folder, which makes plain columns of
them and is loaded when tables are.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import Any

from calcli.core.data.predictions import Kind


@dataclass(frozen=True)
class Layout:
    r"""The layout of files from some software.

    Attributes
    ----------
    name
        Its name in reports.
    scores, labels
        The content of its files, in Markdown, for the guide.
    columns
        Pattern of the columns of scores; its group `class` is the class, `label` the column of labels.
    beside
        Names of further required columns.
    by_class
        Whether columns are named after the labels, with any other numbers beside them.
    of_label
        Whether the label in these names must be the column of labels.
    kind
        The kind of the scores, if their names do not tell.
    module
        What unpacks its columns.
    """

    name: str
    scores: str
    labels: str = "a column of labels"
    columns: str = ""
    beside: Sequence[str] = ()
    by_class: bool = False
    of_label: bool = False
    kind: Kind | None = None
    module: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of its columns."""
        return re.compile(self.columns)

    @cached_property
    def unpacker(self) -> Any:
        """What unpacks its columns."""
        return import_module(f"calcli.io.layouts.{self.module}")


_FIELDS = tomllib.loads(files(__name__).joinpath("layouts.toml").read_text("utf-8"))["layout"]
LAYOUTS = tuple(Layout(**fields) for fields in _FIELDS)
BY_NAME = {layout.name: layout for layout in LAYOUTS}
COLUMNS = BY_NAME["a column for each class"]
LISTS = BY_NAME["a list of scores in each row"]
ALONE = BY_NAME["one score in each row"]
RANKS = BY_NAME["scores sorted by rank"]
ARRAYS = BY_NAME["arrays"]
ANSWERS = BY_NAME["answers, right or wrong"]
OUTCOMES = BY_NAME["outcomes"]
HARNESS = BY_NAME["lm-evaluation-harness"]
OBJECTS = BY_NAME["objects of scores"]
UNPACKED = tuple(layout for layout in LAYOUTS if layout.module)
