"""`calcli plot`: figures of one or several files of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.distributing import Distributing
from calcli.cli.options import (
    Chosen,
    Computing,
    ReadingSystems,
    Recalibrating,
    among,
    option,
    settings_of,
)
from calcli.cli.output import emit, remark
from calcli.cli.showing import Html, Quiet
from calcli.core.language.declaring import checked
from calcli.core.language.figures import FIGURES, PlotSettings
from calcli.core.language.text import plain

Format = Literal["png", "svg", "pdf"]
LENSES = (
    "top-1", "top-2", "top-3", "within-top-2", "within-top-3", "class-0", "class-1", "class-wise", "marginal",
    "largest-2",
)  # fmt: skip


@dataclass(frozen=True)
class Looking(Chosen):
    """What figures look at."""

    figure: Any = option("figures", PlotSettings, completion=among(FIGURES))
    lens: Any = option("lens", PlotSettings, completion=among(LENSES))
    by: Any = option("by", PlotSettings)
    calibrator: Any = option("calibrators", PlotSettings)

    def settings(self) -> PlotSettings:
        """Return them as settings."""
        return PlotSettings(**checked(PlotSettings, self.given(), "option"))


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

    Without --figure those that fit the data. Several files are drawn side by side on the same scales.

    \b
    calcli plot preds.parquet -o figures
    calcli plot preds.parquet --figure reliability:binning=equal-mass -o figures
    calcli plot epochs/*.parquet --figure epochs --metrics log_loss,ece -o figures
    calcli plot preds.parquet --figure slices --by country -o figures
    calcli plot val.parquet --calibrator cal.json -o figures
    calcli plot a.csv b.csv --figure scores --metrics normalized_brier,ece -o figures
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.idle import idle_looks, idle_of_keys, idle_options
    from calcli.work.plot import plot_files

    settings, options = settings_of(computing, recalibrating), reading.read_options()
    calibration = recalibrating.read(options)
    drawing = looking.settings()
    grouped = settings.groups if not drawing.figures or "simplex" in drawing.figures else {drawing.lens}
    idle = idle_options(settings, calibration, (), [*drawing.figures], grouped)
    idle += idle_looks(drawing, settings) + idle_of_keys(options)
    for sentence in () if quiet else idle:
        remark(sentence)
    with progress(shown=not quiet) as watcher:
        written = plot_files(
            reading.files(files or ()),
            output,
            options,
            settings,
            drawing,
            calibration=calibration,
            format=format,
            data=data,
            html=html,
            engine=distributing.found(watcher),
            watcher=watcher,
            remark=(lambda text: None) if quiet else remark,
        )
    emit("".join(plain(f"{output.rstrip('/')}/{file}") + "\n" for file in written if output))
