"""`calcli fit`: learn a recalibration from a file of predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from typer import Argument, Option

from calcli.cli.command import command
from calcli.cli.options import Engine, Reading, among, chosen, text
from calcli.cli.output import emit
from calcli.core.language.declaring import some_items
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.settings import FitSettings
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Shown

SETTINGS = "score quick per_predicted_class min_rows preserve_top1 folds cluster seed workers"
FOLDS = "Folds of the cross-validation: how many, 0 for none, or the column that has them."


@command("table", "json", "markdown", page=True, details="Also show what was read and fitted.")
def fit(
    *,
    file: Annotated[
        str, Argument(metavar="FILE", help="Predictions: a file, a folder of parts, or - for standard input.")
    ],
    method: Annotated[
        str,
        Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="auto, or a method as listed below; with settings as in histogram:bins=20.",
            autocompletion=among([CHOICE.name], METHODS),
        ),
    ] = CHOICE.name,
    output: Annotated[
        str | None,
        text("FILE", "Where to save the calibrator: JSON, .npz by its ending, or -.", "--output", "-o"),
    ] = None,
    candidates: Annotated[
        str | None,
        text("LIST", "Methods that auto chooses from, separated by commas; pool: that of the others."),
    ] = None,
    lens: Annotated[
        str | None,
        text(
            "LENS",
            "What methods of one score act on: class-wise, top-1, within-top-2 ...; reduced, for "
            "any method: the confidence.",
        ),
    ] = None,
    input: Annotated[
        Literal["log-probs", "raw"],
        Option(help="Fit on log-probabilities, or on raw logits, which apply then needs too."),
    ] = "log-probs",
    cross_validated: Annotated[
        str | None, text("FILE", "Also write the rows with their cross-validated probabilities.")
    ] = None,
    settings: Annotated[FitSettings, chosen("Fitting", SETTINGS, folds=FOLDS)],
    reading: Reading,
    engine: Engine = None,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Fit a recalibration.

    Shows what it does to log-loss, Brier score, calibration error and accuracy, on the rows of the fit and on
    unseen rows. auto takes the simplest method that is as good as the best, or a pool if that is better.

    \b
    calcli fit val.parquet -o cal.json
    calcli fit val.parquet --candidates temperature,dp,isotonic -o cal.json
    calcli fit logits.npy -m vector --input raw -o cal.json
    calcli fit test.csv -m dp --cross-validated test_dp.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.fit import calibrator_text, fit_file

    report = fit_file(
        file,
        reading,
        method,
        replace(settings, raw=input == "raw"),
        candidates=some_items("--candidates", candidates),
        lens=lens,
        output=output,
        cross_validated=cross_validated,
        engine=engine,
        watcher=watcher,
        remark=remark,
    )
    if output == "-":
        emit(calibrator_text(report))
    return report
