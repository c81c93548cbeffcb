"""What every calibrator is: settings, a fit that learns parameters, a map to log-probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calcli.core.calibrators.arguments import checked_labels, checked_scores, checked_weights
from calcli.core.calibrators.fit.training import Parameter as Parameter
from calcli.core.calibrators.fit.training import Parameters as Parameters
from calcli.core.data.arrays import Array
from calcli.core.language.errors import UsageError
from calcli.core.language.methods import METHODS

SHOWN = 6  # a fitted array longer than this is shown by its shape only


@dataclass(kw_only=True, eq=False, repr=False)
class Calibrator(ABC):
    """A recalibration of (N, K) scores; each method is a subclass, its settings are dataclass fields.

    Scores are logits or log-probabilities; a method that a constant added to a row would change
    calls `log_softmax` on them first. ``cls(**settings)`` with `parameters` assigned is the fitted calibrator
    again, to the last bit.

    Attributes
    ----------
    name : str
        The name in the registry, the same for all instances.
    parameters : dict of str to array or float
        All that the fit learned; empty before it.
    notes : list of str
        What the fit wants said: safeguards used, convergence not reached. A sentence each.
    """

    name: ClassVar[str]

    parameters: dict[str, Parameter] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Refuse settings that the registry does not allow."""
        entry = METHODS.get(getattr(self, "name", ""))
        for name, value in self.get_params().items():
            if entry and name in entry.arguments:
                entry.check(name, value)

    def fit(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        start: Parameters | None = None,
    ) -> Self:
        """Learn `parameters`.

        Parameters
        ----------
        scores : array-like (N, K)
            Logits or log-probabilities; -inf is a probability of exactly 0.
        labels : array-like of int (N,)
            The true class of each row, 0 to K - 1.
        weights : array-like (N,), optional
            Weights of the rows, 0 or more; 2 is the same as the row twice. Default: all 1.
        start : mapping, optional
            Parameters of a fit to similar data, from which an iterative method starts.

        Returns
        -------
        Calibrator
            Itself, fitted.

        Raises
        ------
        InputError
            If these are not rows of numbers, each with a label and a weight.
        """
        table = checked_scores(scores)
        self.learn(table, checked_labels(labels, table.shape), checked_weights(weights, len(table)), start)
        return self

    @abstractmethod
    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Set `parameters` and `notes` from rows that have been checked; see `fit`."""

    @abstractmethod
    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K) in float64, of `scores`, (N, K).

        Raises
        ------
        UsageError
            If the calibrator has not been fitted.
        """

    def predict_proba(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the recalibrated probabilities, (N, K), of logits or log-probabilities, (N, K).

        Raises
        ------
        InputError
            If the scores are not rows of numbers.
        UsageError
            If the calibrator has not been fitted.
        """
        return np.exp(self.apply(checked_scores(scores)))

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        for name, value in self.parameters.items():
            if not np.size(value) or not np.isfinite(value).all():
                raise ValueError(f"{name} is empty or not finite")

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """Return the settings: the keyword arguments that make the same calibrator, not fitted.

        Parameters
        ----------
        deep : bool
            Add the settings of a wrapped calibrator, as ``calibrator__name``.
        """
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        inner = settings.get("calibrator")
        if deep and isinstance(inner, Calibrator):
            settings |= {f"calibrator__{name}": value for name, value in inner.get_params(deep=True).items()}
        return settings

    def set_params(self, **settings: Any) -> Self:
        """Change settings; what was learned stays until the next fit.

        Raises
        ------
        UsageError
            If a setting is unknown or out of range.
        """
        known = self.get_params(deep=True)
        if unknown := [name for name in settings if name not in known]:
            has = ", ".join(known) or "none"
            raise UsageError(f"{type(self).__name__} has no setting {', '.join(unknown)}; it has: {has}")
        own = {name: value for name, value in settings.items() if "__" not in name}
        type(self)(**self.get_params() | own)  # refuses what is out of range before anything changes
        for name, value in own.items():
            setattr(self, name, value)
        if inner := {n.partition("__")[2]: value for n, value in settings.items() if n not in own}:
            self.get_params()["calibrator"].set_params(**inner)
        return self

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
            raise UsageError(f"{type(self).__name__} has not been fitted; call fit(scores, labels) first")
        return self.parameters[name]

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.get_params().items())
        fitted = ", ".join(f"{key}={_shown(value)}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({settings})" + (f" fitted: {fitted}" if fitted else "")


def _shown(value: Parameter) -> str:
    array = np.asarray(value)
    if array.size > SHOWN:
        return f"<array {' x '.join(map(str, array.shape))}>"
    return np.array2string(array, precision=4, separator=", ")
