"""`calcli inspect`: how is a file read?"""

from __future__ import annotations

from calcli.cli.command import command
from calcli.cli.options import Files, ReadingSystems
from calcli.report.shown import Shown


@command("table", "json", "markdown")
def inspect(files: Files, *, reading: ReadingSystems) -> Shown:
    """Show how files are read.

    Shows the layout, which columns or arrays are read as scores and labels, and why; what else was
    considered. All options that change the reading are options of evaluate.

    \b
    calcli inspect preds.parquet
    calcli inspect preds.csv --scores 'p_*' --label-column truth
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.read import inspect_files

    return inspect_files(files, reading)
