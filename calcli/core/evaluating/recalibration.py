"""Recalibration of the rows that are evaluated, by fits that have not seen them; and of resamples of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from calcli.core.calibrators.base import Calibrator, make
from calcli.core.calibrators.crossvalidation import LabeledScores, held_out_folds
from calcli.core.calibrators.order import TURNED, turns_classes
from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.units import Units
from calcli.core.language.expressions import nested_method
from calcli.core.language.metrics import AFFINE_MAPS, ERRORS_EACH, ROWS_EACH


@dataclass
class Recalibration:
    """Recalibrates rows with a method that is trained on other rows, or on the same ones.

    Every fit starts from the last one of the same fold, the first ones from each other: the usual methods
    solve convex problems, so that the start decides on the time and not on the result.

    Attributes
    ----------
    calibrator
        The method; its settings are used, it is not fitted itself.
    fold
        (N,) which rows are recalibrated together, by a fit to all others; None without cross-validation.
    training_rows
        Rows to train on; None for those that are recalibrated.
    fits
        The last fit of each fold.
    """

    calibrator: Calibrator
    fold: Positions | None = None
    training_rows: LabeledScores | None = None
    fits: dict[int, Calibrator] = field(default_factory=dict)

    def apply(self, rows: LabeledScores) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K), of N rows."""
        if self.fold is not None:
            log_probs = held_out_folds(self.calibrator, rows, self.fold, self.fits)
            return log_probs.astype(np.float64, copy=False)
        start = self.fits[0].parameters if self.fits else None
        self.fits[0] = (self.training_rows or rows).fit(self.calibrator, start)
        return self.fits[0].apply(rows.scores)

    def resample(self, rows: LabeledScores, units: Units, rng: np.random.Generator) -> Resample:
        """Return rows drawn with replacement, recalibrated by fits to what was drawn.

        A row that is drawn twice counts twice and stays in its fold, so that no fit sees a row that it is
        judged on. Training rows of their own are drawn apart.

        Parameters
        ----------
        rows
            N rows.
        units
            Rows that are drawn together.
        rng
            Draws them.
        """
        drawn, weights = _drawn(rows, units, rng)
        while self.fold is not None and np.ptp(self.fold[drawn]) == 0:  # of few units: none to train on
            drawn, weights = _drawn(rows, units, rng)
        fold = None if self.fold is None else self.fold[drawn]
        training_rows = self.training_rows
        if training_rows is not None:
            training_rows = _weighted(
                training_rows, *_drawn(training_rows, Units.of(len(training_rows.labels)), rng)
            )
        again = Recalibration(self.calibrator, fold, training_rows, dict(self.fits))
        return Resample(drawn, weights, again.apply(_weighted(rows, drawn, weights)))


@dataclass(frozen=True)
class Resample:
    """Rows drawn with replacement, and recalibrated.

    Attributes
    ----------
    rows
        (n,) different row numbers, ascending.
    weights
        (n,) how often each was drawn, times its weight.
    log_probs
        (n, K) recalibrated log-probabilities.
    """

    rows: Positions
    weights: Doubles
    log_probs: Doubles


def notes_of(fits: Sequence[Calibrator], classes: int) -> list[str]:
    """Return what fits want said, once where they differ in numbers only, with how many of them say it."""
    alike: dict[str, list[str]] = {}
    for fitted in fits:
        for note in [*fitted.notes, *([TURNED.says] if turns_classes(fitted.apply, classes) else [])]:
            alike.setdefault(re.sub(r"\d+", "#", note), []).append(note)
    return [f"in {len(notes)} of {len(fits)} fits, {notes[0]}" for notes in alike.values()]


def _drawn(rows: LabeledScores, units: Units, rng: np.random.Generator) -> tuple[Positions, Doubles]:
    """Return the numbers of the rows that are drawn, and their weights, times how often they are."""
    weights = units.times_drawn(rng).astype(np.float64)
    if rows.weights is not None:
        weights *= rows.weights
    drawn = np.flatnonzero(weights)
    return drawn, weights[drawn]


def _weighted(rows: LabeledScores, chosen: Positions, weights: Doubles) -> LabeledScores:
    return LabeledScores(rows.scores[chosen], rows.labels[chosen], weights)


def recalibrator(name: str) -> Calibrator:
    """Return a calibrator to fit: any method, settings after slashes.

    Raises
    ------
    UsageError
        If there is no such method.
    """
    return make(nested_method(name))


def affine_map(scores: Array, labels: Array, weights: Floats | None, rows: float) -> str:
    """Return the affine map of log-probabilities that rows can carry: `dp`, or `temperature` of few rows.

    The scale rests on all rows, the intercept of a class on its own. As many are asked for as a validation
    needs, 100 events and 100 others (Collins et al. 2016, "Sample size considerations for the external
    validation of a multivariable prognostic model", Statistics in Medicine 35). Nearly perfect rows teach
    little, however many: there are to be 5 errors for each number that is fitted (Vittinghoff & McCulloch
    2007, "Relaxing the rule of ten events per variable in logistic and Cox regression", American Journal of
    Epidemiology 165).

    Parameters
    ----------
    scores
        (N, K) of the rows that it is fitted to.
    labels, weights
        (N,) of the same.
    rows
        How many rows of equal weight tell as much.
    """
    classes = scores.shape[1]
    mass = np.bincount(labels, weights, classes)
    each = rows * (1 - mass.max() / mass.sum()) / (classes - 1)
    errors = rows * np.average(scores.argmax(axis=1) != labels, weights=weights)
    enough = each >= ROWS_EACH and errors >= ERRORS_EACH * classes
    return AFFINE_MAPS[0] if enough else AFFINE_MAPS[-1]
