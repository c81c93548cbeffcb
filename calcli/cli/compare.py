"""`calcli compare`: is one system better than another, beyond chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calcli.cli.options import Clustering, Computing, Reading, Talking, bundled, settings_of
from calcli.cli.output import colored, emit

Format = Literal["table", "json", "markdown"]

if TYPE_CHECKING:
    from calcli.core.comparing.comparison import Plan
    from calcli.core.data.predictions import Predictions
    from calcli.core.evaluating.measurements import Watch
    from calcli.core.language.settings import Settings


@bundled
def compare(
    files: Annotated[
        list[str],
        typer.Argument(metavar="BASELINE CANDIDATE", help="Predictions of two or more systems."),
    ],
    *,
    reading: Reading,
    computing: Computing,
    talking: Talking,
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Pair rows by this column, not by their order.")
    ] = None,
    allow_unmatched: Annotated[
        bool, typer.Option("--allow-unmatched", help="Leave out rows that not all files have.")
    ] = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The files hold different cases; a weaker comparison.")
    ] = False,
    allow_other_classes: Annotated[
        bool, typer.Option("--allow-other-classes", help="Compare systems with other classes, unpaired.")
    ] = False,
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=X", help="A difference that does not matter. Repeatable."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Compare on every value of this column as well.")
    ] = None,
    clustering: Clustering,
    select: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Say which of the systems to ship, by this metric.")
    ] = None,
    seeds: Annotated[
        bool, typer.Option("--seeds", help="The files are seeds of one model: mean and sd.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="Form of the results.")] = "table",
) -> None:
    """Say whether systems differ, beyond chance.

    Rows are paired. Scores get differences with paired bootstrap intervals, calibration errors a paired
    permutation test. Several candidates are ranked, with the set that cannot be told from the best.

    \b
    calcli compare old.parquet new.parquet --margin accuracy=0.01
    calcli compare old.csv new.csv --key id --by country
    calcli compare epochs/*.parquet --select log_loss
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.comparing.comparison import Plan, parse_margins
    from calcli.core.comparing.pairing import pair, require_same_classes
    from calcli.core.language.errors import UsageError
    from calcli.io.read import read
    from calcli.report.progress import progress

    settings = settings_of(computing, clustering)
    if len(files) < 2:
        raise UsageError("compare takes a baseline and at least one candidate; only one file was given")
    if unpaired and key is not None:
        raise UsageError(f"--key {key} pairs rows and --unpaired does not; leave one out")
    systems: Sequence[Predictions] = [read(file, reading.read_options()) for file in files]
    if not allow_other_classes:
        require_same_classes(systems)
    color = colored(talking.no_color)
    if seeds:
        emit(seeds_text(systems, settings, format, color))
        return
    if select and not settings.metrics:
        settings = replace(settings, metrics=(select, "accuracy"))
    margins = parse_margins(margin or ())
    plan = Plan(not (unpaired or allow_other_classes), margins, select or "log_loss", by)
    unmatched: Sequence[int] = [0] * len(systems)
    if plan.paired:
        keep = [name for name in (by, settings.cluster) if name]
        pairing = pair(systems, key, allow_unmatched=allow_unmatched, keep=keep)
        systems, unmatched = pairing.systems, pairing.unmatched
    with progress(shown=not talking.quiet) as watcher:
        watch = watcher("comparing", sum(system.n_rows for system in systems)) if watcher else None
        text = comparison_text(systems, unmatched, settings, plan, format, select is not None, color, watch)
    emit(text)


def comparison_text(
    systems: Sequence[Predictions],
    unmatched: Sequence[int],
    settings: Settings,
    plan: Plan,
    format: Format,
    selecting: bool = False,
    color: bool = False,
    watch: Watch | None = None,
) -> str:
    """Compare systems, the baseline first, and return what is to be shown.

    Parameters
    ----------
    systems, unmatched
        Predictions, and how many rows of each were left out.
    settings, plan
        What to compare, and how.
    format
        Of the text.
    selecting
        Whether one of the systems is to be chosen.
    color
        Whether a table may be emphasized.
    watch
        Called with the number of rows done.
    """
    from calcli.core.comparing.comparison import compare
    from calcli.io.hashing import sha256
    from calcli.report.comparison import ShownComparison
    from calcli.report.shown import render

    found = compare(systems, settings, plan, watch)
    shown = ShownComparison(found, settings, plan.paired, unmatched, selecting, sha256)
    return render(shown, format, color=color)


def seeds_text(
    systems: Sequence[Predictions], settings: Settings, format: Format, color: bool = False
) -> str:
    """Return mean and spread of the metrics of one model trained with several seeds, as text."""
    from calcli.core.comparing.comparison import over_seeds
    from calcli.core.evaluating.evaluate import evaluate
    from calcli.io.hashing import sha256
    from calcli.report.comparison import ShownSeeds
    from calcli.report.shown import render

    settings = replace(settings, resamples=0, draws=0)
    evaluations = [evaluate(system, settings) for system in systems]
    return render(ShownSeeds(evaluations, over_seeds(evaluations), settings, sha256), format, color=color)
