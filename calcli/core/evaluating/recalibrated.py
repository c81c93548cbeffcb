"""How much of a score a recalibration wins back, and what else the recalibrated posteriors say of it.

Ferrer & Ramos 2024, sections 3.3 and 3.4: the calibration loss is the score before minus the score after a
recalibration that is trained on other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.crossvalidation import LabeledScores, rows_of
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.folds import stratified_folds
from calcli.core.data.logspace import log_softmax
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.processes import Processes, processes_for
from calcli.core.data.slices import select
from calcli.core.data.streams import Stream, generator
from calcli.core.data.units import Units
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.evaluating.recalibration import Recalibration, recalibrator
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MetricExpression
from calcli.core.language.metrics import GIVEN

GAINS = 100_000_000  # scores that are resampled, from which processes gain, one or two seconds of them
NEEDS = "{} needs a file of predictions; give it with {} FILE"


@dataclass(frozen=True)
class Companions:
    """Predictions that are read beside those that are evaluated.

    Attributes
    ----------
    calibration
        Rows to train recalibrations on.
    posteriors
        Posteriors of the evaluated rows that are taken for calibrated.
    """

    calibration: Predictions | None = None
    posteriors: Predictions | None = None

    def counted(self, predictions: Predictions) -> Companions:
        """Return these beside the evaluated rows of a weight above 0; see `slices.counted`.

        Raises
        ------
        InputError
            If posteriors are not of these rows.
        """
        weights, posteriors = predictions.weights, self.posteriors
        if posteriors is None or weights is None or not (predictions.has_rows and posteriors.has_rows):
            return self
        if weights.all() or not weights.any():
            return self
        self._require_rows(predictions)
        return replace(self, posteriors=select(posteriors, weights > 0))

    def log_posteriors(self, predictions: Predictions) -> Doubles | None:
        """Return the (N, K) log-posteriors of evaluated rows, if there are any.

        Raises
        ------
        InputError
            If they are not of these rows or classes.
        """
        if self.posteriors is None:
            return None
        self._require_rows(predictions)
        return log_softmax(rows_of(self.posteriors).scores.astype(np.float64, copy=False))

    def _require_rows(self, predictions: Predictions) -> None:
        known, path = self.posteriors, predictions.provenance.path
        if known is None:
            return
        if known.n_rows != predictions.n_rows:
            raise InputError(
                f"{known.provenance.path} has {known.n_rows:,} rows; expected the "
                f"{predictions.n_rows:,} of {path}"
            )
        require_classes(known, predictions.classes, path)
        different = int(np.count_nonzero(known.labels != predictions.labels))
        if different and not predictions.of_answers:
            raise InputError(
                f"{known.provenance.path} and {path} have different labels in {different:,} of "
                f"{known.n_rows:,} rows; expected posteriors of the same rows, in the same order"
            )


@dataclass(frozen=True)
class CalibrationLoss:
    """A score before and after recalibration.

    Attributes
    ----------
    before, after
        The score, the lower the better.
    standard_error
        Of their difference; nan where a loss is infinite, or not needed.
    """

    before: float
    after: float
    standard_error: float = np.nan

    @property
    def absolute(self) -> float:
        """What the recalibration wins; slightly negative where there is nothing to win."""
        return self.before - self.after

    @property
    def relative(self) -> float:
        """The same as a share of the score before; nan where that is zero or infinite."""
        return self.absolute / self.before if 0 < self.before < np.inf else np.nan


@dataclass(frozen=True)
class Recalibrated:
    """Rows with their recalibrated posteriors.

    Attributes
    ----------
    kept
        (n,) which of the rows that are evaluated have weight; no others count here.
    rows
        Those rows as they are.
    log_probs
        (n, K) recalibrated log-posteriors.
    recalibration
        Where they come from; None if they were given.
    units
        Which of them belong together.
    clip
        Least probability of a label that the log-loss counts with; 0 for no clipping.
    squares
        (n,) sums of squared weights, where entries stand for several rows each; None for one.
    """

    kept: NDArray[np.intp]
    rows: LabeledScores
    log_probs: Doubles
    recalibration: Recalibration | None
    units: Units
    clip: float
    squares: Doubles | None = None

    def calibration_loss(self, rule: ScoringRule, before: Array) -> CalibrationLoss:
        """Return the score before and after, given the (N,) losses before of all rows."""
        old, new = before[self.kept].astype(np.float64, copy=False), self.losses(rule)
        return CalibrationLoss(self.mean(old), self.mean(new), self._standard_error(old, new))

    def _standard_error(self, before: Doubles, after: Doubles) -> float:
        """Return the standard error of the mean difference, the recalibrated posteriors taken as they are.

        That they come from a fit matters in second order only, as the fit minimizes the score.
        """
        weights = np.ones(len(before)) if self.rows.weights is None else self.rows.weights
        with np.errstate(invalid="ignore"):
            won = before - after
            if self.squares is not None:
                deviations = np.square(won - np.average(won, weights=weights))
                return float(np.sqrt(self.squares @ deviations) / weights.sum())
            terms = weights * (won - np.average(won, weights=weights)) / weights.sum()
        return float(np.linalg.norm(self.units.sums(terms)))

    def losses(self, rule: ScoringRule) -> Doubles:
        """Return the (n,) losses of the recalibrated posteriors."""
        return self._losses(self.log_probs, self.rows.labels, rule)

    def resampled_losses(
        self, rule: ScoringRule, before: Array, resamples: int, seed: int, workers: int = 1
    ) -> list[CalibrationLoss]:
        """Return the same for resamples of the rows, to each of which the transform is fitted again.

        Only of posteriors that come from a transform. Any number of processes gives the same bits.
        """
        rest = replace(self, log_probs=self.log_probs[:0])  # which are made anew
        shared = _Resampled(rest, rule, before[self.kept], seed)
        with Processes(shared, workers) as processes:
            found = dict(processes.each(_resampled_loss, range(resamples)))
        return [found[number] for number in range(resamples)]

    def processes_for(self, resamples: int, workers: int | None) -> int:
        """Return how many processes look at resamples: no more than said, and one where they gain nothing."""
        held = self.rows.scores.size
        if self.recalibration is not None and self.recalibration.training_rows is not None:
            held += self.recalibration.training_rows.scores.size
        if resamples * held < GAINS:
            return 1
        return processes_for(resamples * held, resamples, workers, held, GAINS)

    def expected_losses(self, rule: ScoringRule) -> Doubles:
        """Return the (n,) losses expected of the rows if labels came from the recalibrated posteriors.

        The semi-empirical expectation: over the rows as they are, over the labels by the posteriors
        (Ferrer & Ramos 2024, section 3.4, table 1).
        """
        log_probs = log_softmax(self.rows.scores.astype(np.float64, copy=False))
        return rule.expected(log_probs, self.log_probs)

    def unexplained(self, rule: ScoringRule, before: float) -> float:
        """Return what share of the score, normalized, the recalibrated posteriors do not expect.

        Each is divided by that of the constant system under its own class priors, which are the frequencies
        of the labels, or the mean posteriors (Ferrer & Ramos 2024, table 1). Without that the optimum over a
        scale of the scores would explain everything: its gradient is the difference of the two.
        """
        counts = np.bincount(self.rows.labels, self.rows.weights, self.log_probs.shape[1])
        expected = np.average(np.exp(self.log_probs), axis=0, weights=self.rows.weights)
        constant = rule.constant(np.stack([counts / counts.sum(), expected]))
        with np.errstate(invalid="ignore", divide="ignore"):
            observed, semi = np.array([before, self.mean(self.expected_losses(rule))]) / constant
            return float(1 - semi / observed)

    def distances(self) -> Doubles:
        """Return the (n,) sums over the classes of the absolute differences of both posteriors."""
        log_probs = log_softmax(self.rows.scores.astype(np.float64, copy=False))
        return np.abs(np.exp(log_probs) - np.exp(self.log_probs)).sum(axis=1)

    def entropies(self, rule: ScoringRule) -> Doubles:
        """Return the (n,) losses expected of the recalibrated posteriors themselves, the least possible."""
        return rule.expected(self.log_probs, self.log_probs)

    def mean(self, losses: Array) -> float:
        """Return the weighted mean over the rows."""
        return _mean(losses, self.rows.weights)

    def _losses(self, log_probs: Doubles, labels: Array, rule: ScoringRule) -> Doubles:
        losses, greatest = rule.losses(log_probs, labels), rule.greatest(self.clip)
        return losses if greatest == np.inf else np.minimum(losses, greatest)


class _Resampled(NamedTuple):
    """What is resampled, with the (n,) losses before of its rows."""

    found: Recalibrated
    rule: ScoringRule
    before: Doubles
    seed: int


def _resampled_loss(shared: _Resampled, number: int) -> CalibrationLoss:
    """Return the calibration loss of a resample, to which the transform is fitted again."""
    found, rule, before, seed = shared
    assert found.recalibration is not None
    rng = generator(seed, Stream.RECALIBRATED_RESAMPLES, number)
    drawn = found.recalibration.resample(found.rows, found.units, rng)
    after = found._losses(drawn.log_probs, found.rows.labels[drawn.rows], rule)
    return CalibrationLoss(_mean(before[drawn.rows], drawn.weights), _mean(after, drawn.weights))


class Recalibrations:
    """The recalibrations of one set of predictions, each done once.

    Parameters
    ----------
    predictions
        What is evaluated.
    companions
        What is read beside it.
    seed
        Of the folds.
    clip
        See `Recalibrated`.
    units
        Which rows belong together.
    folds
        (N,) column of which rows that share a value form a fold; None to deal them out.
    number
        Of folds that they are dealt into.
    squares
        See `Recalibrated`.

    Attributes
    ----------
    kept
        (n,) which rows have weight; no others count.
    """

    def __init__(
        self,
        predictions: Predictions,
        companions: Companions,
        seed: int,
        clip: float = 0.0,
        units: Units | None = None,
        folds: Array | None = None,
        number: int = 5,
        squares: Doubles | None = None,
    ) -> None:
        self._predictions, self._companions, self._clip = predictions, companions, clip
        self._squares = squares
        weights, self._rows = predictions.weights, rows_of(predictions)
        self.kept = np.arange(predictions.n_rows) if weights is None else np.flatnonzero(weights)
        if len(self.kept) < predictions.n_rows:
            self._rows = self._rows.take(self.kept)
        self._units = (units or Units.of(predictions.n_rows)).among(self.kept)
        self._seed, self._given_folds, self._number = seed, folds, number
        self._done: dict[tuple[str, str], Recalibrated] = {}

    @cached_property
    def folds(self) -> Array:
        """(n,) in which fold each row with weight is."""
        if self._given_folds is not None:
            return np.unique(self._given_folds[self.kept], return_inverse=True)[1]
        rng = generator(self._seed, Stream.FOLDS)
        return stratified_folds(self._rows.labels, self._number, rng, self._units)

    def of(self, call: MetricExpression, training: str = "") -> Recalibrated | None:
        """Return the recalibration that a metric asks for; None where there are no two folds to do it with.

        Parameters
        ----------
        call
            The metric.
        training
            What it is trained on in place of what the metric says.

        Raises
        ------
        UsageError
            If the metric needs a file that was not given.
        InputError
            If such a file does not fit.
        """
        method, training = call.arguments["recalibrator"], training or call.arguments["training"]
        if method != GIVEN and training == "cross-validation" and not self.folds.any():
            return None
        if (method, training) not in self._done:
            self._done[method, training] = self._recalibrated(method, training)
        return self._done[method, training]

    def notes(self) -> Iterable[str]:
        """Yield what the fits want said."""
        for (method, _), found in self._done.items():
            if found.recalibration is not None:
                yield from (f"{method}: {note}" for note in found.recalibration.notes)

    def _recalibrated(self, method: str, training: str) -> Recalibrated:
        if method == GIVEN:
            posteriors = self._companions.log_posteriors(self._predictions)
            if posteriors is None:
                raise UsageError(NEEDS.format("recalibrator=given", "--posteriors"))
            log_probs = posteriors[self.kept]
            return Recalibrated(self.kept, self._rows, log_probs, None, self._units, self._clip)
        recalibration = Recalibration(recalibrator(method))
        if training == "cross-validation":
            recalibration.fold = self.folds
        elif training == "held-out":
            training_rows = self._companions.calibration
            if training_rows is None:
                raise UsageError(NEEDS.format("training=held-out", "--calibration-data"))
            require_classes(training_rows, self._predictions.classes, self._predictions.provenance.path)
            recalibration.training_rows = rows_of(training_rows)
        log_probs = recalibration.apply(self._rows)
        return Recalibrated(
            self.kept, self._rows, log_probs, recalibration, self._units, self._clip, self._squares
        )


def _mean(losses: Array, weights: Floats | None) -> float:
    return float(np.average(losses.astype(np.float64, copy=False), weights=weights))
