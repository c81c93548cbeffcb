"""Events and their probabilities as logarithms: that the label is a certain class, or of certain ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats

Bools: TypeAlias = NDArray[np.bool_]


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
            members = ranked_classes(log_probs, Ranks(0, 1))
            top.append((members, log_sum(log_probs, ~members)))
        members, of_top = top[0]
        return np.where(members[:, k], of_top, _log_one_minus(np.minimum(np.exp(columns[k]), 1)))

    for k, column in enumerate(columns):
        yield k, Event(column, partial(complement, k))


def ranked_classes(log_probs: Floats, ranks: Ranks) -> Bools:
    """Return which classes of each row have these ranks, (N, K); of equal classes the first is higher."""
    if ranks == (0, 1):
        chosen = log_probs.argmax(axis=1)[:, None]
    else:
        chosen = descending(log_probs)[:, ranks.first : ranks.last]
    members = np.zeros(log_probs.shape, dtype=np.bool_)
    np.put_along_axis(members, chosen, True, axis=1)
    return members


def descending(log_probs: Floats) -> NDArray[np.intp]:
    """Return the classes of each row in the order of their probabilities, (N, K); of equal ones the first."""
    return np.argsort(-log_probs, axis=1, kind="stable")


def event_of(log_probs: Floats, members: Bools) -> Event:
    """Return the event that the label is one of the members, (N, K), of its row."""
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
