"""`calcli threshold`: the confidence above which an error rate is promised."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Reading, chosen, text
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import ThresholdSettings
from calcli.report.progress import Remark
from calcli.report.shown import Shown


@command("table", "json", "markdown", "csv", "latex")
def threshold(
    *,
    files: Annotated[
        list[str],
        Argument(metavar="FILE", help="Predictions that no calibrator was fitted to; several are one."),
    ],
    settings: Annotated[
        ThresholdSettings, chosen("What is promised", "max_error level by target cluster seed")
    ],
    output: Annotated[
        str | None, text("FILE", "Where to write the threshold: JSON.", "--output", "-o")
    ] = None,
    reading: Reading,
    remark: Remark,
) -> Shown:
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

    if output == "-":
        raise UsageError("-o - is not the name of a file; --format json has the threshold")
    return threshold_file(files, reading, settings, output, remark)
