"""`calcli threshold`: the confidence, or the probability of a class, above which a rate is promised."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Reading, chosen, text
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import ThresholdSettings
from calcli.core.language.text import Watcher
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
        ThresholdSettings,
        chosen("What is promised", "max_error min_precision min_recall max_alerts level by cluster seed"),
    ],
    output: Annotated[
        str | None, text("FILE", "Where to write the threshold: JSON.", "--output", "-o")
    ] = None,
    reading: Reading,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Find the threshold that promises a rate of errors, hits or alerts.

    --max-error finds one on the confidence, --min-precision, --min-recall and --max-alerts one on the
    probability of a class. The promise is true with a probability of --level over validation sets. It needs
    independent rows to which no calibrator was fitted. If nothing can be promised, nothing is written and the
    exit status is 1.

    \b
    calcli threshold val.parquet --max-error 0.05 -o threshold.json
    calcli apply threshold.json new.parquet -o answered.parquet
    calcli check labelled.parquet --threshold threshold.json
    calcli threshold val.parquet --min-recall fraud=0.8
    calcli threshold val.parquet --max-alerts fraud=2%
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.threshold import threshold_file

    if output == "-":
        raise UsageError("-o - is not the name of a file; --format json has the threshold")
    return threshold_file(files, reading, settings, output, watcher, remark)
