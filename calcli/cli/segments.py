"""`calcli segments`: for whom are the probabilities off, beyond chance?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Chosen, Reading, option
from calcli.cli.showing import Paging
from calcli.core.language.declaring import checked
from calcli.core.language.settings import SegmentSettings


@dataclass(frozen=True)
class Segmenting(Chosen):
    """Which segments are looked at, and how."""

    heading = "Which segments"

    columns: Any = option("columns", SegmentSettings)
    parts: Any = option("parts", SegmentSettings)
    depth: Any = option("depth", SegmentSettings)
    min_rows: Any = option("min_rows", SegmentSettings)
    after: Any = option("after", SegmentSettings)
    metric: Any = option("metric", SegmentSettings)
    cluster: Any = option("cluster", SegmentSettings)
    level: Any = option("level", SegmentSettings)
    draws: Any = option("draws", SegmentSettings)
    seed: Any = option("seed", SegmentSettings)


@bundled
def segments(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Predictions with columns; several files are one.")
    ],
    *,
    segmenting: Segmenting,
    reading: Reading,
    paging: Paging,
    details: Annotated[bool, typer.Option("--details", help="Show every segment.")] = False,
    format: Annotated[
        Literal["table", "json", "markdown", "csv", "latex"],
        typer.Option("--format", "-f", help="Format of the results."),
    ] = "table",
) -> None:
    """Find segments whose probabilities are off beyond chance.

    Of two classes it is the probability of the second one, else the confidence, or of --against-rest a class.
    Of calibrated data sets at most 5% have any segment found. "Nothing beyond chance" is an answer.

    \b
    calcli segments preds.parquet --columns country,device,age
    calcli segments preds.csv --columns sex,age --parts 4 --html segments.html
    calcli segments preds.csv --columns country --cluster user --after none
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.segments import segments_files

    settings = SegmentSettings(**checked(SegmentSettings, segmenting.given(), "option"))
    found = segments_files(files, reading.read_options(), settings)
    paging.page(replace(found, details=True))
    paging.show(replace(found, details=details), format)
