"""`calcli benchmark`: every calibrator side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Reading, chosen, text
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import BenchmarkSettings, Settings
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Shown

JUDGED = chosen(
    "",
    "metrics bins seed costs priors shift_to_priors trained_at cluster",
    metrics="Metrics in place of the usual ones.",
    seed="Seed of the folds and of the tests.",
)
TRIED = chosen(
    "",
    "folds methods seeds workers",
    folds="Without --test: folds of a cross-validation, how many or their column.",
)
DETAILS = "Also show changes, times, each model and what was read."


@command("table", "json", "markdown", "csv", "latex", page=True, details=DETAILS)
def benchmark(
    *,
    cal: Annotated[str | None, text("FILE", "Predictions to fit to.", "--cal")] = None,
    test: Annotated[str | None, text("FILE", "Predictions to judge on.", "--test")] = None,
    pair: Annotated[
        list[str] | None, text("CAL TEST", "Both files of a model, for several models. Repeatable.", "--pair")
    ] = None,
    seconds: Annotated[list[str] | None, Argument(metavar="TEST", hidden=True)] = None,
    trying: Annotated[BenchmarkSettings, TRIED],
    settings: Annotated[Settings, JUDGED],
    reading: Reading,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Try every calibrator: fit to some rows, judge on others.

    Shows a row for each method; for several models mean ranks, and each model with --details. ~ marks methods
    not significantly worse than the best. If a named method fails, the exit status is 2.

    \b
    calcli benchmark --cal val.parquet --test test.parquet
    calcli benchmark --cal preds.csv --folds 5 --methods temperature,dp,isotonic
    calcli benchmark --pair a_val.npy a_test.npy --pair b_val.npy b_test.npy -f markdown
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.benchmark import benchmark_files

    # an option takes one value, so that the second file of each pair arrives among the arguments, in order
    pairs = _paired(pair or (), seconds or ())
    return benchmark_files(cal, test, pairs, reading, settings, trying, watcher, remark)


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
