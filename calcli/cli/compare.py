"""`calcli compare`: is one system better than another, beyond chance?"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from calcli.cli.options import Clustering, Computing, Reading, Talking, bundled, settings_of
from calcli.cli.output import colored, emit
from calcli.core.language.declaring import items
from calcli.core.language.errors import UsageError

Format = Literal["table", "json", "markdown"]


@bundled
def compare(
    files: Annotated[
        list[str],
        typer.Argument(metavar="BASELINE CANDIDATE", help="Predictions of two or more systems."),
    ],
    *,
    reading: Reading,
    computing: Computing,
    talking: Talking,
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Pair rows by this column, not by their order.")
    ] = None,
    allow_unmatched: Annotated[
        bool, typer.Option("--allow-unmatched", help="Leave out rows that not all files have.")
    ] = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The files hold different cases; a weaker comparison.")
    ] = False,
    allow_other_classes: Annotated[
        bool, typer.Option("--allow-other-classes", help="Compare systems with other classes, unpaired.")
    ] = False,
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=X", help="A difference that does not matter. Repeatable."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Compare on every value of this column as well.")
    ] = None,
    clustering: Clustering,
    select: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Say which system to ship, by this metric."),
    ] = None,
    report_on: Annotated[
        str | None,
        typer.Option(metavar="DIR|GLOB", help="Report what --select chose on these files, paired by number."),
    ] = None,
    seeds: Annotated[
        bool, typer.Option("--seeds", help="The files are seeds of one model: mean and sd.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="Form of the results.")] = "table",
) -> None:
    """Say whether systems differ, beyond chance.

    Rows are paired. Scores get differences with paired bootstrap intervals, calibration errors a paired
    permutation test. Several candidates are ranked, with the set that cannot be told from the best.

    \b
    calcli compare old.parquet new.parquet --margin accuracy=0.01
    calcli compare old.csv new.csv --key id --by country
    calcli compare epochs/*.parquet --select log_loss
    calcli compare val/*.npy --select accuracy,log_loss --report-on 'test/*.npy'
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.report.shown import render
    from calcli.work.compare import compare_files
    from calcli.work.selection import select_files

    settings = settings_of(computing, clustering)
    if unpaired and key is not None:
        raise UsageError(f"--key {key} pairs rows and --unpaired does not; leave one out")
    if report_on is not None:
        if select is None:
            raise UsageError("--report-on reports what --select METRIC chose; give both")
        if key is not None or unpaired or by is not None or seeds or margin:
            raise UsageError(
                "--report-on compares no rows; leave out --key, --unpaired, --by, --seeds, --margin"
            )
        with progress(shown=not talking.quiet) as watcher:
            chosen = select_files(
                files, report_on, items(select), reading.read_options(), settings, watcher=watcher
            )
        emit(render(chosen, format, color=colored(talking.no_color)))
        return
    with progress(shown=not talking.quiet) as watcher:
        found = compare_files(
            files,
            reading.read_options(),
            settings,
            key=key,
            allow_unmatched=allow_unmatched,
            paired=not unpaired,
            allow_other_classes=allow_other_classes,
            margins=margin or (),
            select=select,
            seeds=seeds,
            by=by,
            watcher=watcher,
        )
    emit(render(found, format, color=colored(talking.no_color)))
