"""Calibrators of the probability of one class, and the share of the others in the remainder."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, TypeAlias

import numpy as np

from calcli.core.calibrators.base import (
    Calibrator,
    Event,
    Ranks,
    class_events,
    descending,
    event_of,
    log_sum,
    ranked_classes,
)
from calcli.core.calibrators.fit.training import Parameter, Parameters, weighted_rows
from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Labels, kept_log_probs
from calcli.core.language.declaring import number_in
from calcli.core.language.entries import arg
from calcli.core.language.errors import InputError, UsageError

HAIR = 1e-13  # by so much, relatively, a class exceeds the next one that it is level with
TINIEST = -690.0  # logarithm of a ratio to the largest that is negligible


def rescaled(log_probs: Floats, members: Bools, before: Event, after: Event) -> Doubles:
    """Give the members the total probability `after`, and the other classes the rest.

    Parameters
    ----------
    log_probs : array (N, K)
        Log-probabilities before calibration.
    members : array of bool (N, K)
        The classes that make up the event.
    before, after : Event
        The event before and after calibration.

    Returns
    -------
    array (N, K)
        Log-probabilities; each side is scaled by one factor, and shares evenly where it had nothing.
    """
    inside = _scaled(log_probs, members, before.log_prob, after.log_prob)
    outside = _scaled(log_probs, ~members, before.log_complement, after.log_complement)
    return np.where(members, inside, outside).astype(np.float64, copy=False)


def _scaled(log_probs: Floats, members: Bools, before: Floats, after: Floats) -> Floats:
    """Return log-probabilities with members that sum to `after`, not to `before`; evenly if `before` is 0."""
    nothing = np.isneginf(before)
    evenly = -np.log(members.sum(axis=1, keepdims=True))
    factor = after - np.where(nothing, 0, before)
    result: Floats = np.where(nothing[:, None], evenly, log_probs) + factor[:, None]
    return result


def recalibrated(
    log_probs: Floats, members: Bools, before: Event, after: Event, ranks: Ranks | None
) -> Doubles:
    """Return `rescaled`, or `ranked` if the members are the classes of some ranks to keep."""
    if ranks is None:
        return rescaled(log_probs, members, before, after)
    beyond, limit = _limits(log_probs, after, ranks)
    if beyond.any():
        with np.errstate(divide="ignore"):
            complement: Floats = np.log1p(-np.exp(limit))
        log_complement = np.where(beyond, complement, after.log_complement)
        after = Event(np.where(beyond, limit, after.log_prob), lambda: log_complement)
    return ranked(log_probs, members, before, after, ranks)


def limits_reached(log_probs: Floats, event: Event, ranks: Ranks) -> list[str]:
    """Return a note if the event has probabilities that classes of these ranks cannot have, else none."""
    beyond, _ = _limits(log_probs, event, ranks)
    if not beyond.any():
        return []
    if ranks.first == 0:
        limit = f"less than {ranks.last}/{log_probs.shape[1]}"
    else:
        limit = f"more than rank {ranks.last} can have"
    return [
        f"on {beyond.sum():,} of {len(beyond):,} rows the recalibrated probability is {limit} and becomes "
        "that, so that every class can keep its rank"
    ]


def _limits(log_probs: Floats, event: Event, ranks: Ranks) -> tuple[Bools, Floats]:
    """Return the rows with an impossible probability of the event, and the nearest possible probability.

    The r first classes have r / K at least. The class of rank r alone has at most the probability at which
    the classes before it are level with it, and the classes behind it keep their share of the remainder.
    """
    start, last = ranks
    if start == 0:
        limit: Floats = np.full(len(log_probs), np.log(last / log_probs.shape[1]))
        return event.log_prob < limit, limit
    descended = -np.sort(-np.exp(log_probs), axis=1)
    behind = descended[:, last:].sum(axis=1)
    total = behind + descended[:, :start].sum(axis=1)
    share = np.divide(behind, total, out=np.zeros(len(total)), where=total > 0)
    limit = np.log((1 - share) / (last - share))
    return event.log_prob > limit, limit


def ranked(log_probs: Floats, members: Bools, before: Event, after: Event, ranks: Ranks) -> Doubles:
    """Return `rescaled`, but let every class keep its rank.

    Where scaling would change it there is a level: the classes of higher ranks have at least the level, the
    others at most the level, and other factors scale the rest, which keep the sums. For one rank the level is
    its probability. For the r first ones it is halfway, in logarithms, between their least and the others'
    largest scaled probability, or as near to that as the sums allow.

    Parameters
    ----------
    log_probs, members, before, after
        As for `rescaled`; `after` is what classes of their ranks can have.
    ranks : Ranks
        Of the members: one rank, or all down to one.
    """
    result = rescaled(log_probs, members, before, after)
    if ranks.first == 0:
        least = np.where(members, result, np.inf).min(axis=1)
        rows = np.flatnonzero(least <= np.where(members, -np.inf, result).max(axis=1))
    else:
        rows = np.arange(len(result))
    order = descending(log_probs[rows])
    old = np.take_along_axis(log_probs[rows], order, axis=1).astype(np.float64, copy=False)
    scaled = np.take_along_axis(result[rows], order, axis=1)
    moved = np.any([_overtaken(old, scaled, cut) for cut in ranks if 0 < cut < old.shape[1]], axis=0)
    rows, order, old, scaled = rows[moved], order[moved], old[moved], scaled[moved]
    inside, outside = after.log_prob[rows], after.log_complement[rows]
    np.put_along_axis(scaled, order, _levelled(old, scaled, ranks, inside, outside), axis=1)
    result[rows] = scaled
    return result


def _overtaken(old: Doubles, new: Doubles, cut: int) -> Bools:
    """Return where one of the classes before the cut is no longer more probable than all behind it."""
    least, highest = new[:, :cut].min(axis=1), new[:, cut:].max(axis=1)
    return (least < highest) | ((least == highest) & (old[:, cut - 1] > old[:, cut]))


def _levelled(old: Doubles, scaled: Doubles, ranks: Ranks, inside: Floats, outside: Floats) -> Doubles:
    """Return log-probabilities with the sums `inside` and `outside`, ranks in descending order."""
    start, last = ranks
    result = np.empty(old.shape)
    if start:
        below = np.arange(old.shape[1]) != start
        result[:, start] = inside
        result[:, below] = _held(old[:, below], start, inside, outside)
    else:
        level = (scaled[:, :last].min(axis=1) + scaled[:, last:].max(axis=1)) / 2
        level = np.maximum(level, outside - np.log(old.shape[1] - last))
        level = np.minimum(level, inside - np.log(last))
        result[:, :last] = _held(old[:, :last], last, level, inside)
        result[:, last:] = _held(old[:, last:], 0, level, outside)
    hairs = HAIR * (np.arange(old.shape[1]) - start)
    return np.minimum.accumulate(result, axis=1) - hairs


def _held(log_probs: Doubles, higher: int, level: Floats, total: Floats) -> Doubles:
    """Scale descending probabilities to a sum, the `higher` first ones to a level or more, others to less.

    The ends of a piece of the sum, as a function of the factor, are where a class reaches the level.

    Parameters
    ----------
    log_probs : array (N, m)
        Descending in each row.
    higher : int
        How many must not fall below the level.
    level, total : array (N,)
        Logarithms of the level and of the sum.
    """
    top = log_probs[:, :1]
    base = np.where(np.isneginf(top), 0, log_probs - np.where(np.isneginf(top), 0, top))
    positive = np.where(base > TINIEST, base, -np.inf)
    prob, height, target = np.exp(positive), np.exp(level)[:, None], np.exp(total)[:, None]
    number = np.arange(log_probs.shape[1])
    leading = number < higher
    risen = np.cumsum(prob * leading, axis=1)
    fallen = np.zeros(prob.shape)  # behind each one; a difference of sums would lose small ones
    fallen[:, :-1] = np.cumsum((prob * ~leading)[:, :0:-1], axis=1)[:, ::-1]
    at_level = np.where(leading, higher - 1 - number, number - higher + 1)
    reached = height * (risen + fallen + prob * at_level) >= target * prob
    piece = np.where(reached.any(axis=1), reached.argmax(axis=1), len(number))[:, None]
    free = np.where(leading, number < piece, number >= piece)
    remainder = np.maximum(target - height * (~free).sum(axis=1, keepdims=True), 0)
    weight = log_sum(positive, free)[:, None]
    evenly = np.isneginf(weight)  # classes with next to no probability take what the others cannot
    among = np.where(evenly, np.log(np.maximum(free.sum(axis=1, keepdims=True), 1)), weight)
    with np.errstate(divide="ignore"):
        factor = np.log(remainder) - among
    return np.where(free, factor + np.where(evenly, 0, base), level[:, None])


MapParameters: TypeAlias = dict[str, Doubles]

CLASS_WISE, TOP_WISE = "class-wise", "top-wise"
CLASS, TOP, WITHIN_TOP = "class", "top", "within-top"
MANY = 3  # classes, of which one is looked at against the rest
NUMBERED = {CLASS: 0, TOP: 1, WITHIN_TOP: 1}  # kinds of lenses that a number follows, and the least number

CLASSES = "classes"  # parameter: how many classes the scores had
UNIT = 2.0**64  # so long is the unit interval on which lines are drawn
SIZES = "sizes"  # parameter: how long the tables of each map are; they are stored end to end

DESCRIBED = """\
lens : str
    What the map acts on: "class-wise", of two classes class 1, else every class against the rest; "class-0"
    and so on, one class; "top-1", the confidence, "top-2" and so on; "within-top-2" and so on, the sum of
    the largest; or "top-wise", as class-wise, with a map for each rank in place of each class.
keep_top : bool
    Whether, with "top-r" and "within-top-r", every class keeps its rank, the predicted one too.
ranks : int
    With "top-wise", how many ranks have a map; 0 is all of them.
"""  # stands in the docstring of each method in place of {lens}


ACTS_ON = (
    "what the map acts on: class-wise (each class against the rest; class 1 of two), class-1 "
    "(counted from 0), top-1 (the confidence), top-2, within-top-2 (their sum), or top-wise (a map for each "
    "rank)"
)


@dataclass(kw_only=True, eq=False, repr=False)
class OneDimensional(Calibrator):
    """A calibrator that maps the probability of an event to a better one; `lens` names the events.

    Parameters
    ----------
    lens : str
        ``class-wise``: two classes have one map, on the probability of class 1; more have a map each, one
        class against the rest, and the results are divided by their sum. A row where all are 0 keeps its
        probabilities: the maps know of it only that no class fits. ``class-k``: the probability of class k
        alone. ``top-r``: the r-th largest probability, ``within-top-r``: the sum of the r largest.
        ``top-wise``: as class-wise, with a map for each rank in place of each class. For one event alone, v'
        / v scales the probabilities of its classes and (1 - v') / (1 - v) the others, and they are even where
        they were 0.
    keep_top : bool
        With ``top-r`` and ``within-top-r``, every class keeps its rank: where scaling would change it, the
        classes of higher ranks stop at a level, the classes of lower ranks too, and the others make up for
        it. The classes outside the event get the probability that these classes cannot have: the sum of the r
        largest cannot be less than r / K, nor the r-th leave nothing for the classes behind it. Without it
        the predicted class may change.
    ranks : int
        With ``top-wise``, how many ranks have a map; 0 stands for all.
    """

    tables: ClassVar[tuple[str, ...]] = ()  # those map parameters that are (m,) arrays, all of one length
    gaps: ClassVar[bool] = False  # whether a value may be nan, where nothing is known

    lens: str = arg(ACTS_ON, default=CLASS_WISE)
    keep_top: bool = arg("whether every class keeps its rank", default=True)
    ranks: int = arg("with lens=top-wise, the number of ranks with a map; 0 for all", default=0, least=0)
    several: bool = field(default=False, init=False)  # whether each of many classes or ranks has a map

    def __init_subclass__(cls) -> None:
        before, marker, after = (cls.__doc__ or "").partition("{lens}\n")
        indent = before.rpartition("\n")[2]
        if marker:
            cls.__doc__ = before + DESCRIBED.replace("\n", f"\n{indent}").removesuffix(indent) + after

    def __post_init__(self) -> None:
        super().__post_init__()
        lens = self.lens_of(MANY)
        kind, number = _view(lens)
        if lens not in (CLASS_WISE, TOP_WISE) and (kind not in NUMBERED or number < NUMBERED[kind]):
            raise UsageError(
                f"{self.name} cannot act on lens {self.lens!r}; it acts on class-wise, class-0 and so on, "
                "top-1, top-2 and so on, within-top-2 and so on, and top-wise"
            )
        if not self.keep_top and kind not in (TOP, WITHIN_TOP):
            raise UsageError(f"keep_top=false is for lenses such as top-1 and within-top-2, not {self.lens}")
        if self.ranks and self.lens != TOP_WISE:
            raise UsageError(f"ranks is for lens top-wise, not {self.lens}")

    def lens_of(self, classes: int) -> str:
        """Return what the map acts on, of so many classes."""
        return self.lens

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

    def fit_maps(self, events: Iterable[tuple[Event, Bools]], weight: Array | None) -> list[MapParameters]:
        """Return the parameters of the maps of some events with their outcomes; see `fit_map`."""
        return [self.fit_map(event, outcome, weight) for event, outcome in events]

    def working(self, scores: Array) -> Floats:
        """Return what the maps act on, (N, K): log-probabilities, in double precision.

        In single precision a step of a map would lie beside the score that it was made of.
        """
        return kept_log_probs(scores.astype(np.float64, copy=False))

    def events_of(self, log_probs: Floats) -> Iterator[tuple[int, Event]]:
        """Yield the class and event of each map that acts on a class."""
        yield from class_events(log_probs)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Learn a map for each event of the lens; see `Calibrator.fit`. `start` is not needed."""
        scores, labels, weights = weighted_rows(scores, labels, weights)
        self.notes = []
        log_probs = self.working(scores)
        classes = log_probs.shape[1]
        self.several = classes > 2 and self.lens_of(classes) in (CLASS_WISE, TOP_WISE)
        absent = np.flatnonzero(np.bincount(labels, minlength=classes) == 0)
        maps = self.fit_maps(self._problems(log_probs, labels), weights)
        packed: dict[str, Parameter] = {CLASSES: classes}
        for key in maps[0]:
            join = np.concatenate if key in self.tables else np.stack
            packed[key] = join([map_[key] for map_ in maps])
        if self.tables:
            packed[SIZES] = np.array([len(map_[self.tables[0]]) for map_ in maps])
        self.parameters = packed
        self.notes = [
            text if len(maps) == 1 else f"{times} of {len(maps)} classes: {text}"
            for text, times in Counter(self.notes).items()
        ]
        if len(absent):
            self.notes.append(f"no row of class {', '.join(map(str, absent))}")
        if self.keep_top and (ranks := self._ranks(classes)):
            before = event_of(log_probs, ranked_classes(log_probs, ranks))
            self.notes += limits_reached(log_probs, self.apply_map(maps[0], before), ranks)

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        for name, value in self.parameters.items():
            valid = np.isfinite(value) | (self.gaps and name == "values" and np.isnan(value))
            bounded = name in ("scores", "values", "as_miss", "as_hit")
            if not valid.all() or (bounded and np.any((value < 0) | (value > 1))):
                raise ValueError(f"{name} out of range")
        if self.tables and np.sum(self.learned(SIZES)) != len(np.atleast_1d(self.learned(self.tables[0]))):
            raise ValueError("tables of other lengths than they say")
        for map_ in self._unpacked(int(self.learned(CLASSES))):
            tables = [map_[key] for key in self.tables]
            if tables and (not len(tables[0]) or np.any(np.diff(tables[0]) < 0)):
                raise ValueError(f"{self.tables[0]} that do not ascend")
            if len({table.shape for table in tables}) > 1 or any(table.ndim != 1 for table in tables):
                raise ValueError("tables of different lengths")

    def breakpoints(self) -> Doubles:
        """Return where the tables of the maps have an entry."""
        return np.asarray(self.learned(self.tables[0])) if self.tables else super().breakpoints()

    def keeps_classes(self, classes: int) -> bool:
        """Return whether every class keeps its rank."""
        return self.keep_top and self._ranks(classes) is not None

    def remark(self, text: str) -> None:
        """Note something about the fit of a map; equal remarks of several maps become one note."""
        self.notes.append(text)

    def apply(self, scores: Array) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K); see `Calibrator.apply`."""
        log_probs = self.working(scores)
        maps = self._unpacked(log_probs.shape[1])
        if (members := self._members(log_probs)) is not None:
            before = event_of(log_probs, members)
            after = self.apply_map(maps[0], before)
            ranks = self._ranks(log_probs.shape[1]) if self.keep_top else None
            return recalibrated(log_probs, members, before, after, ranks)
        if self.lens_of(log_probs.shape[1]) == TOP_WISE:
            order = descending(log_probs)
            result = np.empty(log_probs.shape)
            by_rank = self._mapped(np.take_along_axis(log_probs, order, axis=1), maps)
            np.put_along_axis(result, order, by_rank, axis=1)
            return result
        return self._mapped(log_probs, maps)

    def _mapped(self, log_probs: Floats, maps: list[MapParameters]) -> Doubles:
        """Map each column of (N, K), as far as there are maps, and divide the rows by their sums."""
        pairs = zip(maps, self.events_of(log_probs), strict=False)
        after = [self.apply_map(parameters, event) for parameters, (_, event) in pairs]
        if len(after) == 1 and log_probs.shape[1] == 2:
            return np.column_stack([after[0].log_complement, after[0].log_prob])
        mapped = [event.log_prob for event in after]
        return _normalized(np.column_stack([*mapped, log_probs[:, len(maps) :]]), log_probs)

    def _problems(self, log_probs: Floats, labels: Labels) -> Iterator[tuple[Event, Bools]]:
        """Yield the event of each map, and in which rows it happened."""
        if (members := self._members(log_probs)) is not None:
            yield event_of(log_probs, members), np.take_along_axis(members, labels[:, None], axis=1)[:, 0]
            return
        classes = log_probs.shape[1]
        if self.lens_of(classes) == TOP_WISE:
            order = descending(log_probs)
            log_probs = np.take_along_axis(log_probs, order, axis=1)
            labels = (order == labels[:, None]).argmax(axis=1)
        for k, event in islice(self.events_of(log_probs), self.ranks or classes):
            yield event, labels == k

    def _members(self, log_probs: Floats) -> Bools | None:
        """Return the classes in the sum of the lens, (N, K); None if it looks at all, one by one."""
        classes = log_probs.shape[1]
        if ranks := self._ranks(classes):
            return ranked_classes(log_probs, ranks)
        lens = self.lens_of(classes)
        if lens in (CLASS_WISE, TOP_WISE):
            return None
        members = np.zeros(log_probs.shape, dtype=np.bool_)
        members[:, _view(lens)[1]] = True
        return members

    def _ranks(self, classes: int) -> Ranks | None:
        """Return the ranks of the classes that the lens looks at, if it does that."""
        kind, number = _view(self.lens_of(classes))
        limit = classes - (kind != TOP)
        if number > limit or self.ranks > classes:
            raise UsageError(f"lens {self.lens!r} needs more than the {classes} classes of the scores")
        if kind not in (TOP, WITHIN_TOP):
            return None
        return Ranks(number - 1 if kind == TOP else 0, number)

    def _unpacked(self, classes: int) -> list[MapParameters]:
        fitted = int(self.learned(CLASSES))
        differs = self._ranks(classes) is None or self.lens_of(classes) != self.lens_of(fitted)
        if differs and classes != fitted:
            raise InputError(
                f"{self.name} calibrator was fitted on {fitted} classes, the scores have {classes}"
            )
        packed: dict[str, Any] = {k: v for k, v in self.parameters.items() if k not in (CLASSES, SIZES)}
        for key in self.tables:
            packed[key] = np.split(packed[key], np.cumsum(self.learned(SIZES))[:-1])
        return [dict(zip(packed, values, strict=True)) for values in zip(*packed.values(), strict=True)]


def _view(lens: str) -> tuple[str, int]:
    """Return the kind of a lens and its number, as in top-1; -1 without one."""
    kind, _, digits = lens.rpartition("-")
    number = number_in(digits)
    return (lens, -1) if number < 0 else (kind, number)


def interpolated(prob: Floats, scores: Doubles, values: Doubles) -> Doubles:
    """Return straight lines between `values` at ascending `scores`, (m,), at probabilities, (N,).

    Between neighboring scores near the smallest double the slope of a line overflows; of scores multiplied by
    a power of 2, which rounds nothing, it does not.
    """
    return np.interp(prob * UNIT, scores * UNIT, values).astype(np.float64, copy=False)


def _normalized(log_values: Doubles, log_probs: Floats) -> Doubles:
    """Divide each row by its sum; a row of zeros takes its probabilities from before."""
    total = log_sum(log_values, np.ones(log_values.shape, dtype=np.bool_))
    nothing = np.isneginf(total)
    total[nothing] = 0
    return np.where(nothing[:, None], log_probs, log_values - total[:, None])
