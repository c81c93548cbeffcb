"""`calcli plot`: figures of one or several files of predictions."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Option

from calcli.cli.command import command
from calcli.cli.options import CLUSTER, COMPUTED, FILES, CalibrationData, Engine, ReadingSystems, chosen, text
from calcli.core.language.figures import PlotSettings
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Shown


@command(page=True)
def plot(
    files: Annotated[list[str] | None, FILES] = None,
    *,
    drawing: Annotated[PlotSettings, chosen("", "figures lens by calibrators title width height style")],
    reading: ReadingSystems,
    settings: Annotated[Settings, COMPUTED, CLUSTER, chosen("What is computed", "thresholds")],
    calibration_data: CalibrationData = None,
    engine: Engine = None,
    format: Annotated[
        Literal["png", "svg", "pdf"], Option("--format", "-f", help="Format of the figures.")
    ] = "png",
    data: Annotated[bool, text(None, "Also write numbers and caption of each figure.", "--data")] = False,
    output: Annotated[
        str | None, text("DIR", "The folder to write the figures to.", "--output", "-o")
    ] = None,
    html: str | None,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Draw figures.

    Without --figure all figures that fit the data. Several files are drawn side by side on the same scales.

    \b
    calcli plot preds.parquet -o figures
    calcli plot preds.parquet --figure reliability:binning=equal-mass -o figures
    calcli plot epochs/*.parquet --figure epochs --metrics log_loss,ece -o figures
    calcli plot preds.parquet --figure slices --by country -o figures
    calcli plot val.parquet --calibrator cal.json -o figures

    Figures: reliability, deviation, class-wise, ks, corp, smooth, simplex, risk, weighted-risk,
    net-benefit, precision-recall, roc, gains, rejection, scores, epochs, slices, divergence, temperature,
    calibration-map.
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.plot import plot_files

    return plot_files(
        files or (),
        output,
        reading,
        settings,
        drawing,
        calibration_data=calibration_data,
        format=format,
        data=data,
        html=html is not None,
        engine=engine,
        watcher=watcher,
        remark=remark,
    )
