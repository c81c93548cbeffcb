"""What every calibrator is: a method that learns parameters, and a map to log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.estimator import Estimator
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.calibrators.order import KEPT, OF_CLASSES, TURNED, Order, order_of_rows, turns_classes
from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.predictions import Kind
from calcli.core.language.entries import Method, named_at
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MethodExpression
from calcli.core.language.methods import METHODS, ORDER

LARGEST = 1e100  # parameter: its products with scores stay finite


@dataclass(kw_only=True, eq=False, repr=False)
class Calibrator(Estimator):
    """A recalibration of (N, K) scores; each method is a subclass, its settings are dataclass fields.

    A subclass says how to `learn` and to `apply`. Scores are logits or log-probabilities there; a method that
    a constant added to a row would change calls `log_softmax` on them first. ``cls(**settings)`` with
    `parameters` assigned is the fitted calibrator again, to the last bit.

    Attributes
    ----------
    gives : {"log-probs", "logits"}
        What `rescore` returns; logits where these are had sooner.
    """

    gives: ClassVar[Kind] = "log-probs"

    def order(self, classes: int) -> Order:
        """Return what the fitted map does to the order of rows by their score, or of the classes of a row.

        Of two classes it is that of the rows by the probability of the second one. Of more it is that of the
        classes in a row, of which only some methods tell that they keep it.
        """
        if classes == 2:
            return order_of_rows(self.apply, self.corners(), raw=self.takes_raw())
        if self.keeps_classes(classes):
            return KEPT
        return TURNED if turns_classes(self.apply, classes) else Order("changed", OF_CLASSES)

    def corners(self) -> Doubles:
        """Return the probabilities of an event, (m,), at which a map of it may bend or jump."""
        return np.empty(0)

    def keeps_classes(self, classes: int) -> bool:
        """Return whether the fitted map keeps the order of so many classes in every row."""
        return METHODS[self.name].keeps == ORDER

    def order_notes(self, classes: int) -> list[str]:
        """Return a sentence if the fitted map keeps less of an order than such maps may be expected to."""
        found = self.order(classes)
        free = classes > 2 and not METHODS[self.name].keeps.startswith(ORDER)  # as is said of all such maps
        return [] if found.kept == "kept" or (found.kept == "changed" and free) else [found.says]

    def rescore(self, scores: Array) -> Floats:
        """Return (N, K) scores whose softmax is what `apply` gives, of the kind that `gives` tells."""
        return self.apply(scores)

    def leaving_out(
        self, scores: Array, labels: NDArray[np.integer[Any]], weights: Array | None, fold: Positions
    ) -> dict[int, Self]:
        """Return fits to the rows outside each of the (N,) folds, as this one, fitted to all, tells them.

        They are what fits from nothing would be, up to their tolerance. By the number of the fold; those that
        are not there are to be fitted.
        """
        return {}

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        for name, value in self.parameters.items():
            if not np.size(value) or not (np.abs(value) <= LARGEST).all():
                raise ValueError(f"{name} is empty, or not finite and at most {LARGEST:g}")

    def fresh(self, parameters: Parameters | None = None) -> Self:
        """Return another calibrator with the same settings, and with these parameters or not fitted."""
        other = type(self)(**self.get_params())
        other.parameters = dict(parameters or {})
        return other

    def learned(self, name: str) -> Any:
        """Return the fitted parameter `name`.

        Raises
        ------
        UsageError
            If the calibrator has not been fitted.
        """
        if not self.parameters:
            raise UsageError(f"{type(self).__name__} has not been fitted; call fit(scores, y) first")
        return self.parameters[name]


def make(call: MethodExpression) -> Calibrator:
    """Return the calibrator that an expression asks for, not fitted.

    Raises
    ------
    UsageError
        If the lens is not for that method.
    """
    settings = dict(call.arguments)
    if "calibrator" in settings:
        settings["calibrator"] = make(settings["calibrator"])
    made: Calibrator = calibrator_class(call.entry)(**settings)
    return made


def calibrator_class(method: Method) -> Any:
    """Return the class of a method."""
    return named_at(method.where, "calcli.core.calibrators")
