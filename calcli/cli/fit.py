"""`calcli fit`: learn a recalibration from a file of predictions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from calcli.cli.options import Reading, Talking, bundled
from calcli.cli.output import colored, emit
from calcli.core.language.declaring import items
from calcli.core.language.methods import METHODS
from calcli.core.language.metrics import ScoreName

if TYPE_CHECKING:
    from calcli.core.language.expressions import MethodExpression
    from calcli.core.recalibrating.fitting import Fit, FitSettings
    from calcli.io.options import ReadOptions
    from calcli.report.progress import Watcher

AUTO = "auto"
REDUCED = "reduced"
LENSES = ", ".join(name for name, method in METHODS.items() if "lens" in method.arguments)


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
        ),
    ],
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
        typer.Option("--format", "-f", help="Form of the results on standard output."),
    ] = "table",
    candidates: Annotated[
        str | None, typer.Option(metavar="LIST", help="Methods for auto to choose from, separated by commas.")
    ] = None,
    score: Annotated[ScoreName, typer.Option(help="Score by which auto chooses.")] = "log_loss",
    lens: Annotated[
        str | None,
        typer.Option(
            metavar="LENS",
            help="What methods of one score act on: class-wise, top-1; spline also within-top-2 ... Or "
            "reduced, for any method: on the confidence, as two classes, right and wrong.",
        ),
    ] = None,
    input: Annotated[
        Literal["log-probs", "raw"],
        typer.Option(help="Fit on log-probabilities, or on raw logits, which apply then needs too."),
    ] = "log-probs",
    per_predicted_class: Annotated[
        bool, typer.Option("--per-predicted-class", help="One calibrator for each predicted class.")
    ] = False,
    min_rows: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Rows a predicted class needs for a calibrator of its own."),
    ] = 100,
    preserve_top1: Annotated[
        bool, typer.Option("--preserve-top1", help="Never change the predicted class.")
    ] = False,
    folds: Annotated[
        int, typer.Option(metavar="N", min=0, help="Folds of the cross-validation; 0 for none.")
    ] = 5,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the folds.")] = 0,
    reading: Reading,
    talking: Talking,
) -> None:
    """Learn a recalibration.

    Shows what was learned, and what it does to log-loss, Brier score, calibration error and accuracy, on the
    rows of the fit and on rows not seen. auto takes the simplest method that is as good as the best.

    \b
    calcli fit val.parquet -m temperature -o cal.json
    calcli fit val.parquet -m auto --candidates temperature,dp,isotonic -o cal.json
    calcli fit logits.npy -m vector --input raw -o cal.json
    calcli fit val.csv -m beta --preserve-top1 -o cal.json
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.recalibrating.fitting import FitSettings, record_of
    from calcli.io.calibrators import calibrator_text, save_calibrator
    from calcli.io.hashing import sha256
    from calcli.report.fit import ShownFit
    from calcli.report.progress import progress
    from calcli.report.shown import render

    reduced = lens == REDUCED
    settings = FitSettings(
        folds, seed, score, input == "raw", reduced, per_predicted_class, min_rows, preserve_top1
    )
    calls = method_calls(method, candidates, None if reduced else lens, raw=settings.raw)
    with progress(shown=not talking.quiet) as watcher:
        found = fit_file(file, reading.read_options(), calls, settings, watcher)
    files = found.predictions.provenance.files
    record = record_of(found, sha256(files) if files else None)
    shown = render(ShownFit(found), format, color=output != "-" and colored(talking.no_color))
    if output == "-":
        emit(calibrator_text(record))
        if not talking.quiet:
            sys.stderr.write(shown)
        return
    if output is not None:
        save_calibrator(record, output)
    emit(shown)


def method_calls(
    method: str, candidates: str | None, lens: str | None, *, raw: bool
) -> list[MethodExpression]:
    """Return the one method asked for, or those that auto is to choose from.

    Raises
    ------
    UsageError
        If a method is unknown, or an option does not go with it.
    """
    from calcli.core.language.errors import UsageError
    from calcli.core.language.expressions import parse_methods
    from calcli.core.recalibrating.fitting import candidates_for

    names = [method]
    if method == AUTO:
        names = list(items(candidates)) or candidates_for(raw)
    elif candidates is not None:
        raise UsageError(f"--candidates is for -m auto, not for -m {method}; leave it out")
    common: dict[str, Any] = {}
    if lens is not None:
        common["lens"] = lens
    if raw:
        common["input"] = "raw"
    calls = parse_methods(names, common)
    if lens is not None and not any("lens" in one.arguments for call in calls for one in call.chain):
        raise UsageError(
            f"--lens {lens} is for methods that act on one score, {LENSES}; leave it out with {method}, or "
            f"say --lens {REDUCED}"
        )
    return calls


def fit_file(
    file: str,
    options: ReadOptions,
    calls: list[MethodExpression],
    settings: FitSettings,
    watcher: Watcher | None = None,
) -> Fit:
    """Read a file of predictions and fit to it.

    Parameters
    ----------
    file, options
        What to read, and how.
    calls, settings
        What to fit, and how.
    watcher
        Starts a progress bar.
    """
    from calcli.core.recalibrating.fitting import fit, fits
    from calcli.io.read import read

    predictions = read(file, options)
    if watcher is None:
        return fit(predictions, calls, settings)
    return fit(predictions, calls, settings, watcher("fits", fits(calls, settings)))
