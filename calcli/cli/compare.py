"""`calcli compare`: is one system better than another, beyond chance?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.distributing import Distributing
from calcli.cli.options import Clustering, Computing, Pairing, ReadingSystems, settings_of
from calcli.cli.output import remark
from calcli.cli.showing import Paging
from calcli.core.language.declaring import items
from calcli.core.language.errors import UsageError

Format = Literal["table", "json", "markdown", "latex"]


@bundled
def compare(
    files: Annotated[
        list[str],
        typer.Argument(metavar="BASELINE CANDIDATE", help="Predictions of two or more systems."),
    ],
    *,
    reading: ReadingSystems,
    computing: Computing,
    paging: Paging,
    pairing: Pairing,
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=X", help="A negligible difference, as in accuracy=0.01. Repeatable."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Also compare on every value of this column.")
    ] = None,
    clustering: Clustering,
    distributing: Distributing,
    select: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Select the system to ship, by this metric."),
    ] = None,
    report_on: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|GLOB", help="Report what --select chose on these files, matched by number."
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also list the rows that got worse or better, of outcomes.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
) -> None:
    """Compare systems: do they differ beyond chance?

    Rows are paired. Scores get differences with paired intervals, calibration errors a paired
    permutation test. Several candidates are ranked, with those not significantly worse than the best.

    \b
    calcli compare old.parquet new.parquet --margin accuracy=0.01
    calcli compare old.csv new.csv --key id --by country
    calcli compare epochs/*.parquet --select log_loss
    calcli compare val/*.npy --select accuracy,log_loss --report-on 'test/*.npy'
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.compare import compare_files
    from calcli.work.idle import idle_options
    from calcli.work.selection import select_files

    settings = settings_of(computing, clustering)
    for sentence in () if paging.quiet else idle_options(settings):
        remark(sentence)
    if pairing.paired is False and reading.key is not None:
        raise UsageError(f"--key {reading.key} pairs rows and --unpaired does not; leave one out")
    if report_on is not None:
        if select is None:
            raise UsageError("--report-on reports what --select METRIC chose; give both")
        if reading.key is not None or pairing.paired is False or by is not None or margin:
            raise UsageError("--report-on compares no rows; leave out --key, --unpaired, --by, --margin")
        with progress(shown=not paging.quiet) as watcher:
            chosen = select_files(
                files, report_on, items(select), reading.read_options(), settings, watcher=watcher
            )
        paging.page(chosen)
        paging.show(chosen, format)
        return
    if select is not None and len(items(select)) > 1:
        raise UsageError(f"--select {select}: one metric says what to ship; several need --report-on")
    with progress(shown=not paging.quiet) as watcher:
        found = compare_files(
            reading.files(files),
            reading.read_options(),
            settings,
            pairing.settings(reading),
            margins=margin or (),
            select=select,
            by=by,
            engine=distributing.found(watcher, reading.key),
            watcher=watcher,
        )
    paging.page(replace(found, details=True))
    paging.show(replace(found, details=details), format)
