"""`calcli benchmark`: every calibrator side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import N_OR_COLUMN, Chosen, Reading, among, option, settings_of
from calcli.cli.output import remark
from calcli.cli.showing import Paging
from calcli.core.language.declaring import checked
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import BenchmarkSettings

Format = Literal["table", "json", "markdown", "csv", "latex"]


@dataclass(frozen=True)
class Measuring(Chosen):
    """What the methods are judged by."""

    metrics: Any = option("metrics", help="Metrics in place of the usual ones.", completion=among(METRICS))
    bins: Any = option("bins")
    seed: Any = option("seed", help="Seed of the folds and of the tests.")
    costs: Any = option("costs")
    priors: Any = option("priors")
    shift_to_priors: Any = option("shift_to_priors")
    trained_at: Any = option("trained_at")
    cluster: Any = option("cluster")


@dataclass(frozen=True)
class Trying(Chosen):
    """Which methods are tried, and on which rows."""

    folds: Any = option(
        "folds",
        BenchmarkSettings,
        "Without --test: folds of a cross-validation, how many or their column.",
        metavar=N_OR_COLUMN,
    )
    methods: Any = option("methods", BenchmarkSettings)
    seeds: Any = option("seeds", BenchmarkSettings)
    workers: Any = option("workers", BenchmarkSettings)

    def settings(self) -> tuple[BenchmarkSettings, str | None]:
        """Return them as settings, and the column of the folds, if there is one."""
        given = self.given()
        column = given.pop("fold_column", None)
        return BenchmarkSettings(**checked(BenchmarkSettings, given, "option")), column


@bundled
def benchmark(
    *,
    cal: Annotated[str | None, typer.Option("--cal", metavar="FILE", help="Predictions to fit to.")] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="FILE", help="Predictions to judge on.")
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair", metavar="CAL TEST", help="Both files of a model, for several models. Repeatable."
        ),
    ] = None,
    seconds: Annotated[list[str] | None, typer.Argument(metavar="TEST", hidden=True)] = None,
    trying: Trying,
    measuring: Measuring,
    details: Annotated[
        bool, typer.Option("--details", help="Also show changes, times, each model and what was read.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
    reading: Reading,
    paging: Paging,
) -> None:
    """Try every calibrator: fit to some rows, judge on others.

    A row for each method; of several models mean ranks, with each model under --details. ~ marks methods that
    are not significantly worse than the best. If a method that was named fails, the status is 2.

    \b
    calcli benchmark --cal val.parquet --test test.parquet
    calcli benchmark --cal preds.csv --folds 5 --methods temperature,dp,isotonic
    calcli benchmark --pair a_val.npy a_test.npy --pair b_val.npy b_test.npy -f markdown
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.benchmark import benchmark_files
    from calcli.work.idle import idle_options

    # an option takes one value, so that the second file of each pair arrives among the arguments, in order
    pairs = _paired(pair or (), seconds or ())
    tried, column = trying.settings()
    settings = replace(settings_of(measuring), fold_column=column)
    for sentence in () if paging.quiet else idle_options(settings):
        remark(sentence)
    with progress(shown=not paging.quiet) as watcher:
        found = benchmark_files(
            cal,
            test,
            pairs,
            reading.read_options(),
            settings,
            tried,
            watcher=watcher,
        )
    paging.page(replace(found, details=True))
    if format == "csv" and not paging.quiet:
        for sentence in found.reading():
            remark(sentence)
    paging.show(replace(found, details=details), format)
    if trying.methods and (failed := found.failures()):
        for sentence in failed:
            remark(sentence)
        raise typer.Exit(2)


def _paired(firsts: Sequence[str], seconds: Sequence[str]) -> list[tuple[str, str]]:
    """Return the two files of each `--pair`.

    Raises
    ------
    UsageError
        If a file is missing, or one is left over.
    """
    if len(firsts) != len(seconds):
        raise UsageError(
            f"{len(firsts)} times --pair and {len(seconds)} second files; expected --pair CAL TEST for each "
            "model, or --cal FILE --test FILE"
        )
    return list(zip(firsts, seconds, strict=True))
