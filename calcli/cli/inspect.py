"""`calcli inspect`: how is a file read?"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Reading
from calcli.cli.showing import Talking


@bundled
def inspect(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Predictions: files, folders of parts, or - for standard input."),
    ],
    reading: Reading,
    talking: Talking,
    format: Annotated[
        Literal["table", "json", "markdown"], typer.Option("--format", "-f", help="Format of the results.")
    ] = "table",
) -> None:
    """Show how files are read.

    Shows the layout, which columns or arrays are taken for scores and labels, and why; what else was
    considered; and stops. All options that change it are those of evaluate.

    \b
    calcli inspect preds.parquet
    calcli inspect preds.csv --scores 'p_*' --label-column truth
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.inspect import inspect_files

    talking.show(inspect_files(files, reading.read_options()), format)
