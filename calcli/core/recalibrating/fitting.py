"""A fit from end to end: choose a method, learn it, and say honestly what it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter

import numpy as np

from calcli.core.calibrators.arguments import are_probabilities
from calcli.core.calibrators.base import Calibrator, make
from calcli.core.calibrators.crossvalidation import (
    LabeledScores,
    PairedDifference,
    Rescored,
    are_apart,
    checked_folds,
    held_out_folds,
    paired_difference,
    rows_of,
    with_left_out,
)
from calcli.core.calibrators.record import CalibratorRecord, FitOrigin
from calcli.core.data.arrays import Array, Doubles, Floats, Positions, Stream, generator
from calcli.core.data.derived import counted, gathered
from calcli.core.data.predictions import ArrayScores, Predictions, Scores, called
from calcli.core.data.processes import Processes, processes_for
from calcli.core.data.units import UNIT_LIMIT, Units, column_folds, random_folds, require_clusters
from calcli.core.evaluating.evaluate import lean_needs, values_of
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.sections import area_if_backwards, needs_of_order
from calcli.core.evaluating.usual import is_sampled
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MethodExpression, parse_method, refuse_classes
from calcli.core.language.settings import FitSettings, Settings
from calcli.core.language.text import Watch
from calcli.core.recalibrating.choosing import (
    POOL,
    Candidate,
    Dealt,
    MetricValues,
    Performance,
    Sureness,
    Trials,
    choose,
    repeats,
)
from calcli.core.state.needs import Need, RowValues

GAINS = 100_000_000  # scores fitted to, from which processes gain with any method; some do from a hundredth
STEPPED = ("one score", "vectors", "pool")  # families of methods that may have steps
PREDICTED = [RowValues(name, attrgetter(name)) for name in ("predicted", "tied")]
ASKED = Settings(metrics=("log_loss", "brier", "ece", "accuracy"), intervals=False, draws=0)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted calibrator and what it does.

    Attributes
    ----------
    method
        The method.
    calibrator
        The calibrator, fitted to all rows.
    predictions
        The rows.
    settings
        How it was fitted.
    before, after
        Metrics on the fitting rows, as they were and recalibrated.
    cross_validated
        Metrics of held-out predictions; None without folds.
    gain
        Held-out loss before against after, by the score of the settings; None without folds.
    changed_rows, new_ties
        Fitting rows with a changed predicted class, and rows with a newly shared largest probability; rows of
        weight 0 left out.
    candidates
        What was compared, the simplest first; empty where nothing was to be chosen.
    sureness
        How sure the choice is; None where nothing was to be chosen.
    workers
        Processes that did the fits of the cross-validation.
    backwards_area
        The area under the ROC curve of the fitting rows, if their scores rank the wrong way round; else None.
    unchanged
        Whether no method gains more than chance, in which case the calibrator, a temperature of 1, changes
        nothing.
    """

    method: MethodExpression
    calibrator: Calibrator
    predictions: Predictions
    settings: FitSettings
    before: MetricValues
    after: MetricValues
    cross_validated: MetricValues | None
    gain: PairedDifference | None
    changed_rows: int
    new_ties: int
    candidates: tuple[Candidate, ...]
    sureness: Sureness | None = None
    workers: int = 1
    backwards_area: float | None = None
    unchanged: bool = False

    def __repr__(self) -> str:
        return f"<Fit of {self.method} to {self.predictions.provenance.path}>"

    @property
    def class_rows(self) -> Positions:
        """(K,) rows of each class, rows of weight 0 left out."""
        rows = self.predictions
        counted = rows.labels if rows.weights is None else rows.labels[rows.weights > 0]
        return np.bincount(counted, minlength=rows.n_classes)

    @property
    def priors(self) -> Doubles:
        """(K,) weighted frequencies of the classes."""
        rows = self.predictions
        sums = np.bincount(rows.labels, rows.weights, minlength=rows.n_classes)
        return sums / sums.sum()

    @property
    def weight(self) -> float:
        """Weight of the rows; their number if they have none."""
        rows = self.predictions
        return rows.n_rows if rows.weights is None else float(rows.weights.sum())


def takes_raw(method: MethodExpression, otherwise: bool = False) -> bool:
    """Tell whether a method takes raw logits only: its expression says so, or the setting for all."""
    inputs = [link.arguments["input"] == "raw" for link in method.chain if "input" in link.arguments]
    return any(inputs) if inputs else otherwise


def fit(
    predictions: Predictions,
    methods: Sequence[MethodExpression],
    settings: FitSettings | None = None,
    watch: Watch = lambda steps: None,
) -> Fit:
    """Fit a method, or the simplest of several that do not differ from the best.

    Parameters
    ----------
    predictions
        The rows to fit to.
    methods
        One method, or several to choose from by cross-validation.
    settings
        How to fit.
    watch
        Called with the number of fits done; `fits` gives the total, and `with_folds` the folds in a column.

    Raises
    ------
    InputError
        If the rows are unsuitable for the method.
    UsageError
        If the method does not go with the rows or the settings.
    """
    predictions.require_named_class()
    predictions.require_probabilities()
    settings = with_folds(settings or FitSettings(), predictions)
    if predictions.of_answers:
        refuse_classes(settings.wrapped(method) for method in methods)
    predictions = counted(predictions)
    stored = gathered(predictions.scores)
    needs = *needs_of_order(predictions, ASKED), *PREDICTED
    measured = _measured(predictions, stored, *needs, score=settings.score)
    before, area = _performance(measured, settings.score), area_if_backwards(measured, ASKED, {})
    columns = measured.columns
    if raw := [settings.wrapped(method) for method in methods if takes_raw(method, settings.raw)]:
        refuse_raw(predictions, raw)
    rows = _rows(replace(predictions, scores=stored), methods)
    del stored, measured  # what only they hold makes room for the fits
    if are_probabilities(rows.scores):
        raise InputError(
            f"{predictions.provenance.path} has probabilities, which --kind takes for {predictions.kind}; "
            "use --kind probs, or leave it out"
        )
    scores = ArrayScores(rows.scores, "logits")

    def judge(scores: Scores) -> Performance:
        return _performance(_measured(predictions, scores, score=settings.score), settings.score)

    folds = _folds(predictions, rows, settings) if settings.folds or len(methods) > 1 else []
    maker, step = _maker(settings), _steps(watch)
    method, unchanged = methods[0], False
    candidates: tuple[Candidate, ...] = ()
    sureness: Sureness | None = None
    held_out: Performance | None = None
    cross_validated: MetricValues | None = None
    gain: PairedDifference | None = None
    workers = processes_of(methods, settings, predictions)
    if len(methods) > 1:
        dealt = Dealt(rows, folds, settings)
        with Processes(dealt, workers) as processes:
            trials = Trials(dealt, judge, step, processes)
            method, held_out, candidates, sureness = choose(trials, methods, before)
        as_is = candidates[0].difference
        unchanged = not raw and as_is is not None and as_is.is_noise
    if unchanged:
        method, held_out, sureness = parse_method("temperature"), before, None
        calibrator = make(method).fresh({"temperature": 1.0})
    elif held_out is not None or not settings.folds:
        calibrator = rows.fit(maker(method))
        step()
    else:
        calibrator, left_out = with_left_out(maker(method), rows, folds[0], workers, step)
        held_out = judge(Rescored(scores, left_out, folds[0]))
    if held_out is not None:
        cross_validated = held_out.values
        gain = paired_difference(before.by_row, held_out.by_row, rows.weights).of_new_fits(settings.folds)
        del held_out
    note_rows(calibrator, predictions)
    if settings.folds and (absent := _absent(rows, folds)):
        calibrator.notes.append(f"{absent} of the classes had no row outside one of the folds")
    calibrator.notes += calibrator.order_notes(predictions.n_classes)
    after = _measured(predictions, Rescored.by_one(scores, calibrator), *PREDICTED)
    moved = (0, 0) if predictions.of_answers else _changes(columns, after.columns)
    return Fit(
        method, calibrator, predictions, settings, before.values, values_of(after), cross_validated, gain,
        *moved, candidates, sureness, workers, area, unchanged,
    )  # fmt: skip


def note_rows(calibrator: Calibrator, predictions: Predictions) -> None:
    """Note in a calibrator what the rows of its fit were."""
    origin = predictions.provenance
    columns = origin.taken if len(origin.taken) == predictions.n_classes else ()  # else of lists or arrays
    calibrator.fitted_to(
        called(predictions.kind, origin.percent),
        predictions.classes,
        columns[::-1] if origin.turned else columns,
        turned=origin.turned,
    )


def record_of(fit: Fit, sha256: str | None) -> CalibratorRecord:
    """Return the record of a fit.

    Parameters
    ----------
    fit
        What was fitted.
    sha256
        Hash of the files of the rows; None for rows that came from memory or a pipe.
    """
    rows = fit.predictions
    origin: FitOrigin = {
        "path": rows.provenance.path,
        "scores": rows.provenance.chosen,
        "columns": list(rows.provenance.taken),
        "sha256": sha256,
        "rows": rows.n_rows,
        "weight": fit.weight,
        "kind": rows.kind,
        "percent": rows.provenance.percent,
        "turned": rows.provenance.turned,
        "per_character": rows.provenance.per_character,
        "dtype": str(rows.scores.dtype),
        "folds": fit.settings.folds,
        "fold_column": fit.settings.fold_column,
        "seed": fit.settings.seed,
        "before": fit.before,
        "after": fit.after,
        "cross_validated": fit.cross_validated,
        "changed_rows": fit.changed_rows,
        "new_ties": fit.new_ties,
        "notes": list(fit.calibrator.notes),
    }
    raw, priors = takes_raw(fit.method, fit.settings.raw), tuple(fit.priors.tolist())
    return CalibratorRecord(fit.calibrator, rows.classes, raw, priors, origin)


def cross_validated(fit: Fit) -> Floats:
    """Return the (N, K) log-probabilities that each row of a fit gets from fits to the other folds.

    They are made once more: few ask for them, and they are many. The metrics that the fit holds are theirs,
    but a chosen method has the mean over all deals of the folds, and this is the first deal.

    Raises
    ------
    UsageError
        If there were no folds.
    """
    rows = _rows(fit.predictions, [fit.method])
    fold = _folds(fit.predictions, rows, fit.settings)[0]
    return held_out_folds(make(fit.settings.wrapped(fit.method)), rows, fold)


def with_folds(settings: FitSettings, predictions: Predictions) -> FitSettings:
    """Return settings with the number of folds that a column of the rows has, if it names one.

    Raises
    ------
    InputError
        If there is no such column, or it has one value.
    """
    if settings.fold_column is None:
        return settings
    return replace(settings, folds=int(column_folds(counted(predictions), settings.fold_column).max()) + 1)


def fits(methods: Sequence[MethodExpression], settings: FitSettings, rows: Predictions) -> int:
    """Return how many fits there will be."""
    if len(methods) == 1:
        return settings.folds + 1
    dealt = deals(settings, rows)
    return sum(str(method) != POOL for method in methods) * settings.folds * dealt + 1


def deals(settings: FitSettings, rows: Predictions) -> int:
    """Return how often folds are dealt to choose among methods."""
    return 1 if settings.fold_column is not None else repeats(*rows.scores.shape)


def processes_of(methods: Sequence[MethodExpression], settings: FitSettings, rows: Predictions) -> int:
    """Return how many processes choose among methods, or fit the only one to all rows and outside folds."""
    size, jobs = math.prod(rows.scores.shape), fits(methods, settings, rows)
    if len(methods) > 1:
        scores = size * (settings.folds - 1) * len(methods)
        return processes_for(scores, jobs, settings.workers, size)
    if not settings.folds or not are_apart(make(settings.wrapped(methods[0]))):
        return 1
    return processes_for(size * settings.folds, jobs, settings.workers, size, GAINS)


def recalibrated(predictions: Predictions, log_probs: Floats) -> Predictions:
    """Return the predictions with (N, K) log-probabilities in place of their scores."""
    return replace(predictions, scores=ArrayScores(log_probs, "log-probs"))


def _rows(predictions: Predictions, methods: Sequence[MethodExpression]) -> LabeledScores:
    """Read all scores; methods with steps need exact ones."""
    families = {link.entry.family for method in methods for link in method.chain}
    return rows_of(predictions, exact=not families.isdisjoint(STEPPED))


def _measured(predictions: Predictions, scores: Scores, *extra: Need, score: str = "") -> Measurements:
    """Measure these scores of the rows: metrics, of many rows from sums, and losses by a score of each."""
    rows = replace(predictions, scores=scores)
    needs = lean_needs(rows, ASKED)
    losses = [RowValues(score, need.statistics[score]) for need in needs if score in need.statistics]
    needs += [*losses, *extra]
    return Measurements.of(rows, ASKED, needs, summed=is_sampled(rows, ASKED) and rows.n_rows > UNIT_LIMIT)


def _performance(measured: Measurements, score: str) -> Performance:
    """Return what the scores are worth that a pass went over, with losses by a score that is asked for."""
    return Performance(values_of(measured), measured.columns[score])


def _changes(before: Mapping[str, Array], after: Mapping[str, Array]) -> tuple[int, int]:
    """Return in how many rows the predicted class changes, and in how many it gets a tie."""
    changed, tied = before["predicted"] != after["predicted"], after["tied"] & ~before["tied"]
    return int(np.count_nonzero(changed)), int(np.count_nonzero(tied))


def _steps(watch: Watch) -> Callable[[], None]:
    """Return what counts a fit."""
    steps = count(1)
    return lambda: watch(next(steps))


def _maker(settings: FitSettings) -> Callable[[MethodExpression], Calibrator]:
    return lambda method: make(settings.wrapped(method))


def _folds(predictions: Predictions, rows: LabeledScores, settings: FitSettings) -> list[Positions]:
    """Return the fold of each row, for each time that they are dealt; the first time as for one method."""
    if settings.fold_column is not None:
        return [column_folds(predictions, settings.fold_column)]
    if not settings.folds:
        raise UsageError("choosing among methods needs cross-validation; use --folds 2 or more")
    require_clusters(predictions, settings.cluster)
    units = Units.of(len(rows.labels), predictions.column_if(settings.cluster))
    number = checked_folds(settings.folds, units.number)
    rng = generator(settings.seed, Stream.FITS)
    times = range(repeats(*rows.scores.shape))
    return [random_folds(len(rows.labels), number, rng, units) for _ in times]


def _absent(rows: LabeledScores, folds: Sequence[Positions]) -> int:
    """Return how many classes have all their rows in one fold, at most, of the times that they are dealt."""
    absent = []
    for fold in folds:
        number = int(fold.max()) + 1
        pairs = np.flatnonzero(np.bincount(rows.labels.astype(np.intp) * number + fold))  # class and fold
        absent.append(int(np.count_nonzero(np.bincount(pairs // number) == 1)))
    return max(absent)


def refuse_raw(predictions: Predictions, methods: Sequence[MethodExpression]) -> None:
    """Raise a UsageError if methods that take raw logits do not go with the rows."""
    chains = [method.chain for method in methods]
    if any(link.entry.name == "reduced" for chain in chains for link in chain):
        raise UsageError("a confidence has no raw logits; leave out --input raw, or --lens reduced")
    if predictions.kind != "logits":
        raise UsageError(
            f"{predictions.provenance.path} has {predictions.kind}, --input raw needs logits; leave it out, "
            "or say --kind logits if they are"
        )
    for *_, learning in chains:
        if learning.entry.family != "softmax" and "input" not in learning.arguments:
            raise UsageError(
                f"{learning.entry.name} acts on probabilities; leave out --input raw, which works with platt "
                "and the softmax methods"
            )
