"""Cross-validation of methods on the same folds, and the pool of the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from calcli.core.calibrators.base import Calibrator, make
from calcli.core.calibrators.crossvalidation import LabeledScores
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.calibrators.pool import pool_weights
from calcli.core.calibrators.structured import Structured
from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.predictions import ArrayScores, Scores
from calcli.core.data.processes import Processes
from calcli.core.data.units import numbers_of
from calcli.core.language.errors import CalcliError
from calcli.core.language.expressions import MethodExpression, parse_method
from calcli.core.language.methods import JOINED
from calcli.core.language.settings import FitSettings
from calcli.core.recalibrating.candidates import POOL, path_of

LEAST_SHARE = 0.01  # members of a pool below this weight are left out
DIGITS = 2  # of the weights of a pool: held-out predictions tell no more

MetricValues = dict[str, float]
Member = tuple[float, MethodExpression, Floats]  # mean loss, method, held-out log-probabilities of all deals


@dataclass(frozen=True)
class Performance:
    """What scores of the rows are worth.

    Attributes
    ----------
    values
        Metrics, by canonical expression.
    losses
        (N,) the loss of each row.
    predicted, tied
        (N,) the most probable class, and whether others are as probable.
    """

    values: MetricValues
    losses: Doubles
    predicted: Array
    tied: Array


@dataclass(frozen=True)
class Dealt:
    """Rows to fit to and to judge on.

    Attributes
    ----------
    rows
        All of them.
    folds
        The fold of each, (N,), for each time that they are dealt.
    settings
        How methods are wrapped.
    """

    rows: LabeledScores
    folds: Sequence[Positions]
    settings: FitSettings


Fitted = tuple[Doubles, Parameters] | CalcliError  # log-probabilities of a fold, or why there are none


class OneFit(NamedTuple):
    """A fit to the rows outside a fold, from where it starts."""

    method: str
    repeat: int
    fold: int
    start: Parameters | None


def fitted(dealt: Dealt, fit: OneFit) -> Fitted:
    """Return the log-probabilities of the rows of a fold, and the parameters; or why there are none."""
    rows, fold = dealt.rows, dealt.folds[fit.repeat]
    kept = rows.take(fold != fit.fold)
    calibrator = make(dealt.settings.wrapped(parse_method(fit.method)))
    _make_rough(calibrator)
    try:
        calibrator.learn(kept.scores, kept.labels, kept.weights, fit.start)
        out = np.flatnonzero(fold == fit.fold)
        return calibrator.apply(rows.scores.take(out, axis=0)), calibrator.parameters
    except CalcliError as fault:
        return fault


class Trials:
    """Cross-validation of methods on the same folds, each done once.

    Parameters
    ----------
    dealt
        All rows, and their folds.
    judge
        Returns what scores of the rows are worth.
    step
        Called after each fit.
    processes
        What does the fits.
    """

    def __init__(
        self,
        dealt: Dealt,
        judge: Callable[[Scores], Performance],
        step: Callable[[], None],
        processes: Processes[Dealt],
    ) -> None:
        self.dealt, self.rows, self._judge = dealt, dealt.rows, judge
        self._step, self._processes = step, processes
        self._numbers = [numbers_of(fold) for fold in dealt.folds]
        self._count = sum(map(len, self._numbers))
        self._starts: dict[tuple[Any, ...], Parameters] = {}
        self._best: dict[tuple[str, ...], Member] = {}

    def held_out(self, calls: Sequence[MethodExpression]) -> Iterator[Performance | CalcliError]:
        """Cross-validate methods of unlike paths, roughly where it can; yield what is found, in their order.

        The fits of one strength start those of the next on its path.
        """
        fits = [
            OneFit(str(call), repeat, number, self._starts.get((path_of(call), repeat, number)))
            for call in calls
            for repeat, numbers in enumerate(self._numbers)
            for number in numbers
        ]
        left = list(calls)
        found: dict[str, dict[tuple[int, int], Fitted]] = {str(call): {} for call in calls}
        for fit, one in self._processes.each(fitted, fits):
            found[fit.method][fit.repeat, fit.fold] = one
            self._step()
            while left and len(found[str(left[0])]) == self._count:
                call = left.pop(0)
                yield self._joined(call, found.pop(str(call)))

    def _joined(
        self, call: MethodExpression, fits: dict[tuple[int, int], Fitted]
    ) -> Performance | CalcliError:
        """Return what is made of the fits of a method."""
        path, log_probs = path_of(call), []
        for repeat, fold in enumerate(self.dealt.folds):
            result = np.empty(self.rows.scores.shape)
            for number in self._numbers[repeat]:
                one = fits[repeat, number]
                if isinstance(one, CalcliError):
                    return one
                result[fold == number], parameters = one
                if len(path) > 1:
                    self._starts[path, repeat, number] = parameters
            log_probs.append(result)
        found = self._judged(log_probs)
        mean = float(np.average(found.losses, weights=self.rows.weights))
        if np.isfinite(mean) and (path not in self._best or mean < self._best[path][0]):
            self._best[path] = mean, call, np.concatenate(log_probs, dtype=np.float32, casting="same_kind")
        return found

    def skip(self) -> None:
        """Count the fits of a method that is not tried."""
        for _ in range(self._count):
            self._step()

    def _judged(self, log_probs: Sequence[Doubles]) -> Performance:
        """Return the mean over the times that folds were dealt; classes are those of the first."""
        found = [self._judge(ArrayScores(one, "log-probs")) for one in log_probs]
        means = {name: float(np.mean([one.values[name] for one in found])) for name in found[0].values}
        return replace(found[0], values=means, losses=np.mean([one.losses for one in found], axis=0))

    def pooled(self) -> tuple[MethodExpression, Performance] | None:
        """Return the pool of the best method of each kind, weighted by their held-out predictions.

        It is judged on each fold with the weights that the rows of the other folds give, as often as they are
        dealt: those of all rows are fitted to the rows that would judge them.
        """
        members = list(self._best.values())
        everywhere = np.arange(len(self.dealt.folds) * len(self.rows.labels))
        weights = self._weights(members, everywhere)
        while weights.min() < LEAST_SHARE:  # without one member, another may matter no more
            members = [one for one, weight in zip(members, weights, strict=True) if weight >= LEAST_SHARE]
            weights = self._weights(members, everywhere)
        if len(members) < 2:
            return None
        names = JOINED.join(call.nested for _, call, _ in members)
        shares = "/".join(f"{weight:g}" for weight in np.round(weights, DIGITS))
        return parse_method(f"{POOL}:members={names}:weights={shares}"), self._judged(self._mixed(members))

    def _mixed(self, members: Sequence[Member]) -> list[Doubles]:
        """Return the held-out log-probabilities of a pool, for each time that the folds were dealt."""
        log_probs = []
        for repeat, fold in enumerate(self.dealt.folds):
            start, mixed = repeat * len(fold), np.zeros(self.rows.scores.shape)
            for number in self._numbers[repeat]:
                own = np.flatnonzero(fold == number)
                others = np.flatnonzero(np.tile(fold != number, len(self.dealt.folds)))
                weights = self._weights(members, others)
                for weight, (_, _, one) in zip(weights, members, strict=True):
                    mixed[own] += weight * np.exp(one[start + own], dtype=np.float64)
            with np.errstate(divide="ignore"):
                log_probs.append(np.log(mixed, out=mixed))
        return log_probs

    def _weights(self, members: Sequence[Member], places: Positions) -> Doubles:
        """Return the weights of a pool, by the held-out predictions at some places in those of all deals."""
        rows, at = self.rows, places % len(self.rows.labels)
        of_rows = None if rows.weights is None else rows.weights[at]
        found = [one[places] for _, _, one in members]
        return pool_weights(found, rows.labels[at], of_rows, self.dealt.settings.score)


def _make_rough(calibrator: Calibrator) -> None:
    """Let a structured calibrator be fitted in single precision, also within others."""
    inner = calibrator
    while "calibrator" in (settings := inner.get_params()):
        inner = settings["calibrator"]
    if isinstance(inner, Structured):
        inner.rough = True
