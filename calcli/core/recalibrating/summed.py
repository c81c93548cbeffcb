"""Fits to rows in parts, wherever these are: passes over them that bring home sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.arguments import are_probabilities
from calcli.core.calibrators.crossvalidation import Rescored, rows_of
from calcli.core.calibrators.fit.parts import Overview, Preparation
from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.calibrators.methods import make
from calcli.core.calibrators.softmax import BiasOnly, DPAffine, VectorScaling
from calcli.core.calibrators.temperature import Temperature
from calcli.core.data.arrays import Array
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.evaluating.evaluate import area_if_backwards
from calcli.core.evaluating.gathering import state_of
from calcli.core.language.answers import refuse_classes
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MethodExpression
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.fitting import (
    ASKED,
    Fit,
    changes,
    note_rows,
    recalibrated,
    refuse_raw,
    reported,
    takes_raw,
)
from calcli.core.state.merging import merge
from calcli.core.state.remains import left_of
from calcli.core.state.state import State

T = TypeVar("T")

FITTED = {"temperature": Temperature, "bias": BiasOnly, "dp": DPAffine, "vector": VectorScaling}
Summable = Temperature | BiasOnly | DPAffine | VectorScaling


class Parts(Protocol):
    """Passes over the parts of some predictions."""

    def total(self, of: Callable[[Predictions], T], add: Callable[[Sequence[T]], T]) -> T:
        """Return the sum of what is made of each part, by functions that can be pickled."""


@dataclass(frozen=True)
class SummedFit(Fit):
    """A fit to rows in parts, of which a state is left.

    Attributes
    ----------
    overview
        What all rows had to say.
    """

    overview: Overview | None = None

    @property
    def class_rows(self) -> NDArray[np.intp]:
        """(K,) how many rows each class has, those of weight 0 left out."""
        return cast(Overview, self.overview).counts.astype(np.intp)

    @property
    def priors(self) -> NDArray[np.float64]:
        """(K,) weighted frequencies of the classes."""
        weights = cast(Overview, self.overview).weights
        return weights / weights.sum()

    @property
    def weight(self) -> float:
        """Weight of the rows; their number if they have none."""
        return float(cast(Overview, self.overview).weights.sum())


@dataclass(frozen=True)
class _First:
    """What the first pass brings home."""

    overview: Overview
    state: State


@dataclass(frozen=True)
class _Last:
    """What the last pass brings home."""

    state: State
    changed: Array


def fit_parts(
    parts: Parts, first: Predictions, call: MethodExpression, settings: FitSettings, name: str
) -> SummedFit:
    """Fit a method to all rows of all parts; the optimum is that of the rows in one place.

    Parameters
    ----------
    parts
        Where the rows are.
    first
        The first part, on which the search for the optimum begins.
    call, settings
        The method, and how it is fitted.
    name
        Of the data.

    Raises
    ------
    InputError
        If the rows are unsuitable for the method.
    UsageError
        If the method is not a sum over rows.
    """
    calibrator = _summable(call, settings)
    if first.of_answers:
        refuse_classes([call])
    if takes_raw(call, settings.raw):
        refuse_raw(first, [call])
    log_probs, keep_zeros = calibrator.takes
    raw = not (log_probs or keep_zeros)
    seen = parts.total(partial(_seen, raw=raw), _added)
    rows = seen.overview.stand_in(keep_zeros=keep_zeros)
    zeros = seen.overview.zeros > 0
    log_probs = log_probs or (keep_zeros and zeros)
    over = _Prepared(parts, Preparation(rows.total, rows.floor, log_probs, zeros))
    near = rows_of(first).fit(calibrator)
    calibrator.fit_parts(over, rows, None if near.notes else near.parameters)
    note_rows(calibrator, first)
    calibrator.notes += calibrator.order_notes(first.n_classes)
    last = parts.total(partial(_told, calibrator=calibrator), _both)
    before, after = (left_of(state, name) for state in (seen.state, last.state))
    changed, tied = last.changed.tolist()
    return SummedFit(
        call,
        calibrator,
        before,
        replace(settings, folds=0),
        reported(before)[1],
        reported(after)[1],
        None,
        None,
        changed,
        tied,
        (),
        backwards_area=area_if_backwards(before),
        overview=seen.overview,
    )


def _summable(call: MethodExpression, settings: FitSettings) -> Summable:
    """Return the calibrator of a method.

    Raises
    ------
    UsageError
        If its fit is not to be had from sums.
    """
    if call.entry.name not in FITTED or settings.wraps:
        what = "a wrapped method" if settings.wraps else str(call)
        raise UsageError(
            f"--engine fits {', '.join(FITTED)} from sums over the parts, not {what}; leave out --engine"
        )
    if call.arguments.get("score", "log_loss") != "log_loss":
        raise UsageError(f"{call}: --engine minimizes the log-loss; leave out score=, or --engine")
    return cast(Summable, make(call))


@dataclass(frozen=True)
class _Prepared:
    """Passes over prepared rows."""

    parts: Parts
    how: Preparation

    def total(self, of: Callable[[TrainingRows], T], add: Callable[[Sequence[T]], T]) -> T:
        """Return the sum of what is made of the rows of each part."""
        return self.parts.total(partial(_of_prepared, how=self.how, of=of), add)


def _of_prepared(predictions: Predictions, *, how: Preparation, of: Callable[[TrainingRows], T]) -> T:
    rows = rows_of(predictions)
    return of(how.rows(rows.scores, rows.labels, rows.weights))


def _seen(predictions: Predictions, *, raw: bool) -> _First:
    rows = rows_of(predictions)
    if are_probabilities(rows.scores):
        raise InputError(
            f"{predictions.provenance.path} has probabilities, which are taken for {predictions.kind}; say "
            "--kind probs, or leave --kind out"
        )
    overview = Overview.of(rows.scores, rows.labels, rows.weights, raw=raw)
    return _First(overview, state_of(predictions, ASKED))


def _added(found: Sequence[_First]) -> _First:
    states = merge(one.state for one in found)
    overviews = [one.overview for one in found]
    return _First(sum(overviews[1:], overviews[0]), states)


def _told(predictions: Predictions, *, calibrator: Summable) -> _Last:
    rows = rows_of(predictions)
    scores = ArrayScores(rows.scores, "logits")
    state = state_of(recalibrated(predictions, calibrator.apply(rows.scores)), ASKED)
    return _Last(state, np.array(changes(scores, Rescored.by_one(scores, calibrator), rows.weights)))


def _both(found: Sequence[_Last]) -> _Last:
    return _Last(merge(one.state for one in found), np.sum([one.changed for one in found], axis=0))
