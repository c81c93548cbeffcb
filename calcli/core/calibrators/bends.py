"""Features that bend a map of log-probabilities near 0 and near 1, and whether such a map rises."""

from __future__ import annotations

from typing import Literal

import numpy as np

from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import row_max

Bends = Literal["none", "complement", "both"]

SOFTENING = 0.01  # ln(p + 0.01) bends where probabilities are about as small
MAP_POINTS = 2001  # of probabilities at which a map is seen to rise


def bends_of(log_probs: Floats, bends: Bends) -> list[Floats]:
    """Return the (N, K) features that bend a map of log-probabilities: -ln(1 - p) and ln(p + 0.01).

    With two classes the first is the log-probability of the other class, and left out.
    """
    if bends == "none":
        return []
    found = [] if log_probs.shape[1] == 2 else [_complement(log_probs)]
    if bends == "both":
        found.append(np.log(np.exp(log_probs) + log_probs.dtype.type(SOFTENING)))
    return found


def _complement(log_probs: Floats) -> Floats:
    """Return -ln(1 - p), for the largest p from the sum of the others."""
    rows, top = np.arange(len(log_probs)), log_probs.argmax(axis=1)
    others = log_probs.copy()
    others[rows, top] = -np.inf
    most = row_max(others)
    rest = np.exp(others - most).sum(axis=1)
    result: Floats = -np.log1p(-np.minimum(np.exp(others), 0.5))
    result[rows, top] = -(most[:, 0] + np.log(rest))
    return result


def rises(slopes: Doubles, classes: int) -> bool:
    """Return whether the map with both bends keeps the order of probabilities, wherever they are."""
    p = np.concatenate([np.geomspace(1e-12, 0.5, MAP_POINTS), 1 - np.geomspace(1e-12, 0.5, MAP_POINTS)])
    terms = [1 / p, *([1 / (1 - p)] if classes > 2 else []), 1 / (p + SOFTENING)]
    return bool((slopes @ np.array(terms) > 0).all())
