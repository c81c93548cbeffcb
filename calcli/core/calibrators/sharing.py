"""How the classes of a row share its probability once that of some of them has been recalibrated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.events import Bools, Event, Ranks, descending, log_sum
from calcli.core.data.arrays import Doubles, Floats

HAIR = 1e-13  # by so much, relatively, a class exceeds the next one that it is level with
TINIEST = -690.0  # logarithm of what, beside the largest, is next to nothing


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
        Log-probabilities; each side is scaled by one factor, and shares evenly where it had nothing.
    """
    inside = _scaled(log_probs, members, before.log_prob, after.log_prob)
    outside = _scaled(log_probs, ~members, before.log_complement, after.log_complement)
    return np.where(members, inside, outside).astype(np.float64, copy=False)


def _scaled(log_probs: Floats, members: Bools, before: Floats, after: Floats) -> Floats:
    """Return log-probabilities whose members sum to `after`, not to `before`; evenly if that is 0."""
    nothing = np.isneginf(before)
    evenly = -np.log(members.sum(axis=1, keepdims=True))
    factor = after - np.where(nothing, 0, before)
    result: Floats = np.where(nothing[:, None], evenly, log_probs) + factor[:, None]
    return result


def recalibrated(
    log_probs: Floats, members: Bools, before: Event, after: Event, ranks: Ranks | None
) -> NDArray[np.float64]:
    """Return `rescaled`, or if the members are the classes of some ranks that are to be kept, `ranked`."""
    if ranks is None:
        return rescaled(log_probs, members, before, after)
    beyond, limit = _limits(log_probs, after, ranks)
    if beyond.any():
        log_complement = np.where(beyond, _log_one_less(limit), after.log_complement)
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
    """Return in which rows the event has a probability its classes cannot have, and the nearest they can.

    The r first classes have r / K at least. The class of rank r alone has at most what it has if the classes
    before it are level with it, and those behind it keep their share of what is left.
    """
    first, last = ranks
    if first == 0:
        limit: Floats = np.full(len(log_probs), np.log(last / log_probs.shape[1]))
        return event.log_prob < limit, limit
    descended = -np.sort(-np.exp(log_probs), axis=1)
    behind = descended[:, last:].sum(axis=1)
    total = behind + descended[:, :first].sum(axis=1)
    share = np.divide(behind, total, out=np.zeros(len(total)), where=total > 0)
    limit = np.log((1 - share) / (last - share))
    return event.log_prob > limit, limit


def _log_one_less(log_prob: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        rest: Floats = np.log1p(-np.exp(log_prob))
    return rest


def ranked(
    log_probs: Floats, members: Bools, before: Event, after: Event, ranks: Ranks
) -> NDArray[np.float64]:
    """Return `rescaled`, but let every class keep its rank.

    Where scaling would change it there is a level: the classes of higher ranks have at least that, those of
    lower ranks at most that, and what is not held by it is scaled by other factors, which keep the sums. For
    one rank the level is its probability. For the r first ones it is halfway, in logarithms, between their
    least and the others' largest scaled probability, or as near to that as the sums allow.

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
    least, most = new[:, :cut].min(axis=1), new[:, cut:].max(axis=1)
    return (least < most) | ((least == most) & (old[:, cut - 1] > old[:, cut]))


def _levelled(old: Doubles, scaled: Doubles, ranks: Ranks, inside: Floats, outside: Floats) -> Doubles:
    """Return log-probabilities that sum to those of `inside` and `outside`, ranks in descending order."""
    first, last = ranks
    result = np.empty(old.shape)
    if first:
        others = np.arange(old.shape[1]) != first
        result[:, first] = inside
        result[:, others] = _held(old[:, others], first, inside, outside)
    else:
        level = (scaled[:, :last].min(axis=1) + scaled[:, last:].max(axis=1)) / 2
        level = np.maximum(level, outside - np.log(old.shape[1] - last))
        level = np.minimum(level, inside - np.log(last))
        result[:, :last] = _held(old[:, :last], last, level, inside)
        result[:, last:] = _held(old[:, last:], 0, level, outside)
    hairs = HAIR * (np.arange(old.shape[1]) - first)
    return np.minimum.accumulate(result, axis=1) - hairs


def _held(log_probs: Doubles, higher: int, level: Floats, total: Floats) -> Doubles:
    """Scale descending probabilities to a sum, the `higher` first ones to a level or more, others to less.

    Of a piece of the sum, as a function of the factor, the ends are where one of them reaches the level.

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
    some = np.where(base > TINIEST, base, -np.inf)
    prob, height, target = np.exp(some), np.exp(level)[:, None], np.exp(total)[:, None]
    number = np.arange(log_probs.shape[1])
    first = number < higher
    risen = np.cumsum(prob * first, axis=1)
    fallen = np.zeros(prob.shape)  # behind each one; a difference of sums would lose small ones
    fallen[:, :-1] = np.cumsum((prob * ~first)[:, :0:-1], axis=1)[:, ::-1]
    held = np.where(first, higher - 1 - number, number - higher + 1)
    reached = height * (risen + fallen + prob * held) >= target * prob
    piece = np.where(reached.any(axis=1), reached.argmax(axis=1), len(number))[:, None]
    free = np.where(first, number < piece, number >= piece)
    rest = np.maximum(target - height * (~free).sum(axis=1, keepdims=True), 0)
    weight = log_sum(some, free)[:, None]
    evenly = np.isneginf(weight)  # classes with next to no probability take what the others cannot
    among = np.where(evenly, np.log(np.maximum(free.sum(axis=1, keepdims=True), 1)), weight)
    with np.errstate(divide="ignore"):
        factor = np.log(rest) - among
    return np.where(free, factor + np.where(evenly, 0, base), level[:, None])
