"""`calcli monitor`: are the probabilities of a stream still right?"""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Reading, chosen, text
from calcli.core.language.settings import MonitorSettings
from calcli.report.shown import Shown

WATCHED = "What is watched"


@command("table", "json", "markdown", "csv", "latex", page=True, details="Show every period.")
def monitor(
    files: Annotated[
        list[str], Argument(metavar="FILE", help="Periods in order, or with --time or --every one data set.")
    ],
    *,
    settings: Annotated[
        MonitorSettings, chosen(WATCHED, "time every tolerance by cluster mature since level")
    ],
    reference: Annotated[str | None, text("FILE", "Rows that show what to expect.", under=WATCHED)] = None,
    threshold: Annotated[
        str | None,
        text("FILE|X", "Watch its promise, or count the rows from X on.", under=WATCHED),
    ] = None,
    state: Annotated[
        str | None, text("FILE", "Carry the evidence from run to run in this file.", under=WATCHED)
    ] = None,
    reading: Reading,
) -> Shown:
    """Watch a stream: are its probabilities still right, however often one looks?

    It watches the probability of the second of two classes, else the confidence; --against-rest picks a
    class. At most 5% of streams ever raise a false alarm. On an alarm the exit status is 1.

    \b
    calcli monitor log.parquet --time served_at --every week --mature 30d
    calcli monitor 2026-11-27.csv --state watch.json --tolerance 0.01
    calcli monitor week_*.csv --reference validation.csv
    calcli monitor log.csv --time day --threshold threshold.json
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.monitor import monitor_files

    return monitor_files(files, reading, settings, reference=reference, threshold=threshold, state=state)
