"""How much of a score a recalibration wins back, and what else the recalibrated posteriors say of it.

Ferrer & Ramos 2024, sections 3.3 and 3.4: the calibration loss is the score before minus the score after a
recalibration that is trained on other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.crossvalidation import LabeledScores, rows_of
from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.chance import Stream, generator
from calcli.core.data.logspace import log_softmax
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.processes import Processes, processes_for
from calcli.core.data.slices import select
from calcli.core.data.units import Units, stratified_folds
from calcli.core.estimators.effort import FIT, FIT_ROWS, affordable_deals
from calcli.core.estimators.rules.base import ScoringRule
from calcli.core.evaluating.recalibration import Recalibration, affine_map, notes_of, recalibrator
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MetricExpression, nested_method
from calcli.core.language.metrics import AFFINE, GIVEN, PAV

FEWEST_DEALS = 5  # of which the variance is known well enough to stop
STEADY = 0.1  # standard deviation of the mean over deals, in standard errors of the rows
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
        if posteriors is None or weights is None or weights.all() or not weights.any():
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
    standard_error, relative_error
        Of their difference, and of its share of the score before; nan where a loss is infinite, or where none
        is needed.
    """

    before: float
    after: float
    standard_error: float = np.nan
    relative_error: float = np.nan

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
    """Rows with their recalibrated posteriors, as one score sees them.

    In cross-validation rows may be dealt into folds several times; whatever is said of them is the mean over
    these deals.

    Attributes
    ----------
    kept
        (n,) which of the rows that are evaluated have weight; no others count here.
    rows
        Those rows as they are.
    rule
        The score.
    before
        (n,) its losses of these rows.
    method
        What recalibrates.
    deals
        (n, K) recalibrated log-posteriors of each deal, at least one.
    recalibrations
        Where each comes from; none if they were given.
    units
        Which rows belong together.
    clip
        Least probability of a label that the log-loss counts with; 0 for no clipping.
    squares
        (n,) sums of squared weights, where entries stand for several rows each; None for one.
    whole
        (n, K) log-posteriors by a fit to all rows, in cross-validation.
    """

    kept: NDArray[np.intp]
    rows: LabeledScores
    rule: ScoringRule
    before: Doubles
    method: str
    deals: tuple[Doubles, ...]
    recalibrations: tuple[Recalibration, ...]
    units: Units
    clip: float
    squares: Doubles | None = None
    whole: Doubles | None = None

    @property
    def calibration_loss(self) -> CalibrationLoss:
        """The score before and after."""
        before, after = self.mean(self.before), self.mean(self.losses)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.array([self._spread(self.before - self.losses), self._spread_of_share()])
            of_fits = np.sqrt(self.variance_of_fits) / np.array([1.0, before])
            return CalibrationLoss(before, after, *map(float, np.hypot(errors, of_fits)))

    @cached_property
    def losses(self) -> Doubles:
        """(n,) losses of the recalibrated posteriors."""
        return self._over_deals(lambda log_probs: self._losses(log_probs, self.rows.labels))

    @cached_property
    def variance_of_fits(self) -> float:
        """What the variance of the mean loss is increased by, as posteriors come from fits to few rows.

        By the jackknife over folds it is as many times as there are folds, but one, that by which a fit to
        all rows differs for a row from the one that has not seen it. Without it a gain would seem the surer
        the smaller it happens to be: a map that moves nothing brings no spread. And the mean is that of so
        many deals of the rows into folds.
        """
        if self.whole is None:
            return 0.0
        of_deals = [self._losses(one, self.rows.labels) for one in self.deals]
        known = self._losses(self.whole, self.rows.labels)
        with np.errstate(invalid="ignore"):
            moved = np.mean([self._norm(losses - known) ** 2 for losses in of_deals])
        others = len(self.recalibrations[0].fits) - 1
        return others * float(moved) + _variance([self.mean(losses) for losses in of_deals])

    def dealt(self, more: Iterable[tuple[Doubles, Recalibration]]) -> Recalibrated:
        """Return the same after as many more deals as make the mean steady, or as there are.

        It is where their standard deviation is a tenth of the standard error of the rows.
        """
        deals, recalibrations = [*self.deals], [*self.recalibrations]
        total, means = self.losses.copy(), [self.mean(self.losses)]
        for log_probs, recalibration in more:
            losses = self._losses(log_probs, self.rows.labels)
            deals.append(log_probs)
            recalibrations.append(recalibration)
            means.append(self.mean(losses))
            total += losses
            if len(deals) < FEWEST_DEALS:
                continue
            with np.errstate(invalid="ignore"):
                spread = self._spread(self.before - total / len(deals))
            if not _variance(means) > (STEADY * spread) ** 2:  # also where a loss is infinite
                break
        return replace(self, deals=tuple(deals), recalibrations=tuple(recalibrations))

    def _spread(self, brought: Doubles) -> float:
        """Return the standard error of the mean of (n,) values, as dependent rows have it."""
        return self._norm(brought - self.mean(brought))

    def _norm(self, deviations: Doubles) -> float:
        """Return the root of the sum of squares of what units bring to a mean."""
        weights = np.ones(len(deviations)) if self.rows.weights is None else self.rows.weights
        if self.squares is not None:
            return float(np.sqrt(self.squares @ np.square(deviations)) / weights.sum())
        return float(np.linalg.norm(self.units.sums(weights * deviations / weights.sum())))

    def _spread_of_share(self) -> float:
        """Return the standard error of the share that is won, by the jackknife.

        To first order a row that brings most of the score, and of what is won of it, would bring nothing.
        """
        weights = np.ones(len(self.before)) if self.rows.weights is None else self.rows.weights
        if self.squares is not None:  # of many rows, of which none brings much
            left = self.mean(self.losses) / self.mean(self.before)
            return self._spread(left * self.before - self.losses) / self.mean(self.before)
        before, after = (self.units.sums(weights * one) for one in (self.before, self.losses))
        share = self.units.weights(self.rows.weights) / weights.sum()
        left = after.sum() / before.sum() - (after.sum() - after) / (before.sum() - before)
        brought = (1 - share) * left
        return float(np.linalg.norm(brought - share * brought.sum()))

    def resampled_losses(self, resamples: int, seed: int, workers: int = 1) -> list[CalibrationLoss]:
        """Return the same for resamples of the rows, to each of which the transform is fitted again.

        Only of posteriors that come from a transform. The deals take turns. Any number of processes gives the
        same bits.
        """
        rest = replace(self, deals=(), whole=None)  # which are made anew
        with Processes((rest, seed), workers) as processes:
            found = dict(processes.each(_resampled_loss, range(resamples)))
        return [found[number] for number in range(resamples)]

    def processes_for(self, resamples: int, workers: int | None) -> int:
        """Return how many processes look at resamples: no more than said, and one where they gain nothing."""
        held = self.rows.scores.size
        if self.recalibrations and self.recalibrations[0].training_rows is not None:
            held += self.recalibrations[0].training_rows.scores.size
        if resamples * held < GAINS:
            return 1
        return processes_for(resamples * held, resamples, workers, held, GAINS)

    def expected_losses(self) -> Doubles:
        """Return the (n,) losses expected of the rows if labels came from the recalibrated posteriors.

        The semi-empirical expectation: over the rows as they are, over the labels by the posteriors
        (Ferrer & Ramos 2024, section 3.4, table 1).
        """
        return self._over_deals(lambda posteriors: self.rule.expected(self._log_probs, posteriors))

    def unexplained(self) -> float:
        """Return what share of the score, normalized, the recalibrated posteriors do not expect.

        Each is divided by that of the constant system under its own class priors, which are the frequencies
        of the labels, or the mean posteriors (Ferrer & Ramos 2024, table 1). Without that the optimum over a
        scale of the scores would explain everything: its gradient is the difference of the two.
        """
        posteriors = self.posteriors()
        counts = np.bincount(self.rows.labels, self.rows.weights, posteriors.shape[1])
        expected = np.average(posteriors, axis=0, weights=self.rows.weights)
        constant = self.rule.constant(np.stack([counts / counts.sum(), expected]))
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = np.array([self.mean(self.before), self.mean(self.expected_losses())])
            observed, semi = scores / constant
            return float(1 - semi / observed)

    def posteriors(self) -> Doubles:
        """Return the (n, K) recalibrated posteriors."""
        return self._over_deals(np.exp)

    def distances(self) -> Doubles:
        """Return the (n,) sums over the classes of the absolute differences of both posteriors."""
        probs = np.exp(self._log_probs)
        return self._over_deals(lambda posteriors: np.abs(probs - np.exp(posteriors)).sum(axis=1))

    def entropies(self) -> Doubles:
        """Return the (n,) losses expected of the recalibrated posteriors themselves, the least possible."""
        return self._over_deals(lambda posteriors: self.rule.expected(posteriors, posteriors))

    def mean(self, losses: Array) -> float:
        """Return the weighted mean over the rows."""
        return _mean(losses, self.rows.weights)

    @property
    def _log_probs(self) -> Doubles:
        return log_softmax(self.rows.scores.astype(np.float64, copy=False))

    def _over_deals(self, of: Callable[[Doubles], Doubles]) -> Doubles:
        found = of(self.deals[0])
        return found if len(self.deals) == 1 else np.mean([found, *map(of, self.deals[1:])], axis=0)

    def _losses(self, log_probs: Doubles, labels: Array) -> Doubles:
        losses, greatest = self.rule.losses(log_probs, labels), self.rule.greatest(self.clip)
        return losses if greatest == np.inf else np.minimum(losses, greatest)


def _resampled_loss(shared: tuple[Recalibrated, int], number: int) -> CalibrationLoss:
    """Return the calibration loss of a resample, to which the transform is fitted again."""
    found, seed = shared
    rng = generator(seed, Stream.RECALIBRATED_RESAMPLES, number)
    recalibration = found.recalibrations[number % len(found.recalibrations)]
    drawn = recalibration.resample(found.rows, found.units, rng)
    after = found._losses(drawn.log_probs, found.rows.labels[drawn.rows])
    return CalibrationLoss(_mean(found.before[drawn.rows], drawn.weights), _mean(after, drawn.weights))


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
        self._rng, self._given_folds, self._number = generator(seed, Stream.FOLDS), folds, number
        self._deals: list[Positions] = []
        self._trained: dict[tuple[str, str], _Trained] = {}
        self._done: dict[tuple[str, str, str], Recalibrated] = {}

    @property
    def folds(self) -> Positions:
        """(n,) in which fold each row with weight is, the first time that they are dealt."""
        return self._deal(0)

    def of(self, call: MetricExpression, rule: ScoringRule, before: Array) -> Recalibrated | None:
        """Return the recalibration that a metric asks for; None where there are no two folds to do it with.

        Parameters
        ----------
        call
            The metric.
        rule, before
            The score that it is about, and its (N,) losses of all rows.

        Raises
        ------
        UsageError
            If the metric needs a file that was not given.
        InputError
            If such a file does not fit.
        """
        method, training = call.arguments["recalibrator"], call.arguments["training"]
        if method != GIVEN and training == "cross-validation" and not self.folds.any():
            return None
        key = method, training, call.score
        if key not in self._done:
            self._done[key] = self._recalibrated(method, training, rule, before)
        return self._done[key]

    def notes(self) -> Iterable[str]:
        """Yield what the fits want said."""
        classes = self._predictions.n_classes
        for trained in self._trained.values():
            fits = [fit for recalibration in trained.recalibrations for fit in recalibration.fits.values()]
            yield from (f"{trained.method}: {note}" for note in notes_of(fits, classes))

    def _recalibrated(self, method: str, training: str, rule: ScoringRule, before: Array) -> Recalibrated:
        made = partial(
            Recalibrated,
            kept=self.kept,
            rows=self._rows,
            rule=rule,
            before=before[self.kept].astype(np.float64, copy=False),
            units=self._units,
            clip=self._clip,
            squares=self._squares,
        )
        if method == GIVEN:
            posteriors = self._companions.log_posteriors(self._predictions)
            if posteriors is None:
                raise UsageError(NEEDS.format("recalibrator=given", "--posteriors"))
            return made(method=method, deals=(posteriors[self.kept],), recalibrations=())
        if (method, training) not in self._trained:
            self._trained[method, training] = self._train(method, training)
        trained = self._trained[method, training]
        first, recalibration = trained.deal(0)
        whole = trained.whole
        found = made(method=trained.method, deals=(first,), recalibrations=(recalibration,), whole=whole)
        return found.dealt(map(trained.deal, range(1, trained.most)))

    def _train(self, method: str, training: str) -> _Trained:
        """Return how the rows are recalibrated."""
        if training == "held-out":
            rows = self._training_rows()
            alike = Units.of(len(rows.labels)).effective_number(rows.weights)
            return _Trained(self._called(method, rows, alike), self._rows, None, rows)
        called = self._called(method, self._rows, self._alike)
        if training == "test":
            return _Trained(called, self._rows)
        return _Trained(called, self._rows, self._deal, most=self._most(called))

    @property
    def _alike(self) -> float:
        """How many rows of equal weight that depend on no other tell as much."""
        weights, squares = self._rows.weights, self._squares
        if weights is not None and squares is not None:
            return float(weights.sum() ** 2 / squares.sum())
        return self._units.effective_number(weights)

    def _most(self, method: str) -> int:
        """Return how often rows are dealt at most; entries, which stand for many, once."""
        if self._given_folds is not None or self._squares is not None:
            return 1
        rows, classes = self._rows.scores.shape
        own = 0 if method == PAV else nested_method(method).effort(rows + FIT_ROWS, classes) / 5
        return affordable_deals(rows, self._number * (own + FIT))

    def _training_rows(self) -> LabeledScores:
        rows = self._companions.calibration
        if rows is None:
            raise UsageError(NEEDS.format("training=held-out", "--calibration-data"))
        require_classes(rows, self._predictions.classes, self._predictions.provenance.path)
        return rows_of(rows)

    def _called(self, method: str, rows: LabeledScores, number: float) -> str:
        """Return the method that is meant, fitted to rows that tell as much as a number of equal weight."""
        if method != AFFINE:
            return method
        return affine_map(rows.scores, rows.labels, rows.weights, number)

    def _deal(self, number: int) -> Positions:
        """Return in which fold each row is, one of the times that they are dealt."""
        while len(self._deals) <= number:
            if self._given_folds is None:
                dealt = stratified_folds(self._rows.labels, self._number, self._rng, self._units)
            else:
                dealt = np.unique(self._given_folds[self.kept], return_inverse=True)[1]
            self._deals.append(dealt)
        return self._deals[number]


class _Trained:
    """A method that recalibrates rows, each deal of them once.

    Every fit starts from that of the same fold of the deal before.

    Attributes
    ----------
    method
        What recalibrates.
    most
        How often the rows are dealt at most.
    recalibrations
        Of the deals that were asked for.
    """

    def __init__(
        self,
        method: str,
        rows: LabeledScores,
        folds: Callable[[int], Positions] | None = None,
        training_rows: LabeledScores | None = None,
        most: int = 1,
    ) -> None:
        self.method, self.most = method, most
        self.recalibrations: list[Recalibration] = []
        self._rows, self._folds, self._training_rows = rows, folds, training_rows
        self._log_probs: list[Doubles] = []

    @cached_property
    def whole(self) -> Doubles | None:
        """(n, K) log-posteriors by a fit to all rows; None unless others are fitted to parts of them."""
        if self._folds is None:
            return None
        known = self.recalibrations[0].fits if self.recalibrations else {}
        start = next((fit.parameters for fit in known.values()), None)
        return self._rows.fit(recalibrator(self.method), start).apply(self._rows.scores)

    def deal(self, number: int) -> tuple[Doubles, Recalibration]:
        """Return the (n, K) recalibrated log-posteriors of a deal, and where they come from."""
        while len(self._log_probs) <= number:
            fits = dict(self.recalibrations[-1].fits) if self.recalibrations else {}
            fold = None if self._folds is None else self._folds(len(self._log_probs))
            recalibration = Recalibration(recalibrator(self.method), fold, self._training_rows, fits)
            self._log_probs.append(recalibration.apply(self._rows))
            self.recalibrations.append(recalibration)
        return self._log_probs[number], self.recalibrations[number]


def _variance(means: Sequence[float]) -> float:
    """Return the variance of the mean of some means; 0 of one, nan of infinite ones."""
    with np.errstate(invalid="ignore"):
        return float(np.var(means, ddof=1)) / len(means) if len(means) > 1 else 0.0


def _mean(losses: Array, weights: Floats | None) -> float:
    return float(np.average(losses.astype(np.float64, copy=False), weights=weights))
