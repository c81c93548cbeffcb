"""What a fitted map does to an order: of two classes to that of the rows, of more to that of the classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from calcli.core.calibrators.events import Bools
from calcli.core.data.arrays import Array, Doubles

Apply = Callable[[Array], Doubles]

ODDS = np.unique(np.concatenate([np.linspace(-40, 40, 8001), np.linspace(-745, 745, 299)]))
ROUNDING = 1e-9  # of log-odds, by which a map that rises may seem to fall
LINES = 100  # classes, of which it is looked at what becomes of them as they rise
SHARES = (0.1, 1.0, 1.9)  # of an even one, that such a class has
OF_CLASSES = "the map decreases for some probabilities: the order of the classes may change"
OF_RAW = "raw logits of equal probabilities may become unequal ones: the order of the rows may change"


class Order(NamedTuple):
    """What a fitted map does to an order.

    Attributes
    ----------
    kept
        "kept", up to ties; "turned" round throughout; or "changed", for some rows at least.
    says
        The same as a clause.
    low, high
        Of two classes the probabilities of the second one between which a map falls that rises elsewhere.
    """

    kept: Literal["kept", "changed", "turned"]
    says: str
    low: float = math.nan
    high: float = math.nan


KEPT = Order("kept", "the map keeps the order")
TURNED = Order("turned", "the map reverses the order: more probable becomes less probable")


def order_of_rows(apply: Apply, corners: Array, *, raw: bool) -> Order:
    """Return what a map of two classes does to the order of rows by the probability of the second one.

    It is looked at on a fine grid of log-odds, and on either side of each corner.

    Parameters
    ----------
    apply
        The map, of (n, 2) scores to log-probabilities.
    corners
        (m,) probabilities of an event at which it may bend or jump.
    raw
        Whether a constant added to both scores of a row makes a difference.
    """
    at = np.concatenate([corners, 1 - corners, [0.5]])  # where another class is predicted
    at = np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, 1)])
    at = at[(at > 0) & (at < 1)]
    first = np.concatenate([-np.logaddexp(0, ODDS), np.log1p(-at), [0.0, -np.inf]])
    second = np.concatenate([-np.logaddexp(0, -ODDS), np.log(at), [-np.inf, 0.0]])
    rows = np.column_stack([first, second])[np.lexsort((np.exp(second), second - first))]
    inner = rows[1:-1]
    if raw and not np.allclose(_log_odds(apply, inner), _log_odds(apply, inner - inner[:, :1]), ROUNDING):
        return Order("changed", OF_RAW)
    after = _log_odds(apply, rows)
    highest, lowest = np.maximum.accumulate(after), np.minimum.accumulate(after[1:-1])
    falls = np.flatnonzero(_is_below(after, highest))
    if not len(falls):
        return KEPT
    if not _is_below(lowest, after[1:-1]).any():  # a 0 may stay one, whatever becomes of small probabilities
        return TURNED
    top = int((after == highest[falls[0]]).argmax())
    between = [max(top - 1, 0), min(falls[-1] + 1, len(rows) - 1)]  # it may turn beside what was looked at
    low, high = np.exp(rows[between, 1]).tolist()
    where = f"probabilities of class 1 from {_shown(low)} to {_shown(high)}"
    return Order("changed", f"the map decreases for some {where}: the order of these rows changes", low, high)


def _log_odds(apply: Apply, rows: Doubles) -> Doubles:
    with np.errstate(over="ignore", invalid="ignore"):
        found = apply(rows)
        return found[:, 1] - found[:, 0]


def _is_below(lower: Doubles, higher: Doubles) -> Bools:
    return (lower < higher) & ~np.isclose(lower, higher, rtol=ROUNDING, atol=ROUNDING)


def _shown(probability: float) -> str:
    """Return a probability with two digits, not counting the 9s of one near 1."""
    rest = 1 - probability
    if probability < 0.9 or not rest:
        return f"{probability:.2g}"
    return f"{probability:.{1 - math.floor(math.log10(rest))}f}"


def turns_classes(apply: Apply, classes: int) -> bool:
    """Return whether each class becomes less probable the more it is so, those beside it being even."""
    own = np.arange(min(classes, LINES))
    shares = np.array(SHARES) / classes
    rows = np.empty((len(own), len(shares), classes))
    rows[:] = ((1 - shares) / (classes - 1))[:, None]
    rows[own, :, own] = shares
    after = apply(np.log(rows.reshape(-1, classes))).reshape(rows.shape)[own, :, own]
    return bool(_is_below(after[:, 1:], after[:, :-1]).all())
