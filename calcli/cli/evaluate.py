"""`calcli evaluate`: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calcli.cli.options import Computing, Reading, Recalibrating, Showing, Testing, bundled, settings_of
from calcli.cli.output import colored, emit, remark

if TYPE_CHECKING:
    from calcli.core.comparing.limits import Limit
    from calcli.core.data.predictions import Predictions
    from calcli.core.evaluating.recalibrated import Companions
    from calcli.core.language.settings import Settings
    from calcli.io.options import ReadOptions
    from calcli.report.progress import Watcher
    from calcli.report.summary import Result


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
        typer.Option(metavar="COLUMN", help="Also report on every value of this column. Repeatable."),
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
    from calcli.core.comparing.limits import parse_limit
    from calcli.io.folder import filled_folder
    from calcli.io.hashing import sha256
    from calcli.report.evaluation import ShownResults
    from calcli.report.progress import progress
    from calcli.report.shown import render

    settings = settings_of(computing, testing, recalibrating)
    limits = [parse_limit(text, settings.defaults) for text in fail_if or ()]
    options = reading.read_options()
    companions = recalibrating.companions(options)
    sources = [files] if concat else [[file] for file in files]
    with filled_folder(showing.output) if showing.output else nullcontext() as folder:
        with progress(shown=not showing.quiet) as watcher:
            results = evaluate_sources(
                sources, options, settings, limits, folder, watcher, by or (), companions
            )
        shown = ShownResults(results, settings, showing.per_class, sha256)
        if folder:
            shown.write(folder)
    emit(render(shown, showing.format, color=colored(showing.no_color)))
    if showing.format == "csv" and not showing.quiet:
        for result in results:
            for warning in result.warnings:
                remark(f"{result.input.path}: {warning.message}")
    broken = [
        f"{result.input.path}: {limit} holds, {limit.call.asked} is {limit.value(result.metrics):.6g}"
        for result in results
        for limit in limits
        if result.slice is None and limit.broken_by(result.metrics, result.input.path)
    ]
    for sentence in broken:
        remark(sentence)
    if broken:
        raise typer.Exit(1)


def evaluate_sources(
    sources: Sequence[Sequence[str]],
    options: ReadOptions,
    settings: Settings,
    limits: Sequence[Limit] = (),
    folder: Path | None = None,
    watcher: Watcher | None = None,
    by: Sequence[str] = (),
    companions: Companions | None = None,
) -> list[Result]:
    """Read and evaluate each source, the files of one data set, and let go of its rows.

    Parameters
    ----------
    sources
        Paths, one sequence a data set.
    options, settings
        How to read and what to compute.
    limits
        Their metrics are computed as well.
    folder
        Where to draw figures: of one source right there, of several in folders named like them.
    watcher
        Starts a progress bar.
    by
        Columns whose values are reported on one by one, behind the data set they are of.
    companions
        Predictions that some metrics need beside them.
    """
    from calcli.core.evaluating.evaluate import evaluate
    from calcli.io.read import read_concat
    from calcli.report.slices import summarize_slices
    from calcli.report.summary import relative_names, summarize

    names = [Path(name).with_suffix("") for name in relative_names([source[0] for source in sources])]
    results = []
    for name, source in zip(names, sources, strict=True):
        predictions = read_concat(source, options)
        watch = watcher(str(name), predictions.n_rows) if watcher else None
        evaluation = evaluate(predictions, _with_limits(settings, limits, predictions), watch, companions)
        if folder:
            from calcli.figures import standard_set

            home = folder / name if len(sources) > 1 else folder
            home.mkdir(parents=True, exist_ok=True)
            standard_set(evaluation, home)
        results.append(summarize(evaluation))
        for column in by:
            results += summarize_slices(predictions, column, evaluation, companions)
    return results


def _with_limits(settings: Settings, limits: Sequence[Limit], predictions: Predictions) -> Settings:
    """Have the metrics of the limits computed beside those asked for, or beside the usual ones."""
    from calcli.core.evaluating.evaluate import default_metrics

    if not limits:
        return settings
    asked = settings.metrics or tuple(default_metrics(predictions, settings.costs)[0])
    return replace(settings, metrics=(*asked, *(limit.call.asked for limit in limits)))
