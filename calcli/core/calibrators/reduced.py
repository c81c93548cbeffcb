"""Any calibrator on the confidence and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.base import Calibrator, Parameters
from calcli.core.calibrators.onevsrest import Bools, Event, rescaled, top_event
from calcli.core.data.arrays import Array, Floats
from calcli.core.data.logspace import log_softmax


@dataclass(kw_only=True, eq=False, repr=False)
class Reduced(Calibrator):
    """A calibrator of two classes, "the predicted class is wrong" and "right", in place of many.

    The probability of "right" is the confidence, that of the predicted class. The calibrator gives it a new
    one; the probabilities of the other classes are scaled by (1 - v') / (1 - v), and even where v = 1.

    Parameters
    ----------
    calibrator : Calibrator
        The calibrator of the two classes.

    References
    ----------
    Panchenko et al. 2022, Class-wise and reduced calibration methods, section 3 (arXiv:2210.03702).
    """

    name: ClassVar[str] = "reduced"

    calibrator: Calibrator

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
        self.parameters, self.notes = inner.parameters, inner.notes

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        log_probs, members, before = _problem(scores)
        wrong, right = self._inner().apply(_two_classes(before)).T
        return rescaled(log_probs, members, before, Event(right, lambda: wrong))

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        self._inner().check()

    def _inner(self) -> Calibrator:
        return self.calibrator.fresh(self.parameters)


def _problem(scores: Array) -> tuple[Floats, Bools, Event]:
    """Return log-probabilities, (N, K), which entry of each row is the predicted class, and its event."""
    log_probs = log_softmax(scores)
    return log_probs, *top_event(log_probs, 1)


def _two_classes(event: Event) -> Floats:
    """Return the (N, 2) log-probabilities that an event does not happen, and that it does."""
    return np.column_stack([event.log_complement, event.log_prob])
