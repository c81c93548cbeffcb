"""`calcli monitor`: are the probabilities of a stream still right?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Chosen, Reading, option
from calcli.cli.showing import Paging
from calcli.core.language.declaring import checked
from calcli.core.language.settings import MonitorSettings


@dataclass(frozen=True)
class Watching(Chosen):
    """What is watched, and how."""

    heading = "What is watched"

    time: Any = option("time", MonitorSettings)
    every: Any = option("every", MonitorSettings)
    tolerance: Any = option("tolerance", MonitorSettings)
    by: Any = option("by", MonitorSettings)
    cluster: Any = option("cluster", MonitorSettings)
    mature: Any = option("mature", MonitorSettings)
    since: Any = option("since", MonitorSettings)
    level: Any = option("level", MonitorSettings)
    reference: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rows that show what to expect."),
    ] = None
    threshold: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Watch the promise of this threshold."),
    ] = None
    state: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Carry the evidence from run to run in this file."),
    ] = None


@bundled
def monitor(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Periods in order, or with --time or --every one data set."),
    ],
    *,
    watching: Watching,
    reading: Reading,
    paging: Paging,
    details: Annotated[bool, typer.Option("--details", help="Show every period.")] = False,
    format: Annotated[
        Literal["table", "json", "markdown", "csv", "latex"],
        typer.Option("--format", "-f", help="Format of the results."),
    ] = "table",
) -> None:
    """Watch a stream: are its probabilities still right, however often one looks?

    Of two classes it is the probability of the second one, else the confidence, or of --against-rest a class.
    At most 5% of streams without a fault ever alarm. On an alarm the exit status is 1.

    \b
    calcli monitor log.parquet --time served_at --every week --mature 30d
    calcli monitor 2026-11-27.csv --state watch.json --tolerance 0.01
    calcli monitor week_*.csv --reference validation.csv
    calcli monitor log.csv --time day --threshold threshold.json
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.monitor import monitor_files

    settings = MonitorSettings(**checked(MonitorSettings, watching.given(), "option"))
    found = monitor_files(
        files,
        reading.read_options(),
        settings,
        reference=watching.reference,
        threshold=watching.threshold,
        state=watching.state,
    )
    paging.page(replace(found, details=True))
    paging.show(replace(found, details=details), format)
    if found.exit_status:
        raise typer.Exit(found.exit_status)
