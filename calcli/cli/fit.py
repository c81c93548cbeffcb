"""`calcli fit`: learn a recalibration from a file of predictions."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.distributing import Distributing
from calcli.cli.options import Fitting, Reading, among
from calcli.cli.output import colored, emit, remark
from calcli.cli.showing import Paging
from calcli.core.language.declaring import some_items
from calcli.core.language.methods import CHOICE, METHODS


@dataclass(frozen=True)
class Choosing:
    """Which methods are tried, and what they act on."""

    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Methods that auto chooses from, separated by commas; pool: that of the others.",
        ),
    ] = None
    lens: Annotated[
        str | None,
        typer.Option(
            metavar="LENS",
            help="What methods of one score act on: class-wise, top-1, within-top-2 ...; reduced, for "
            "any method: the confidence.",
        ),
    ] = None
    input: Annotated[
        Literal["log-probs", "raw"],
        typer.Option(help="Fit on log-probabilities, or on raw logits, which apply then needs too."),
    ] = "log-probs"


@bundled
def fit(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Predictions: a file, a folder of parts, or - for standard input."
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="auto, or a method as listed below; with settings as in histogram:bins=20.",
            autocompletion=among([CHOICE.name], METHODS),
        ),
    ] = CHOICE.name,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to save the calibrator: JSON, .npz by its ending, or -.",
        ),
    ] = None,
    format: Annotated[
        Literal["table", "json", "markdown"],
        typer.Option("--format", "-f", help="Format of the results on standard output."),
    ] = "table",
    details: Annotated[bool, typer.Option("--details", help="Also show what was read and fitted.")] = False,
    choosing: Choosing,
    cross_validated: Annotated[
        str | None,
        typer.Option(
            "--cross-validated",
            metavar="FILE",
            help="Also write the rows with their cross-validated probabilities.",
        ),
    ] = None,
    fitting: Fitting,
    reading: Reading,
    distributing: Distributing,
    paging: Paging,
) -> None:
    """Fit a recalibration.

    Shows what it does to log-loss, Brier score, calibration error and accuracy, on the rows of the fit and on
    unseen rows. auto takes the simplest method that is as good as the best, or a pool if that is better.

    \b
    calcli fit val.parquet -o cal.json
    calcli fit val.parquet --candidates temperature,dp,isotonic -o cal.json
    calcli fit logits.npy -m vector --input raw -o cal.json
    calcli fit test.csv -m dp --cross-validated test_dp.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.report.shown import render
    from calcli.work.fit import calibrator_text, fit_file, write_fitted
    from calcli.work.idle import idle_of_keys

    for sentence in () if paging.quiet else idle_of_keys(reading.read_options()):
        remark(sentence)
    with progress(shown=not paging.quiet) as watcher:
        found = fit_file(
            file,
            reading.read_options(),
            method,
            candidates=some_items("--candidates", choosing.candidates),
            lens=choosing.lens,
            output=output,
            beside=(cross_validated, paging.html),
            engine=distributing.found(watcher),
            watcher=watcher,
            remark=(lambda text: None) if paging.quiet else remark,
            raw=choosing.input == "raw",
            **fitting.given(),
        )
    notes = write_fitted(
        found, file, reading.read_options(), output, cross_validated=cross_validated, html=paging.html
    )
    for note in () if paging.quiet else notes:
        remark(note)
    shown = render(replace(found, details=details), format, color=output != "-" and colored())
    if output != "-":
        emit(shown)
        return
    emit(calibrator_text(found.fit))
    if not paging.quiet:
        sys.stderr.write(shown)
