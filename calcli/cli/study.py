"""`calcli study`: how far estimates of calibration errors are from the truth."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, get_args

from typer import Argument, Option

from calcli.cli.command import command
from calcli.cli.options import Reading
from calcli.cli.simulate import PARAMETERS
from calcli.core.language.declaring import items, some_items, whole_numbers
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import MOST_AT_ONCE
from calcli.core.language.text import Watcher
from calcli.report.shown import Shown
from calcli.works.settings import Asked, Procedure, System, SystemSettings

ROWS, SERIES, DRAWS = "100,1000,10000", 1000, 200


@command("table", "json", "markdown", "csv", "latex")
def study(
    *,
    what: Annotated[
        Literal[System, Procedure],
        Argument(metavar="WHAT", help="A system of calcli simulate, or a procedure."),
    ],
    file: Annotated[str | None, Argument(metavar="FILE", help="Predictions, for a procedure.")] = None,
    metrics: Annotated[
        list[str] | None, Option(metavar="LIST", help="Calibration errors, such as ece:bins=10,cw_ece.")
    ] = None,
    seed: Annotated[int, Option(metavar="N", min=0, help="Seed of the draws.")] = 0,
    parameters: Annotated[SystemSettings, PARAMETERS],
    rows: Annotated[str, Option(metavar="N,N", help=f"Sizes of the data sets, such as {ROWS}.")] = ROWS,
    series: Annotated[int, Option(metavar="N", min=2, max=10**6, help="Data sets of each size.")] = SERIES,
    workers: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            max=MOST_AT_ONCE,
            help="Processes; one per core where that is faster; the result is the same.",
        ),
    ] = None,
    reading: Reading,
    draws: Annotated[
        int, Option(metavar="N", min=2, max=10**6, help="Data sets or resamples, for a procedure.")
    ] = DRAWS,
    posteriors: Annotated[
        str | None, Option(metavar="FILE", help="True probabilities of the rows, for posteriors.")
    ] = None,
    calibration_data: Annotated[
        str | None, Option(metavar="FILE", help="Other rows, from which trained-bins learns.")
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also draw a system, or the true curve of posteriors: .png, .svg or .pdf.",
        ),
    ] = None,
    watcher: Watcher,
) -> Shown:
    """Study estimators of calibration errors; procedures of the works.

    For a simulated system: quantiles and mean of estimate minus truth over many data sets. For a file:

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
    from calcli.work.study import study_file, study_system

    names = [name for text in metrics or () for name in items(text)]
    simulating = {"rows": rows != ROWS, "series": series != SERIES, "workers": workers}
    proceeding = {"draws": draws != DRAWS, "posteriors": posteriors, "calibration_data": calibration_data}
    if what in get_args(Procedure):
        if file is None:
            raise UsageError(f"{what} is a procedure on predictions; name their file")
        clashing = [*parameters.parameters, *(name for name, value in simulating.items() if value)]
        _refuse(clashing, f"is for simulated systems, and {what} is a procedure on a file")
        study_options = Asked(names, draws, seed)
        return study_file(what, file, reading, study_options, posteriors, calibration_data, output)
    if file is not None:
        raise UsageError(f"{what} is simulated; leave out {file}")
    clashing = [*reading.given, *(name for name, value in proceeding.items() if value)]
    _refuse(clashing, f"is for procedures on a file, and {what} is simulated")
    if not names:
        raise UsageError("--metrics is empty; expected some, as in --metrics ece,ks")
    sizes = whole_numbers(ROWS).checked("--rows", some_items("--rows", rows))
    arguments = sizes, series, parameters.parameters, seed
    return study_system(what, names, *arguments, output, workers, watcher)


def _refuse(names: Iterable[str], reason: str) -> None:
    """Raise a UsageError for the first option that was given."""
    for name in names:
        raise UsageError(f"--{name.replace('_', '-')} {reason}; leave it out")
