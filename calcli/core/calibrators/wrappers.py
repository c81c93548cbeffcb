"""Calibrators around any other one: one for each predicted class; and one that keeps the predicted class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.fit.training import Parameter, Parameters
from calcli.core.data.arrays import Array, Doubles

HAIR = 1e-12  # by so much, relatively, a class that must stay on top exceeds those it is pooled with
FALLBACK = "others"

AnyCalibrator = TypeVar("AnyCalibrator", bound=Calibrator)


@dataclass(kw_only=True, eq=False, repr=False)
class PerPredictedClass(Calibrator):
    """One calibrator for each predicted class, fitted on the rows that have it.

    Parameters
    ----------
    calibrator : Calibrator
        The kind of calibrator, with its settings.
    min_rows : int
        1 or more: a class predicted on fewer rows (less weight) uses the calibrator of all rows.

    References
    ----------
    Panchenko et al. 2022, Class-wise and reduced calibration methods, section 4 (arXiv:2210.03702).
    """

    name: ClassVar[str] = "per-predicted-class"

    calibrator: Calibrator
    min_rows: int = 100

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Learn a calibrator for each class that is predicted often enough, and one for the others."""
        predicted = scores.argmax(axis=1)
        rows = np.bincount(predicted, weights, minlength=scores.shape[1])
        own = np.flatnonzero(rows >= self.min_rows)
        starts = _by_calibrator(start or {})
        whole = _learned(self.calibrator, scores, labels, weights, starts.get(FALLBACK))
        fitted = {FALLBACK: whole}
        for k in own:
            chosen = predicted == k
            part = None if weights is None else weights[chosen]
            begin = starts.get(str(k), whole.parameters)
            fitted[str(k)] = _learned(self.calibrator, scores[chosen], labels[chosen], part, begin)
        self.parameters = {
            f"{which}.{key}": value for which, one in fitted.items() for key, value in one.parameters.items()
        }
        repeated = Counter(note for one in fitted.values() for note in one.notes)
        self.notes = [f"{times} of {len(fitted)} calibrators: {note}" for note, times in repeated.items()]
        if few := scores.shape[1] - len(own):
            self.notes.append(
                f"{few} of {scores.shape[1]} classes are predicted on fewer than {self.min_rows} rows "
                "and use the calibrator of all rows"
            )

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        fitted = self._fitted()
        predicted = scores.argmax(axis=1)
        result = np.empty(scores.shape)
        for k in np.unique(predicted):
            chosen = predicted == k
            result[chosen] = fitted.get(str(k), fitted[FALLBACK]).apply(scores[chosen])
        return result

    def corners(self) -> Doubles:
        """Return those of all calibrators."""
        return np.concatenate([one.corners() for one in self._fitted().values() if one.parameters])

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as fits give."""
        for one in self._fitted().values():
            one.check()

    def _fitted(self) -> dict[str, Calibrator]:
        parts = _by_calibrator(self.parameters).items()
        fitted = {which: self.calibrator.fresh(parameters) for which, parameters in parts}
        return {FALLBACK: self.calibrator.fresh(), **fitted}


@dataclass(kw_only=True, eq=False, repr=False)
class PreserveTop1(Calibrator):
    """A calibrator whose predicted class is always that of the scores, so that the accuracy stays.

    Where the other calibrator would change the predicted class, the row becomes the distribution
    nearest to it (Euclidean) in which no class exceeds the predicted one: that class and those above it share
    their mean. The predicted class gets a hair more than the others, so as to be the predicted one still.

    Parameters
    ----------
    calibrator : Calibrator
        The calibrator to wrap.
    """

    name: ClassVar[str] = "preserve-top1"

    calibrator: Calibrator

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Fit the wrapped calibrator, and note how many of the rows it would give another class."""
        inner = _learned(self.calibrator, scores, labels, weights, start)
        self.parameters = inner.parameters
        counted = scores if weights is None else scores[weights > 0]
        changed, tied = top1_changes(counted, inner.apply(counted))
        self.notes = [
            *inner.notes,
            f"on {changed:,} of {len(counted):,} rows the predicted class would change and is kept by "
            f"sharing probability; before that, {tied:,} rows had become ties",
        ]

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        result = self._inner().apply(scores)
        predicted = scores.argmax(axis=1)
        moved = np.flatnonzero(result.argmax(axis=1) != predicted)
        with np.errstate(divide="ignore"):
            result[moved] = np.log(keep_top(np.exp(result[moved]), predicted[moved]))
        return result

    def corners(self) -> Doubles:
        """Return those of the wrapped calibrator."""
        return self._inner().corners()

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        self._inner().check()

    def _inner(self) -> Calibrator:
        return self.calibrator.fresh(self.parameters)


def keep_top(probs: NDArray[np.float64], top: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the nearest distributions in which class `top` of each row is, by a hair, the most probable.

    Parameters
    ----------
    probs : array (N, K)
        Distributions.
    top : array of int (N,)
        The class of each row that no other may exceed.

    Returns
    -------
    array (N, K)
        In the Euclidean sense the nearest, but for the hair of 1e-12 of its value that `top` has more.
    """
    rows = np.arange(len(probs))
    others = probs.copy()
    others[rows, top] = -1
    descending = -np.sort(-others, axis=1)[:, :-1]
    sums = np.column_stack([probs[rows, top], descending]).cumsum(axis=1)
    means = sums / np.arange(1, probs.shape[1] + 1)
    # the pool takes in the next largest class as long as that exceeds the mean so far
    pooled = (descending > means[:, :-1]).sum(axis=1)
    shared = means[rows, pooled][:, None]
    result = np.minimum(probs, shared)
    result[rows, top] = shared[:, 0] * (1 + HAIR)
    return result


def top1_changes(before: Array, after: Array) -> tuple[int, int]:
    """Return in how many rows the predicted class changed, and in how many a tie for it came up.

    Parameters
    ----------
    before, after : array (N, K)
        Scores; of equal ones the first class is the predicted one.
    """

    def tied(scores: Array) -> NDArray[np.bool_]:
        return (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1

    changed = before.argmax(axis=1) != after.argmax(axis=1)
    return int(changed.sum()), int((tied(after) & ~tied(before)).sum())


def _by_calibrator(parameters: Parameters) -> dict[str, dict[str, Parameter]]:
    """Take parameters apart that are named `which.name`."""
    parts: dict[str, dict[str, Parameter]] = {}
    for name, value in parameters.items():
        which, _, key = name.partition(".")
        parts.setdefault(which, {})[key] = value
    return parts


def _learned(
    calibrator: AnyCalibrator,
    scores: Array,
    labels: NDArray[np.integer[Any]],
    weights: Array | None,
    start: Parameters | None,
) -> AnyCalibrator:
    """Return another calibrator with the same settings, fitted to rows that have been checked."""
    fresh = calibrator.fresh()
    fresh.learn(scores, labels, weights, start)
    return fresh
