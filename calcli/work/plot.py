"""Figures of files of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from calcli.core.curves.cumulative import KNOTS
from calcli.core.curves.forest import keep_slices
from calcli.core.curves.needs import looks_of, metrics_of, shown_metrics
from calcli.core.curves.smoothing import smoother
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Evaluation, Input
from calcli.core.evaluating.truth import require_use
from calcli.core.language.entries import FigureKind
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import checked_region, parse_metrics
from calcli.core.language.figures import (
    FIGURES,
    USUAL,
    find_figures,
    refuse_binning,
    refuse_more_systems,
    standard_names,
)
from calcli.core.language.metrics import GIVEN
from calcli.core.language.progress import Watcher, unwatched
from calcli.core.language.settings import Settings
from calcli.figures import Drawing, View, draw
from calcli.io.atomic import filled_folder
from calcli.io.calibrators import load_calibrator
from calcli.io.options import ReadOptions
from calcli.report.figures import Figures
from calcli.report.numbers import counted
from calcli.report.shown import csv_text
from calcli.report.summary import short_names
from calcli.work.cluster import Engine, predictions_in
from calcli.work.page import picture, write_page
from calcli.work.selection import chosen_on

TOLD = 8  # files of which it is said how they were read; of more, of the first


def plot_files(
    files: Sequence[str],
    output: str | None,
    options: ReadOptions,
    settings: Settings,
    *,
    companions: Companions | None = None,
    figures: Sequence[str] = (),
    lens: str = USUAL,
    region: str = "all",
    binning: str = "equal-width",
    by: Sequence[str] = (),
    calibrators: Sequence[str] = (),
    panels: Sequence[Sequence[str]] = (),
    smooth: str = "none",
    knots: int | None = None,
    bins: Sequence[int] = (),
    p_values: bool = False,
    seeds: bool = False,
    select: str | None = None,
    select_on: str | None = None,
    format: str = "png",
    data: bool = False,
    html: str | None = None,
    engine: Engine | None = None,
    watcher: Watcher = unwatched,
    remark: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Draw figures of files into a folder or on a page, side by side on the same scales.

    Parameters
    ----------
    files, output
        Predictions, and the folder, if any.
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
        Of the spline in KS graphs; None for the usual ones.
    bins
        Numbers of bins, each of which has a panel, of figures with bins of scores.
    p_values, seeds
        Over epochs: whether errors are followed by their p-values, and whether folders are runs of one model.
    select, select_on
        Over epochs: mark what this metric chooses on these files, a folder or a pattern.
    format
        "png", "svg" or "pdf".
    data
        Whether to write the numbers in each figure and its caption beside it.
    html
        A file for all of them on one page.
    engine
        Makes states of the parts of files elsewhere, which are drawn; None to read here.
    watcher
        Starts a progress bar.
    remark
        Called with what the reader of a figure should know and cannot see there.

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
    over_epochs = {"--p-values": p_values, "--seeds": seeds, "--select": select, "--select-on": select_on}
    _refuse_without_epochs(over_epochs, figures)
    settings = _tested(settings) if p_values else settings
    settings = replace(
        settings, calibration_loss_interval=settings.calibration_loss_interval or "scores" in figures
    )
    view = View(
        lens=lens, binning=binning, draws=settings.draws, region=region, metrics=settings.metrics,
        by=tuple(by), calibrators=maps, smooth=smooth, panels=tuple(map(tuple, panels)), knots=knots or KNOTS,
        p_values=p_values, seeds=seeds,
    )  # fmt: skip
    more = [*(["slices"] if by else []), *(["calibration-map"] if maps else [])]
    kinds = find_figures([*figures, *more])
    _refuse_idle(kinds, files, knots, bins)
    refuse_more_systems(
        kinds if figures else [FIGURES["reliability"], *kinds], len(files) * max(1, len(bins))
    )
    refuse_binning(kinds if figures else [FIGURES["reliability"]], binning)
    if output is None and (html is None or data):
        raise UsageError("figures need somewhere to go: give -o DIR, or --html FILE without --data")
    if select and select_on:
        selected = chosen_on(select_on, select, options, settings, watcher)
        view = replace(view, selected=(f"best {select} on {select_on}", selected))
    with filled_folder(output) if output else nullcontext() as folder:
        evaluations = _evaluations(
            files, options, settings, companions, kinds, view, engine, watcher, standard=not figures
        )
        inputs = [one.summary.input for one in evaluations.values()]
        evaluations = _of_bins(evaluations, bins) if bins else evaluations
        names = [kind.name for kind in kinds]
        if not figures:
            names = [*_fitting(_standard(evaluations.values(), view), len(evaluations), remark), *names]
        _require_use(names, view, evaluations.values(), companions)
        written, pictures = [], []
        for name in names:
            try:
                drawing = draw(name, evaluations, view)
            except NeedsRows:
                if figures:
                    raise
                remark(f"the figure {name} needs rows, which a state does not keep; it is left out")
                continue
            if html:
                pictures.append(picture(name, drawing))
            if folder:
                written += _write(name, drawing, folder, format, remark, data=data)
    if html:
        write_page(Figures(list(evaluations)), html, pictures)
    _tell_reading(inputs, remark)
    return written


def _refuse_idle(
    kinds: Sequence[FigureKind], files: Sequence[str], knots: int | None, bins: Sequence[int]
) -> None:
    """Raise a UsageError for files and settings that no figure would show, and for missing files."""
    names = [kind.name for kind in kinds]
    if knots is not None and kinds and "ks" not in names:
        raise UsageError(f"--knots {knots} goes with --figure ks; leave it out")
    if bins and not (names and all(kind.bins == "scores" for kind in kinds)):
        fitting = [kind.name for kind in FIGURES.values() if kind.bins == "scores"]
        raise UsageError(f"--compare-bins goes with --figure {','.join(fitting)}, alone")
    empty = [kind.name for kind in kinds if kind.without_data]
    if empty and (files or len(empty) < len(kinds)):
        raise UsageError(f"the figure {empty[0]} shows no data; draw it by itself, without files")
    if not (empty or files):
        raise UsageError("there are no predictions to draw; name a file, a folder, or - for standard input")


def _of_bins(evaluations: Mapping[str, Evaluation], bins: Sequence[int]) -> dict[str, Evaluation]:
    """Return every evaluation with each of several numbers of bins."""
    found = {}
    for name, one in evaluations.items():
        for number in bins:
            summary = replace(one.summary, settings=replace(one.settings, bins=number))
            own = counted(number, "bin")
            found[own if len(evaluations) == 1 else f"{name}, {own}"] = replace(one, summary=summary)
    return found


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


def _refuse_without_epochs(given: Mapping[str, object], figures: Sequence[str]) -> None:
    """Refuse options of the figure epochs where it is not drawn, and half of a choice on another set."""
    for option, value in given.items():
        if value and "epochs" not in figures:
            raise UsageError(f"{option} goes with --figure epochs")
    if bool(given["--select"]) != bool(given["--select-on"]):
        raise UsageError("--select METRIC chooses on the files of --select-on DIR|GLOB; give both")


def _tested(settings: Settings) -> Settings:
    """Return the settings with a test of every error that is drawn, also class-wise ones."""
    calls = parse_metrics(settings.metrics or FIGURES["epochs"].metrics, settings.defaults)
    whole = any(call.is_class_wise or call.is_marginal for call in calls)
    return replace(settings, test=settings.test or whole)


def _evaluations(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    companions: Companions | None,
    kinds: Sequence[FigureKind],
    view: View,
    engine: Engine | None,
    watcher: Watcher,
    *,
    standard: bool,
) -> dict[str, Evaluation]:
    """Read files and evaluate what figures need of each, by its short name."""

    def asked(predictions: Predictions) -> Settings:
        return replace(settings, metrics=metrics_of(kinds, predictions, settings))

    evaluations = {}
    for name, file in _named(files).items():
        predictions = predictions_in([file], options, engine, asked)
        wanted = asked(predictions)
        watch = watcher(name, predictions.n_rows)
        usual = standard_names(predictions.n_classes, view.lens, view.region) if standard else ()
        looks = looks_of([*find_figures(usual), *kinds], predictions, view.lens, settings)
        evaluations[name] = evaluate(predictions, wanted, watch, companions, looks)
        if FIGURES["slices"] in kinds:
            shown = shown_metrics("slices", evaluations[name], view.metrics)
            keep_slices(evaluations[name], view.by, shown)
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


def _fitting(names: Sequence[str], systems: int, remark: Callable[[str], None]) -> list[str]:
    """Return those of the standard figures that can show so many systems, and remark on the others."""
    most = {name: FIGURES[name].most_systems or systems for name in names}
    for name in names:
        if systems > most[name]:
            remark(f"the figure {name} shows at most {most[name]} systems, not {systems}; it is left out")
    return [name for name in names if systems <= most[name]]


def _standard(evaluations: Iterable[Evaluation], view: View) -> list[str]:
    """Return the names of the standard figures that fit all evaluations."""
    classes = {found.predictions.n_classes for found in evaluations}
    fitting = [standard_names(k, view.lens, view.region) for k in sorted(classes)]
    return [name for name in fitting[0] if all(name in names for names in fitting)]


def _require_use(
    names: Sequence[str], view: View, evaluations: Iterable[Evaluation], companions: Companions | None
) -> None:
    """Refuse posteriors and resampled predictions that no figure shows."""
    shown = view.lens != "class-wise" and any(FIGURES[name].bins == "scores" for name in names)
    for evaluation in evaluations:
        settings = evaluation.settings
        if companions is not None and companions.posteriors is not None:
            calls = [found.call for found in evaluation.estimates.values()]
            if not shown or settings.priors is not None:
                require_use([call for call in calls if call.arguments.get("recalibrator") == GIVEN], settings)
        if settings.resample_predictions and not (shown or view.p_values):
            raise UsageError("--resample-predictions goes with --figure reliability,deviation, or --p-values")


def _tell_reading(inputs: Sequence[Input], remark: Callable[[str], None]) -> None:
    """Say how files were read; of many, how the first was, and what is in doubt of any."""
    few = len(inputs) <= TOLD
    for n, one in enumerate(inputs):
        for sentence in one.reading if few or n == 0 else one.doubts:
            remark(f"{one.path}: {sentence}")


def _write(
    name: str, drawing: Drawing, folder: Path, format: str, remark: Callable[[str], None], *, data: bool
) -> list[str]:
    written = [f"{name}.{format}"]
    missing = drawing.save(folder / written[0])
    if missing:
        remark(f"{written[0]}: a box stands for each character that the font lacks: {' '.join(missing)}")
    if data:
        written += [f"{name}.csv", f"{name}.txt"]
        (folder / written[1]).write_text(csv_text(drawing.records()), encoding="utf-8")
        (folder / written[2]).write_text(f"{drawing.caption}\n", encoding="utf-8")
    return written
