"""Any calibrator on the confidence and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.events import Bools, Event, Ranks, event_of, ranked_classes
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.calibrators.sharing import limits_reached, recalibrated
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.logspace import kept_log_probs

TOP = Ranks(0, 1)


@dataclass(kw_only=True, eq=False, repr=False)
class Reduced(Calibrator):
    """A calibrator of two classes, "the predicted class is wrong" and "right", in place of many.

    The probability of "right" is the confidence, that of the predicted class. The calibrator gives it a new
    one; the probabilities of the other classes are scaled by (1 - v') / (1 - v), and even where v = 1.

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

    name: ClassVar[str] = "reduced"

    calibrator: Calibrator
    keep_top: bool = True

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Fit the calibrator to (confidence, right or wrong); see `Calibrator.fit`."""
        _, members, event = _problem(scores)
        right = np.take_along_axis(members, labels[:, None], axis=1)[:, 0]
        inner = self._inner()
        inner.learn(_two_classes(event), right.astype(np.uint8), weights, start)
        self.parameters, self.notes = inner.parameters, list(inner.notes)
        if self.keep_top:
            after = _right(inner.apply(_two_classes(event)))
            self.notes += limits_reached(scores, after, TOP)

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        log_probs, members, before = _problem(scores)
        after = _right(self._inner().apply(_two_classes(before)))
        return recalibrated(log_probs, members, before, after, TOP if self.keep_top else None)

    def corners(self) -> Doubles:
        """Return those of the calibrator of the two classes."""
        return self._inner().corners()

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        self._inner().check()

    def _inner(self) -> Calibrator:
        return self.calibrator.fresh(self.parameters)


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


def _right(log_probs: NDArray[np.float64]) -> Event:
    """Return the event of the second of two classes, (N, 2)."""
    wrong, right = log_probs.T
    return Event(right, lambda: wrong)
