"""Figures of predictions in Python, which a notebook shows, and of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from calcli.core.curves.needs import extra_lenses_of, metrics_of, shown_metrics
from calcli.core.curves.series import keep_slices, smoother
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Evaluation, Input
from calcli.core.language.declaring import PATH, TEXT, declared, documented, items, mapping
from calcli.core.language.entries import FigureKind
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import checked_region, parse_metrics
from calcli.core.language.figures import (
    AUTO,
    FIGURES,
    PlotSettings,
    ViewSettings,
    find_figures,
    parse_figures,
    refuse_binning,
    refuse_more_systems,
    refuse_unknown_options,
    standard_names,
)
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch, Watcher, unwatched
from calcli.figures import Drawing, View, draw
from calcli.figures.drawing import system_name, viewed
from calcli.figures.style import Appearance, appearing, style_of
from calcli.io.dataset import files_of_systems
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import filled_folder, together
from calcli.io.places.paths import name_and_path
from calcli.io.read import label_by_label
from calcli.io.saved.calibrators import load_calibrator
from calcli.report.files import short_names
from calcli.report.page import Figures
from calcli.report.pictures import picture
from calcli.report.progress import Remark, unsaid
from calcli.report.shown import csv_text
from calcli.work.distributed import engine_of, predictions_in
from calcli.work.evaluate import evaluation_of, read_calibration_data
from calcli.work.idle import idle_of_figures, idle_of_keys, idle_options

USUAL_FIGURES = PlotSettings()
SYSTEMS = mapping('predictions by names that are text, such as {"test": predictions}')
TOLD = 8  # most files whose reading is reported; of more, only the first


@documented(ViewSettings)
def plot(
    data: Any,
    labels: Any = None,
    *,
    figure: str = "reliability",
    calibrator: Any = None,
    view: View | None = None,
    **settings: Any,
) -> Drawing:
    """Draw a figure.

    Parameters
    ----------
    data, labels
        Predictions, as `evaluate` takes them; or several by name, side by side on the same scales.
    figure : str
        A name that `calcli explain` lists, with arguments if any, as in reliability:binning=equal-mass.
    calibrator : path or sequence of paths, optional
        Calibrator files, for the figure calibration-map.
    view : View, optional
        How to look at it, if the keywords of `View` are not given directly.
    {ViewSettings}
    **settings
        As for `evaluate`.

    Returns
    -------
    Drawing
        The figure with its numbers; a notebook shows it.

    Raises
    ------
    InputError
        If these cannot be predictions, or a calibrator cannot be read.
    UsageError
        If the figure or a setting is unknown, or does not fit.
    """
    several = isinstance(data, Mapping) and labels is None
    systems = SYSTEMS.checked("data", data) if several else {"": data}
    if not systems:
        raise UsageError("data holds no predictions; expected one or more, by their names")
    if not isinstance(view, View | None):
        raise UsageError(f"view is of type {type(view).__name__}; expected a View of calcli.figures")
    ((name, arguments),) = parse_figures([[TEXT.checked("figure", figure)]]).items()
    kind = FIGURES[name]
    options = {name: settings.pop(name) for name in declared(ViewSettings) if name in settings}
    refuse_unknown_options(kind, options.keys() - {"lens", "by"})
    options = arguments | options
    options |= {name: settings[name] for name in ("draws", "metrics") if name in settings}
    options |= {"metrics": items(options["metrics"])} if isinstance(options.get("metrics"), str) else {}
    if calibrator is not None:
        files = calibrator if isinstance(calibrator, list | tuple) else [calibrator]
        files = [PATH.checked("calibrator", file) for file in files]
        options["calibrators"] = {Path(file).name: load_calibrator(file) for file in files}
    view = viewed(view or View(), **options)
    drawing = PlotSettings({kind.name: {}}, view.lens, view.by)

    def idle(chosen: Settings, calibration: Predictions | None) -> list[str]:
        sentences = idle_options(chosen, calibration, (), (name,), {view.lens, *chosen.groups})
        return sentences + idle_of_figures(drawing, chosen)

    if kind.metrics:
        settings = {"metrics": kind.metrics, **settings}
    evaluations = {name: evaluation_of(system, labels, settings, idle)[1] for name, system in systems.items()}
    by_name = evaluations if several else {system_name(e): e for e in evaluations.values()}
    return draw(name, by_name, view)


@label_by_label
@together()
def plot_files(
    files: Sequence[str],
    output: str | None,
    options: ReadOptions,
    settings: Settings,
    drawing: PlotSettings = USUAL_FIGURES,
    *,
    calibration_data: str | None = None,
    format: str = "png",
    data: bool = False,
    html: bool = False,
    engine: str | None = None,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> Figures:
    """Draw figures of files into a folder or on a page, side by side on the same scales.

    Parameters
    ----------
    files, output
        Predictions, and the folder, if any.
    options, settings, drawing
        How to read and to evaluate them, and what to draw.
    calibration_data
        A file with rows that recalibrations are fitted to.
    format
        "png", "svg" or "pdf".
    data
        Whether to write the numbers in each figure and its caption beside it.
    html
        Whether there will be a page with all figures.
    engine
        Makes states of the parts of files in workers, which are then drawn; None to read here.
    watcher
        Starts a progress bar.
    remark
        Called with notes that a figure does not show.

    Raises
    ------
    InputError
        If a file cannot be read or written.
    UsageError
        If a figure is unknown, or does not fit the files or the settings.
    """
    calibrators = {name: load_calibrator(file) for name, file in _named(drawing.calibrators).items()}
    calibration = read_calibration_data(calibration_data, options)
    settings = settings if calibration is None else replace(settings, training="held-out")
    grouped = settings.groups if not drawing.figures or "simplex" in drawing.figures else {drawing.lens}
    idle = idle_options(settings, calibration, (), [*drawing.figures], grouped)
    for sentence in idle + idle_of_figures(drawing, settings) + idle_of_keys(options):
        remark(sentence)
    files = files_of_systems(files, options)
    settings = _asked_for(settings, drawing)
    view = View(
        drawing.lens, by=drawing.by, draws=settings.draws, metrics=settings.metrics, calibrators=calibrators
    )
    extra = [*(["slices"] if drawing.by else []), *(["calibration-map"] if drawing.calibrators else [])]
    kinds = find_figures([*drawing.figures, *extra])
    _refuse_unshown(kinds, files, drawing)
    if output is None and (data or not html):
        raise UsageError("say where to write the figures: -o DIR, or --html FILE without --data")
    standard = not drawing.figures
    reader = engine_of(engine, watcher)
    by_name = _named(files)
    title = drawing.title or ""
    if title and len(by_name) == 1:
        by_name, title = {title: files[0]}, ""
    wanted = Appearance(title, drawing.width, drawing.height, style_of(drawing.style))
    with appearing(wanted), filled_folder(output) if output else nullcontext() as folder:
        evaluations = {}
        for name, file in by_name.items():
            predictions = predictions_in([file], options, reader, partial(_needed, kinds, settings))
            watch = watcher(name, predictions.n_rows)
            evaluations[name] = _evaluation(predictions, settings, calibration, kinds, view, watch, standard)
        inputs = [evaluation.summary.input for evaluation in evaluations.values()]
        names = [kind.name for kind in kinds]
        if standard:
            names = [*_fitting(_standard(evaluations.values(), view), len(evaluations), remark), *names]
        written, pictures = [], []
        views = {name: replace(view, **drawing.figures.get(name, {})) for name in names}
        for name, figure in _drawn(views, evaluations, None if drawing.figures else remark):
            if html:
                pictures.append(picture(name, figure))
            if folder:
                written += _write(name, figure, folder, format, remark, data=data)
    _tell_reading(inputs, remark)
    return Figures(list(evaluations), [f"{(output or '').rstrip('/')}/{name}" for name in written], pictures)


def _asked_for(settings: Settings, drawing: PlotSettings) -> Settings:
    """Return the settings with the requests of figures; raise an error for impossible ones."""
    epochs = drawing.figures.get("epochs", {})
    smoother(epochs.get("smooth", "none"))
    for name, options in drawing.figures.items():
        if "region" in options:
            checked_region(name, options["region"])
        refuse_binning([FIGURES[name]], options.get("binning", AUTO))
    return _tested(settings) if epochs.get("p_values") else settings


def _needed(kinds: Sequence[FigureKind], settings: Settings, predictions: Predictions) -> Settings:
    """Return the settings with the metrics that figures need."""
    return replace(settings, metrics=metrics_of(kinds, predictions, settings))


def _evaluation(
    predictions: Predictions,
    settings: Settings,
    calibration: Predictions | None,
    kinds: Sequence[FigureKind],
    view: View,
    watch: Watch | None,
    standard: bool,
) -> Evaluation:
    """Evaluate predictions for figures, and for the standard figures if requested."""
    usual = standard_names(predictions.n_classes, view.lens, view.region) if standard else ()
    extra_lenses = extra_lenses_of([*find_figures(usual), *kinds], predictions, view.lens, settings)
    evaluation = evaluate(
        predictions, _needed(kinds, settings, predictions), watch, calibration, extra_lenses
    )
    if FIGURES["slices"] in kinds:
        keep_slices(evaluation, view.by, shown_metrics("slices", evaluation, view.metrics))
    return evaluation


def _drawn(
    views: Mapping[str, View], evaluations: Mapping[str, Evaluation], remark: Remark | None
) -> Iterator[tuple[str, Drawing]]:
    """Yield figures by name; with a watcher, figures that a state cannot show are left out."""
    for name, view in views.items():
        try:
            yield name, draw(name, evaluations, view)
        except NeedsRows:
            if remark is None:
                raise
            remark(f"the figure {name} needs rows, which a state does not keep, and is left out")


def _refuse_unshown(kinds: Sequence[FigureKind], files: Sequence[str], drawing: PlotSettings) -> None:
    """Raise a UsageError for files and systems that figures cannot show, and for missing files."""
    if not files:
        raise UsageError("there is nothing to draw; name a file, a folder, or - for standard input")
    usual = [] if drawing.figures else [FIGURES["reliability"]]
    refuse_more_systems([*usual, *kinds], len(files))


def _tested(settings: Settings) -> Settings:
    """Return the settings with a test of every error that is drawn, also class-wise ones."""
    metrics = parse_metrics(settings.metrics or FIGURES["epochs"].metrics, settings.defaults)
    class_wise = any(metric.is_class_wise for metric in metrics)
    return replace(settings, test=settings.test or class_wise)


def _named(files: Sequence[str]) -> dict[str, str]:
    """Return files by name, or by path from their common folder if names repeat."""
    names = [name_and_path(file)[0] or Path(file).name for file in files]
    if len(set(names)) < len(names):
        names = short_names(files)
    by_name = dict(zip(names, files, strict=True))
    if len(by_name) < len(files):
        repeated = next(file for file in files if file not in by_name.values() or files.count(file) > 1)
        raise UsageError(f"{repeated} is given twice; expected different files")
    return by_name


def _fitting(names: Sequence[str], systems: int, remark: Remark) -> list[str]:
    """Return the standard figures that can show this number of systems, and remark on the others."""
    limits = {name: FIGURES[name].most_systems for name in names}
    for name in names:
        if systems > limits[name]:
            remark(f"the figure {name} shows at most {limits[name]} systems, not {systems}, and is left out")
    return [name for name in names if systems <= limits[name]]


def _standard(evaluations: Iterable[Evaluation], view: View) -> list[str]:
    """Return the names of the standard figures that fit all evaluations."""
    kinds = sorted({(e.predictions.n_classes, e.settings.draws_outcomes) for e in evaluations})
    marks = any(evaluation.settings.thresholds for evaluation in evaluations)
    fitting = [standard_names(k, view.lens, view.region, tested=tested, marks=marks) for k, tested in kinds]
    return [name for name in fitting[0] if all(name in names for names in fitting)]


def _tell_reading(inputs: Sequence[Input], remark: Remark) -> None:
    """Report how files were read; for many, how the first was read, and all doubts."""
    few = len(inputs) <= TOLD
    for n, input_ in enumerate(inputs):
        for sentence in input_.reading if few or n == 0 else input_.doubts:
            remark(f"{input_.path}: {sentence}")


def _write(
    name: str, drawing: Drawing, folder: Path, format: str, remark: Remark, *, data: bool
) -> list[str]:
    written = [f"{name}.{format}"]
    missing = drawing.save(folder / written[0])
    if missing:
        lacking = " ".join(missing)
        remark(f"{written[0]}: the font lacks these characters, which are drawn as boxes: {lacking}")
    if data:
        written += [f"{name}.csv", f"{name}.txt"]
        (folder / written[1]).write_text(csv_text(drawing.records()), encoding="utf-8")
        (folder / written[2]).write_text(f"{drawing.caption}\n", encoding="utf-8")
    return written
