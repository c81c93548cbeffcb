"""`calcli threshold`: the confidence above which an error rate is promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Chosen, Reading, option
from calcli.cli.output import remark
from calcli.cli.showing import Talking
from calcli.core.language.declaring import checked
from calcli.core.language.settings import ThresholdSettings

Format = Literal["table", "json", "markdown", "csv", "latex"]


@dataclass(frozen=True)
class Promising(Chosen):
    """What is promised, and of which rows."""

    heading = "What is promised"

    max_error: Any = option("max_error", ThresholdSettings)
    level: Any = option("level", ThresholdSettings)
    by: Any = option("by", ThresholdSettings)
    target: Any = option("target", ThresholdSettings)
    cluster: Any = option("cluster", ThresholdSettings)
    seed: Any = option("seed", ThresholdSettings)


@bundled
def threshold(
    *,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Predictions that no calibrator was fitted to; several are one."),
    ],
    promising: Promising,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the threshold: JSON.")
    ] = None,
    reading: Reading,
    talking: Talking,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
) -> None:
    """Find the confidence from which on an error rate is promised.

    With a probability of --level over validation sets, the error rate among rows with a confidence of at
    least the threshold is at most --max-error. That needs independent rows that no calibrator was fitted to.
    If nothing can be promised nothing is written, and the exit status is 1.

    \b
    calcli threshold val.parquet --max-error 0.05 -o threshold.json
    calcli apply threshold.json new.parquet -o answered.parquet
    calcli check labelled.parquet --threshold threshold.json
    calcli threshold val.parquet --max-error 0.1 --target precision:spam
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.threshold import threshold_file

    settings = ThresholdSettings(**checked(ThresholdSettings, promising.given(), "option"))
    report = threshold_file(files, reading.read_options(), settings, output)
    talking.show(report, format)
    if report.exit_status:
        raise typer.Exit(report.exit_status)
    if output not in (None, "-") and not talking.quiet:
        remark(f"wrote {output}; mark the rows at or above it with calcli apply {output} FILE -o OUT")
