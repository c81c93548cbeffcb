"""Help whose options stand in groups, those that most people need first."""

from __future__ import annotations

import re
from typing import Any

from calcli.cli.repeated import Repeatable

FIRST = (
    "method", "figure", "policy", "baseline", "cal", "test_file", "labels", "label_column", "scores", "kind",
    "metrics", "bins", "by", "candidates", "lens", "costs", "priors", "format", "output", "html",
)  # fmt: skip
HEADING = "Options"
PYTHON_TYPE = re.compile(r" <(str|list\[str\])>$")  # what typer writes behind an argument's own name


class GroupedHelp(Repeatable):
    """A command whose help has a section for each group of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, the options most used, those of the command itself, then the others by group."""
        sections: dict[str, list[tuple[int, tuple[str, str]]]] = {"Arguments": [], HEADING: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            heading = getattr(param, "rich_help_panel", None) or HEADING
            place = FIRST.index(param.name) if param.name in FIRST else len(FIRST)
            if param.param_type_name == "argument":
                heading, record = "Arguments", (PYTHON_TYPE.sub("", record[0]), record[1])
            elif place < len(FIRST):
                heading = HEADING
            sections.setdefault(heading, []).append((place, record))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl([record for _, record in sorted(records, key=lambda found: found[0])])
