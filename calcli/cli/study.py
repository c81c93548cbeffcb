"""`calcli study`: how far estimates of calibration errors are from the truth."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Chosen, Reading
from calcli.cli.showing import Talking
from calcli.cli.simulate import Parameters
from calcli.core.language.declaring import items, some_items, whole_numbers
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import MOST_AT_ONCE
from calcli.works.settings import Asked, Procedure, System

Format = Literal["table", "json", "markdown", "csv", "latex"]
ROWS = "100,1000,10000"


@dataclass(frozen=True)
class Simulating(Parameters):
    """How many data sets are simulated, and of what."""

    rows: Annotated[
        str, typer.Option(metavar="N,N", help="Sizes of the data sets, such as 100,1000,10000.")
    ] = ROWS
    series: Annotated[int, typer.Option(metavar="N", min=2, max=10**6, help="Data sets of each size.")] = 1000
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_AT_ONCE,
            help="Processes; one per core where that is faster; the result is the same.",
        ),
    ] = None


@dataclass(frozen=True)
class Proceeding(Reading):
    """What a procedure needs beside its file."""

    draws: Annotated[
        int, typer.Option(metavar="N", min=2, max=10**6, help="Data sets or resamples, for a procedure.")
    ] = 200
    posteriors: Annotated[
        str | None, typer.Option(metavar="FILE", help="True probabilities of the rows, for posteriors.")
    ] = None
    calibration_data: Annotated[
        str | None, typer.Option(metavar="FILE", help="Other rows, from which trained-bins learns.")
    ] = None


@bundled
def study(
    *,
    what: Annotated[
        Literal[System, Procedure],
        typer.Argument(metavar="WHAT", help="A system of calcli simulate, or a procedure."),
    ],
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="Predictions, for a procedure.")] = None,
    metrics: Annotated[
        list[str] | None, typer.Option(metavar="LIST", help="Calibration errors, such as ece:bins=10,cw_ece.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the draws.")] = 0,
    simulating: Simulating,
    proceeding: Proceeding,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also draw a system, or the true curve of posteriors: .png, .svg or .pdf.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
    talking: Talking,
) -> None:
    """Study estimators of calibration errors; procedures of the works.

    Of a simulated system: quantiles and mean of estimate minus truth over many data sets. Of a file:

    \b
    posteriors    true errors, and scores, under known posteriors
    resampling    bootstrap standard deviations, and nulls with rows drawn anew
    marginal      the probabilities of all classes together
    trained-bins  bins that learn their frequencies from other rows
    objectives    temperatures that minimize a calibration error

    \b
    calcli study mixture --intercept 1 --slope 1 --metrics ece:lens=class-1:bins=10 -o study.png
    calcli study posteriors preds.csv --posteriors true.csv -o curve.png
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.study import study_file, study_system

    names = [name for text in metrics or () for name in items(text)]
    if what in get_args(Procedure):
        if file is None:
            raise UsageError(f"{what} is a procedure on predictions; name their file")
        _refuse(simulating, f"is for simulated systems, and {what} is a procedure on a file")
        others = proceeding.posteriors, proceeding.calibration_data, output
        asked = Asked(names, proceeding.draws, seed)
        return talking.show(study_file(what, file, proceeding.read_options(), asked, *others), format)
    if file is not None:
        raise UsageError(f"{what} is simulated; leave out {file}")
    _refuse(proceeding, f"is for procedures on a file, and {what} is simulated")
    if not names:
        raise UsageError("--metrics is empty; expected some, as in --metrics ece,ks")
    sizes = whole_numbers(ROWS).checked("--rows", some_items("--rows", simulating.rows))
    drawn = sizes, simulating.series, simulating.given(), seed
    with progress(shown=not talking.quiet) as watcher:
        report = study_system(what, names, *drawn, output, simulating.workers, watcher)
    talking.show(report, format)


def _refuse(bundle: Chosen, reason: str) -> None:
    """Raise a UsageError if an option has another value than its default."""
    for one in fields(bundle):
        if getattr(bundle, one.name) != one.default:
            raise UsageError(f"--{one.name.replace('_', '-')} {reason}; leave it out")
