"""What users call of every calibrator: fit and predict, its settings, and what scikit-learn asks."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calcli.core.calibrators.arguments import (
    LOGITS,
    ScoresAre,
    checked_classes,
    checked_labels,
    checked_scores,
    checked_weights,
    either,
    is_single,
    named_classes,
    numbered_labels,
)
from calcli.core.calibrators.columns import as_fitted, column_names, columns_of
from calcli.core.calibrators.fit.training import Parameter, Parameters
from calcli.core.data.arrays import Array, Doubles, Floats, batches
from calcli.core.data.inmemory import as_array, refuse_swapped
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.methods import METHODS

APPLIED_BYTES = 1 << 24  # of log-probabilities made at once
SHOWN = 6  # a fitted array longer than this is shown by its shape only; no more parameters are shown


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(ABC):
    """A calibrator as users meet it: arrays, lists or data frames in, probabilities out.

    Parameters
    ----------
    scores_are : {"logits", "log-probs", "probs", "percent"}
        What `fit`, `predict_proba` and `predict` take; several "logits" a row may be log-probabilities as
        well. A calibrator of `calcli.fit`, or of a file, takes what it was fitted to.

    Attributes
    ----------
    name : str
        The name in the registry, the same for all instances.
    parameters : dict of str to array or float
        All that the fit learned; empty before it.
    notes : list of str
        What the fit wants said: safeguards used, convergence not reached. A sentence each.
    classes_ : array (K,)
        The classes in the order of the columns, once fitted.
    columns_ : tuple of str
        The names of the columns of the fit in this order, if that was to a data frame.
    reordered_ : bool
        Whether these had another order.
    turned_ : bool
        Whether two columns of an array have the other order than `classes_`, as those of the fit had.
    """

    name: ClassVar[str]

    _estimator_type: ClassVar[str] = "classifier"  # what scikit-learn takes it for

    scores_are: ScoresAre = LOGITS
    parameters: dict[str, Parameter] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    classes_: Array = field(init=False)
    columns_: tuple[str, ...] = field(default=(), init=False)
    reordered_: bool = field(default=False, init=False)
    turned_: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Refuse settings that the registry does not allow."""
        if self.scores_are not in get_args(ScoresAre):
            kinds = ", ".join(map(repr, get_args(ScoresAre)))
            raise UsageError(f"scores_are must be one of {kinds}; got {self.scores_are!r}")
        entry = METHODS.get(getattr(self, "name", ""))
        for name, value in self.get_params().items():
            if entry and name in entry.arguments:
                entry.check(name, value)
        self._refuse_kinds()

    def _refuse_kinds(self) -> None:
        """Refuse what the calibrators within, if there are any, say of the scores against this one."""
        inner: Any = self
        while isinstance(inner := getattr(inner, "calibrator", None), Estimator):
            if inner.scores_are != LOGITS:
                raise UsageError(
                    f"scores_are is for {type(self).__name__}, not for the {type(inner).__name__} within; "
                    "expected it there"
                )
        if self.takes_raw() and self.scores_are != LOGITS:
            raise UsageError("input='raw' takes raw logits; expected scores_are='logits'")

    def takes_raw(self) -> bool:
        """Tell whether it takes raw logits only."""
        settings = self.get_params(deep=True)
        return any(value == "raw" for name, value in settings.items() if name.endswith("input"))

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Sequence[object] | None = None,
        start: Parameters | None = None,
        labels: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Learn `parameters`.

        Parameters
        ----------
        scores : array-like (N, K), or (N,) of two classes
            What `scores_are` says: logits or log-probabilities, of which -inf is a probability of exactly 0,
            or probabilities. One score a row is that of the second class, its log-odds or probability, or
            the logarithm of this.
        y, labels : array-like (N,)
            The true class of each row, by either name: its column, 0 to K - 1, or its name. As many names as
            there are columns name them in ascending order. The columns of a data frame that have these names,
            or the numbers 0 to K - 1, may have any order; `classes_` ascends. A single column with the name
            of the first class is the score of this one.
        sample_weight, weights : array-like (N,), optional
            Weights of the rows, by either name, 0 or more. Default: all 1. 2 is the same as the row twice,
            but for methods that deal rows into folds, `Dirichlet`, `StructuredScaling` and `Pool`, or count
            them, `VectorHistogram`.
        classes : sequence, or text with commas, optional
            Names in the order of the columns, where these are not ascending, or some have no row.
        start : mapping, optional
            Parameters of a fit to similar data, from which an iterative method starts.

        Returns
        -------
        Calibrator
            Itself, fitted.

        Raises
        ------
        InputError
            If these are not rows of such numbers, each with a label and a weight.
        UsageError
            If an argument is missing, or given by both names, or `start` is that of another method.
        """
        y = either("y", y, "labels", labels)
        if y is None:
            raise UsageError("the labels are missing; expected fit(scores, y)")
        sample_weight = either("sample_weight", sample_weight, "weights", weights)
        self._refuse_kinds()
        refuse_swapped(scores, y)
        table = checked_scores(scores, self.scores_are, raw=self.takes_raw(), fitting=True)
        rows, width = table.shape
        true, named = checked_labels(y, rows), column_names(scores)
        order, known = columns_of(named, true, checked_classes(classes, width))
        columns, names = numbered_labels(true, width, known)
        if order is not None:
            table, named = table[:, order], tuple(named[k] for k in order if k < len(named))
        self._learn_from(start, table, columns, checked_weights(sample_weight, rows))
        self.notes += self.order_notes(width)
        self.classes_, self.columns_, self.reordered_, self.turned_ = names, named, order is not None, False
        return self

    def fitted_to(
        self,
        scores_are: ScoresAre,
        classes: Sequence[str],
        columns: Sequence[str] = (),
        *,
        reordered: bool = False,
        turned: bool = False,
    ) -> None:
        """Note what the rows of the fit were, for `predict_proba`; see the attributes.

        Raises
        ------
        UsageError
            If the calibrator does not take such scores.
        """
        self.scores_are, self.classes_ = scores_are, named_classes(classes)
        self.columns_, self.reordered_, self.turned_ = tuple(columns), reordered, turned
        self._refuse_kinds()

    def _learn_from(
        self,
        start: Parameters | None,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
    ) -> None:
        """Call `learn`; what a start leads to that no fit gives is its fault."""
        try:
            self.learn(scores, labels, weights, start)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            if start is None:
                raise
            raise UsageError(
                f"start is not the parameters of a {type(self).__name__} of {scores.shape[1]} classes; "
                "expected those of a fit to similar data"
            ) from error

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

    @abstractmethod
    def order_notes(self, classes: int) -> list[str]:
        """Return a sentence if the fitted map keeps less of an order than such maps may be expected to."""

    def predict_proba(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the recalibrated probabilities, (N, K).

        Parameters
        ----------
        scores : array-like (N, K), or (N,) of two classes
            As for `fit`.

        Raises
        ------
        InputError
            If the scores are not such rows of numbers, not of as many classes as those of the fit, or so
            large that the calibrator overflows.
        UsageError
            If the calibrator has not been fitted.
        """
        log_probs = self._recalibrated(scores)
        return np.exp(log_probs, out=log_probs)

    def predict(self, scores: ArrayLike) -> Array:
        """Return the most probable class of each row, (N,), of `classes_`; see `predict_proba`."""
        most = self._recalibrated(scores).argmax(axis=1)
        return most if not hasattr(self, "classes_") else self.classes_[most]

    def _recalibrated(self, scores: ArrayLike) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K), of scores such as those of the fit."""
        table = self._taken(scores)
        found = np.empty(table.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in batches(len(table), 8 * table.shape[1], APPLIED_BYTES):
                # a step of a map may lie between a score and its float32 neighbor
                found[rows] = self.apply(table[rows].astype(np.float64, copy=False))
        refuse_overflow(found, self.name, "arrays", 0)
        return found

    def _taken(self, scores: ArrayLike) -> Array:
        given = as_array(scores, "scores")
        classes = tuple(map(str, getattr(self, "classes_", ())))
        table = checked_scores(given, self.scores_are, raw=self.takes_raw(), width=len(classes))
        turned = self.turned_ and not is_single(given)
        order = as_fitted(
            column_names(scores), self.columns_ or classes, classes, reordered=self.reordered_, turned=turned
        )
        return table if order is None else table[:, order]

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.parameters)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, which asks and therefore is loaded, that this is a classifier."""
        known: Any = sys.modules["sklearn.utils"]
        return known.Tags(
            estimator_type="classifier",
            target_tags=known.TargetTags(required=True),
            classifier_tags=known.ClassifierTags(),
            input_tags=known.InputTags(one_d_array=True),
        )

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """Return the settings: the keyword arguments that make the same calibrator, not fitted.

        Parameters
        ----------
        deep : bool
            Add the settings of a wrapped calibrator, as ``calibrator__name``.
        """
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        inner = settings.get("calibrator")
        if deep and isinstance(inner, Estimator):
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

    def __repr__(self) -> str:
        usual = {f.name: f.default for f in fields(self) if f.init}
        changed = [f"{key}={value!r}" for key, value in self.get_params().items() if value != usual[key]]
        found = [f"{key}={_shown(value)}" for key, value in self.parameters.items()]
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        fitted = f" fitted: {', '.join(found[:SHOWN] + more)}" if found else ""
        return f"{type(self).__name__}({', '.join(changed)}){fitted}"


def _shown(value: Parameter) -> str:
    array = np.asarray(value)
    if array.size > SHOWN:
        return f"<array {' x '.join(map(str, array.shape))}>"
    return np.array2string(array, precision=4, separator=", ")


def refuse_overflow(log_probs: Floats, method: str, name: str, start: int) -> None:
    """Raise an InputError for a row, of those that begin at `start`, that has become nan."""
    overflown = np.isnan(log_probs).any(axis=1)
    if overflown.any():
        raise InputError(
            f"{name}: the scores of row {start + int(overflown.argmax())} are so large that the {method} "
            "calibrator overflows; expected scores such as those it was fitted on"
        )
