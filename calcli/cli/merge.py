"""`calcli merge`: states of parts, days or machines become one."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import text
from calcli.report.shown import Shown


@command("table", "json", "markdown")
def merge(
    files: Annotated[
        list[str], Argument(metavar="STATE...", help="States written by calcli evaluate --save-state.")
    ],
    *,
    output: Annotated[str, text("FILE.calcli", "The state of all their rows.", "--output", "-o")],
) -> Shown:
    """Merge the states of parts.

    A state is the result of one pass over predictions: sums, score cells and counts in a small file. The
    state of the parts is the state of the whole: days, shards and machines can be evaluated together without
    reading a row again.

    \b
    calcli evaluate monday.parquet --save-state monday.calcli
    calcli merge monday.calcli tuesday.calcli -o week.calcli
    calcli evaluate week.calcli
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.state import merge_files

    return merge_files(files, output)
