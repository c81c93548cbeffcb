"""Evaluating: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calcli.core.curves.needs import looks_of
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import evaluate as evaluate_predictions
from calcli.core.evaluating.evaluate import slices_of, with_corrected_p
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.declaring import documented
from calcli.core.language.errors import UsageError
from calcli.core.language.figures import USUAL, find_figures, standard_names
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.saved.settings import settings_of
from calcli.report.slices import is_compared
from calcli.report.summary import Result, summarize
from calcli.work.idle import idle_options, warn
from calcli.work.read import OF_TABLES, columns_of, labelled, split_reading
from calcli.work.report import Report
from calcli.work.samefiles import same_files


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
        Logits, log-probabilities or probabilities, of two classes also those of the second one only (also
        as `scores=`); or a file; or a data frame of pandas or polars, a pyarrow table, or what else speaks
        Arrow; or what `read` returned. Tensors are taken as arrays are.
    labels : array-like (N,) or (...)
        Of arrays: integers in 0..K-1, or names out of `classes`; of a table of scores, whose columns are the
        classes, as well. Of a file or a table: the path of their own file, a table with `key`.
    confidence, correct : array-like (N,) or str
        In place of scores and labels: how sure each answer is, and whether it is right.
    weights : array-like (N,) or str, optional
        Row weights, 0 or more; of a table their column.
    {ReadOptions}
    by : str or sequence of str
        Columns whose every value is reported on as well.
    calibration_data : path, table or Predictions, optional
        What to train recalibrations on, in place of cross-validation.
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
    beside = {"by": by, "calibration_data": calibration_data}
    asked, evaluation = evaluation_of(data, labels, settings | beside, idle_options)
    return Report(tuple(results_of(evaluation)), asked, evaluation=evaluation)


def evaluation_of(
    data: Any,
    labels: Any,
    settings: Mapping[str, Any],
    idle: Callable[[Settings, Predictions | None], list[str]],
) -> tuple[Settings, Evaluation]:
    """Return what is asked for, and the evaluation that `evaluate` reports on, of the same arguments.

    Parameters
    ----------
    data, labels, settings
        Those of `evaluate`.
    idle
        Returns a sentence for each setting that changes nothing; the caller is told.
    """
    columns = columns_of(settings.get("by", ()))
    predictions, given = split_reading(data, labels, settings)
    given.pop("by", None)
    others = given.pop("calibration_data", None)
    calibration = None if others is None else labelled(others, "calibration_data")
    if calibration is not None:
        given = {"training": "held-out", **given}
    asked = settings_of(given)
    for sentence in idle(asked, calibration):
        warn(sentence)
    return asked, evaluated(predictions, asked, columns, calibration)


def evaluated(
    predictions: Predictions,
    settings: Settings,
    by: Sequence[str],
    calibration: Predictions | None,
    watch: Watch | None = None,
    *,
    drawn: bool = False,
) -> Evaluation:
    """Return the evaluation of all rows, with those of slices and, if it is drawn, what figures look at."""
    _refuse_rows(predictions, settings)
    standard = find_figures(standard_names(predictions.n_classes)) if drawn else ()
    looks = looks_of(standard, predictions, USUAL, settings)
    evaluation = evaluate_predictions(predictions, settings, watch, calibration, looks)
    evaluation = told_if_same(evaluation, calibration)
    evaluation.slices.update(slices_of(predictions, by, evaluation.summary, calibration))
    return evaluation


def _refuse_rows(predictions: Predictions, settings: Settings) -> None:
    """Raise a UsageError if a state is asked for what needs rows."""
    if settings.test and not predictions.has_rows:
        path = predictions.provenance.path
        raise UsageError(
            f"--test: tests of classes draw labels for rows, and {path} is a state, which keeps sums"
        )


def results_of(evaluation: Evaluation) -> list[Result]:
    """Return what is reported of all rows, then of each slice, p-values corrected for the number of them."""
    found = [summarize(evaluation)]
    for slices in evaluation.slices.values():
        parts = [Result(**vars(own)) for own in slices]
        corrected = with_corrected_p([part.estimates for part in parts], list(map(is_compared, parts)))
        found += [replace(part, estimates=own) for part, own in zip(parts, corrected, strict=True)]
    return found


def told_if_same(evaluation: Evaluation, calibration: Predictions | None) -> Evaluation:
    """Return an evaluation that says so if recalibrations are trained on the rows that it judges."""
    trained = any(one.call.arguments.get("training") == "held-out" for one in evaluation.estimates.values())
    if calibration is None or not trained:
        return evaluation
    judged, summary = evaluation.predictions, evaluation.summary
    if calibration is not judged and not same_files(calibration.provenance.files, judged.provenance.files):
        return evaluation
    name = calibration.provenance.path
    note = f"the calibration data, {name}, are the rows that are judged, so the gain is too optimistic"
    told = replace(summary, recalibration_notes=(*summary.recalibration_notes, note))
    return replace(evaluation, summary=told)


def read_calibration_data(path: str | None, options: ReadOptions) -> Predictions | None:
    """Read calibration data; labels of `.npy` scores are beside them.

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
    # other rows, other labels: a file of labels is that of the evaluated rows
    named = None if (options.labels or "").endswith(".npy") else options.labels
    return read(path, replace(options, labels=named, limit=None))
