"""`calcli plot`: figures of one or several files of predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.distributing import Distributing
from calcli.cli.options import (
    Computing,
    ReadingSystems,
    Recalibrating,
    Simulating,
    among,
    settings_of,
)
from calcli.cli.output import emit, remark
from calcli.cli.showing import Html, Quiet
from calcli.core.language.declaring import items, some_items, whole_numbers
from calcli.core.language.figures import FIGURES, USUAL

Format = Literal["png", "svg", "pdf"]
LENSES = (
    "top-1", "top-2", "top-3", "within-top-2", "within-top-3", "class-0", "class-1", "class-wise", "marginal",
    "largest-2",
)  # fmt: skip


@dataclass(frozen=True)
class Looking:
    """What figures look at."""

    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Figures in place of the standard set. Repeatable, or a list.",
            autocompletion=among(FIGURES),
        ),
    ] = None
    lens: Annotated[
        str,
        typer.Option(
            metavar="LENS",
            help="class-1 (two classes), top-1 (more), class-wise, ...; simplex: groups.",
            autocompletion=among(LENSES),
        ),
    ] = USUAL
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
    p_values: Annotated[
        bool, typer.Option("--p-values", help="epochs: calibration errors are followed by their p-values.")
    ] = False
    seeds: Annotated[
        bool, typer.Option("--seeds", help="epochs: folders are runs of one model, drawn with their mean.")
    ] = False
    select: Annotated[
        str | None, typer.Option(metavar="METRIC", help="epochs: mark what this metric chooses.")
    ] = None
    select_on: Annotated[
        str | None, typer.Option(metavar="DIR|GLOB", help="epochs: the files on which --select chooses.")
    ] = None
    knots: Annotated[
        int | None,
        typer.Option(metavar="N", min=4, help="ks: knots of the spline in its slopes; 6 by default."),
    ] = None
    compare_bins: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="reliability, deviation: a panel for each number of bins, such as 5,15,30."
        ),
    ] = None


@bundled
def plot(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Predictions: files, folders of parts, or - for standard input."),
    ] = None,
    *,
    looking: Looking,
    reading: ReadingSystems,
    computing: Computing,
    simulating: Simulating,
    recalibrating: Recalibrating,
    distributing: Distributing,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the figures.")] = "png",
    data: Annotated[
        bool, typer.Option("--data", help="Also write the numbers in each figure as CSV, and its caption.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="DIR", help="The folder to write the figures to."),
    ] = None,
    html: Html = None,
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
    calcli plot preds.parquet --figure reliability --compare-bins 5,15,30,60 -o figures
    calcli plot a.csv b.csv --figure scores --metrics normalized_brier,ece -o figures
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.idle import idle_options
    from calcli.work.plot import plot_files

    settings, options = settings_of(computing, simulating, recalibrating), reading.read_options()
    companions = recalibrating.companions(options)
    numbers = some_items("--compare-bins", looking.compare_bins)
    bins = whole_numbers("5,15,30,60").checked("--compare-bins", numbers) if numbers else ()
    figures = [name for text in looking.figure or () for name in items(text)]
    grouped = settings.groups if not figures or "simplex" in figures else {looking.lens}
    drawn = [name for name in figures if name in FIGURES]  # of others a fault is told
    shared = [item for text in looking.panel or () for item in items(text)]
    asked = replace(settings, metrics=(*settings.metrics, *shared))
    for sentence in () if quiet else idle_options(asked, companions, (), drawn, grouped):
        remark(sentence)
    with progress(shown=not quiet) as watcher:
        written = plot_files(
            reading.files(files or ()),
            output,
            options,
            settings,
            companions=companions,
            figures=figures,
            lens=looking.lens,
            region=looking.region,
            binning=looking.binning,
            by=looking.by or (),
            calibrators=looking.calibrator or (),
            panels=[items(text) for text in looking.panel or ()],
            smooth=looking.smooth,
            knots=looking.knots,
            p_values=looking.p_values,
            seeds=looking.seeds,
            select=looking.select,
            select_on=looking.select_on,
            bins=bins,
            format=format,
            data=data,
            html=html,
            engine=distributing.found(watcher),
            watcher=watcher,
            remark=(lambda text: None) if quiet else remark,
        )
    emit("".join(f"{output.rstrip('/')}/{file}\n" for file in written if output))
