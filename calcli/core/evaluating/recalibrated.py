"""The part of a score that a recalibration wins back, and other facts from the recalibrated posteriors.

Ferrer & Ramos 2024, sections 3.3 and 3.4: the calibration loss is the score before minus the score after a
recalibration that is trained on other rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calcli.core.calibrators.base import TURNED, Calibrator, make, turns_classes
from calcli.core.calibrators.crossvalidation import LabeledScores, held_out_folds, rows_of
from calcli.core.data.arrays import Array, Doubles, Floats, Positions, Stream, generator, log_softmax
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.units import Units, random_folds
from calcli.core.estimators.rules import ScoringRule
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure, nested_method
from calcli.core.language.metrics import AFFINE, AFFINE_MAPS, ERRORS_EACH, PAV, ROWS_EACH

FEWEST_DEALS = 5  # deals from which their variance is known well enough to stop
STEADY = 0.1  # largest standard deviation of the mean over deals, in standard errors of the rows
MOST_FITTED = 200_000  # rows in a fit, evenly spaced; more would make no visible difference
DEALS = 20  # most deals of rows into folds
DEALT = 20_000  # rows of all deals together: deals of many rows differ little
DEALING = 5_000_000  # cost limit of the fits of all deals, in passes over the scores
FIT = 10_000  # passes that any fit costs
FIT_ROWS = 4_000  # rows with scores that cost as much as all else that grows with the parameters


@dataclass(frozen=True)
class Recalibrated:
    """Rows with their recalibrated posteriors, for one score.

    In cross-validation rows may be assigned to folds several times; results are means over these deals.

    Attributes
    ----------
    rows, units
        The rows of a weight above 0, and their units.
    rule
        The score.
    before
        (n,) losses of the rows before recalibration.
    greatest
        The largest loss under clipping; infinity without clipping.
    method
        What recalibrates.
    deals
        (n, K) recalibrated log-posteriors of each deal, at least one.
    folds
        Number of folds; 1 without cross-validation.
    whole
        (n, K) log-posteriors from a fit to the rows of all folds, in cross-validation.
    """

    rows: LabeledScores
    units: Units
    rule: ScoringRule
    before: Doubles
    greatest: float
    method: str
    deals: tuple[Doubles, ...]
    folds: int = 1
    whole: Doubles | None = None

    def mean(self, losses: Array) -> float:
        """Return the weighted mean over the rows."""
        return float(np.average(losses.astype(np.float64, copy=False), weights=self.rows.weights))

    def over_deals(self, of: Callable[[Doubles], Doubles]) -> Doubles:
        """Return the mean over the deals of a function of log-posteriors."""
        values = of(self.deals[0])
        return values if len(self.deals) == 1 else np.mean([values, *map(of, self.deals[1:])], axis=0)

    def losses_of(self, log_probs: Doubles) -> Doubles:
        """Return the (n,) losses of other log-posteriors."""
        losses = self.rule.losses(log_probs, self.rows.labels)
        return losses if self.greatest == np.inf else np.minimum(losses, self.greatest)

    @cached_property
    def losses(self) -> Doubles:
        """(n,) losses of the recalibrated posteriors."""
        losses_of_first, *repeats = self.losses_of_deals
        return np.mean([losses_of_first, *repeats], axis=0) if repeats else losses_of_first

    @cached_property
    def losses_of_deals(self) -> tuple[Doubles, ...]:
        """(n,) losses of the posteriors of each deal."""
        return tuple(map(self.losses_of, self.deals))

    @cached_property
    def log_probs(self) -> Doubles:
        """(n, K) log-probabilities before recalibration."""
        return log_softmax(self.rows.scores.astype(np.float64, copy=False))

    @cached_property
    def expected_losses(self) -> Doubles:
        """(n,) expected losses of the rows if labels came from the recalibrated posteriors.

        This is the semi-empirical expectation: over the observed rows, and over labels drawn from the
        posteriors (Ferrer & Ramos 2024, section 3.4, table 1).
        """
        return self.over_deals(lambda posteriors: self.rule.expected(self.log_probs, posteriors))

    @cached_property
    def variance_of_fits(self) -> float:
        """The variance of the mean loss due to fits to few rows.

        By the jackknife over folds it comes from the number of folds minus one, times the difference for a
        row between a fit to all rows and the fit that has not seen it. Without this term a gain would seem
        more certain the smaller it happens to be: a map that changes nothing has no spread. The mean is over
        the same number of deals of the rows into folds.
        """
        if self.whole is None:
            return 0.0
        full, means = self.losses_of(self.whole), [self.mean(losses) for losses in self.losses_of_deals]
        with np.errstate(invalid="ignore"):
            moved = np.mean([self._norm(losses - full) ** 2 for losses in self.losses_of_deals])
        return (self.folds - 1) * float(moved) + _variance(means)

    def standard_errors(self) -> tuple[float, float]:
        """Return the standard errors of the gain, and of its share, by the jackknife.

        To first order, a row that carries most of the score, and of its gain, would have no influence.
        """
        weights = self.rows.weights
        with np.errstate(invalid="ignore", divide="ignore"):
            before, after = (self.units.sums(losses, weights) for losses in (self.before, self.losses))
            mass = self.units.weights(weights)  # which may be the row weights themselves
            share = mass / mass.sum()
            pseudo = after.sum() / before.sum() - (after.sum() - after) / (before.sum() - before)
            influence_values = (1 - share) * pseudo
            of_ratio = np.linalg.norm(influence_values - share * influence_values.sum())
            errors = np.array([self.spread(self.before - self.losses), of_ratio])
            of_fits = np.sqrt(self.variance_of_fits) / np.array([1.0, self.mean(self.before)])
            absolute, relative = np.hypot(errors, of_fits).tolist()
        return absolute, relative

    def spread(self, influence_values: Doubles) -> float:
        """Return the standard error of the mean of (n,) values, for dependent rows."""
        return self._norm(influence_values - self.mean(influence_values))

    def _norm(self, deviations: Doubles) -> float:
        """Return the root of the sum of squares of the influences of units on a mean."""
        weights = self.rows.weights
        total = len(deviations) if weights is None else weights.sum()
        return float(np.linalg.norm(self.units.sums(deviations, weights)) / total)


@dataclass
class _Trained:
    """A method that recalibrates rows, once for each deal.

    Every fit starts from the fit of the same fold in the previous deal, the first ones from each other: the
    usual methods solve convex problems, so the start affects the time and not the result.

    Attributes
    ----------
    method
        What recalibrates.
    rows
        (n rows) The rows to recalibrate.
    fitted_to
        The rows of the fit, or the rows outside a fold.
    fold
        Returns the fold of each row, by the number of the deal; None for a single fit.
    most
        Largest number of deals.
    fits
        Fits by fold, for each requested deal.
    """

    method: str
    rows: LabeledScores
    fitted_to: LabeledScores
    fold: Callable[[int], Positions] | None = None
    most: int = 1
    fits: list[dict[int, Calibrator]] = field(default_factory=list)
    _deals: list[Doubles] = field(default_factory=list)

    def deal(self, number: int) -> Doubles:
        """Return the (n, K) recalibrated log-posteriors of a deal."""
        while len(self._deals) <= number:
            fits = dict(self.fits[-1]) if self.fits else {}
            if self.fold is None:
                fits[0] = self.fitted_to.fit(recalibrator(self.method))
                log_probs: Array = fits[0].apply(self.rows.scores)
            else:
                fold, among = self.fold(len(self._deals)), _spaced(self.rows)
                log_probs = held_out_folds(recalibrator(self.method), self.rows, fold, fits, among=among)
            self.fits.append(fits)
            self._deals.append(log_probs.astype(np.float64, copy=False))
        return self._deals[number]

    @cached_property
    def whole(self) -> Doubles | None:
        """(n, K) log-posteriors from a fit to the rows of all folds; None without folds."""
        if self.fold is None:
            return None
        start = next((fit.parameters for fit in self.fits[0].values()), None)
        return self.fitted_to.fit(recalibrator(self.method), start).apply(self.rows.scores)


class Recalibrations:
    """The recalibrations of one set of predictions, each done once.

    Parameters
    ----------
    predictions, calibration
        The rows to recalibrate, and separate rows to fit to.
    seed
        Of the folds.
    clip
        Least probability of a label.
    units
        Which rows belong together.
    folds
        (N,) given folds; assigned at random if None.
    number
        Number of folds without given ones.
    """

    def __init__(
        self,
        predictions: Predictions,
        calibration: Predictions | None,
        seed: int,
        clip: float = 0.0,
        units: Units | None = None,
        folds: Array | None = None,
        number: int = 5,
    ) -> None:
        self._predictions, self._calibration, self._clip = predictions, calibration, clip
        weights, self._rows = predictions.weights, rows_of(predictions)
        self.kept = np.arange(predictions.n_rows) if weights is None else np.flatnonzero(weights)
        if len(self.kept) < predictions.n_rows:
            self._rows = self._rows.take(self.kept)
        self._units = (units or Units.of(predictions.n_rows)).among(self.kept)
        self._rng, self._given_folds, self._number = generator(seed, Stream.FOLDS), folds, number
        self._folds: list[Positions] = []
        self._trained: dict[tuple[str, str], _Trained] = {}
        self._done: dict[tuple[str, str, str], Recalibrated] = {}

    @property
    def folds(self) -> Positions:
        """(n,) fold of each row with a positive weight, in the first deal."""
        return self._fold(0)

    def of(self, metric: Measure, rule: ScoringRule, before: Array) -> Recalibrated | None:
        """Return the recalibration that a metric needs; None without two folds.

        Parameters
        ----------
        metric
            The metric.
        rule, before
            The score, and its (N,) losses of all rows.

        Raises
        ------
        UsageError
            If the metric needs a file that was not given.
        InputError
            If such a file does not fit.
        """
        method, training = metric.arguments["recalibrator"], metric.arguments["training"]
        if training == "cross-validation" and not self.folds.any():
            return None
        key = method, training, metric.arguments["score"]
        if key not in self._done:
            self._done[key] = self._recalibrated(method, training, rule, before)
        return self._done[key]

    def notes(self) -> Iterable[str]:
        """Yield the notes of the fits."""
        for trained in self._trained.values():
            fits = [fit for every in trained.fits for fit in every.values()]
            yield from (f"{trained.method}: {note}" for note in notes_of(fits, self._predictions.n_classes))

    def _recalibrated(self, method: str, training: str, rule: ScoringRule, before: Array) -> Recalibrated:
        losses, greatest = before[self.kept].astype(np.float64, copy=False), rule.greatest(self._clip)
        common = self._rows, self._units, rule, losses, greatest
        if (method, training) not in self._trained:
            self._trained[method, training] = self._train(method, training)
        trained = self._trained[method, training]
        deal = trained.deal(0)
        recalibrated = Recalibrated(*common, trained.method, (deal,), len(trained.fits[0]), trained.whole)
        return (
            recalibrated
            if trained.most == 1
            else replace(recalibrated, deals=_steady(replace(recalibrated, greatest=np.inf), trained))
        )

    def _train(self, method: str, training: str) -> _Trained:
        """Return how the rows are recalibrated."""
        if training == "held-out":
            calibration = self._calibration
            if calibration is None:
                raise UsageError(
                    "training=held-out needs a file of predictions; give it with --calibration-data FILE"
                )
            require_classes(calibration, self._predictions.classes, self._predictions.provenance.path)
            calibration_rows = rows_of(calibration)
            called = _called(method, calibration_rows, Units.of(len(calibration_rows.labels)))
            return _Trained(called, self._rows, calibration_rows.take(_spaced(calibration_rows)))
        called = _called(method, self._rows, self._units)
        if training == "test":  # from all rows: a map that has not seen a row may give it an infinite loss
            return _Trained(called, self._rows, self._rows)
        rows, classes = self._rows.scores.shape
        effort = 0 if called == PAV else nested_method(called).effort(rows + FIT_ROWS, classes) / 5
        deals = max(1, min(DEALS, DEALT // rows, int(DEALING / (self._number * (effort + FIT)))))
        deals = 1 if self._given_folds is not None else deals
        return _Trained(called, self._rows, self._rows.take(_spaced(self._rows)), self._fold, deals)

    def _fold(self, number: int) -> Positions:
        """Return the fold of each row in one deal."""
        while len(self._folds) <= number:
            if self._given_folds is None:
                dealt = random_folds(len(self._rows.labels), self._number, self._rng, self._units)
            else:
                dealt = np.unique(self._given_folds[self.kept], return_inverse=True)[1]
            self._folds.append(dealt)
        return self._folds[number]


def _steady(recalibrated: Recalibrated, trained: _Trained) -> tuple[Doubles, ...]:
    """Return the log-posteriors of enough deals for a stable mean loss, or of all deals.

    It is stable if its standard deviation over deals is a tenth of the standard error over rows.
    """
    deals, means, total = (
        [*recalibrated.deals],
        [recalibrated.mean(recalibrated.losses)],
        recalibrated.losses.copy(),
    )
    for number in range(1, trained.most):
        deals.append(trained.deal(number))
        losses = recalibrated.losses_of(deals[-1])
        means.append(recalibrated.mean(losses))
        total += losses
        if len(deals) < FEWEST_DEALS:
            continue
        with np.errstate(invalid="ignore"):
            spread = recalibrated.spread(recalibrated.before - total / len(deals))
        if not _variance(means) > (STEADY * spread) ** 2:  # also if a loss is infinite
            break
    return tuple(deals)


def _spaced(rows: LabeledScores) -> Positions:
    """Return the numbers of all rows, or of the evenly spaced rows that fits use."""
    count = len(rows.labels)
    size = min(count, MOST_FITTED)
    return np.arange(size) * count // size


def _variance(means: Sequence[float]) -> float:
    """Return the variance of the mean of several means; 0 for one, nan for infinite ones."""
    with np.errstate(invalid="ignore"):
        return float(np.var(means, ddof=1)) / len(means) if len(means) > 1 else 0.0


def notes_of(fits: Sequence[Calibrator], classes: int) -> list[str]:
    """Return the notes of fits; notes that differ only in numbers appear once, with their count."""
    alike: dict[str, list[str]] = {}
    for fitted in fits:
        for note in [*fitted.notes, *([TURNED.says] if turns_classes(fitted.apply, classes) else [])]:
            alike.setdefault(re.sub(r"\d+", "#", note), []).append(note)
    return [f"{notes[0]} ({len(notes)} of {len(fits)} fits)" for notes in alike.values()]


def recalibrator(name: str) -> Calibrator:
    """Return a calibrator to fit: any method, settings after slashes.

    Raises
    ------
    UsageError
        If there is no such method.
    """
    return make(nested_method(name))


def _called(method: str, rows: LabeledScores, units: Units) -> str:
    """Return the method for a name, for fits to rows of these units."""
    if method != AFFINE:
        return method
    return affine_map(rows.scores, rows.labels, rows.weights, units.effective_number(rows.weights))


def affine_map(scores: Array, labels: Array, weights: Floats | None, rows: float) -> str:
    """Return the affine map of log-probabilities that rows can support: `dp`, or `temperature` for few rows.

    The scale rests on all rows, the intercept of a class on its own rows. A validation needs 100 events and
    100 others (Collins et al. 2016, "Sample size considerations for the external validation of a
    multivariable prognostic model", Statistics in Medicine 35). Nearly perfect rows carry little information:
    there are to be 5 errors for each number that is fitted (Vittinghoff & McCulloch 2007, "Relaxing the rule
    of ten events per variable in logistic and Cox regression", American Journal of Epidemiology 165).

    Parameters
    ----------
    scores
        (N, K) scores of the rows in the fit.
    labels, weights
        (N,) labels and weights of the same rows.
    rows
        Effective number of independent rows.
    """
    classes = scores.shape[1]
    mass = np.bincount(labels, weights, classes)
    per_class = rows * (1 - mass.max() / mass.sum()) / (classes - 1)
    errors = rows * np.average(scores.argmax(axis=1) != labels, weights=weights)
    enough = per_class >= ROWS_EACH and errors >= ERRORS_EACH * classes
    return AFFINE_MAPS[0] if enough else AFFINE_MAPS[-1]
