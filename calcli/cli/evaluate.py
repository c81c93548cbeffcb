"""`calcli evaluate`: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from typing import Annotated

import typer

from calcli.cli.options import Computing, Reading, Recalibrating, Showing, Testing, bundled, settings_of
from calcli.cli.output import remark


@bundled
def evaluate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Predictions: files, folders of parts, or - for standard input."),
    ],
    reading: Reading,
    computing: Computing,
    testing: Testing,
    recalibrating: Recalibrating,
    showing: Showing,
    concat: Annotated[bool, typer.Option("--concat", help="Take all files for one data set.")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Also report on each value of this column, or predicted-class. Repeatable.",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="LIMIT", help="Exit with status 1 if 'log_loss>0.5', say, holds. Repeatable."),
    ] = None,
) -> None:
    """Say how good predicted probabilities are.

    Scores with bootstrap intervals, a verdict on the confidence, and calibration errors beside what they
    would be if the probabilities were calibrated. Several files are shown side by side, a row each.

    \b
    calcli evaluate preds.parquet
    calcli evaluate logits.npy --labels labels.npy -o report
    calcli evaluate epochs/*.parquet --metrics log_loss,accuracy,ece
    calcli evaluate preds.parquet --costs abstain:0.1,costs.csv --priors uniform
    calcli evaluate - --format json < preds.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.evaluate import broken, evaluate_files, read_failures

    settings = settings_of(computing, testing, recalibrating)
    rules = read_failures(fail_if or (), settings)
    options = reading.read_options()
    companions = recalibrating.companions(options)
    with progress(shown=not showing.quiet) as watcher:
        shown = evaluate_files(
            [files] if concat else [[file] for file in files],
            options,
            settings,
            rules=rules,
            by=by or (),
            companions=companions,
            output=showing.output,
            per_class=showing.per_class,
            watcher=watcher,
        )
    showing.show(shown, showing.format)
    if showing.format == "csv" and not showing.quiet:
        for result in shown.results:
            for warning in result.warnings:
                remark(f"{result.input.path}: {warning.message}")
    sentences = broken(shown.results, rules)
    for sentence in sentences:
        remark(sentence)
    if sentences:
        raise typer.Exit(1)
