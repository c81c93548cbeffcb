"""Calibrators: the interface of every method, and events with their probabilities."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from calcli.core.calibrators.arguments import (
    LOGITS,
    ScoresAre,
    as_fitted,
    checked_classes,
    checked_labels,
    checked_scores,
    checked_weights,
    column_names,
    columns_of,
    either,
    is_single,
    named_classes,
    numbered_labels,
)
from calcli.core.calibrators.fit.training import Parameter, Parameters
from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Labels, Positions, batches
from calcli.core.data.inmemory import as_array, refuse_swapped
from calcli.core.data.predictions import Kind
from calcli.core.language.entries import Method
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.expressions import MethodExpression


class Ranks(NamedTuple):
    """Some of the classes of a row, the most probable first.

    Attributes
    ----------
    first, last
        Ranks from `first` to before `last`; the most probable class has rank 0.
    """

    first: int
    last: int


class Event:
    """The probability of one event in each of N rows, and of its complement, as logarithms.

    Parameters
    ----------
    log_prob : array (N,)
        Log-probabilities of the event.
    complement : callable
        Returns the log-probabilities of the complement, (N,); called only on demand.
    """

    def __init__(self, log_prob: Floats, complement: Callable[[], Floats]) -> None:
        self.log_prob = log_prob
        self._complement = complement

    @classmethod
    def of_probability(cls, prob: Doubles) -> Event:
        """Return the event with probabilities `prob`, (N,), 0 to 1."""
        with np.errstate(divide="ignore"):
            return cls(np.log(prob), lambda: _log_one_minus(prob))

    @cached_property
    def log_complement(self) -> Floats:
        """Log-probabilities of the complement, (N,)."""
        return self._complement()

    @cached_property
    def prob(self) -> Floats:
        """Probabilities of the event, (N,), at most 1."""
        return np.minimum(np.exp(self.log_prob), 1)  # logarithms of 1 may be a rounding error above 0


def class_events(log_probs: Floats) -> Iterator[tuple[int, Event]]:
    """Yield (class, event that it is the label): only class 1 of two classes, else each class of (N, K)."""
    columns = np.ascontiguousarray(log_probs.T)
    if len(columns) == 2:
        yield 1, Event(columns[1], lambda: columns[0])
        return
    top: list[tuple[Bools, Floats]] = []  # computed once, when the first class asks

    def complement(k: int) -> Floats:
        # 1 - q loses all digits near q = 1, possible only for the top class: there the others are summed
        if not top:
            members = ranked_classes(log_probs, Ranks(0, 1))
            top.append((members, log_sum(log_probs, ~members)))
        members, of_top = top[0]
        return np.where(members[:, k], of_top, _log_one_minus(np.minimum(np.exp(columns[k]), 1)))

    for k, column in enumerate(columns):
        yield k, Event(column, partial(complement, k))


def ranked_classes(log_probs: Floats, ranks: Ranks) -> Bools:
    """Return which classes of each row have these ranks, (N, K); the first of equal classes ranks higher."""
    if ranks == (0, 1):
        chosen = log_probs.argmax(axis=1)[:, None]
    else:
        chosen = descending(log_probs)[:, ranks.first : ranks.last]
    members = np.zeros(log_probs.shape, dtype=np.bool_)
    np.put_along_axis(members, chosen, True, axis=1)
    return members


def descending(log_probs: Floats) -> Positions:
    """Return the (N, K) classes of each row in descending order of probability; ties in class order."""
    return np.argsort(-log_probs, axis=1, kind="stable")


def event_of(log_probs: Floats, members: Bools) -> Event:
    """Return the event that the label is one of the (N, K) members of its row."""
    return Event(log_sum(log_probs, members), lambda: log_sum(log_probs, ~members))


def log_sum(log_probs: Floats, members: Bools) -> Floats:
    """Return the logarithm of the sum of the members' probabilities in each row, (N,)."""
    masked = np.where(members, log_probs, -np.inf)
    top = masked.max(axis=1, keepdims=True)
    top[np.isneginf(top)] = 0
    with np.errstate(divide="ignore"):
        total: Floats = top + np.log(np.exp(masked - top).sum(axis=1, keepdims=True))
    return total[:, 0]


def _log_one_minus(prob: Array) -> Any:
    with np.errstate(divide="ignore"):
        return np.log1p(-prob)


Apply = Callable[[Array], Doubles]

ODDS = np.unique(np.concatenate([np.linspace(-40, 40, 8001), np.linspace(-745, 745, 299)]))
ROUNDING = 1e-9  # log-odds by which a rising map may seem to fall
LINES = 100  # classes that are checked for falling as their probability rises
SHARES = (0.1, 1.0, 1.9)  # share of an even probability that such a class has
OF_CLASSES = "the map decreases for some probabilities: the order of the classes may change"
OF_RAW = "raw logits of equal probabilities may become unequal ones: the order of the rows may change"


class Order(NamedTuple):
    """The effect of a fitted map on an order.

    Attributes
    ----------
    kept
        "kept", up to ties; "turned", reversed throughout; or "changed", at least for some rows.
    says
        The same as a clause.
    low, high
        For two classes, the range of probabilities of the second class in which an otherwise rising map
        falls.
    """

    kept: Literal["kept", "changed", "turned"]
    says: str
    low: float = math.nan
    high: float = math.nan


KEPT = Order("kept", "the map keeps the order")
TURNED = Order("turned", "the map reverses the order: more probable becomes less probable")


def order_of_rows(apply: Apply, breakpoints: Array, *, raw: bool) -> Order:
    """Return the effect of a map of two classes on the order of rows by the probability of the second class.

    The map is evaluated on a fine grid of log-odds, and on both sides of each corner.

    Parameters
    ----------
    apply
        The map, of (n, 2) scores to log-probabilities.
    breakpoints
        (m,) probabilities of an event at which it may bend or jump.
    raw
        Whether a constant added to both scores of a row makes a difference.
    """
    at = np.concatenate([breakpoints, 1 - breakpoints, [0.5]])  # where another class is predicted
    at = np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, 1)])
    at = at[(at > 0) & (at < 1)]
    log_complement = np.concatenate([-np.logaddexp(0, ODDS), np.log1p(-at), [0.0, -np.inf]])
    second = np.concatenate([-np.logaddexp(0, -ODDS), np.log(at), [-np.inf, 0.0]])
    rows = np.column_stack([log_complement, second])[np.lexsort((np.exp(second), second - log_complement))]
    inner = rows[1:-1]
    if raw and not np.allclose(_log_odds(apply, inner), _log_odds(apply, inner - inner[:, :1]), ROUNDING):
        return Order("changed", OF_RAW)
    after = _log_odds(apply, rows)
    highest, lowest = np.maximum.accumulate(after), np.minimum.accumulate(after[1:-1])
    falls = np.flatnonzero(_is_below(after, highest))
    if not len(falls):
        return KEPT
    if not _is_below(lowest, after[1:-1]).any():  # a 0 may stay 0, whatever happens to small probabilities
        return TURNED
    top = int((after == highest[falls[0]]).argmax())
    between = [max(top - 1, 0), min(falls[-1] + 1, len(rows) - 1)]  # or outside the evaluated points
    low, high = np.exp(rows[between, 1]).tolist()
    where = f"probabilities of class 1 from {_shown(low)} to {_shown(high)}"
    return Order("changed", f"the map decreases for some {where}: the order of these rows changes", low, high)


def _log_odds(apply: Apply, rows: Doubles) -> Doubles:
    with np.errstate(over="ignore", invalid="ignore"):
        log_probs = apply(rows)
        return log_probs[:, 1] - log_probs[:, 0]


def _is_below(lower: Doubles, higher: Doubles) -> Bools:
    return (lower < higher) & ~np.isclose(lower, higher, rtol=ROUNDING, atol=ROUNDING)


def _shown(probability: float) -> str:
    """Return a probability with two digits, not counting the 9s of one near 1."""
    complement = 1 - probability
    if probability < 0.9 or not complement:
        return f"{probability:.2g}"
    return f"{probability:.{1 - math.floor(math.log10(complement))}f}"


def turns_classes(apply: Apply, classes: int) -> bool:
    """Return whether each class becomes less probable as its score rises, with the other classes even."""
    class_index = np.arange(min(classes, LINES))
    shares = np.array(SHARES) / classes
    rows = np.empty((len(class_index), len(shares), classes))
    rows[:] = ((1 - shares) / (classes - 1))[:, None]
    rows[class_index, :, class_index] = shares
    after = apply(np.log(rows.reshape(-1, classes))).reshape(rows.shape)[class_index, :, class_index]
    return bool(_is_below(after[:, 1:], after[:, :-1]).all())


ORDER = "the order of the classes"  # what a method keeps
MINIMIZED = "what the fit minimizes"  # meanings of arguments of several methods
FOLDS = "folds of the cross-validation that selects"
FOLD_SEED = "seed of these folds"
SMOOTHED = "number of rows added, so that no probability becomes 0 or 1"
FITTED_TO = "log-probabilities, or raw logits, to fit to and apply to"
OF_SCORES = "needs the score of every class"  # why a method is not for answers
STRONGEST = 1e9  # penalty at which parameters are 0 to all shown digits
APPLIED_BYTES = 1 << 24  # of log-probabilities made at once
SHOWN = 6  # longer fitted arrays are shown by their shape; also the number of parameters shown


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(ABC):
    """The user interface of a calibrator: arrays, lists or data frames in, probabilities out.

    Parameters
    ----------
    scores_are : {"logits", "log-probs", "probs", "percent"}
        The kind of scores for `fit`, `predict_proba` and `predict`; several "logits" per row may be
        log-probabilities as well. A calibrator from `calcli.fit`, or from a file, takes the kind it was
        fitted to.

    Attributes
    ----------
    name : str
        The name in the registry, the same for all instances.
    parameters : dict of str to array or float
        All that the fit learned; empty before it.
    notes : list of str
        Notes of the fit, one sentence each: safeguards used, convergence not reached.
    classes_ : array (K,)
        The classes in the order of the columns, once fitted.
    columns_ : tuple of str
        The names of the columns of the fit in this order, if it used a data frame.
    reordered_ : bool
        Whether the columns had another order.
    turned_ : bool
        Whether two columns of an array are in the opposite order of `classes_`, as in the fit.
    """

    name: ClassVar[str]
    entry: ClassVar[Method | None] = None  # the entry of the registry, for a declared method

    _estimator_type: ClassVar[str] = "classifier"  # the type for scikit-learn

    scores_are: ScoresAre = LOGITS
    parameters: dict[str, Parameter] = field(default_factory=dict, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    classes_: Array = field(init=False)
    columns_: tuple[str, ...] = field(default=(), init=False)
    reordered_: bool = field(default=False, init=False)
    turned_: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Raise an error for settings that the registry does not allow."""
        if self.scores_are not in get_args(ScoresAre):
            kinds = ", ".join(map(repr, get_args(ScoresAre)))
            raise UsageError(f"scores_are must be one of {kinds}; got {self.scores_are!r}")
        for name, value in self.get_params().items():
            if self.entry and name in self.entry.arguments:
                self.entry.check(name, value)
        self._refuse_kinds()

    def _refuse_kinds(self) -> None:
        """Raise an error if wrapped calibrators have another kind of scores than this one."""
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
        """Return whether it takes raw logits only."""
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
            What `scores_are` says: logits or log-probabilities, in which -inf is a probability of exactly 0,
            or probabilities. A single score per row belongs to the second class: its log-odds, its
            probability or the logarithm of this probability.
        y, labels : array-like (N,)
            The true class of each row, by either name: its column, 0 to K - 1, or its name. One name for each
            column names them in ascending order. The columns of a data frame that have these names, or the
            numbers 0 to K - 1, may have any order; `classes_` ascends. A single column with the name of the
            first class is the score of this one.
        sample_weight, weights : array-like (N,), optional
            Weights of the rows, by either name, 0 or more. Default: all 1. 2 is the same as the row twice,
            but for methods that deal rows into folds, `Dirichlet`, `StructuredScaling` and `Pool`, or count
            them, `VectorHistogram`.
        classes : sequence, or text with commas, optional
            Names in the order of the columns, if these are not ascending or some have no row.
        start : mapping, optional
            Parameters of a fit to similar data, from which an iterative method starts.

        Returns
        -------
        Calibrator
            Itself, fitted.

        Raises
        ------
        InputError
            If the arguments are not rows of such numbers, each with a label and a weight.
        UsageError
            If an argument is missing, or given by both names, or `start` comes from another method.
        """
        y = either("y", y, "labels", labels)
        if y is None:
            raise UsageError("the labels are missing; expected fit(scores, y)")
        sample_weight = either("sample_weight", sample_weight, "weights", weights)
        self._refuse_kinds()
        refuse_swapped(scores, y)
        table = checked_scores(scores, self.scores_are, raw=self.takes_raw(), fitting=True)
        rows, width = table.shape
        true, heads = checked_labels(y, rows), column_names(scores)
        order, classes_known = columns_of(heads, true, checked_classes(classes, width))
        columns, names = numbered_labels(true, width, classes_known)
        if order is not None:
            table, heads = table[:, order], tuple(heads[k] for k in order if k < len(heads))
        try:
            self.learn(table, columns, checked_weights(sample_weight, rows), start)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            if start is None:
                raise
            raise UsageError(
                f"start is not the parameters of a {type(self).__name__} of {table.shape[1]} classes; "
                "expected those of a fit to similar data"
            ) from error
        self.notes += self.order_notes(width)
        self.classes_, self.columns_, self.reordered_, self.turned_ = names, heads, order is not None, False
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
        """Record facts about the rows of the fit, for `predict_proba`; see the attributes.

        Raises
        ------
        UsageError
            If the calibrator does not take such scores.
        """
        self.scores_are, self.classes_ = scores_are, named_classes(classes)
        self.columns_, self.reordered_, self.turned_ = tuple(columns), reordered, turned
        self._refuse_kinds()

    @abstractmethod
    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Set `parameters` and `notes` from rows that have been checked; see `fit`."""

    @abstractmethod
    def apply(self, scores: Array) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K) in float64, of `scores`, (N, K).

        Raises
        ------
        UsageError
            If the calibrator has not been fitted.
        """

    @abstractmethod
    def order_notes(self, classes: int) -> list[str]:
        """Return a sentence if the fitted map keeps less of an order than such maps may be expected to."""

    def predict_proba(self, scores: ArrayLike) -> Doubles:
        """Return the recalibrated probabilities, (N, K).

        Parameters
        ----------
        scores : array-like (N, K), or (N,) of two classes
            As for `fit`.

        Raises
        ------
        InputError
            If the scores are not such rows of numbers, have another number of classes than the fit, or
            overflow the calibrator.
        UsageError
            If the calibrator has not been fitted.
        """
        log_probs = self._recalibrated(scores)
        return np.exp(log_probs, out=log_probs)

    def predict(self, scores: ArrayLike) -> Array:
        """Return the most probable class of each row, (N,), of `classes_`; see `predict_proba`."""
        largest = self._recalibrated(scores).argmax(axis=1)
        return largest if not hasattr(self, "classes_") else self.classes_[largest]

    def _recalibrated(self, scores: ArrayLike) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K), of scores prepared as in the fit."""
        table = self._taken(scores)
        recalibrated = np.empty(table.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in batches(len(table), 8 * table.shape[1], APPLIED_BYTES):
                # a step of a map may lie between a score and its float32 neighbor
                recalibrated[rows] = self.apply(table[rows].astype(np.float64, copy=False))
        refuse_overflow(recalibrated, self.name, "arrays", 0)
        return recalibrated

    def _taken(self, scores: ArrayLike) -> Array:
        array = as_array(scores, "scores")
        classes = tuple(map(str, getattr(self, "classes_", ())))
        table = checked_scores(array, self.scores_are, raw=self.takes_raw(), width=len(classes))
        turned = self.turned_ and not is_single(array)
        order = as_fitted(
            column_names(scores), self.columns_ or classes, classes, reordered=self.reordered_, turned=turned
        )
        return table if order is None else table[:, order]

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.parameters)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, which is loaded if it asks, that this is a classifier."""
        utils: Any = sys.modules["sklearn.utils"]
        return utils.Tags(
            estimator_type="classifier",
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags(),
            input_tags=utils.InputTags(one_d_array=True),
        )

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """Return the settings: the keyword arguments for the same calibrator, unfitted.

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
        current = self.get_params(deep=True)
        if unknown := [name for name in settings if name not in current]:
            has = ", ".join(current) or "none"
            raise UsageError(f"{type(self).__name__} has no setting {', '.join(unknown)}; it has: {has}")
        direct = {name: value for name, value in settings.items() if "__" not in name}
        type(self)(**self.get_params() | direct)  # refuses what is out of range before anything changes
        for name, value in direct.items():
            setattr(self, name, value)
        if inner := {n.partition("__")[2]: value for n, value in settings.items() if n not in direct}:
            self.get_params()["calibrator"].set_params(**inner)
        return self

    def __repr__(self) -> str:
        usual = {f.name: f.default for f in fields(self) if f.init}
        changed = [f"{key}={value!r}" for key, value in self.get_params().items() if value != usual[key]]
        learned = [f"{key}={_shown_parameter(value)}" for key, value in self.parameters.items()]
        rest_of = [f"and {len(learned) - SHOWN} more"] if len(learned) > SHOWN else []
        fitted = f" fitted: {', '.join(learned[:SHOWN] + rest_of)}" if learned else ""
        return f"{type(self).__name__}({', '.join(changed)}){fitted}"


def _shown_parameter(value: Parameter) -> str:
    array = np.asarray(value)
    if array.size > SHOWN:
        return f"<array {' x '.join(map(str, array.shape))}>"
    return np.array2string(array, precision=4, separator=", ")


def refuse_overflow(log_probs: Floats, method: str, name: str, start: int) -> None:
    """Raise an InputError for a row that became nan; the first row has number `start`."""
    overflown = np.isnan(log_probs).any(axis=1)
    if overflown.any():
        raise InputError(
            f"{name}: the scores of row {start + int(overflown.argmax())} are so large that the {method} "
            "calibrator overflows; expected scores such as those it was fitted on"
        )


LARGEST = 1e100  # parameter: its products with scores stay finite


@dataclass(kw_only=True, eq=False, repr=False)
class Calibrator(Estimator):
    """A recalibration of (N, K) scores; each method is a subclass with its settings as dataclass fields.

    A subclass defines `learn` and `apply`. Their scores are logits or log-probabilities; a method that
    a constant added to a row would change calls `log_softmax` on them first. ``cls(**settings)`` with
    `parameters` assigned is the fitted calibrator again, to the last bit.

    Attributes
    ----------
    gives : {"log-probs", "logits"}
        What `rescore` returns; logits if they are faster to compute.
    """

    gives: ClassVar[Kind] = "log-probs"

    def order(self, classes: int) -> Order:
        """Return the effect of the fitted map on the order of rows by score, or of the classes of a row.

        With two classes it is the order of the rows by the probability of the second one. With more it is the
        order of the classes in a row, which only some methods always keep.
        """
        if classes == 2:
            return order_of_rows(self.apply, self.breakpoints(), raw=self.takes_raw())
        if self.keeps_classes(classes):
            return KEPT
        return TURNED if turns_classes(self.apply, classes) else Order("changed", OF_CLASSES)

    def breakpoints(self) -> Doubles:
        """Return the (m,) probabilities of an event at which a map may bend or jump."""
        return np.empty(0)

    def keeps_classes(self, classes: int) -> bool:
        """Return whether the fitted map keeps the order of this many classes in every row."""
        return self.entry is not None and self.entry.keeps == ORDER

    def order_notes(self, classes: int) -> list[str]:
        """Return a sentence if the fitted map keeps less of an order than such maps may be expected to."""
        order = self.order(classes)
        keeps = self.entry.keeps if self.entry else ""
        free = classes > 2 and not keeps.startswith(ORDER)  # as documented for all such maps
        return [] if order.kept == "kept" or (order.kept == "changed" and free) else [order.says]

    def rescore(self, scores: Array) -> Floats:
        """Return (N, K) scores with `apply` as their softmax, of the kind in `gives`."""
        return self.apply(scores)

    def learn_by_fold(
        self, scores: Array, labels: Labels, weights: Array | None, fold: Positions
    ) -> dict[int, Self]:
        """Learn from all rows, and return fits to the rows outside each of the (N,) folds where these follow.

        They equal fits from scratch, up to their tolerance. They come by the number of the fold; missing ones
        are to be fitted.
        """
        self.learn(scores, labels, weights, None)
        return {}

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        for name, value in self.parameters.items():
            if not np.size(value) or not (np.abs(value) <= LARGEST).all():
                raise ValueError(f"{name} is empty, or not finite and at most {LARGEST:g}")

    def fresh(self, parameters: Parameters | None = None) -> Self:
        """Return another calibrator with the same settings, with these parameters or unfitted."""
        copy_ = type(self)(**self.get_params())
        copy_.parameters = dict(parameters or {})
        return copy_

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


def make(method: MethodExpression) -> Calibrator:
    """Return the calibrator of an expression, unfitted.

    Raises
    ------
    UsageError
        If the method does not accept the lens.
    """
    settings = dict(method.arguments)
    if "calibrator" in settings:
        settings["calibrator"] = make(settings["calibrator"])
    calibrator: Calibrator = method.entry.made(**settings)
    return calibrator
