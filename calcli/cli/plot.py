"""`calcli plot`: figures of one or several files of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calcli.cli.options import Computing, Quiet, Reading, bundled, settings_of
from calcli.cli.output import emit
from calcli.core.language.declaring import items

if TYPE_CHECKING:
    from calcli.core.evaluating.results import Evaluation
    from calcli.core.language.entries import FigureKind
    from calcli.core.language.settings import Settings
    from calcli.figures import View
    from calcli.io.options import ReadOptions
    from calcli.report.progress import Watcher

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
        str, typer.Option(metavar="NAME", help="equal-width, equal-mass, or by --edges; simplex: recursive.")
    ] = "equal-width"
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Also draw the figure slices of this column. Repeatable."),
    ] = None
    calibrator: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Also draw the calibration-map of this calibrator. Repeatable."),
    ] = None

    def kinds(self) -> list[FigureKind]:
        """Return the figures that were asked for.

        Raises
        ------
        UsageError
            If there is no figure of some name.
        """
        from calcli.core.language.figures import find_figures

        names = [name for text in self.figure or () for name in items(text)]
        names += ["slices"] if self.by else []
        names += ["calibration-map"] if self.calibrator else []
        return find_figures(names)

    def view(self, settings: Settings) -> View:
        """Return how to look at evaluations with these settings.

        Raises
        ------
        UsageError
            If the region makes no sense.
        InputError
            If a calibrator cannot be read.
        """
        from calcli.core.language.expressions import checked_region
        from calcli.figures import View
        from calcli.io.calibrators import load_calibrator

        return View(
            self.lens,
            self.binning,
            settings.draws,
            self.region if self.region == "all" else checked_region("--region", self.region),
            settings.metrics,
            tuple(self.by or ()),
            {name: load_calibrator(file) for name, file in named(self.calibrator or ()).items()},
        )


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
    calcli plot preds.parquet --figure slices --by country -o figures
    calcli plot val.parquet --calibrator cal.json -o figures
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.language.figures import FIGURES, refuse_binning, refuse_more_systems
    from calcli.io.folder import filled_folder
    from calcli.report.progress import progress

    settings = settings_of(computing)
    view, kinds = looking.view(settings), looking.kinds()
    refuse_more_systems(kinds if looking.figure else [FIGURES["reliability"], *kinds], len(files))
    refuse_binning(kinds if looking.figure else [FIGURES["reliability"]], view.binning)
    with filled_folder(output) as folder:
        with progress(shown=not quiet) as watcher:
            evaluations = evaluate_files(files, reading.read_options(), settings, kinds, watcher)
        names = [kind.name for kind in kinds]
        if not looking.figure:
            names = [*standard_names_of(evaluations, view), *names]
        written = write_figures(names, evaluations, view, folder, format, data=data)
    emit("".join(f"{output / file}\n" for file in written))


def evaluate_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    kinds: Sequence[FigureKind],
    watcher: Watcher | None = None,
) -> dict[str, Evaluation]:
    """Read files and evaluate what figures need of each, by its short name.

    Parameters
    ----------
    files, options
        What to read, and how.
    settings
        How to evaluate.
    kinds
        The figures whose metrics are needed.
    watcher
        Starts a progress bar.
    """
    from calcli.core.curves.views import metrics_of
    from calcli.core.evaluating.evaluate import evaluate
    from calcli.io.read import read

    evaluations = {}
    for name, file in named(files).items():
        predictions = read(file, options)
        wanted = replace(settings, metrics=metrics_of(kinds, predictions, settings))
        watch = watcher(name, predictions.n_rows) if watcher else None
        evaluations[name] = evaluate(predictions, wanted, watch)
    return evaluations


def named(files: Sequence[str]) -> dict[str, str]:
    """Return files by their names, from the folder that they share if some have the same one.

    Raises
    ------
    UsageError
        If one is there twice.
    """
    from calcli.core.language.errors import UsageError
    from calcli.report.summary import short_names

    names = [Path(file).name for file in files]
    if len(set(names)) < len(names):
        names = short_names(files)
    found = dict(zip(names, files, strict=True))
    if len(found) < len(files):
        repeated = next(file for file in files if file not in found.values() or files.count(file) > 1)
        raise UsageError(f"{repeated} is given twice; expected different files")
    return found


def standard_names_of(evaluations: Mapping[str, Evaluation], view: View) -> list[str]:
    """Return the names of the standard figures that fit all evaluations."""
    from calcli.core.language.figures import standard_names

    classes = {found.predictions.n_classes for found in evaluations.values()}
    fitting = [standard_names(k, view.lens, view.region) for k in sorted(classes)]
    return [name for name in fitting[0] if all(name in names for names in fitting)]


def write_figures(
    names: Sequence[str],
    evaluations: Mapping[str, Evaluation],
    view: View,
    folder: Path,
    format: Format,
    *,
    data: bool,
) -> list[str]:
    """Draw figures into a folder and return the names of the files.

    Parameters
    ----------
    names
        The figures.
    evaluations, view
        What they show, and how.
    folder, format
        Where to write them, and as what.
    data
        Whether to write their numbers beside them.
    """
    from calcli.figures import draw, save
    from calcli.report.shown import csv_text

    written = []
    for name in names:
        drawing = draw(name, evaluations, view)
        written.append(f"{name}.{format}")
        save(drawing.figure, folder / written[-1])
        if data:
            written.append(f"{name}.csv")
            (folder / written[-1]).write_text(csv_text(drawing.records()), encoding="utf-8")
    return written
