"""Calibration errors under known posteriors of the labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.binning import Bins, equal_mass_cuts
from calcli.core.data.blocks import Block, Later, sweep
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.calibrationerror import class_wise_error
from calcli.core.evaluating.metrics.cumulative import CumulativeError
from calcli.core.evaluating.metrics.miscalibration import BinnedError, binned_error
from calcli.core.evaluating.metrics.partitions import VectorMiscalibration
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure, region_ends
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import (
    Lens,
    VectorLens,
    VectorProblem,
    between,
    recursive_partition,
)
from calcli.core.problems.problem import segment_sums
from calcli.core.state.needs import through

CELLS = 400  # cells of predictions that do not repeat, over which posteriors are averaged
ROUNDING = 1e-12  # smaller errors are rounding
DIGITS = 12  # of probabilities: the same logits in another order sum to others in the last bits
RANKED = ("top-", "within-top-", "largest-")  # lenses that hide a part even of two classes


@dataclass(frozen=True)
class Known:
    """Predictions of the outcomes of a lens with their true probabilities.

    Attributes
    ----------
    scores, expected
        (n, d) predicted and true probabilities; of a lens on one score, it happens and it does not.
    weights
        (n,) row weights, or None.
    names
        Names of the outcomes, if regions use them.
    """

    scores: Doubles
    expected: Doubles
    weights: Floats | None
    names: tuple[str, ...] = ()

    def within(self, region: str, owner: str) -> Known:
        """Return the rows of a region of the score, or of vectors."""
        if region == "all":
            return self
        if self.names:
            rows = VectorProblem(self.scores, np.arange(len(self.scores)), None, self.names)
            inside: Positions = rows.in_region(region, owner).labels
        else:
            inside = np.flatnonzero(between(self.scores[:, 0], *region_ends(region)))
        return self.taken(inside)

    def taken(self, rows: Positions) -> Known:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, scores=self.scores[rows], expected=self.expected[rows], weights=weights)

    def of_class(self, k: int) -> Known:
        """Return the problem of one outcome against the others."""
        score, expected = self.scores[:, k], self.expected[:, k]
        return Known(_and_not(score), _and_not(expected), self.weights)

    @property
    def has_weight(self) -> bool:
        """Whether any row has a positive weight."""
        return len(self.scores) > 0 if self.weights is None else bool(self.weights.any())

    @property
    def of_equal(self) -> Bins:
        """Sums over rows of equal predictions, in ascending order of the first one."""
        order = np.lexsort(np.round(self.scores, DIGITS).T[::-1])
        apart = np.abs(np.diff(self.scores[order], axis=0)).max(1) > 10.0**-DIGITS
        starts = np.concatenate([[0], np.flatnonzero(apart) + 1])
        weights = np.ones(len(order)) if self.weights is None else self.weights[order].astype(np.float64)
        count = np.diff([*starts, len(order)])
        terms = weights, self.scores[order].T * weights, self.expected[order].T * weights
        return Bins(count, *(np.add.reduceat(values, starts, axis=-1) for values in terms))


def require_truth(metric: Measure) -> None:
    """Raise a UsageError if a metric has no true value."""
    errors = BinnedError, CumulativeError, VectorMiscalibration
    if (
        not metric.entry.family.has_null
        or metric.arguments.get("weights", "equal") != "equal"
        or not isinstance(metric, errors)
    ):
        raise UsageError(
            f"{metric}: its true value is not computed; expected ece and its relatives, ks, kuiper or "
            "expected_miscalibration"
        )


def _error(estimator: object, bins: Bins) -> float:
    """Return the error from (d, m) sums of scores and true probabilities over equal predictions."""
    if isinstance(estimator, VectorMiscalibration):
        return estimator.of(bins)
    sums = Bins(bins.count, bins.weight, bins.score[0], bins.outcome[0])
    if isinstance(estimator, CumulativeError):
        return float(estimator.of_sums(sums))
    assert isinstance(estimator, BinnedError)
    return float(binned_error(sums, estimator.norm))


def true_error(metric: Measure, predictions: Predictions, posteriors: Doubles, settings: Settings) -> float:
    """Return a calibration error without bins: the calibration function stands in for frequencies.

    The calibration function at a prediction is the mean posterior of the rows with that prediction
    (Vaicenavicius et al. 2019, eq. 4 and 5). If a lens hides some of the predictions, and its values do
    not repeat, it is the mean of neighboring rows, which takes thousands of rows.

    Parameters
    ----------
    metric
        An error of bins, ks or kuiper.
    predictions
        Scores; their labels are not used.
    posteriors
        (N, K) true probabilities of the labels.
    settings
        Groups of classes.

    Returns
    -------
    The error, 0 if only rounding remains; nan if its region has no row with weight, infinite if a possible
    outcome was predicted with 0 and the distance is kl.

    Raises
    ------
    UsageError
        If the error has no such value.
    """
    require_truth(metric)
    exact = isinstance(metric, CumulativeError) or _shows_all(metric.lens, predictions.n_classes, settings)

    def true(problem: Known) -> float:
        inside = problem.within(metric.region, str(metric))
        if not inside.has_weight:
            return np.nan
        bins = inside.of_equal
        error = _error(metric, bins if exact else _in_cells(bins))
        return 0.0 if abs(error) < ROUNDING else error

    if not metric.is_class_wise:
        return true(known_problem(predictions, posteriors, metric.lens, settings))
    every = known_problem(predictions, posteriors, "canonical", settings)
    errors = [true(every.of_class(k)) for k in range(predictions.n_classes)]
    return float(class_wise_error(np.array(errors), metric.over_classes))


def _shows_all(lens: str, n_classes: int, settings: Settings) -> bool:
    """Return whether rows that are equal through a lens have equal predictions of every class."""
    if lens in settings.groups:
        return len(set(settings.groups[lens].values())) == n_classes
    return lens == "canonical" or (n_classes == 2 and not lens.startswith(RANKED))


def _in_cells(bins: Bins) -> Bins:
    """Return sums over neighbors of predictions that do not repeat: runs of scores, or boxes of vectors."""
    alone = np.flatnonzero(bins.count == 1)
    number = len(alone)
    if number <= CELLS:
        return bins
    cell = CELLS + number + np.arange(len(bins.count))
    if len(bins.score) == 2:  # it happens and it does not
        cell[alone] = np.arange(number) * CELLS // number
    else:
        points = (bins.score[:, alone] / bins.weight[alone]).T
        order, cuts = recursive_partition(points, 2 * number // CELLS, bins.weight[alone])
        cell[alone[order]] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    cell = np.unique(cell, return_inverse=True)[1]

    def added(values: Array) -> Doubles:
        return np.bincount(cell, values).astype(np.float64)

    tables = (np.stack([added(row) for row in table]) for table in (bins.score, bins.outcome))
    return Bins(added(bins.count).astype(np.int64), added(bins.weight), *tables)


def known_problem(predictions: Predictions, posteriors: Doubles, lens: str, settings: Settings) -> Known:
    """Return predictions and their true posteriors through a lens.

    Parameters
    ----------
    predictions
        Scores; their labels are not used.
    posteriors
        (N, K) true probabilities of the labels.
    lens
        Its name.
    settings
        Groups of classes.

    Raises
    ------
    UsageError
        If there is no such lens.
    """
    table = _Expected(through(lens, predictions, settings).lens, predictions, posteriors)
    sweep(predictions, [table])
    return table.known


def true_curve(
    predictions: Predictions, posteriors: Doubles, lens: str, region: str, settings: Settings
) -> tuple[Doubles, Doubles]:
    """Return (p,) ascending mean scores, with the mean true probabilities of the outcome.

    The calibration function of a lens on one score (Vaicenavicius et al. 2019, eq. 4, and the curves of fig.
    8, 11 and 14), of up to 400 runs of rows; rows of equal scores stay together.

    Raises
    ------
    UsageError
        If there is no such lens.
    """
    problem = known_problem(predictions, posteriors, lens, settings).within(region, "region")
    order = np.argsort(problem.scores[:, 0], kind="stable")
    score, expected = problem.scores[order, 0], problem.expected[order, 0]
    weight = np.ones(len(order)) if problem.weights is None else problem.weights[order].astype(np.float64)
    cuts = equal_mass_cuts(score, CELLS, problem.weights if problem.weights is None else weight)
    mass = segment_sums(weight, cuts)
    filled = mass > 0
    means = [segment_sums(values * weight, cuts)[filled] / mass[filled] for values in (score, expected)]
    return means[0], means[1]


def _and_not(probs: Doubles) -> Doubles:
    """Return (n, 2) probabilities of an event and of its complement."""
    return np.stack([probs, 1 - probs], axis=1)


class _Expected:
    """Collects the predictions of a lens, and the true probabilities of its outcomes."""

    def __init__(self, lens: Lens | VectorLens, predictions: Predictions, posteriors: Doubles) -> None:
        self._lens, self._posteriors, self._weights = lens, posteriors, predictions.weights
        self._names = lens.names if isinstance(lens, VectorLens) else ()
        shape = predictions.n_rows, len(self._names) or 2
        self._scores, self._expected = np.empty(shape), np.zeros(shape)
        self._seen = np.ones(predictions.n_rows, np.bool_)

    def add(self, block: Block) -> Iterable[Later]:
        """Take the block's predictions, and its outcomes under each label."""
        lens, rows = self._lens, block.rows
        if isinstance(lens, VectorLens):
            self._scores[rows] = lens.table(block).T
        else:
            score = lens.statistics[lens.score](block)
            self._scores[rows, 0], self._scores[rows, 1] = score, 1 - score
            if lens.given:
                self._seen[rows] = lens.statistics[lens.given](block)
        expected, rows_of = self._expected[rows], np.arange(len(block.labels))
        for k, probs in enumerate(self._posteriors[rows].T):
            relabelled = block.labelled(np.full(len(block.labels), k))
            if isinstance(lens, VectorLens):
                outcome = lens.outcome(relabelled)
            else:
                outcome = 1 - lens.statistics[lens.outcome](relabelled).astype(np.intp)
            expected[rows_of, outcome] += probs
        return ()

    @property
    def known(self) -> Known:
        """The collected values of the rows with a positive weight."""
        every = Known(self._scores, self._expected, self._weights, self._names)
        seen = self._seen if self._weights is None else self._seen & (self._weights > 0)
        return every if seen.all() else every.taken(np.flatnonzero(seen))
