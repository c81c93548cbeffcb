"""`calcli benchmark`: every calibrator side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calcli.cli.options import Reading, Talking, bundled
from calcli.cli.output import colored, emit
from calcli.core.language.declaring import items

if TYPE_CHECKING:
    from calcli.core.recalibrating.benchmark import Task
    from calcli.io.options import ReadOptions

Format = Literal["table", "json", "markdown", "csv"]


@bundled
def benchmark(
    *,
    cal: Annotated[str | None, typer.Option("--cal", metavar="FILE", help="Predictions to fit to.")] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="FILE", help="Predictions to judge on.")
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option("--pair", metavar="CAL TEST", help="Both files of one of several models. Repeatable."),
    ] = None,
    seconds: Annotated[list[str] | None, typer.Argument(metavar="TEST", hidden=True)] = None,
    folds: Annotated[
        int, typer.Option(metavar="N", min=0, help="Without --test: folds of a cross-validation.")
    ] = 0,
    methods: Annotated[
        str | None, typer.Option(metavar="LIST", help="Methods, such as temperature,histogram:bins=20.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="LIST", help="Metrics in place of the usual ones.")
    ] = None,
    bins: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="Bins of the calibration errors.")
    ] = 15,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the folds and of the tests.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes at once; one per processor by default.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Form of the results.")] = "table",
    reading: Reading,
    talking: Talking,
) -> None:
    """Try every calibrator: fit to some rows, judge on others.

    A row for each method, or with several models a table for each metric, with mean ranks. Methods that
    cannot be told from the best have a ~. A method that fails is a cell that says so.

    \b
    calcli benchmark --cal val.parquet --test test.parquet
    calcli benchmark --cal preds.csv --folds 5 --methods temperature,dp,isotonic
    calcli benchmark --pair a_val.npy a_test.npy --pair b_val.npy b_test.npy -f markdown
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.language.expressions import parse_methods, parse_metrics
    from calcli.core.language.settings import Settings
    from calcli.core.recalibrating.benchmark import DEFAULT_METHODS, DEFAULT_METRICS, run
    from calcli.report.benchmark import ShownTrials
    from calcli.report.progress import progress
    from calcli.report.shown import render

    calls = parse_methods(items(methods) or DEFAULT_METHODS)
    measured = parse_metrics(items(metrics) or DEFAULT_METRICS, {"bins": bins})
    asked = tuple(call.asked for call in measured)
    settings = Settings(metrics=asked, bins=bins, resamples=2000, draws=0, seed=seed)
    # an option takes one value, so that the second file of each pair arrives among the arguments, in order
    pairs = paired(pair or (), seconds or ())
    tasks = read_tasks(cal, test, pairs, folds, reading.read_options())
    with progress(shown=not talking.quiet) as watcher:
        count = len(tasks) * (len(calls) + 1)
        watch = watcher("methods", count) if watcher else lambda done: None
        trials = run(tasks, list(map(str, calls)), settings, jobs, watch)
    emit(render(ShownTrials(trials, settings), format, color=colored(talking.no_color)))


def paired(firsts: Sequence[str], seconds: Sequence[str]) -> list[tuple[str, str]]:
    """Return the two files of each `--pair`.

    Raises
    ------
    UsageError
        If a file is missing, or one is left over.
    """
    from calcli.core.language.errors import UsageError

    if len(firsts) != len(seconds):
        raise UsageError(
            f"{len(firsts)} times --pair and {len(seconds)} second files; expected --pair CAL TEST for each "
            "model, or --cal FILE --test FILE"
        )
    return list(zip(firsts, seconds, strict=True))


def read_tasks(
    cal: str | None, test: str | None, pairs: Sequence[tuple[str, str]], folds: int, options: ReadOptions
) -> list[Task]:
    """Read the files of all models.

    Raises
    ------
    UsageError
        If it is not clear what to fit to and what to judge on.
    """
    from calcli.core.language.errors import UsageError
    from calcli.core.recalibrating.benchmark import task_of
    from calcli.io.read import read
    from calcli.report.summary import short_names

    if pairs:
        if cal or test or folds:
            raise UsageError("--pair names both files of a model; leave out --cal, --test and --folds")
        names = short_names([second for _, second in pairs])
        return [
            task_of(name, read(first, options), read(second, options))
            for name, (first, second) in zip(names, pairs, strict=True)
        ]
    if cal is None:
        raise UsageError("there is nothing to fit to; expected --cal FILE --test FILE, or --pair CAL TEST")
    if (test is None) == (folds == 0):
        raise UsageError("expected either --test FILE to judge on, or --folds N to cross-validate --cal")
    if folds == 1:
        raise UsageError("--folds 1 leaves no rows to fit to; expected 2 or more")
    calibration = read(cal, options)
    return [task_of(test or cal, calibration, None if test is None else read(test, options), folds)]
