"""`calcli study`: how far estimates of calibration errors are from the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.output import colored, emit
from calcli.cli.showing import Quiet
from calcli.cli.simulate import Parameters
from calcli.core.language.declaring import items, some_items, whole_numbers
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import MOST_AT_ONCE, System

Format = Literal["table", "json", "markdown", "csv", "latex"]


@bundled
def study(
    *,
    system: Annotated[
        System, typer.Argument(metavar="SYSTEM", help="What is simulated; see calcli simulate.")
    ],
    metrics: Annotated[
        list[str], typer.Option(metavar="LIST", help="Calibration errors, such as ece:bins=10,cw_ece.")
    ],
    rows: Annotated[
        str, typer.Option(metavar="N,N", help="Sizes of the data sets, such as 100,1000,10000.")
    ] = "100,1000,10000",
    series: Annotated[
        int, typer.Option(metavar="N", min=2, max=10**6, help="Data sets of each size.")
    ] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the draws.")] = 0,
    parameters: Parameters,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_AT_ONCE,
            help="Processes; one per core where that is faster; the result is the same.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also draw it: .png, .svg or .pdf.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
    quiet: Quiet = False,
) -> None:
    """Compare estimates of calibration errors with true values.

    On simulated data: shows the 5% quantile, mean and 95% quantile of estimate minus truth over many data
    sets of each size.

    \b
    calcli study mixture --metrics ece:lens=class-1:bins=10 --series 100
    calcli study mixture --intercept 1 --slope 1 --metrics ece:lens=class-1:bins=10 -o study.png
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.report.shown import render
    from calcli.work.study import study_system

    names = [name for text in metrics for name in items(text)]
    if not names:
        raise UsageError("--metrics is empty; expected some, as in --metrics ece,ks")
    sizes = whole_numbers("100,1000,10000").checked("--rows", some_items("--rows", rows))
    with progress(shown=not quiet) as watcher:
        report = study_system(
            system,
            names,
            rows=sizes,
            series=series,
            seed=seed,
            parameters=parameters.given(),
            output=output,
            workers=workers,
            watcher=watcher,
        )
    emit(render(report, format, color=colored()))
