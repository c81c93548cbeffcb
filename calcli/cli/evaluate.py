"""`calcli evaluate`: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from calcli.cli.bundles import bundled
from calcli.cli.distributing import Distributing
from calcli.cli.options import (
    Chosen,
    ComputingMore,
    ReadingSystems,
    Recalibrating,
    option,
    settings_of,
)
from calcli.cli.output import remark
from calcli.cli.showing import Showing


@dataclass(frozen=True)
class Reporting(Chosen):
    """What is reported beside the results of all rows."""

    heading = "Reporting"

    test: Any = option("test")
    diagram: Annotated[bool, typer.Option("--diagram", help="Add a reliability diagram as text.")] = False
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Also report every value of this column. Repeatable.",
        ),
    ] = None
    sort: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Order several files by this metric, the best first.")
    ] = None
    details: Annotated[
        bool,
        typer.Option("--details", help="Show all tables, files and slices."),
    ] = False
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT", help="Exit with status 1 if this holds, as in 'log_loss>0.5'. Repeatable."
        ),
    ] = None


@dataclass(frozen=True)
class Saving(Chosen):
    """What is kept in place of the rows."""

    heading = "Saving a state"

    save_state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.calcli", help="Also save a state: what later reports need, without the rows."
        ),
    ] = None


@bundled
def evaluate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Predictions: files, folders of parts, or - for standard input."),
    ],
    reading: ReadingSystems,
    computing: ComputingMore,
    recalibrating: Recalibrating,
    showing: Showing,
    distributing: Distributing,
    reporting: Reporting,
    saving: Saving,
) -> None:
    """Say how good predicted probabilities are.

    Scores with intervals, a verdict on the confidence, and calibration errors beside what they would be if
    the probabilities were calibrated. Several files have a row each.

    \b
    calcli evaluate preds.parquet
    calcli evaluate logits.npy --labels labels.npy -o report
    calcli evaluate epochs/*.parquet --metrics log_loss,accuracy,ece
    calcli evaluate preds.parquet --costs abstain:0.1,costs.csv --priors uniform
    calcli evaluate - --format json < preds.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.evaluatefiles import Wanted, evaluate_files, read_failures
    from calcli.work.idle import idle_of_keys, idle_options

    settings = settings_of(computing, reporting, recalibrating)
    rules = read_failures(reporting.fail_if or (), settings)
    options = reading.read_options()
    calibration = recalibrating.read(options)
    kept = bool(saving.save_state or showing.output or showing.html)  # what is written may make use of any
    names = {*settings.groups, *settings.threshold_weights} if kept else ()
    idle = idle_options(settings, calibration, rules, names=names)
    idle += idle_of_keys(options, saves=True, state=saving.save_state)
    for sentence in () if showing.quiet else idle:
        remark(sentence)
    wanted = Wanted(
        folder=showing.output,
        html=showing.html,
        state=saving.save_state,
        key=reading.key,
        per_class=showing.per_class,
        diagram=reporting.diagram,
        sort=reporting.sort,
        details=reporting.details,
    )
    with progress(shown=not showing.quiet) as watcher:
        shown = evaluate_files(
            reading.concatenated(files) if options.concat else [[file] for file in reading.files(files)],
            options,
            settings,
            wanted,
            rules=rules,
            by=reporting.by or (),
            calibration=calibration,
            engine=distributing.found(watcher, reading.key, reporting.by or ()),
            watcher=watcher,
        )
    showing.show(shown, showing.format)
    if showing.format == "csv" and not showing.quiet:
        for sentence in shown.reading():
            remark(sentence)
        for result in shown.results:
            for warning in result.warnings:
                part = f", {result.slice}" if result.slice else ""
                remark(f"{result.input.path}{part}: {warning.message}")
    sentences = [sentence for found in shown.failures.values() for sentence in found]
    for sentence in [one.reason for one in shown.unread] + sentences:
        remark(sentence)
    if sentences or shown.unread:
        raise typer.Exit(1 if sentences else 2)
