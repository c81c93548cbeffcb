"""Evaluating: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from calcli.core.comparing.averaging import MACRO, LabelMean, measured_label
from calcli.core.comparing.policy import Rule, failure, parse_failure
from calcli.core.curves.needs import extra_lenses_of
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.calibrationerror import enough_draws
from calcli.core.evaluating.evaluate import evaluate as evaluate_predictions
from calcli.core.evaluating.evaluate import slices_of, with_corrected_p
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.states import state_of
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.declaring import documented
from calcli.core.language.errors import InputError, UsageError, naming
from calcli.core.language.expressions import AUTO_LENS
from calcli.core.language.figures import find_figures, standard_names
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch, Watcher, unwatched
from calcli.core.state.state import StatePredictions
from calcli.io.dataset import data_sets
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import filled_folder, refuse_folders, refuse_nowhere, together
from calcli.io.places.paths import name_and_path
from calcli.io.read import label_by_label, read
from calcli.io.reading.multilabel import SeveralLabels
from calcli.io.saved.settings import settings_of
from calcli.io.saved.states import is_state, save_state
from calcli.report.evaluation import Report
from calcli.report.files import relative_names, same_files, short_names
from calcli.report.findings import Result, summarize
from calcli.report.overview import Unread
from calcli.report.progress import Remark, unsaid
from calcli.report.slices import is_compared
from calcli.work.distributed import engine_of, predictions_in
from calcli.work.idle import idle_of_keys, idle_options, warn
from calcli.work.read import OF_TABLES, READ, columns_of, labelled, split_reading

if TYPE_CHECKING:
    from calcli.report.pictures import Album


@documented(Settings)
@documented(ReadOptions, *OF_TABLES)
def evaluate(
    data: Any = None,
    labels: Any = None,
    *,
    by: str | Sequence[str] | None = (),
    calibration_data: Any = None,
    **settings: Any,
) -> Report:
    """Evaluate predictions: how good are the probabilities, and where are they off?

    Parameters
    ----------
    data : array-like (N, K), (..., K) or (N,); path; table; or Predictions
        Logits, log-probabilities or probabilities, for two classes also of the second class only (also as
        `scores=`); or a file; or a data frame of pandas or polars, a pyarrow table, or another object that
        speaks Arrow; or the result of `read`. Tensors are accepted like arrays.
    labels : array-like (N,) or (...)
        For arrays: integers in 0..K-1, or names from `classes`; also for a table of scores with the classes
        as columns. For a file or a table: the path of a separate file, or a table with `key`.
    confidence, correct : array-like (N,) or str
        In place of scores and labels: the confidence of each answer, and whether it is right.
    weights : array-like (N,) or str, optional
        Row weights, 0 or more; for a table the name of their column.
    {ReadOptions}
    by : str or sequence of str
        Columns; the report also covers the rows of each value.
    calibration_data : path, table or Predictions, optional
        Rows to train recalibrations on, in place of cross-validation.
    {Settings}

    Returns
    -------
    Report
        Metrics with their intervals or values if calibrated, for all rows and then for slices.

    Raises
    ------
    InputError
        If these cannot be predictions.
    UsageError
        If a setting is unknown or does not fit them.
    """
    extras = {"by": by, "calibration_data": calibration_data}
    try:
        chosen, evaluation = evaluation_of(data, labels, settings | extras, idle_options)
    except SeveralLabels as several:
        further = {name: value for name, value in (settings | extras).items() if name not in READ}
        reports = [evaluate(several.read(name), **further) for name in several.names]
        means, chosen = LabelMeans(), reports[0].settings
        for report in reports:
            means.add(cast(Evaluation, report.evaluation), chosen.metrics)
        return Report(means.with_results([r for of in reports for r in of.results]), chosen)
    return Report(results_of(evaluation), chosen, evaluation=evaluation)


@label_by_label
@together()
def evaluate_files(
    files: Sequence[str],
    options: ReadOptions,
    settings: Settings,
    *,
    folder: str | None = None,
    html: str | None = None,
    state: str | None = None,
    fail_if: Sequence[str] = (),
    by: Sequence[str] = (),
    calibration_data: str | None = None,
    engine: str | None = None,
    watcher: Watcher = unwatched,
    remark: Remark = unsaid,
) -> Report:
    """Read and evaluate each data set, one at a time.

    Parameters
    ----------
    files
        A data set each, or parts of one.
    options, settings
        How to read and what to compute.
    folder
        For the report and figures; several data sets get folders with their names.
    html
        The path of a page that the report will be written to, with figures.
    state
        Where to save the state of the only data set.
    fail_if
        Limits such as `log_loss>0.5`; their metrics are computed, too.
    by
        Columns; the rows of each value are reported after their data set.
    calibration_data
        A file with rows that recalibrations are fitted to.
    engine
        Makes states of the parts of each data set in workers; None to read here.
    watcher, remark
        Starts a progress bar, and receives remarks on settings without effect.
    """
    with naming("--fail-if"):
        rules = [parse_failure(text, settings.defaults) for text in fail_if]
    calibration = read_calibration_data(calibration_data, options)
    settings = settings if calibration is None else replace(settings, training="held-out")
    names = {*settings.groups, *settings.threshold_weights} if state or folder or html else ()
    idle = idle_options(settings, calibration, rules, names=names)
    for sentence in idle + idle_of_keys(options, saves=True, state=state):
        remark(sentence)
    sources = data_sets(files, options)
    _require_one_to_save(sources, state)
    refuse_folders(state)
    refuse_nowhere(state)
    titles = short_names([source[0] for source in sources]) if len(sources) > 1 else [""]
    settings_for = partial(_with_metrics_of, rules, settings)
    reader = engine_of(engine, watcher, options.key, by)
    results, means = list[Result](), LabelMeans()
    unread: list[Unread] = []
    with filled_folder(folder) if folder else nullcontext() as place:
        album = _album(place) if place or html else None
        for source, name, title in zip(sources, _names(sources), titles, strict=True):
            try:
                predictions = predictions_in(source, options, reader, settings_for)
            except InputError as fault:
                unread.append(Unread(title, str(fault)))
                if len(unread) == len(sources):
                    raise
                continue
            watch = watcher(name, predictions.n_rows)
            chosen = settings_for(predictions)
            if predictions.provenance.label:
                chosen = replace(chosen, draws=chosen.draws and max(chosen.draws, enough_draws(len(sources))))
            evaluation = evaluated(predictions, chosen, by, calibration, watch, figures=album is not None)
            if album is not None:
                album.draw(evaluation, name if len(sources) > 1 else "", title)
            results += results_of(evaluation)
            means.add(evaluation, settings.metrics)
        failures, results = broken(results, rules), means.with_results(results)
        report = Report(results, settings, unread, failures, drawn=album.pictures if album else ())
        if album and place:
            report.write_into(place, album.captions)
    if state is not None:
        _save(predictions, chosen, state, options.key, by, watcher)
    return report


def evaluation_of(
    data: Any,
    labels: Any,
    settings: Mapping[str, Any],
    idle: Callable[[Settings, Predictions | None], list[str]],
) -> tuple[Settings, Evaluation]:
    """Return the settings and the evaluation behind `evaluate`, for the same arguments.

    Parameters
    ----------
    data, labels, settings
        Arguments of `evaluate`.
    idle
        Returns a sentence for each setting without effect; the caller reports it.
    """
    columns = columns_of(settings.get("by", ()))
    predictions, keywords = split_reading(data, labels, settings)
    keywords.pop("by", None)
    calibration_data = keywords.pop("calibration_data", None)
    calibration = None if calibration_data is None else labelled(calibration_data, "calibration_data")
    if calibration is not None:
        keywords = {"training": "held-out", **keywords}
    checked = settings_of(keywords)
    for sentence in idle(checked, calibration):
        warn(sentence)
    return checked, evaluated(predictions, checked, columns, calibration)


def evaluated(
    predictions: Predictions,
    settings: Settings,
    by: Sequence[str],
    calibration: Predictions | None,
    watch: Watch | None = None,
    *,
    figures: bool = False,
) -> Evaluation:
    """Return the evaluation of all rows, with its slices and, if figures are drawn, their needs."""
    if settings.test and not predictions.has_rows:
        path = predictions.provenance.path
        raise UsageError(
            f"--test: tests of classes draw labels for rows, and {path} is a state, which keeps sums"
        )
    standard = find_figures(standard_names(predictions.n_classes)) if figures else ()
    extra_lenses = extra_lenses_of(standard, predictions, AUTO_LENS, settings)
    evaluation = evaluate_predictions(predictions, settings, watch, calibration, extra_lenses)
    evaluation = with_note_if_same(evaluation, calibration)
    evaluation.slices.update(slices_of(predictions, by, evaluation.summary, calibration))
    return evaluation


def results_of(evaluation: Evaluation) -> list[Result]:
    """Return the results of all rows, then of each slice, with p-values corrected for their number."""
    results = [summarize(evaluation)]
    for slices in evaluation.slices.values():
        ready = [Result(**vars(estimates)) for estimates in slices]
        corrected = with_corrected_p([part.estimates for part in ready], list(map(is_compared, ready)))
        results += [
            replace(part, estimates=estimates) for part, estimates in zip(ready, corrected, strict=True)
        ]
    return results


class LabelMeans(dict[str, LabelMean]):
    """The means over several labels in a row, by file."""

    def add(self, evaluation: Evaluation, metrics: tuple[str, ...]) -> None:
        """Take the evaluation of a label, if it is one, with the metrics of the request."""
        file = evaluation.predictions.provenance.labelled_file
        if file and evaluation.predictions.has_rows:
            measures = [estimate.metric for estimate in evaluation.estimates.values()]
            names = tuple(metric.text for metric in measures if not metric.entry.family.fits)
            (system,) = measured_label([evaluation.predictions], replace(evaluation.settings, metrics=names))
            self.setdefault(file, LabelMean(replace(evaluation.settings, metrics=metrics))).add(system)

    def with_results(self, results: Sequence[Result]) -> list[Result]:
        """Return the means and then the results, with p-values corrected for the number of labels."""
        means, every = [], list(results)
        for file, mean in self.items():
            places = [n for n, r in enumerate(every) if r.input.labelled_file == file and r.slice is None]
            corrected = with_corrected_p([every[n].estimates for n in places], [True] * len(places))
            for n, estimates in zip(places, corrected, strict=True):
                every[n] = replace(every[n], estimates=estimates)
            means += [summarize(mean.system(MACRO).evaluation)] * (len(places) > 1)
        return [*means, *every]


def with_note_if_same(evaluation: Evaluation, calibration: Predictions | None) -> Evaluation:
    """Return an evaluation with a note if recalibrations are trained on the judged rows."""
    trained = any(e.metric.arguments.get("training") == "held-out" for e in evaluation.estimates.values())
    if calibration is None or not trained:
        return evaluation
    rows, summary = evaluation.predictions, evaluation.summary
    if calibration is not rows and not same_files(calibration.provenance.files, rows.provenance.files):
        return evaluation
    name = calibration.provenance.path
    note = f"the calibration data, {name}, are the rows that are judged, so the gain is too optimistic"
    summary_with_note = replace(summary, recalibration_notes=(*summary.recalibration_notes, note))
    return replace(evaluation, summary=summary_with_note)


def read_calibration_data(path: str | None, options: ReadOptions) -> Predictions | None:
    """Read calibration data; labels of `.npy` scores are in a file beside them.

    Parameters
    ----------
    path
        Their file; None for none.
    options
        How the evaluated files are read.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if path is None:
        return None
    # a file of labels belongs to the evaluated rows, not to these
    labels = None if (options.labels or "").endswith(".npy") else options.labels
    return read(path, replace(options, labels=labels, limit=None))


def _names(sources: Sequence[Sequence[str]]) -> list[str]:
    """Return the name of each data set, which is its folder if there are several."""
    named_paths = [name_and_path(source[0]) for source in sources]
    files = [Path(file) for file in relative_names([path for _, path in named_paths])]
    names = [str(file.with_suffix("")) if file.name else "data" for file in files]
    seeds = Counter(name for name, _ in named_paths)
    return [
        file if not name else name if seeds[name] == 1 else f"{name}/{file}"
        for (name, _), file in zip(named_paths, names, strict=True)
    ]


def _album(folder: Path | None) -> Album:
    from calcli.report.pictures import Album  # this loads the modules of figures

    return Album(folder)


def broken(results: Sequence[Result], rules: Sequence[Rule]) -> dict[str, list[str]]:
    """Return a sentence for each rule that a data set breaks on all rows, by path.

    Raises
    ------
    InputError
        If a metric is undefined.
    """
    sentences: dict[str, list[str]] = {}
    for result in results:
        for rule in rules if result.slice is None else ():
            if sentence := failure(rule, result.metrics, result.input.path):
                sentences.setdefault(result.input.path, []).append(sentence)
    return sentences


def _with_metrics_of(rules: Sequence[Rule], settings: Settings, predictions: Predictions) -> Settings:
    """Add the metrics of rules to the requested or default metrics."""
    if not rules:
        return settings
    names = settings.metrics or tuple(default_metrics(predictions, settings)[0])
    return replace(settings, metrics=(*names, *(rule.metric.text for rule in rules)))


def _require_one_to_save(sources: Sequence[Sequence[str]], state: str | None) -> None:
    if state is None:
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
