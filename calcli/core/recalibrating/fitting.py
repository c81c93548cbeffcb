"""A fit from end to end: choose a method, learn it, and say honestly what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.arguments import are_probabilities
from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.crossvalidation import (
    LabeledScores,
    PairedDifference,
    held_out,
    paired_difference,
    rows_of,
    simplest,
)
from calcli.core.calibrators.methods import make
from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.calibrators.wrappers import top1_changes
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import log_softmax
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.estimators.rules import scoring_rule
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import MethodExpression
from calcli.core.language.methods import ERRORS, METHODS
from calcli.core.language.progress import Watch
from calcli.core.language.settings import FitSettings, Settings

REPORTED = ("log_loss", "brier", "ece", "accuracy")
MetricValues = dict[str, float]


@dataclass(frozen=True)
class Candidate:
    """A method that was tried.

    Attributes
    ----------
    call
        The method; None for the scores as they are.
    values
        Metrics of the held-out predictions; empty if it could not be fitted.
    difference
        Held-out loss against that of the best candidate.
    failed
        Why it could not be fitted.
    """

    call: MethodExpression | None
    values: MetricValues
    difference: PairedDifference | None = None
    failed: str = ""


@dataclass(frozen=True)
class Fit:
    """A fitted calibrator and what it does.

    Attributes
    ----------
    call
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
        Fitting rows whose predicted class changes, and whose largest probability becomes shared; those of
        weight 0 left out.
    candidates
        What was compared, the simplest first; empty where nothing was to be chosen.
    """

    call: MethodExpression
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

    @property
    def class_rows(self) -> NDArray[np.intp]:
        """(K,) how many rows each class has, those of weight 0 left out."""
        rows = self.predictions
        counted = rows.labels if rows.weights is None else rows.labels[rows.weights > 0]
        return np.bincount(counted, minlength=rows.n_classes)

    @property
    def priors(self) -> NDArray[np.float64]:
        """(K,) weighted frequencies of the classes."""
        rows = self.predictions
        sums = np.bincount(rows.labels, rows.weights, minlength=rows.n_classes)
        return sums / sums.sum()


def candidates_for(raw: bool) -> list[str]:
    """Return the methods that `auto` tries unasked."""
    return [m.name for m in METHODS.values() if m.quick and (m.family == "softmax" or not raw)]


def takes_raw(call: MethodExpression, otherwise: bool = False) -> bool:
    """Tell whether a method takes raw logits only: its expression says so, or what is said of all."""
    said = [one.arguments["input"] == "raw" for one in call.chain if "input" in one.arguments]
    return any(said) if said else otherwise


def fit(
    predictions: Predictions,
    calls: Sequence[MethodExpression],
    settings: FitSettings | None = None,
    watch: Watch = lambda done: None,
) -> Fit:
    """Fit a method, or the simplest of several that are as good as the best.

    Parameters
    ----------
    predictions
        The rows to fit to.
    calls
        One method, or several to choose from by cross-validation.
    settings
        How to fit.
    watch
        Called with the number of fits done; there are `fits(calls, settings)`.

    Raises
    ------
    InputError
        If the rows are unsuitable for the method.
    UsageError
        If the method does not go with the rows or the settings.
    """
    settings = settings or FitSettings()
    for call in calls if len(calls) > 1 else ():
        if any(one.arguments.get("score") in ERRORS for one in call.chain):
            raise UsageError(
                f"{call}: what minimizes a calibration error is not chosen among others, as it is no proper "
                "score; fit it by itself"
            )
    if len(calls) > 1 and not settings.folds:
        raise UsageError("choosing among methods takes cross-validation; give --folds 2 or more")
    evaluation = _evaluated(predictions)
    predictions, before = evaluation.predictions, _values(evaluation)
    if raw := [settings.wrapped(call) for call in calls if takes_raw(call, settings.raw)]:
        _refuse_raw(predictions, raw)
    rows = rows_of(predictions)
    if are_probabilities(rows.scores):
        raise InputError(
            f"{predictions.provenance.path} has probabilities, which are taken for {predictions.kind}; say "
            "--kind probs, or leave --kind out"
        )
    trial = _Trial(predictions, rows, settings, watch)
    candidates: tuple[Candidate, ...] = ()
    call = calls[0]
    if len(calls) > 1:
        call, candidates = _choose(trial, calls, before)
    cross_validated, gain = None, None
    if settings.folds:
        done = trial.held_out(call)
        cross_validated, gain = done.values, trial.gain(done)
    calibrator = rows.fit(trial.made(call))
    trial.step()
    log_probs = calibrator.apply(rows.scores)
    after = _values(_evaluated(recalibrated(predictions, log_probs)))
    counted = slice(None) if rows.weights is None else rows.weights > 0
    changes = top1_changes(rows.scores[counted], log_probs[counted])
    return Fit(
        call, calibrator, predictions, settings, before, after, cross_validated, gain, *changes, candidates
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
    losses = {"before": fit.before, "after": fit.after, "cross_validated": fit.cross_validated}
    return CalibratorRecord(
        fit.calibrator,
        rows.classes,
        takes_raw(fit.call, fit.settings.raw),
        tuple(fit.priors.tolist()),
        {
            "path": rows.provenance.path,
            "sha256": sha256,
            "rows": rows.n_rows,
            "weight": rows.n_rows if rows.weights is None else float(rows.weights.sum()),
            "kind": rows.kind,
            "dtype": str(rows.scores.dtype),
            "folds": fit.settings.folds,
            "seed": fit.settings.seed,
            **losses,
            "changed_rows": fit.changed_rows,
            "new_ties": fit.new_ties,
            "notes": list(fit.calibrator.notes),
        },
    )


def cross_validated(fit: Fit) -> Doubles:
    """Return the (N, K) log-probabilities that each row of a fit gets from fits to the other folds.

    They are those whose metrics the fit holds, made once more: few ask for them, and they are many.

    Raises
    ------
    UsageError
        If there were no folds.
    """
    calibrator = make(fit.settings.wrapped(fit.call))
    return held_out(calibrator, rows_of(fit.predictions), fit.settings.folds, fit.settings.seed)


def fits(calls: Sequence[MethodExpression], settings: FitSettings) -> int:
    """Return how many fits there will be."""
    return len(calls) * settings.folds + 1


def recalibrated(predictions: Predictions, log_probs: Floats) -> Predictions:
    """Return the predictions with (N, K) log-probabilities in place of their scores."""
    return replace(predictions, scores=ArrayScores(log_probs, "log-probs"))


@dataclass(frozen=True)
class _HeldOut:
    """The held-out predictions of a method, reduced: metrics and the loss of each row."""

    values: MetricValues
    losses: Doubles


class _Trial:
    """Cross-validation of methods on the same folds, each done once."""

    def __init__(
        self, predictions: Predictions, rows: LabeledScores, settings: FitSettings, watch: Watch
    ) -> None:
        self.rows, self.settings = rows, settings
        self._predictions, self._watch = predictions, watch
        self._done: dict[str, _HeldOut] = {}
        self._fits = 0

    def step(self) -> None:
        """Count a fit."""
        self._fits += 1
        self._watch(self._fits)

    def made(self, call: MethodExpression) -> Calibrator:
        """Return the calibrator to fit."""
        return make(self.settings.wrapped(call))

    def held_out(self, call: MethodExpression) -> _HeldOut:
        """Cross-validate a method."""
        if str(call) not in self._done:
            folds, seed = self.settings.folds, self.settings.seed
            log_probs = held_out(self.made(call), self.rows, folds, seed, self.step)
            values = _values(_evaluated(recalibrated(self._predictions, log_probs)))
            losses = scoring_rule(self.settings.score).losses(log_probs, self.rows.labels)
            self._done[str(call)] = _HeldOut(values, losses)
        return self._done[str(call)]

    def losses_before(self) -> Doubles:
        """Return the losses of the scores as they are."""
        return scoring_rule(self.settings.score).losses(log_softmax(self.rows.scores), self.rows.labels)

    def gain(self, done: _HeldOut) -> PairedDifference:
        """Compare the scores as they are with a method."""
        return paired_difference(self.losses_before(), done.losses, self.rows.weights)


def _choose(
    trial: _Trial, calls: Sequence[MethodExpression], before: MetricValues
) -> tuple[MethodExpression, tuple[Candidate, ...]]:
    order = list(METHODS)

    def freedom(call: MethodExpression) -> tuple[int, int]:
        return order.index(call.chain[-1].entry.name), len(call.chain)

    tried: list[tuple[MethodExpression, _HeldOut]] = []
    failed: list[Candidate] = []
    for call in sorted(calls, key=freedom):
        try:
            tried.append((call, trial.held_out(call)))
        except CalcliError as fault:
            failed.append(Candidate(call, {}, failed=str(fault)))
    if not tried:
        raise UsageError(f"none of the candidates can be fitted: {failed[0].failed}")
    weights = trial.rows.weights
    chosen, differences = simplest([done.losses for _, done in tried], weights)
    best = min((done for _, done in tried), key=lambda done: float(np.average(done.losses, weights=weights)))
    as_is = Candidate(None, before, paired_difference(trial.losses_before(), best.losses, weights))
    found = [Candidate(call, done.values, d) for (call, done), d in zip(tried, differences, strict=True)]
    return tried[chosen][0], (as_is, *found, *failed)


def _refuse_raw(predictions: Predictions, calls: Sequence[MethodExpression]) -> None:
    chains = [call.chain for call in calls]
    if any(one.entry.name == "reduced" for chain in chains for one in chain):
        raise UsageError("a confidence has no raw logits; leave out --input raw, or --lens reduced")
    if predictions.kind != "logits":
        raise UsageError(
            f"{predictions.provenance.path} has {predictions.kind}, --input raw needs logits; leave it out, "
            "or say --kind logits if they are"
        )
    for *_, learning in chains:
        if learning.entry.family != "softmax" and "input" not in learning.arguments:
            raise UsageError(
                f"{learning.entry.name} acts on probabilities; leave out --input raw, which is for platt and "
                "the softmax methods"
            )


def _evaluated(predictions: Predictions) -> Evaluation:
    return evaluate(predictions, Settings(metrics=REPORTED, resamples=0, draws=0))


def _values(evaluation: Evaluation) -> MetricValues:
    return {name: estimate.value for name, estimate in evaluation.estimates.items()}
