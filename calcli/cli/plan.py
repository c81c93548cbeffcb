"""`calcli plan`: how many rows does a decision need?"""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Pairing, ReadingSystems, chosen, text
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watcher
from calcli.report.shown import Shown


@command("table", "json", "markdown")
def plan(
    files: Annotated[list[str], Argument(metavar="OLD NEW", help="Predictions of two systems, or of one.")],
    *,
    reading: ReadingSystems,
    settings: Annotated[Settings, chosen("What is computed", "cluster level")],
    pairing: Pairing,
    margin: Annotated[
        list[str] | None, text("METRIC=X,...", "Differences that do not matter; X% is of OLD.")
    ] = None,
    metric: Annotated[
        str | None, text("METRIC", "The metric, if no margin names it: log_loss, of outcomes accuracy.")
    ] = None,
    half_width: Annotated[str | None, text("X", "Of one file: half the width of its interval.")] = None,
    detect: Annotated[str | None, text("X", "A difference to see, two-sided, at a power of 80%.")] = None,
    watcher: Watcher,
) -> Shown:
    """Find how many rows a decision needs, before you label more.

    The files, such as those of a pilot study, show how much the rows vary.

    \b
    calcli plan old.parquet new.parquet --margin log_loss=1%
    calcli plan preds.parquet --metric log_loss --half-width 0.01
    calcli plan a_run.jsonl b_run.jsonl --detect 0.02
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.plan import plan_files

    wanted = {"metric": metric, "half_width": half_width, "detect": detect}
    return plan_files(files, reading, settings, pairing, margins=margin or (), watcher=watcher, **wanted)
