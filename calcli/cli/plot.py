"""`calcli plot`: figures of one or several files of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from calcli.cli.options import Computing, Quiet, Reading, Recalibrating, bundled, settings_of
from calcli.cli.output import emit
from calcli.core.language.declaring import items

Format = Literal["png", "svg", "pdf"]


@dataclass(frozen=True)
class Looking:
    """What figures look at."""

    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Figures in place of the standard set. Repeatable, or a list."),
    ] = None
    lens: Annotated[
        str, typer.Option(metavar="LENS", help="Such as class-1, within-top-2, class-wise; simplex: groups.")
    ] = "top-1"
    region: Annotated[
        str, typer.Option(metavar="LOW..HIGH", help="Only rows whose score lies there, as in 0.9..1.")
    ] = "all"
    binning: Annotated[
        str, typer.Option(metavar="NAME", help="equal-width, equal-mass, recursive, or by --edges.")
    ] = "equal-width"
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Also draw the figure slices of this column. Repeatable."),
    ] = None
    calibrator: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Also draw the calibration-map of this calibrator. Repeatable."),
    ] = None
    panel: Annotated[
        list[str] | None,
        typer.Option(metavar="LIST", help="epochs: metrics that share a panel. Repeatable."),
    ] = None
    smooth: Annotated[
        str, typer.Option(metavar="FILTER", help="epochs: lines by savgol:11, moving:3 or the like.")
    ] = "none"
    knots: Annotated[int, typer.Option(metavar="N", min=4, help="ks: knots of the spline in its slopes.")] = 6


@bundled
def plot(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Predictions: files, folders of parts, or - for standard input."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write the figures to.")
    ],
    looking: Looking,
    reading: Reading,
    computing: Computing,
    recalibrating: Recalibrating,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the figures.")] = "png",
    data: Annotated[
        bool, typer.Option("--data", help="Also write the numbers in each figure, as CSV.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Draw figures.

    The standard set is what fits the data of reliability and deviation diagram, KS graphs, class-wise
    diagrams or risk curves, and simplex. Several files are drawn side by side on the same scales.

    \b
    calcli plot preds.parquet -o figures
    calcli plot before.parquet after.parquet -o figures
    calcli plot preds.parquet --figure reliability --lens class-wise -o figures
    calcli plot epochs/*.parquet --figure epochs --metrics log_loss,ece -o figures
    calcli plot train/* test/* --figure epochs --smooth savgol:11 -o figures
    calcli plot preds.parquet --figure slices --by country -o figures
    calcli plot val.parquet --calibrator cal.json -o figures
    calcli plot a.csv b.csv --figure scores --metrics normalized_brier,ece -o figures
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.plot import plot_files

    settings, options = settings_of(computing, recalibrating), reading.read_options()
    with progress(shown=not quiet) as watcher:
        written = plot_files(
            files,
            output,
            options,
            settings,
            companions=recalibrating.companions(options),
            figures=[name for text in looking.figure or () for name in items(text)],
            lens=looking.lens,
            region=looking.region,
            binning=looking.binning,
            by=looking.by or (),
            calibrators=looking.calibrator or (),
            panels=[items(text) for text in looking.panel or ()],
            smooth=looking.smooth,
            knots=looking.knots,
            format=format,
            data=data,
            watcher=watcher,
        )
    emit("".join(f"{output / file}\n" for file in written))
