"""Calibrators around others: by predicted class, of reduced problems, with the top class kept."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

import numpy as np

from calcli.core.calibrators.base import Calibrator, Event, Ranks, event_of, ranked_classes
from calcli.core.calibrators.fit.training import Parameter, Parameters
from calcli.core.calibrators.onevsrest import limits_reached, recalibrated
from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Labels, Positions, kept_log_probs
from calcli.core.language.entries import arg, method

TOP = Ranks(0, 1)
WRAPPED = "the method that is wrapped, its arguments after slashes"
OF_PREDICTED = "needs a predicted class"


class _Wrapper(Calibrator):
    """A calibrator around one other, with its parameters."""

    calibrator: Calibrator

    def breakpoints(self) -> Doubles:
        """Return the breakpoints of the wrapped calibrator."""
        return self._inner().breakpoints()

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        self._inner().check()

    def _inner(self) -> Calibrator:
        return self.calibrator.fresh(self.parameters)


@method(
    "reduced", "A calibrator of the confidence", family="wrapper", freedom=250,
    parameters="as for two classes", count=lambda k, s: s["calibrator"].parameters(2), effort=1,
    needs_classes=OF_PREDICTED,
)  # fmt: skip
class Reduced(_Wrapper):
    """A calibrator of two classes, "the predicted class is wrong" and "right", in place of many.

    Learns: a calibrator of two classes, prediction wrong or right
    Keeps: the predicted class, unless keep_top=false
    Source: Panchenko et al. 2022

    The probability of "right" is the confidence: the probability of the predicted class. The calibrator gives
    it a new one; the probabilities of the other classes are scaled by (1 - v') / (1 - v), and even where v =
    1.

    Parameters
    ----------
    calibrator : Calibrator
        The calibrator of the two classes.
    keep_top : bool
        No other class exceeds the predicted one: where scaling would lead there, they stop at its probability
        and the rest makes up for it. A probability below 1 / K becomes 1 / K.

    References
    ----------
    Panchenko et al. 2022, Class-wise and reduced calibration methods, section 3 (arXiv:2210.03702).
    """

    keep_top: bool = arg("whether every class keeps its rank", default=True)
    calibrator: Calibrator = arg(WRAPPED)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Fit the calibrator to (confidence, right or wrong); see `Calibrator.fit`."""
        _, members, event = _problem(scores)
        right = np.take_along_axis(members, labels[:, None], axis=1)[:, 0]
        inner = self._inner()
        inner.learn(_two_classes(event), right.astype(np.uint8), weights, start)
        self.parameters, self.notes = inner.parameters, list(inner.notes)
        if self.keep_top:
            after = _right(inner.apply(_two_classes(event)))
            self.notes += limits_reached(scores, after, TOP)

    def apply(self, scores: Array) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        log_probs, members, before = _problem(scores)
        after = _right(self._inner().apply(_two_classes(before)))
        return recalibrated(log_probs, members, before, after, TOP if self.keep_top else None)


def _problem(scores: Array) -> tuple[Floats, Bools, Event]:
    """Return log-probabilities, (N, K), which entry of each row is the predicted class, and its event.

    In double precision, as of one score: a step of the calibrator would lie beside its confidence.
    """
    log_probs = kept_log_probs(scores.astype(np.float64, copy=False))
    members = ranked_classes(log_probs, TOP)
    return log_probs, members, event_of(log_probs, members)


def _two_classes(event: Event) -> Floats:
    """Return the (N, 2) log-probabilities that an event does not happen, and that it does."""
    return np.column_stack([event.log_complement, event.log_prob])


def _right(log_probs: Doubles) -> Event:
    """Return the event of the second of two classes, (N, 2)."""
    wrong, right = log_probs.T
    return Event(right, lambda: wrong)


HAIR = 1e-12  # relative excess of a class that must stay on top over the classes pooled with it
FALLBACK = "others"

AnyCalibrator = TypeVar("AnyCalibrator", bound=Calibrator)


@method(
    "per-predicted-class", "One calibrator for each predicted class", family="wrapper", freedom=260,
    parameters="as many for each predicted class", count=lambda k, s: s["calibrator"].parameters(k),
    effort=4, needs_classes=OF_PREDICTED,
)  # fmt: skip
class PerPredictedClass(Calibrator):
    """One calibrator for each predicted class, fitted on the rows that have it.

    Learns: a calibrator on the rows of each predicted class
    Keeps: nothing
    Source: Panchenko et al. 2022

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

    min_rows: int = arg("rows that a predicted class needs for its own calibrator", default=100, least=1)
    calibrator: Calibrator = arg(WRAPPED)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn a calibrator for each class that is predicted often enough, and one for the others."""
        predicted = scores.argmax(axis=1)
        rows = np.bincount(predicted, weights, minlength=scores.shape[1])
        frequent = np.flatnonzero(rows >= self.min_rows)
        starts = _by_calibrator(start or {})
        fallback = _learned(self.calibrator, scores, labels, weights, starts.get(FALLBACK))
        fitted = {FALLBACK: fallback}
        for k in frequent:
            chosen = predicted == k
            part = None if weights is None else weights[chosen]
            begin = starts.get(str(k), fallback.parameters)
            fitted[str(k)] = _learned(self.calibrator, scores[chosen], labels[chosen], part, begin)
        self.parameters = {
            f"{which}.{key}": value for which, fit in fitted.items() for key, value in fit.parameters.items()
        }
        repeated = Counter(note for fit in fitted.values() for note in fit.notes)
        self.notes = [f"{times} of {len(fitted)} calibrators: {note}" for note, times in repeated.items()]
        if few := scores.shape[1] - len(frequent):
            self.notes.append(
                f"{few} of {scores.shape[1]} classes are predicted on fewer than {self.min_rows} rows "
                "and use the calibrator of all rows"
            )

    def apply(self, scores: Array) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        fitted = self._fitted()
        predicted = scores.argmax(axis=1)
        result = np.empty(scores.shape)
        for k in np.unique(predicted):
            chosen = predicted == k
            result[chosen] = fitted.get(str(k), fitted[FALLBACK]).apply(scores[chosen])
        return result

    def breakpoints(self) -> Doubles:
        """Return the breakpoints of all calibrators."""
        return np.concatenate([fit.breakpoints() for fit in self._fitted().values() if fit.parameters])

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as fits give."""
        for calibrator in self._fitted().values():
            calibrator.check()

    def _fitted(self) -> dict[str, Calibrator]:
        by_class = _by_calibrator(self.parameters).items()
        fitted = {which: self.calibrator.fresh(parameters) for which, parameters in by_class}
        return {FALLBACK: self.calibrator.fresh(), **fitted}


@method(
    "preserve-top1", "The predicted class preserved", family="wrapper", freedom=270,
    parameters="none of its own", count=lambda k, s: s["calibrator"].parameters(k), effort=1,
    needs_classes=OF_PREDICTED,
)  # fmt: skip
class PreserveTop1(_Wrapper):
    """A calibrator that never changes the predicted class, nor the accuracy.

    Learns: the nearest distribution that keeps the predicted class
    Keeps: the predicted class

    Where the other calibrator would change the predicted class, the row becomes the distribution nearest to
    it (Euclidean) in which no class exceeds the predicted one: the predicted class and the classes above it
    share their mean. The predicted class gets a hair more than the others, so as to be the predicted one
    still.

    Parameters
    ----------
    calibrator : Calibrator
        The calibrator to wrap.
    """

    calibrator: Calibrator = arg(WRAPPED)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
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

    def apply(self, scores: Array) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        result = self._inner().apply(scores)
        predicted = scores.argmax(axis=1)
        moved = np.flatnonzero(result.argmax(axis=1) != predicted)
        with np.errstate(divide="ignore"):
            result[moved] = np.log(keep_top(np.exp(result[moved]), predicted[moved]))
        return result


def keep_top(probs: Doubles, top: Positions) -> Doubles:
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
    below = probs.copy()
    below[rows, top] = -1
    descending = -np.sort(-below, axis=1)[:, :-1]
    sums = np.column_stack([probs[rows, top], descending]).cumsum(axis=1)
    means = sums / np.arange(1, probs.shape[1] + 1)
    # the pool takes in the next largest class as long as that exceeds the mean so far
    pooled = (descending > means[:, :-1]).sum(axis=1)
    shared = means[rows, pooled][:, None]
    result = np.minimum(probs, shared)
    result[rows, top] = shared[:, 0] * (1 + HAIR)
    return result


def top1_changes(before: Array, after: Array) -> tuple[int, int]:
    """Return the numbers of rows with a changed predicted class, and with a new tie for it.

    Parameters
    ----------
    before, after : array (N, K)
        Scores; of equal ones the first class is the predicted one.
    """

    def tied(scores: Array) -> Bools:
        return (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1

    changed = before.argmax(axis=1) != after.argmax(axis=1)
    return int(changed.sum()), int((tied(after) & ~tied(before)).sum())


def _by_calibrator(parameters: Parameters) -> dict[str, dict[str, Parameter]]:
    """Split parameters by the prefix of `which.name`."""
    parameterses: dict[str, dict[str, Parameter]] = {}
    for name, value in parameters.items():
        which, _, key = name.partition(".")
        parameterses.setdefault(which, {})[key] = value
    return parameterses


def _learned(
    calibrator: AnyCalibrator,
    scores: Array,
    labels: Labels,
    weights: Array | None,
    start: Parameters | None,
) -> AnyCalibrator:
    """Return another calibrator with the same settings, fitted to rows that have been checked."""
    fresh = calibrator.fresh()
    fresh.learn(scores, labels, weights, start)
    return fresh
