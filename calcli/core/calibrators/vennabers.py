"""Inductive Venn-Abers predictors (Vovk, Petej & Fedorova 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.onevsrest import MapParameters, OneDimensional
from calcli.core.data.arrays import Array, Doubles


@dataclass(kw_only=True, eq=False, repr=False)
class VennAbers(OneDimensional):
    """p1 / (1 - p0 + p1), p0 and p1 the isotonic fits at a score with the row itself as a miss and as a hit.

    It never gives 0 or 1. p0 and p1 are not the ends of a confidence interval: one of them is calibrated, but
    nobody knows which.

    Parameters
    ----------
    {lens}

    References
    ----------
    Vovk, Petej & Fedorova, Large-scale probabilistic predictors with and without guarantees of validity,
    NeurIPS 2015, section 3 (algorithms 1 and 2).
    """

    name: ClassVar[str] = "venn-abers"
    tables: ClassVar[tuple[str, ...]] = ("scores", "as_miss", "as_hit")

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the distinct scores, and p0 and p1 at each of them."""
        scores, place = np.unique(event.prob.astype(np.float64), return_inverse=True)
        total = np.bincount(place, weight).astype(np.float64)
        hits = np.bincount(place, outcome if weight is None else outcome * weight).astype(np.float64)
        as_miss = 1 - with_a_hit(total[::-1], (total - hits)[::-1])[::-1]
        return {"scores": scores, "as_miss": as_miss, "as_hit": with_a_hit(total, hits)}

    def pair(self, parameters: MapParameters, event: Event) -> tuple[Doubles, Doubles]:
        """Return p0 and p1 of each row, (N,) each.

        Between two scores of the fit, a hit joins the upper one and a miss the lower one; beyond the last, a
        hit is a block of its own, as is a miss before the first.
        """
        scores = parameters["scores"]
        below = np.searchsorted(scores, event.prob, side="right")
        above = np.searchsorted(scores, event.prob, side="left")
        return np.append(0.0, parameters["as_miss"])[below], np.append(parameters["as_hit"], 1.0)[above]

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the probabilities that make up for both."""
        as_miss, as_hit = self.pair(parameters, event)
        return Event.of_probability(as_hit / (1 - as_miss + as_hit))


def with_a_hit(weight: Doubles, hits: Doubles) -> Doubles:
    """Return the isotonic fit at each of ascending scores, (m,), when a hit of weight 1 is added there.

    In the diagram of cumulative weight and hits it is the slope at the score of the convex minorant of the
    points up to it, the first moved back by (1, 1), and those behind it. Points behind the first corner of
    that minorant do not matter: a stack of its corners is enough, first all, then from the left.
    """
    xs = [-1.0, 0.0, *np.cumsum(weight).tolist()]
    ys = [-1.0, 0.0, *np.cumsum(hits).tolist()]
    count = len(weight)
    corners: list[tuple[float, float]] = []
    for point in zip(reversed(xs), reversed(ys), strict=True):
        _push(corners, point)
    found = np.empty(count)
    for i in range(count):
        (x1, y1), (x0, y0) = corners[-2], corners[-1]
        found[i] = (y1 - y0) / (x1 - x0)
        # the added hit moves behind score i: its point takes the place of the one between them
        before, at, behind = ((xs[j], ys[j]) for j in (i, i + 1, i + 2))
        moved = (before[0] + behind[0] - at[0], before[1] + behind[1] - at[1])
        xs[i + 1], ys[i + 1] = moved
        if (moved[1] - y0) * (x1 - x0) >= (y1 - y0) * (moved[0] - x0):
            continue  # on the minorant or above it
        corners.pop()
        _push(corners, moved)
    return np.clip(found, 0, 1)  # sums of weights are rounded


def _push(corners: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Add a point on the left of a convex chain, after dropping corners that it takes the place of."""
    while len(corners) > 1:
        (x2, y2), (x1, y1) = corners[-2], corners[-1]
        if (y1 - point[1]) * (x2 - x1) < (y2 - y1) * (x1 - point[0]):
            break
        corners.pop()
    corners.append(point)
