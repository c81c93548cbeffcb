"""Evaluating files: one data set after the other is read, evaluated, drawn and let go of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from calcli.core.comparing.policy import Rule, failure, parse_failure
from calcli.core.curves.needs import problem_of, usual_lens
from calcli.core.curves.reliability import Reliability, reliability
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import state_of
from calcli.core.evaluating.metrics.miscalibration import BinnedError
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import parse_metric
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watcher, unwatched
from calcli.core.state.state import StatePredictions
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import filled_folder, refuse_folders, refuse_nowhere, together
from calcli.io.saved.states import is_state, save_state
from calcli.report.atglance import Unread
from calcli.report.evaluation import EvaluationReport
from calcli.report.summary import Result, relative_names, short_names
from calcli.work.cluster import Engine, predictions_in
from calcli.work.evaluate import evaluated, results_of

if TYPE_CHECKING:
    from calcli.work.page import Pictures


@dataclass(frozen=True)
class Wanted:
    """What an evaluation of files writes and shows.

    Attributes
    ----------
    folder
        For the report and figures, those of several data sets in folders named like them.
    html
        A file for all of it on one page.
    state
        Where to save the state of the only data set.
    key
        The column that its rows are known by in the state.
    per_class
        Whether tables and records have the figures of each class.
    diagram
        Whether tables have a reliability diagram.
    sort, details
        The metric that orders several data sets, and whether tables have all of many.
    """

    folder: str | None = None
    html: str | None = None
    state: str | None = None
    key: str | None = None
    per_class: bool = False
    diagram: bool = False
    sort: str | None = None
    details: bool = False


@together()
def evaluate_files(
    sources: Sequence[Sequence[str]],
    options: ReadOptions,
    settings: Settings,
    wanted: Wanted = Wanted(),
    *,
    rules: Sequence[Rule] = (),
    by: Sequence[str] = (),
    calibration: Predictions | None = None,
    engine: Engine | None = None,
    watcher: Watcher = unwatched,
) -> EvaluationReport:
    """Read and evaluate each source, the files of one data set, and let go of its rows.

    Parameters
    ----------
    sources
        Paths, one sequence a data set.
    options, settings
        How to read and what to compute.
    wanted
        What to write and show.
    rules
        Their metrics are computed as well.
    by
        Columns whose values are reported on one by one, behind the data set they are of.
    calibration
        Rows that recalibrations are fitted to, with training=held-out.
    engine
        Makes states of the parts of each source elsewhere, from which all is computed; None to read here.
    watcher
        Starts a progress bar.
    """
    _require_one_to_save(sources, wanted)
    refuse_folders(wanted.state, wanted.html)
    refuse_nowhere(wanted.state)
    refuse_nowhere(wanted.html, made=wanted.folder)
    titles = short_names([source[0] for source in sources]) if len(sources) > 1 else [""]
    settings_for = partial(_with_metrics_of, rules, settings)
    results: list[Result] = []
    diagrams: list[Reliability] = []
    unread: list[Unread] = []
    with filled_folder(wanted.folder) if wanted.folder else nullcontext() as folder:
        pictures = _pictures(folder) if folder or wanted.html else None
        for source, name, title in zip(sources, _names(sources), titles, strict=True):
            try:
                predictions = predictions_in(source, options, engine, settings_for)
            except InputError as fault:
                unread.append(Unread(title, str(fault)))
                if len(unread) == len(sources):
                    raise
                continue
            _refuse_classes(predictions, wanted)
            watch = watcher(name, predictions.n_rows)
            asked, drawn = settings_for(predictions), wanted.diagram or pictures is not None
            evaluation = evaluated(predictions, asked, by, calibration, watch, drawn=drawn)
            if pictures is not None:
                pictures.draw(evaluation, name if len(sources) > 1 else "", title)
            if wanted.diagram:
                diagrams.append(_reliability(evaluation))
            results += results_of(evaluation)
        failures = broken(results, rules)
        shown = EvaluationReport(
            results, settings, wanted.per_class, diagrams, unread, failures, wanted.sort, wanted.details
        )
        predicted = any(result.input.outcomes == "predictions" for result in results)
        page = replace(
            shown, details=True, per_class=wanted.per_class or predicted
        )  # where long tables have filters
        if pictures and pictures.folder:
            page.write(pictures.folder, pictures.captions)
            _write_page(page, pictures.folder / "report.html", pictures)
    if wanted.state is not None:
        _save(predictions, asked, wanted.state, wanted.key, by, watcher)
    if pictures and wanted.html:
        _write_page(page, wanted.html, pictures)
    return shown


def _names(sources: Sequence[Sequence[str]]) -> list[str]:
    """Return what each data set is called, and its folder if there are several."""
    names = relative_names([source[0] for source in sources])
    return [str(Path(name).with_suffix("")) if Path(name).name else "data" for name in names]


def _pictures(folder: Path | None) -> Pictures:
    from calcli.work.page import Pictures

    return Pictures(folder)


def _write_page(page: EvaluationReport, path: str | Path, pictures: Pictures) -> None:
    from calcli.work.page import write_page

    write_page(page, path, pictures.found)


def read_failures(texts: Sequence[str], settings: Settings) -> list[Rule]:
    """Return the rules that texts such as `log_loss>0.5` break, on metrics which have these settings.

    Raises
    ------
    UsageError
        If one makes no sense.
    """
    with naming("--fail-if"):
        return [parse_failure(text, settings.defaults) for text in texts]


def broken(results: Sequence[Result], rules: Sequence[Rule]) -> dict[str, list[str]]:
    """Return a sentence for each rule that all rows of some data break, by the path of the data.

    Raises
    ------
    InputError
        If a metric is undefined.
    """
    found: dict[str, list[str]] = {}
    for result in results:
        for rule in rules if result.slice is None else ():
            if sentence := failure(rule, result.metrics, result.input.path):
                found.setdefault(result.input.path, []).append(sentence)
    return found


def _with_metrics_of(rules: Sequence[Rule], settings: Settings, predictions: Predictions) -> Settings:
    """Have the metrics of rules computed beside those asked for, or beside the usual ones."""
    if not rules:
        return settings
    asked = settings.metrics or tuple(default_metrics(predictions, settings)[0])
    return replace(settings, metrics=(*asked, *(rule.call.asked for rule in rules)))


def _require_one_to_save(sources: Sequence[Sequence[str]], wanted: Wanted) -> None:
    if wanted.state is None:
        return
    if len(sources) > 1:
        raise UsageError("--save-state saves one state; give one file, or --concat, or a call for each file")
    if any(map(is_state, sources[0])):
        name = sources[0][0]
        raise UsageError(f"--save-state: {name} is a state already; calcli merge puts states together")


def _save(
    predictions: Predictions,
    settings: Settings,
    path: str,
    key: str | None,
    by: Sequence[str],
    watcher: Watcher,
) -> None:
    if isinstance(predictions, StatePredictions):
        save_state(predictions.state, path)
    else:
        save_state(state_of(predictions, settings, watcher(path, predictions.n_rows), key, by), path)


def _refuse_classes(predictions: Predictions, wanted: Wanted) -> None:
    if wanted.per_class and predictions.of_answers:
        name = predictions.provenance.path
        raise UsageError(f"--per-class: {name} has answers, right or wrong, and no classes; leave it out")


def _reliability(evaluation: Evaluation) -> Reliability:
    """Return what a diagram shows: the confidence, of two classes the probability of the second."""
    settings = evaluation.settings
    lens = usual_lens([evaluation.predictions])
    call = parse_metric(f"ece:lens={lens}", settings.defaults)
    assert isinstance(call, BinnedError)
    problem = problem_of(evaluation, lens)
    return reliability(problem, lens, call, evaluation.estimates, settings.draws, settings.seed)
