"""Evaluating: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from calcli.core.comparing.policy import Rule, failure, parse_failure
from calcli.core.curves.needs import looks_of, problem_of, usual_lens
from calcli.core.curves.reliability import Reliability, reliability
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.errors import find_estimator
from calcli.core.estimators.miscalibration import BinnedError
from calcli.core.evaluating.evaluate import evaluate as evaluate_predictions
from calcli.core.evaluating.gathering import state_of
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.sliced import slices_of, with_corrected_p
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.declaring import documented
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import parse_metric
from calcli.core.language.figures import USUAL, find_figures, standard_names
from calcli.core.language.progress import Watch, Watcher, unwatched
from calcli.core.language.settings import Settings
from calcli.core.language.spelling import of_python
from calcli.core.state.remains import Remains
from calcli.io.atomic import filled_folder, refuse_folders
from calcli.io.options import ReadOptions
from calcli.io.settings import settings_of
from calcli.io.states import is_state, save_state
from calcli.report.atglance import Unread
from calcli.report.evaluation import EvaluationReport
from calcli.report.slices import is_compared
from calcli.report.summary import Result, relative_names, short_names, summarize
from calcli.work.cluster import Engine, predictions_in
from calcli.work.companions import refuse_idle
from calcli.work.read import OF_TABLES, predictions_of, split_reading
from calcli.work.report import Report

if TYPE_CHECKING:
    from calcli.report.page import Picture


@of_python
@documented(Settings)
@documented(ReadOptions, *OF_TABLES)
def evaluate(
    data: Any = None,
    labels: Any = None,
    *,
    by: str | Sequence[str] = (),
    calibration_data: Any = None,
    posteriors: Any = None,
    **settings: Any,
) -> Report:
    """Evaluate predictions: how good are the probabilities, and where are they off?

    Parameters
    ----------
    data : array-like (N, K), (..., K) or (N,); path; table; or Predictions
        Logits, log-probabilities or probabilities, of two classes also those of the second one only (also
        as `scores=`); or a file; or a data frame of pandas or polars, a pyarrow table, or what else speaks
        Arrow; or what `read` returned. Tensors are taken as arrays are.
    labels : array-like (N,) or (...)
        Of arrays: integers in 0..K-1, or names out of `classes`.
    confidence, correct : array-like (N,) or str
        In place of scores and labels: how sure each answer is, and whether it is right.
    weights : array-like (N,) or str, optional
        Row weights, 0 or more; of a table their column.
    {ReadOptions}
    by : str or sequence of str
        Columns whose every value is reported on as well.
    calibration_data : path, table or Predictions, optional
        What to train recalibrations on, in place of cross-validation.
    posteriors : path, table or Predictions, optional
        True posteriors of the same rows: calibration errors get the value they would have under these, are
        tested against them if `test` is set, and metrics with `recalibrator=given` move to them.
    {Settings}

    Returns
    -------
    Report
        Metrics with their intervals or values if calibrated, of all rows and then of slices.

    Raises
    ------
    InputError
        If these cannot be predictions.
    UsageError
        If a setting is unknown or does not fit them.
    """
    predictions, settings = split_reading(data, labels, settings)
    if calibration_data is not None:
        settings = {"training": "held-out", **settings}
    beside = (
        None if one is None else predictions_of(one, None, {}) for one in (calibration_data, posteriors)
    )
    companions = Companions(*beside)
    asked = settings_of(settings)
    columns = [by] if isinstance(by, str) else by
    evaluation = _evaluated(predictions, asked, columns, companions)
    return Report(tuple(_results(evaluation)), evaluation.settings, evaluation=evaluation)


def evaluate_files(
    sources: Sequence[Sequence[str]],
    options: ReadOptions,
    settings: Settings,
    *,
    rules: Sequence[Rule] = (),
    by: Sequence[str] = (),
    companions: Companions | None = None,
    output: str | None = None,
    html: str | None = None,
    per_class: bool = False,
    diagram: bool = False,
    state: str | None = None,
    key: str | None = None,
    sort: str | None = None,
    details: bool = False,
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
    rules
        Their metrics are computed as well.
    by
        Columns whose values are reported on one by one, behind the data set they are of.
    companions
        Predictions that some metrics need beside them.
    output
        A folder for the report and figures, those of several sources in folders named like them.
    html
        A file for all of it on one page.
    per_class
        Whether tables and records have the figures of each class.
    diagram
        Whether tables have a reliability diagram.
    state
        Where to save the state of the only source.
    key
        The column that its rows are known by in the state; None if it is their number.
    sort, details
        The metric that orders several data sets, and whether tables have all of many.
    engine
        Makes states of the parts of each source elsewhere, from which all is computed; None to read here.
    watcher
        Starts a progress bar.
    """
    _require_one_to_save(sources, state, key)
    refuse_folders(state, html)
    names = relative_names([source[0] for source in sources])
    titles = short_names([source[0] for source in sources]) if len(sources) > 1 else [""]
    results: list[Result] = []
    pictures: list[Picture] = []
    diagrams: list[Reliability] = []
    captions: dict[Path, str] = {}
    unread: list[Unread] = []
    with filled_folder(output) if output else nullcontext() as folder:
        for n, source in enumerate(sources):
            name = str(Path(names[n]).with_suffix("")) if Path(names[n]).name else "data"
            try:
                asked_of = partial(_with_metrics_of, rules, settings)
                predictions = predictions_in(source, options, engine, asked_of)
            except InputError as fault:
                unread.append(Unread(titles[n], str(fault)))
                if len(unread) == len(sources):
                    raise
                continue
            _refuse_classes(predictions, per_class=per_class)
            watch = watcher(name, predictions.n_rows)
            asked = asked_of(predictions)
            drawn = bool(folder or html or diagram)
            evaluation = _evaluated(predictions, asked, by, companions, watch, drawn=drawn)
            if folder or html:
                from calcli.work.page import standard_pictures

                place = folder and (folder / name if len(sources) > 1 else folder)
                own, told = standard_pictures(evaluation, place, titles[n], n)
                pictures, captions = pictures + own, captions | told
            if diagram:
                diagrams.append(_reliability(evaluation))
            _save(predictions, asked, state, watcher, key, by)
            results += _results(evaluation)
        failures = broken(results, rules)
        shown = EvaluationReport(results, settings, per_class, diagrams, unread, failures, sort, details)
        if folder:
            shown.write(folder, captions)
        page = replace(shown, details=details or len(sources) == 1)  # long tables have filters there
        for path in (folder and folder / "report.html", html):
            if path:
                from calcli.work.page import write_page

                write_page(page, path, pictures)
    return shown


def _evaluated(
    predictions: Predictions,
    settings: Settings,
    by: Sequence[str],
    companions: Companions | None,
    watch: Watch | None = None,
    *,
    drawn: bool = False,
) -> Evaluation:
    """Return the evaluation of all rows, with those of slices and, if it is drawn, what figures look at."""
    _refuse_rows(predictions, settings)
    standard = find_figures(standard_names(predictions.n_classes)) if drawn else ()
    looks = looks_of(standard, predictions, USUAL, settings)
    evaluation = evaluate_predictions(predictions, settings, watch, companions, looks)
    refuse_idle(evaluation, companions)
    evaluation.slices.update(slices_of(predictions, by, evaluation.summary, companions))
    return evaluation


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


def _require_one_to_save(sources: Sequence[Sequence[str]], state: str | None, key: str | None) -> None:
    if state is None:
        if key is not None:
            raise UsageError(f"--key {key} is for the rows of a state; add --save-state, or leave it out")
        return
    if len(sources) > 1:
        raise UsageError("--save-state saves one state; give one file, or --concat, or a call for each file")
    if any(map(is_state, sources[0])):
        name = sources[0][0]
        raise UsageError(f"--save-state: {name} is a state already; calcli merge puts states together")


def _save(
    predictions: Predictions,
    settings: Settings,
    path: str | None,
    watcher: Watcher,
    key: str | None,
    by: Sequence[str],
) -> None:
    if path is not None and isinstance(predictions, Remains):
        save_state(predictions.state, path)
    elif path is not None:
        save_state(state_of(predictions, settings, watcher(path, predictions.n_rows), key, by), path)


def _refuse_classes(predictions: Predictions, *, per_class: bool) -> None:
    if per_class and predictions.of_answers:
        name = predictions.provenance.path
        raise UsageError(f"--per-class: {name} has answers, right or wrong, and no classes; leave it out")


def _refuse_rows(predictions: Predictions, settings: Settings) -> None:
    """Raise a UsageError if a state is asked for what needs rows."""
    if settings.test and not predictions.has_rows:
        path = predictions.provenance.path
        raise UsageError(
            f"--test: tests of classes draw labels for rows, and {path} is a state: it keeps sums"
        )


def _reliability(evaluation: Evaluation) -> Reliability:
    """Return what a diagram shows: the confidence, of two classes the probability of the second."""
    settings = evaluation.settings
    lens = usual_lens([evaluation.predictions])
    call = parse_metric(f"ece:lens={lens}", settings.defaults)
    estimator = cast(BinnedError, find_estimator(call, settings.edges))
    problem = problem_of(evaluation, lens)
    return reliability(problem, lens, estimator, evaluation.estimates, settings.draws, settings.seed)


def _results(evaluation: Evaluation) -> list[Result]:
    """Return what is reported of all rows, then of each slice, p-values corrected for the number of them."""
    found = [summarize(evaluation)]
    for slices in evaluation.slices.values():
        parts = [Result(**vars(own)) for own in slices]
        corrected = with_corrected_p([part.estimates for part in parts], list(map(is_compared, parts)))
        found += [replace(part, estimates=own) for part, own in zip(parts, corrected, strict=True)]
    return found
