"""Figures of files of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from calcli.core.curves.cumulative import KNOTS
from calcli.core.curves.needs import lenses_of, metrics_of
from calcli.core.curves.smoothing import smoother
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.entries import FigureKind
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import checked_region
from calcli.core.language.figures import (
    FIGURES,
    find_figures,
    refuse_binning,
    refuse_more_systems,
    standard_names,
)
from calcli.core.language.progress import Watcher, unwatched
from calcli.core.language.settings import Settings
from calcli.figures import View, draw, save
from calcli.io.atomic import filled_folder
from calcli.io.calibrators import load_calibrator
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.report.shown import csv_text
from calcli.report.summary import short_names


def plot_files(
    files: Sequence[str],
    output: Path,
    options: ReadOptions,
    settings: Settings,
    *,
    companions: Companions | None = None,
    figures: Sequence[str] = (),
    lens: str = "top-1",
    region: str = "all",
    binning: str = "equal-width",
    by: Sequence[str] = (),
    calibrators: Sequence[str] = (),
    panels: Sequence[Sequence[str]] = (),
    smooth: str = "none",
    knots: int = KNOTS,
    format: str = "png",
    data: bool = False,
    watcher: Watcher = unwatched,
) -> list[str]:
    """Draw figures of files into a folder, side by side on the same scales.

    Parameters
    ----------
    files, output
        Predictions, and the folder.
    options, settings
        How to read and to evaluate them.
    companions
        Predictions that some metrics need beside them.
    figures
        Their names; empty for the standard set.
    lens, region, binning
        What they look at; see `View`.
    by
        Columns whose slices are drawn as well.
    calibrators
        Files of calibrators whose maps are drawn as well.
    panels, smooth
        Metrics that share a panel over epochs, and the lines there.
    knots
        Of the spline in KS graphs.
    format
        "png", "svg" or "pdf".
    data
        Whether to write the numbers in each figure beside it.
    watcher
        Starts a progress bar.

    Returns
    -------
    The names of the files written.

    Raises
    ------
    InputError
        If a file cannot be read or written.
    UsageError
        If a figure is unknown, or does not fit the files or the settings.
    """
    maps = {name: load_calibrator(file) for name, file in _named(calibrators).items()}
    region = region if region == "all" else checked_region("--region", region)
    settings = _with_panels(settings, figures, panels, smooth)
    shared = tuple(map(tuple, panels))
    view = View(
        lens, binning, settings.draws, region, settings.metrics, tuple(by), maps, smooth, shared, knots
    )
    more = [*(["slices"] if by else []), *(["calibration-map"] if maps else [])]
    kinds = find_figures([*figures, *more])
    refuse_more_systems(kinds if figures else [FIGURES["reliability"], *kinds], len(files))
    refuse_binning(kinds if figures else [FIGURES["reliability"]], binning)
    with filled_folder(output) as folder:
        drawn = kinds if figures else FIGURES.values()
        evaluations = _evaluations(files, options, settings, companions, kinds, drawn, lens, watcher)
        names = [kind.name for kind in kinds]
        if not figures:
            names = [*_standard(evaluations.values(), view), *names]
        written = []
        for name in names:
            written += _write(name, evaluations, view, folder, format, data=data)
    return written


def _with_panels(
    settings: Settings, figures: Sequence[str], panels: Sequence[Sequence[str]], smooth: str
) -> Settings:
    """Return the settings with the metrics of panels; what is said of panels and lines is checked."""
    smoother(smooth)
    if (panels or smooth != "none") and "epochs" not in figures:
        raise UsageError(f"{'--panel' if panels else '--smooth'} goes with --figure epochs")
    if not panels:
        return settings
    if settings.metrics:
        raise UsageError("--panel names the metrics; leave out --metrics")
    return replace(settings, metrics=tuple(dict.fromkeys(name for panel in panels for name in panel)))


def _evaluations(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    companions: Companions | None,
    kinds: Sequence[FigureKind],
    drawn: Iterable[FigureKind],
    lens: str,
    watcher: Watcher,
) -> dict[str, Evaluation]:
    """Read files and evaluate what figures need of each, by its short name."""
    evaluations = {}
    for name, file in _named(files).items():
        predictions = read(file, options)
        wanted = replace(settings, metrics=metrics_of(kinds, predictions, settings))
        watch = watcher(name, predictions.n_rows)
        lenses = lenses_of(drawn, predictions, lens, settings)
        evaluations[name] = evaluate(predictions, wanted, watch, companions, lenses)
    return evaluations


def _named(files: Sequence[str]) -> dict[str, str]:
    """Return files by their names, from the folder that they share if some have the same one."""
    names = [Path(file).name for file in files]
    if len(set(names)) < len(names):
        names = short_names(files)
    found = dict(zip(names, files, strict=True))
    if len(found) < len(files):
        repeated = next(file for file in files if file not in found.values() or files.count(file) > 1)
        raise UsageError(f"{repeated} is given twice; expected different files")
    return found


def _standard(evaluations: Iterable[Evaluation], view: View) -> list[str]:
    """Return the names of the standard figures that fit all evaluations."""
    classes = {found.predictions.n_classes for found in evaluations}
    fitting = [standard_names(k, view.lens, view.region) for k in sorted(classes)]
    return [name for name in fitting[0] if all(name in names for names in fitting)]


def _write(
    name: str, evaluations: Mapping[str, Evaluation], view: View, folder: Path, format: str, *, data: bool
) -> list[str]:
    drawing = draw(name, evaluations, view)
    written = [f"{name}.{format}"]
    save(drawing.figure, folder / written[0])
    if data:
        written.append(f"{name}.csv")
        (folder / written[1]).write_text(csv_text(drawing.records()), encoding="utf-8")
    return written
