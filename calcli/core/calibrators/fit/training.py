"""The rows a calibrator is fitted to; of a softmax finite, in the working precision, weights summing to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import LEAST, Array, Floats, Stream, as_floats, generator, log_softmax
from calcli.core.data.blocks import DOUBLE_LIMIT
from calcli.core.data.units import random_folds
from calcli.core.language.errors import InputError

Parameter: TypeAlias = Array | float
Parameters: TypeAlias = Mapping[str, Parameter]

LOG_2 = float(np.log(2))
UNSEEN = 53 * LOG_2  # logarithm of what a double rounds to, below the smallest of a fit without a 0
STAND_IN = "counts as half the smallest positive probability, in new rows, too"
MASKED = LEAST  # in place of -inf: its exponential is 0 just as well, and 0 times it is 0 and not nan


@dataclass(frozen=True)
class TrainingRows:
    """Rows to fit to.

    Attributes
    ----------
    scores
        (N, K) finite scores: float64 up to `DOUBLE_LIMIT` elements, above that in the precision given.
    labels
        (N,) true classes.
    weights
        (N,) positive weights that sum to 1.
    total
        Sum of the weights as given; the number of rows when none were.
    floor
        What the logarithm of a probability of 0 counts as, and is to count as when the fit is applied; None
        where there is no 0, or a 0 stays one and its logarithm is `MASKED`.
    notes
        What had to be done to the scores; a sentence each.
    """

    scores: Floats
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]
    total: float
    floor: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def tolerance(self) -> float:
        """Relative gradient at which a fit is converged."""
        return 1e-8 if self.scores.dtype == np.float64 else 1e-6

    @property
    def ridge(self) -> float:
        """Weight of the safeguard where no finite optimum exists.

        ``ridge / 2 * |theta - identity|^2`` is a normal prior of unit variance around the identity: the
        weight of one row, which fades as rows are added.
        """
        return 1 / self.total

    @property
    def floor_level(self) -> float:
        """What stands for the logarithm of 0 in new rows, even if these have none."""
        return floor_level(self.scores) if self.floor is None else self.floor

    def floored(self) -> dict[str, float]:
        """Return the floor as a parameter to be learned; nothing if there is none."""
        return {} if self.floor is None else {"floor": self.floor}

    def absent_classes(self) -> NDArray[np.intp]:
        """Return the classes without a row."""
        return np.flatnonzero(np.bincount(self.labels, minlength=self.scores.shape[1]) == 0)

    def every(self, step: int) -> TrainingRows:
        """Return every `step`-th row."""
        weights = self.weights[::step]
        share = weights.sum()
        return replace(
            self,
            scores=self.scores[::step],
            labels=self.labels[::step],
            weights=weights / share,
            total=self.total * float(share),
        )


def prepare(
    scores: Array,
    labels: Array,
    weights: Array | None,
    *,
    normalize: bool,
    keep_zeros: bool,
    upcast: bool = True,
) -> TrainingRows:
    """Return the rows to fit to; log-probabilities if `normalize`, else the scores as they are.

    Rows of weight 0 are left out. A probability of exactly 0 has no finite logarithm. With `keep_zeros` it
    stays 0, as long as the true class never has it: then the unchanged scores are among the candidates, and
    no candidate is worse on these rows. Otherwise something stands for it, see `stand_in`.
    """
    if weights is not None and not (weights := np.asarray(weights, np.float64)).all():
        positive = weights > 0
        scores, labels, weights = scores[positive], labels[positive], weights[positive]
    values = as_floats(scores)
    if upcast and values.size <= DOUBLE_LIMIT:
        values = values.astype(np.float64, copy=False)
    masked = bool(values.min() <= LEAST)
    if normalize or (keep_zeros and masked):
        values = log_softmax(values)
    elif masked:
        values = np.where(values > LEAST, values, -np.inf).astype(values.dtype)
    has_zeros = bool(values.min() == -np.inf)
    labels = labels.astype(np.intp, copy=False)
    total = float(len(labels) if weights is None else weights.sum())
    shares = np.full(len(labels), 1 / total) if weights is None else weights / total
    rows = TrainingRows(np.ascontiguousarray(values), labels, shares, total)
    return _without_zeros(rows, keep_zeros) if has_zeros else rows


def floor_level(logs: Floats) -> float:
    """Return the stand-in for the logarithm of 0, given the one of a fit; see `stand_in_below`."""
    zero = logs <= LEAST
    smallest = float(logs.min(where=~zero, initial=np.inf))
    return stand_in_below(smallest if smallest < np.inf else LOG_2 - UNSEEN, zeros=bool(zero.any()))


def stand_in_below(smallest: float, *, zeros: bool) -> float:
    """Return what stands for the logarithm of 0, given the smallest one of a fit.

    It is the logarithm of half the smallest positive probability, the customary stand-in for a value below a
    limit of detection. New rows may have smaller ones, which `raised` takes for it: none then lies below a 0.
    A fit without a 0 puts it where a double loses sight of it beside the smallest, so as to bend nothing.
    """
    return smallest - (LOG_2 if zeros else UNSEEN)


def clip_below(logs: Array, level: Parameter) -> Array:
    """Return logarithms of probabilities, raised to the stand-in for 0 where they are lower."""
    return np.maximum(logs, level)


def with_floor(scores: Array, parameters: Parameters) -> Array:
    """Return log-probabilities raised to the fitted floor; scores as they are if there is none."""
    scores = as_floats(scores)
    if "floor" in parameters:
        return clip_below(log_softmax(scores), parameters["floor"])
    if scores.min() > LEAST or not ((scores <= LEAST) & (scores > -np.inf)).any():
        return scores
    return log_softmax(scores)


def _without_zeros(rows: TrainingRows, keep: bool) -> TrainingRows:
    zero = rows.scores == -np.inf
    of_label = int(zero[np.arange(len(zero)), rows.labels].sum())
    floor = None if keep and not of_label else floor_level(rows.scores)
    note = of_zeros(int(zero.sum()), of_label, stay=floor is None)
    filled: Floats = np.where(rows.scores <= LEAST, MASKED if floor is None else floor, rows.scores)
    return replace(rows, scores=filled.astype(rows.scores.dtype, copy=False), floor=floor, notes=(note,))


def of_zeros(zeros: int, of_label: int, *, stay: bool) -> str:
    """Say how many probabilities are 0, and how the fit treats them."""
    true = f"{of_label:,}" if of_label else "none"
    rule = "they stay 0" if stay else f"each {STAND_IN}"
    return f"{zeros:,} probabilities are exactly 0, {true} of them of the true class; {rule}"


def weighted_rows(
    scores: Array, labels: NDArray[np.integer[Any]], weights: Array | None
) -> tuple[Array, NDArray[np.integer[Any]], Array | None]:
    """Return rows with a weight above 0."""
    if weights is None:
        return scores, labels, None
    counted = weights > 0
    return scores[counted], labels[counted], weights[counted]


def inner_folds(
    name: str, labels: NDArray[np.integer[Any]], folds: int, seed: int, mend: str = ""
) -> NDArray[np.intp]:
    """Return the fold of each row in the cross-validation by which a method chooses its settings.

    Raises
    ------
    InputError
        If there are fewer rows than folds; what to do about it is `mend`.
    """
    if len(labels) < folds:
        raise InputError(f"{name} needs a row for each of its {folds} folds, there are {len(labels)}{mend}")
    return random_folds(len(labels), folds, generator(seed, Stream.FITS))


def refuse_wide(method: str, scores: Array, classes: int, mend: str = "") -> None:
    """Raise an InputError for a matrix of more than so many classes, if there are no more rows than that."""
    rows, columns = scores.shape
    if columns > classes and rows <= columns:
        raise InputError(
            f"{method} learns a matrix of {columns:,} x {columns:,} from {rows:,} rows; expected more rows "
            f"than classes, of so many{mend}"
        )
