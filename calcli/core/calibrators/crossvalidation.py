"""Calibrators on rows to which they were not fitted, and the choice among several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calcli.core.calibrators.arguments import checked_weights
from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.data.arrays import TOGETHER, Array, Doubles, Floats, Labels, Positions, batches
from calcli.core.data.blocks import BLOCK_BYTES, working_dtype
from calcli.core.data.predictions import ArrayScores, DerivedScores, Kind, Predictions, Scores
from calcli.core.data.processes import Processes
from calcli.core.data.units import numbers_of
from calcli.core.language.errors import CalcliError, InputError, UsageError

WHOLE = -1  # in place of the number of a fold: no rows are left out
APPLIED_BYTES = 1 << 24  # of log-probabilities made at once, which are double


@dataclass(frozen=True)
class LabeledScores:
    """Scores and labels in memory, as calibrators take them.

    Attributes
    ----------
    scores
        (N, K) logits or log-probabilities.
    labels
        (N,) integers.
    weights
        (N,) row weights, or None.
    """

    scores: Floats
    labels: Labels
    weights: Floats | None = None

    def take(self, chosen: Array) -> LabeledScores:
        """Return the rows that a mask or an index chooses."""
        if chosen.dtype == np.bool_:
            chosen = np.flatnonzero(chosen)  # several times as fast as a mask of rows
        weights = None if self.weights is None else self.weights[chosen]
        return LabeledScores(self.scores.take(chosen, axis=0), self.labels[chosen], weights)

    def fit(self, calibrator: Calibrator, start: Parameters | None = None) -> Calibrator:
        """Return a new calibrator with the same settings, fitted to these rows; see `Calibrator.fit`."""
        fresh = calibrator.fresh()
        fresh.learn(self.scores, self.labels, checked_weights(self.weights, len(self.labels)), start)
        return fresh


def with_left_out(
    calibrator: Calibrator,
    rows: LabeledScores,
    fold: Positions,
    workers: int = 1,
    watch: Callable[[], None] = lambda: None,
) -> tuple[Calibrator, dict[int, Calibrator]]:
    """Return the fit to all rows, and the fits to the rows outside each fold, by its number.

    Parameters
    ----------
    calibrator
        Its settings are used.
    rows
        N rows.
    fold
        (N,) the fold of each row.
    workers
        Processes that do the fits, each with a copy of the rows; see `are_apart`.
    watch
        Called after each fit.

    Raises
    ------
    InputError
        If the rows are unsuitable.
    """
    fits: dict[int, Calibrator] = {}
    if workers == 1:
        full_fit, weights = calibrator.fresh(), checked_weights(rows.weights, len(rows.labels))
        fits |= full_fit.learn_by_fold(rows.scores, rows.labels, weights, fold)
        watch()
        for number in numbers_of(fold):
            if number not in fits:
                fits[number] = rows.take(fold != number).fit(calibrator)
            watch()
        return full_fit, fits
    remaining: dict[int, Calibrator | CalcliError] = {}
    numbers = [WHOLE, *numbers_of(fold)]
    with Processes(_Folded(calibrator, rows, fold), workers) as processes:
        for number, fit in processes.each(_left_out, numbers):
            remaining[number] = fit
            watch()
    for number in numbers:
        fit = remaining[number]
        if isinstance(fit, CalcliError):  # the fault of the first fold, as in one process
            raise fit
        fits[number] = fit
    return fits.pop(WHOLE), fits


def are_apart(calibrator: Calibrator) -> bool:
    """Return whether fits to the rows outside each fold are made without the fit to all rows."""
    return type(calibrator).learn_by_fold is Calibrator.learn_by_fold


class _Folded(NamedTuple):
    """What processes fit, and to which rows."""

    calibrator: Calibrator
    rows: LabeledScores
    fold: Positions


def _left_out(folded: _Folded, number: int) -> Calibrator | CalcliError:
    """Return the fit to the rows outside a fold, or why there is none."""
    calibrator, rows, fold = folded
    try:
        return (rows if number == WHOLE else rows.take(fold != number)).fit(calibrator)
    except CalcliError as fault:
        return fault


@dataclass(frozen=True)
class Rescored(DerivedScores):
    """Scores after calibrators, block by block, in the precision of the scores.

    Attributes
    ----------
    fits
        By the number of the fold.
    fold
        (N,) the fold of each row.
    """

    fits: Mapping[int, Calibrator]
    fold: Positions

    @classmethod
    def by_one(cls, source: Scores, calibrator: Calibrator) -> Rescored:
        """Return all scores after one calibrator."""
        return cls(source, {0: calibrator}, np.broadcast_to(np.intp(0), source.shape[0]))

    @property
    def kind(self) -> Kind:
        """What the scores are."""
        return next(iter(self.fits.values())).gives

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield (n, K) scores, n <= rows, in order."""
        start = 0
        for block in self.source.blocks(rows):
            fold = self.fold[start : start + len(block)]
            start += len(block)
            if len(self.fits) == 1:
                yield self.fits[fold[0]].rescore(block).astype(block.dtype, copy=False)
                continue
            result = np.empty_like(block)
            for number, fitted in self.fits.items():
                in_fold = np.flatnonzero(fold == number)
                result[in_fold] = fitted.rescore(block.take(in_fold, axis=0))
            yield result


def applied(apply: Callable[[Array], Floats], scores: Floats) -> Floats:
    """Return the log-probabilities, (N, K), of a calibrator, in the precision of the scores."""
    result = np.empty_like(scores)
    for rows in batches(len(scores), 8 * scores.shape[1], APPLIED_BYTES):
        result[rows] = apply(scores[rows])
    return result


def rows_of(predictions: Predictions, *, exact: bool = False) -> LabeledScores:
    """Read all scores into memory, in the working precision; probabilities become their logarithms.

    These are double where they are to be `exact`: else a step of a map would lie beside its score.
    """
    probs, stored = predictions.kind == "probs", predictions.scores
    dtype = np.dtype(np.float64) if exact and probs else working_dtype(predictions)
    if isinstance(stored, ArrayScores) and not probs and stored.array.dtype == dtype:
        scores = stored.array  # no fit writes into it
        return LabeledScores(scores, np.asarray(predictions.labels), predictions.weights)
    scores = np.empty(stored.shape, dtype)
    start = 0
    for block in stored.blocks(max(1, BLOCK_BYTES // (stored.shape[1] * scores.itemsize))):
        part = scores[start : start + len(block)]
        part[:] = block
        if probs:
            with np.errstate(divide="ignore"):
                np.log(part, out=part)
        start += len(block)
    return LabeledScores(scores, np.asarray(predictions.labels), predictions.weights)


def checked_folds(folds: int, rows: int) -> int:
    """Return a number of folds.

    Raises
    ------
    InputError
        If there are fewer rows than folds.
    UsageError
        If there is only one fold.
    """
    if folds < 2:
        raise UsageError(f"--folds {folds} leaves no rows to fit to; use 2 or more, or 0 for none")
    if rows < folds:
        raise InputError(
            f"cross-validation in {folds} folds needs at least {folds} rows, there are {rows}; "
            "choose fewer with --folds, or --folds 0 for none"
        )
    return folds


def held_out_folds(
    calibrator: Calibrator,
    rows: LabeledScores,
    fold: Positions,
    fits: dict[int, Calibrator] | None = None,
    watch: Callable[[], None] = lambda: None,
    among: Positions | None = None,
) -> Floats:
    """Return the (N, K) log-probabilities that each row gets from a fit to the other folds.

    They have the precision of the rows.

    Parameters
    ----------
    calibrator
        Its settings are used; it is not fitted itself. Each fit starts from scratch and sees no row of
        its fold.
    rows
        All rows.
    fold
        (N,) the fold of each row.
    fits
        Fits to similar rows, by fold, from which to start; the new ones take their place, and fits of other
        folds serve if a fold has none. Each fit starts from scratch if None.
    watch
        Called after each fit.
    among
        The rows of the fit outside a fold; all if None.
    """
    result = np.empty_like(rows.scores)
    if among is None:
        among = np.arange(len(fold))
    for number in numbers_of(fold):
        in_fold = np.flatnonzero(fold == number)
        nearest = next(iter(fits.values()), None) if fits else None
        if fits and number in fits:
            nearest = fits[number]
        outside = rows.take(among[fold[among] != number])
        fitted = outside.fit(calibrator, nearest.parameters if nearest else None)
        if fits is not None:
            fits[number] = fitted
        result[in_fold] = applied(fitted.apply, rows.scores.take(in_fold, axis=0))
        watch()
    return result


@dataclass(frozen=True)
class PairedDifference:
    """The mean of paired differences of losses.

    Attributes
    ----------
    mean
        Weighted mean; above 0 the first has more loss. inf if only the first has rows of infinite loss.
    standard_error
        Of the mean; nan if it is infinite.
    """

    mean: float
    standard_error: float

    @property
    def is_noise(self) -> bool:
        """Whether the first is worse by at most one standard error."""
        return bool(self.mean <= 0 or self.mean <= self.standard_error)

    def of_new_fits(self, folds: int) -> PairedDifference:
        """Return the difference with the standard error for new rows and new fits, given the number of folds.

        Fits to the rows outside each of V folds share most rows, and err alike: multiply the variance by 1 +
        V / (V - 1) (Nadeau & Bengio 2003, "Inference for the generalization error", Machine Learning 52).
        """
        return replace(self, standard_error=self.standard_error * math.sqrt(1 + folds / (folds - 1)))


def paired_difference(before: Floats, second: Floats, weights: Floats | None) -> PairedDifference:
    """Compare the losses of two calibrators on the same rows, (N,) each."""
    if weights is not None:
        counted = weights > 0
        before, second, weights = before[counted], second[counted], weights[counted]
    if not (np.isfinite(before).all() and np.isfinite(second).all()):
        infinite = np.isinf(before).sum() - np.isinf(second).sum()
        return PairedDifference(float(np.inf * infinite) if infinite else 0.0, float("nan"))
    share = np.broadcast_to(1 / len(before), len(before)) if weights is None else weights / weights.sum()
    mean, squares = 0.0, 0.0
    for rows in batches(len(before), 1, TOGETHER):
        mean += float(share[rows] @ np.subtract(before[rows], second[rows], dtype=np.float64))
    for rows in batches(len(before), 1, TOGETHER):
        away = share[rows] * (np.subtract(before[rows], second[rows], dtype=np.float64) - mean)
        squares += float(away @ away)
    return PairedDifference(mean, math.sqrt(squares))


def simplest(losses: Sequence[Doubles], weights: Floats | None) -> tuple[int, list[PairedDifference]]:
    """Choose by the rule of one standard error (Breiman et al. 1984, section 3.4.3).

    Parameters
    ----------
    losses
        (N,) held-out losses of each candidate, the simplest first.
    weights
        (N,) row weights, or None.

    Returns
    -------
    The first candidate within a standard error of the best one, by their paired difference, and the
    difference of each to the best.
    """
    totals = [np.average(loss, weights=weights) for loss in losses]
    best = losses[int(np.argmin(totals))]
    differences = [paired_difference(loss, best, weights) for loss in losses]
    return next(i for i, difference in enumerate(differences) if difference.is_noise), differences
