"""`calcli plan`: how many rows does a decision need?"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Pairing, Planning, ReadingSystems, settings_of
from calcli.cli.showing import Talking


@bundled
def plan(
    files: Annotated[
        list[str], typer.Argument(metavar="OLD NEW", help="Predictions of two systems, or of one.")
    ],
    *,
    reading: ReadingSystems,
    planning: Planning,
    pairing: Pairing,
    talking: Talking,
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=X,...", help="Differences that do not matter; X% is of OLD."),
    ] = None,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Of one file: the metric.")] = "log_loss",
    half_width: Annotated[
        str | None, typer.Option(metavar="X", help="Of one file: half the width of its interval.")
    ] = None,
    format: Annotated[
        Literal["table", "json", "markdown"], typer.Option("--format", "-f", help="Format of the results.")
    ] = "table",
) -> None:
    """Say how many rows a decision needs, before more are labelled.

    By how much the rows differ in the files there are, such as those of a pilot study.

    \b
    calcli plan old.parquet new.parquet --margin log_loss=1%
    calcli plan preds.parquet --metric log_loss --half-width 0.01
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.plan import plan_files

    found = plan_files(
        reading.files(files),
        reading.read_options(),
        settings_of(planning),
        pairing.settings(reading),
        margins=margin or (),
        metric=metric,
        half_width=half_width,
    )
    talking.show(found, format)
