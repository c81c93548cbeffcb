"""`calcli segments`: for whom are the probabilities off, beyond chance?"""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Reading, chosen
from calcli.core.language.settings import SegmentSettings
from calcli.report.shown import Shown

SETTINGS = "columns parts depth min_rows after metric cluster level draws seed"


@command("table", "json", "markdown", "csv", "latex", page=True, details="Show every segment.")
def segments(
    files: Annotated[
        list[str], Argument(metavar="FILE", help="Predictions with columns; several files are one.")
    ],
    *,
    settings: Annotated[SegmentSettings, chosen("Which segments", SETTINGS)],
    reading: Reading,
) -> Shown:
    """Find segments with probabilities that are off beyond chance.

    It tests the probability of the second of two classes, else the confidence; --against-rest picks a class.
    At most 5% of calibrated data sets have any segment found. "Nothing beyond chance" is an answer.

    \b
    calcli segments preds.parquet --columns country,device,age
    calcli segments preds.csv --columns sex,age --parts 4 --html segments.html
    calcli segments preds.csv --columns country --cluster user --after none
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.segments import segments_files

    return segments_files(files, reading, settings)
