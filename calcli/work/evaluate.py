"""Evaluating: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calcli.core.comparing.policy import Rule, failure, parse_failure
from calcli.core.curves.needs import lenses_of
from calcli.core.data.predictions import Kind, Predictions
from calcli.core.evaluating.evaluate import default_metrics
from calcli.core.evaluating.evaluate import evaluate as evaluate_predictions
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.sliced import evaluate_slices, with_corrected_p
from calcli.core.language.declaring import checked, documented
from calcli.core.language.errors import UsageError
from calcli.core.language.figures import FIGURES
from calcli.core.language.progress import Watcher, unwatched
from calcli.core.language.settings import Settings
from calcli.io.atomic import filled_folder
from calcli.io.options import ReadOptions
from calcli.io.read import from_arrays, read, read_concat
from calcli.io.settings import settings_of
from calcli.report.evaluation import EvaluationReport
from calcli.report.numbers import counted, number
from calcli.report.slices import is_compared
from calcli.report.summary import Result, relative_names, summarize

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, kw_only=True)
class Report(EvaluationReport):
    """What was found out about predictions; printed, it shows the tables of the command line.

    Attributes
    ----------
    results
        Metrics by expression, the verdict, classes, reliability bins and warnings; then those of slices.
    settings
        How they were computed.
    evaluation
        What they were taken from, for `calcli.figures.standard_set`.
    """

    evaluation: Evaluation

    def to_frame(self, per_class: bool = False) -> pandas.DataFrame:
        """Return a row for every number, as `calcli evaluate --format csv` has them.

        Parameters
        ----------
        per_class
            Whether to add the figures of each class.
        """
        from calcli.io.frames import to_frame

        return to_frame(replace(self, per_class=per_class).records())

    def __repr__(self) -> str:
        read = self.results[0].input
        size = f"{counted(read.rows, 'row')}, {counted(read.classes, 'class')}"
        values = [f"{name} {number(found.value)}" for name, found in self.results[0].metrics.items()]
        return f"<Report on {read.path}: {size}; {', '.join(values)}>"


@documented(Settings)
@documented(ReadOptions, "kind", "classes", "positive", "renormalize")
def evaluate(
    scores: Any,
    labels: Any = None,
    *,
    kind: Kind | Literal["auto"] = "auto",
    classes: Sequence[str] | None = None,
    positive: str | None = None,
    weights: Any = None,
    renormalize: bool = False,
    by: str | Sequence[str] = (),
    calibration_data: Predictions | None = None,
    posteriors: Predictions | None = None,
    **settings: Any,
) -> Report:
    """Evaluate predictions: how good are the probabilities, and where are they off?

    Parameters
    ----------
    scores : array-like (N, K), (..., K) or (N,); or Predictions
        Logits, log-probabilities or probabilities, of two classes also those of the second one only; or
        what `read` returned, which has labels and all that follows.
    labels : array-like (N,) or (...)
        Integers in 0..K-1, or names out of `classes`.
    {ReadOptions}
    weights : array-like (N,), optional
        Row weights, 0 or more.
    by : str or sequence of str
        Columns of predictions that were read: every value of them is reported on as well.
    calibration_data : Predictions, optional
        What to train recalibrations on, in place of cross-validation.
    posteriors : Predictions, optional
        Calibrated posteriors of the same rows, for metrics with `recalibrator=given`.
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
    if isinstance(scores, Predictions):
        if (labels, kind, classes, positive, weights, renormalize) != (None, "auto", None, None, None, False):
            raise UsageError("predictions have labels and classes of their own; give such options to read()")
        predictions = scores
    elif labels is None:
        raise UsageError("labels are missing: evaluate(scores, labels), or evaluate(read(path))")
    else:
        given = {"kind": kind, "positive": positive, "renormalize": renormalize}
        predictions = from_arrays(
            scores, labels, classes=classes, weights=weights, **checked(ReadOptions, given, "keyword")
        )
    if calibration_data is not None:
        settings = {"training": "held-out", **settings}
    companions = Companions(calibration_data, posteriors)
    evaluation = evaluate_predictions(predictions, settings_of(settings), companions=companions)
    columns = [by] if isinstance(by, str) else by
    results = tuple(_results(predictions, evaluation, columns, companions))
    return Report(results, evaluation.settings, evaluation=evaluation)


def evaluate_files(
    sources: Sequence[Sequence[str]],
    options: ReadOptions,
    settings: Settings,
    *,
    rules: Sequence[Rule] = (),
    by: Sequence[str] = (),
    companions: Companions | None = None,
    output: Path | None = None,
    per_class: bool = False,
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
    per_class
        Whether tables and records have the figures of each class.
    watcher
        Starts a progress bar.
    """
    names = relative_names([source[0] for source in sources])
    results: list[Result] = []
    with filled_folder(output) if output else nullcontext() as folder:
        for name, source in zip((str(Path(name).with_suffix("")) for name in names), sources, strict=True):
            predictions = read_concat(source, options)
            watch = watcher(name, predictions.n_rows)
            asked = _with_metrics_of(rules, settings, predictions)
            lenses = lenses_of(FIGURES.values(), predictions, "top-1", asked) if folder else ()
            evaluation = evaluate_predictions(predictions, asked, watch, companions, lenses)
            if folder:
                _draw(evaluation, folder / name if len(sources) > 1 else folder)
            results += _results(predictions, evaluation, by, companions)
        shown = EvaluationReport(results, settings, per_class)
        if folder:
            shown.write(folder)
    return shown


def read_companions(
    calibration_data: str | None,
    calibration_labels: str | None,
    posteriors: str | None,
    options: ReadOptions,
) -> Companions:
    """Read the files that are needed beside those that are evaluated.

    Parameters
    ----------
    calibration_data, calibration_labels
        Predictions to train recalibrations on, and where their labels are if not beside them.
    posteriors
        Calibrated posteriors of the rows that are evaluated.
    options
        How the evaluated files are read.

    Raises
    ------
    InputError
        If one cannot be read.
    """
    calibration = None
    if calibration_data is not None:
        # other rows, other labels: a file of labels is that of the evaluated rows
        named = None if (options.labels or "").endswith(".npy") else options.labels
        others = replace(options, labels=calibration_labels or named, limit=None)
        calibration = read(calibration_data, others)
    return Companions(calibration, None if posteriors is None else read(posteriors, options))


def read_failures(texts: Sequence[str], settings: Settings) -> list[Rule]:
    """Return the rules that texts such as `log_loss>0.5` break, on metrics which have these settings.

    Raises
    ------
    UsageError
        If one makes no sense.
    """
    return [parse_failure(text, settings.defaults) for text in texts]


def broken(results: Sequence[Result], rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for each rule that all rows of some data break.

    Raises
    ------
    InputError
        If a metric is undefined.
    """
    return [
        sentence
        for result in results
        for rule in rules
        if result.slice is None and (sentence := failure(rule, result.metrics, result.input.path))
    ]


def _with_metrics_of(rules: Sequence[Rule], settings: Settings, predictions: Predictions) -> Settings:
    """Have the metrics of rules computed beside those asked for, or beside the usual ones."""
    if not rules:
        return settings
    asked = settings.metrics or tuple(default_metrics(predictions, settings)[0])
    return replace(settings, metrics=(*asked, *(rule.call.asked for rule in rules)))


def _draw(evaluation: Evaluation, folder: Path) -> None:
    from calcli.figures import standard_set

    folder.mkdir(parents=True, exist_ok=True)
    standard_set(evaluation, folder)


def _results(
    predictions: Predictions, evaluation: Evaluation, by: Sequence[str], companions: Companions | None
) -> list[Result]:
    """Return what is reported of all rows, then of each slice, p-values corrected for the number of them."""
    found = [summarize(evaluation)]
    for column in by:
        parts = [
            replace(summarize(own), slice=part)
            for part, own in evaluate_slices(predictions, column, evaluation.summary, companions)
        ]
        corrected = with_corrected_p([part.estimates for part in parts], list(map(is_compared, parts)))
        found += [replace(part, estimates=own) for part, own in zip(parts, corrected, strict=True)]
    return found
