"""From one score to all classes: what a one-dimensional calibrator acts on, and what the others become."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.base import Calibrator, Parameter, Parameters
from calcli.core.data.arrays import Array, Floats
from calcli.core.data.logspace import kept_log_probs
from calcli.core.language.errors import InputError, UsageError

MapParameters: TypeAlias = dict[str, NDArray[np.float64]]
Bools: TypeAlias = NDArray[np.bool_]

CLASS_WISE = "class-wise"
TOP = "top-1"
WITHIN_TOP = "within-top-"

CLASSES = "classes"  # parameter: how many classes the scores had
UNIT = 2.0**64  # so long is the unit interval on which lines are drawn
SIZES = "sizes"  # parameter: how long the tables of each map are; they are stored end to end


class Event:
    """The probability of one event in each of N rows, and of its complement, as logarithms.

    Parameters
    ----------
    log_prob : array (N,)
        Log-probabilities of the event.
    complement : callable
        Returns the log-probabilities of the complement, (N,); called only if they are asked for.
    """

    def __init__(self, log_prob: Floats, complement: Callable[[], Floats]) -> None:
        self.log_prob = log_prob
        self._complement = complement

    @classmethod
    def of_probability(cls, prob: NDArray[np.float64]) -> Event:
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


@dataclass(kw_only=True, eq=False, repr=False)
class OneDimensional(Calibrator):
    """A calibrator that maps the probability of an event to a better one; `lens` says of which events.

    Parameters
    ----------
    lens : str
        ``class-wise``: two classes have one map, on the probability of class 1; more have a map each, one
        class against the rest, and the results are divided by their sum. A row for which all of them
        are 0 keeps its probabilities: the maps know of it only that no class fits.
        ``top-1``: the largest probability.
        ``within-top-r``: the sum of the r largest, for methods that allow it.
        For the last two the probabilities of the other classes are scaled by (1 - v') / (1 - v), and even
        where v = 1; those of the r largest by v' / v.
    """

    tables: ClassVar[tuple[str, ...]] = ()  # those map parameters that are (m,) arrays, all of one length
    gaps: ClassVar[bool] = False  # whether a value may be nan, where nothing is known
    sums: ClassVar[bool] = False  # whether within-top-r is allowed

    lens: str = CLASS_WISE

    def __post_init__(self) -> None:
        super().__post_init__()
        within = self.lens.removeprefix(WITHIN_TOP)
        is_within = self.sums and within != self.lens and within.isdecimal() and int(within) > 0
        if self.lens not in (CLASS_WISE, TOP) and not is_within:
            known = ", ".join((CLASS_WISE, TOP)) + (", within-top-2 and so on" if self.sums else "")
            raise UsageError(f"{self.name} cannot act on lens {self.lens!r}; it acts on {known}")

    @abstractmethod
    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the parameters of one map: scalars, and the arrays named in `tables`.

        Parameters
        ----------
        event : Event
            The probabilities before calibration of N rows.
        outcome : array of bool (N,)
            Whether the event happened.
        weight : array (N,), optional
            Positive weights.
        """

    @abstractmethod
    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the probabilities after calibration."""

    def learn(
        self,
        scores: Array,
        labels: NDArray[np.integer[Any]],
        weights: Array | None,
        start: Parameters | None,
    ) -> None:
        """Learn a map for each event of the lens; see `Calibrator.fit`. `start` is not needed."""
        if weights is not None:
            counted = weights > 0
            scores, labels, weights = scores[counted], labels[counted], weights[counted]
        self.notes = []
        log_probs = kept_log_probs(scores)
        absent = np.flatnonzero(np.bincount(labels, minlength=log_probs.shape[1]) == 0)
        if size := self._top_size(log_probs.shape[1]):
            members, event = top_event(log_probs, size)
            problems = iter([(event, np.take_along_axis(members, labels[:, None], axis=1)[:, 0])])
        else:
            problems = ((event, labels == k) for k, event in class_events(log_probs))
        maps = [self.fit_map(event, outcome, weights) for event, outcome in problems]
        self.parameters = self._packed(maps, log_probs.shape[1])
        self.notes = [
            text if len(maps) == 1 else f"{times} of {len(maps)} classes: {text}"
            for text, times in Counter(self.notes).items()
        ]
        if len(absent):
            self.notes.append(f"no row of class {', '.join(map(str, absent))}")

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        for name, value in self.parameters.items():
            known = np.isfinite(value) | (self.gaps and name == "values" and np.isnan(value))
            bounded = name in ("scores", "values")
            if not known.all() or (bounded and np.any((value < 0) | (value > 1))):
                raise ValueError(f"{name} out of range")
        for one in self._unpacked(int(self.learned(CLASSES))):
            tables = [one[key] for key in self.tables]
            if tables and (not len(tables[0]) or np.any(np.diff(tables[0]) < 0)):
                raise ValueError(f"{self.tables[0]} that do not ascend")
            if len({table.shape for table in tables}) > 1 or any(table.ndim != 1 for table in tables):
                raise ValueError("tables of different lengths")

    def remark(self, text: str) -> None:
        """Note something about the map being fitted; equal remarks of several maps become one note."""
        self.notes.append(text)

    def apply(self, scores: Array) -> NDArray[np.float64]:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        log_probs = kept_log_probs(scores)
        maps = self._unpacked(log_probs.shape[1])
        if size := self._top_size(log_probs.shape[1]):
            members, before = top_event(log_probs, size)
            return rescaled(log_probs, members, before, self.apply_map(maps[0], before))
        after = [
            self.apply_map(parameters, event)
            for parameters, (_, event) in zip(maps, class_events(log_probs), strict=True)
        ]
        if len(after) == 1:
            return np.column_stack([after[0].log_complement, after[0].log_prob])
        return _normalized(np.column_stack([event.log_prob for event in after]), log_probs)

    def _top_size(self, classes: int) -> int:
        """Return of how many top classes the lens looks at the sum; 0 if it is class-wise."""
        if self.lens == CLASS_WISE:
            return 0
        size = 1 if self.lens == TOP else int(self.lens.removeprefix(WITHIN_TOP))
        if size >= classes:
            raise UsageError(f"lens {self.lens!r} needs more than {size} classes, the scores have {classes}")
        return size

    def _packed(self, maps: list[MapParameters], classes: int) -> dict[str, Parameter]:
        packed: dict[str, Parameter] = {CLASSES: classes}
        for key in maps[0]:
            join = np.concatenate if key in self.tables else np.stack
            packed[key] = join([one[key] for one in maps])
        if self.tables:
            packed[SIZES] = np.array([len(one[self.tables[0]]) for one in maps])
        return packed

    def _unpacked(self, classes: int) -> list[MapParameters]:
        fitted = int(self.learned(CLASSES))
        if self.lens == CLASS_WISE and classes != fitted:
            raise InputError(
                f"{self.name} calibrator was fitted on {fitted} classes, the scores have {classes}"
            )
        packed: dict[str, Any] = {k: v for k, v in self.parameters.items() if k not in (CLASSES, SIZES)}
        for key in self.tables:
            packed[key] = np.split(packed[key], np.cumsum(self.learned(SIZES))[:-1])
        return [dict(zip(packed, values, strict=True)) for values in zip(*packed.values(), strict=True)]


def class_events(log_probs: Floats) -> Iterator[tuple[int, Event]]:
    """Yield (class, event that it is the label): class 1 alone of two classes, else each of (N, K)."""
    columns = np.ascontiguousarray(log_probs.T)
    if len(columns) == 2:
        yield 1, Event(columns[1], lambda: columns[0])
        return
    top: list[tuple[Bools, Floats]] = []  # computed once, when the first class asks

    def complement(k: int) -> Floats:
        # 1 - q loses all digits near q = 1, which only the top class can be: there the others are summed
        if not top:
            members, event = top_event(log_probs, 1)
            top.append((members, event.log_complement))
        members, of_top = top[0]
        return np.where(members[:, k], of_top, _log_one_minus(np.minimum(np.exp(columns[k]), 1)))

    for k, column in enumerate(columns):
        yield k, Event(column, partial(complement, k))


def top_event(log_probs: Floats, size: int) -> tuple[Bools, Event]:
    """Return which `size` classes are the most probable of each row, and the event that one is the label.

    Of equal classes the first counts as more probable. The mask is (N, K).
    """
    if size == 1:
        chosen = log_probs.argmax(axis=1)[:, None]
    else:
        chosen = np.argsort(-log_probs, axis=1, kind="stable")[:, :size]
    members = np.zeros(log_probs.shape, dtype=np.bool_)
    np.put_along_axis(members, chosen, True, axis=1)
    return members, Event(_log_sum(log_probs, members), lambda: _log_sum(log_probs, ~members))


def _log_sum(log_probs: Floats, members: Bools) -> Floats:
    """Return the logarithm of the sum of the members' probabilities in each row, (N,)."""
    masked = np.where(members, log_probs, -np.inf)
    top = masked.max(axis=1, keepdims=True)
    top[np.isneginf(top)] = 0
    with np.errstate(divide="ignore"):
        total: Floats = top + np.log(np.exp(masked - top).sum(axis=1, keepdims=True))
    return total[:, 0]


def interpolated(
    prob: Floats, scores: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return straight lines between `values` at ascending `scores`, (m,), at probabilities, (N,).

    Between neighboring scores near the smallest double the slope of a line overflows; of scores multiplied by
    a power of 2, which rounds nothing, it does not.
    """
    return np.interp(prob * UNIT, scores * UNIT, values).astype(np.float64, copy=False)


def _log_one_minus(prob: Array) -> Any:
    with np.errstate(divide="ignore"):
        return np.log1p(-prob)


def rescaled(log_probs: Floats, members: Bools, before: Event, after: Event) -> NDArray[np.float64]:
    """Give the members together the probability `after`, and the other classes the rest.

    Parameters
    ----------
    log_probs : array (N, K)
        Log-probabilities before calibration.
    members : array of bool (N, K)
        Of which classes the event is that one is the label.
    before, after : Event
        The event before and after calibration.

    Returns
    -------
    array (N, K)
        Log-probabilities; other classes are scaled by one factor, and get even shares where they had none.
    """
    certain = np.isneginf(before.log_complement)
    inside = after.log_prob - before.log_prob
    outside = after.log_complement - np.where(certain, 0, before.log_complement)
    evenly = -np.log((~members).sum(axis=1, keepdims=True))
    others = np.where(certain[:, None], evenly, log_probs) + outside[:, None]
    return np.where(members, log_probs + inside[:, None], others).astype(np.float64, copy=False)


def _normalized(log_values: NDArray[np.float64], log_probs: Floats) -> NDArray[np.float64]:
    """Divide each row by its sum; a row of zeros takes its probabilities from before."""
    total = _log_sum(log_values, np.ones(log_values.shape, dtype=np.bool_))
    nothing = np.isneginf(total)
    total[nothing] = 0
    return np.where(nothing[:, None], log_probs, log_values - total[:, None])
