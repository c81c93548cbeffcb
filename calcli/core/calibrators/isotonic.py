"""Isotonic calibration (Zadrozny & Elkan 2002), also centered (Oron & Flournoy 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.onevsrest import MapParameters, OneDimensional, interpolated
from calcli.core.data.arrays import Array, Doubles
from calcli.core.problems.pav import Blocks, pav, pool

Interpolation = Literal["linear", "steps"]


@dataclass(kw_only=True, eq=False, repr=False)
class Isotonic(OneDimensional):
    """The non-decreasing map of a score that is nearest to the outcomes.

    Parameters
    ----------
    smoothing : float
        Rows added against the order, so that no unseen score gets probability 0 or 1: half of them below all
        scores with the event, half above all scores without it. They reach the first and the last block, the
        only ones whose frequency can be 0 or 1, and the result is still an isotonic fit. The default,
        1 row in all, is the weight of Jeffreys' prior; 0 is the plain fit.
    interpolation : {"linear", "steps"}
        Between the blocks, a straight line, or the block below. Below the first and above the last, constant.
    {lens}

    References
    ----------
    Zadrozny & Elkan 2002, Transforming classifier scores into accurate multiclass probability estimates.
    """

    name: ClassVar[str] = "isotonic"
    tables: ClassVar[tuple[str, ...]] = ("scores", "values")

    smoothing: float = 1.0
    interpolation: Interpolation = "linear"

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the corners of the fitted function, as `scores` and `values`."""
        blocks = smooth_ends(pav(event.prob, outcome, weight), self.smoothing)
        if self.interpolation == "steps":
            return {"scores": blocks.lower.astype(np.float64), "values": blocks.value}
        return _corners(blocks.lower, blocks.upper, blocks.value)

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the value of the fitted function at each score."""
        scores, values = parameters["scores"], parameters["values"]
        if self.interpolation == "linear":
            return Event.of_probability(interpolated(event.prob, scores, values))
        return Event.of_probability(values[np.searchsorted(scores[1:], event.prob, side="right")])


@dataclass(kw_only=True, eq=False, repr=False)
class CenteredIsotonic(OneDimensional):
    """Straight lines between the blocks of an isotonic fit, each put at the mean score of its rows.

    Increasing between the first and the last, where plain isotonic regression has steps, and so without ties
    of its own making.

    Parameters
    ----------
    smoothing : float
        Rows added against the order, as for `Isotonic`; the paper has 0.
    {lens}

    References
    ----------
    Oron & Flournoy, Centered isotonic regression: point and interval estimation for dose-response studies,
    2017. There blocks of 0 and of 1 keep their width; with `smoothing` there are none.
    """

    name: ClassVar[str] = "centered-isotonic"
    tables: ClassVar[tuple[str, ...]] = ("scores", "values")

    smoothing: float = 1.0

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the centers of the blocks and their frequencies, as `scores` and `values`."""
        prob = event.prob.astype(np.float64)
        blocks = smooth_ends(pav(event.prob, outcome, weight), self.smoothing)
        place = np.searchsorted(blocks.lower[1:], event.prob, side="right")
        mass = np.bincount(place, weight, len(blocks.lower))
        center = np.bincount(place, prob if weight is None else prob * weight, len(mass)) / mass
        certain = np.isin(blocks.value, (0.0, 1.0))
        low, high = np.where(certain, (blocks.lower, blocks.upper), center)
        return _corners(low, high, blocks.value)

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the value of the fitted function at each score."""
        return Event.of_probability(interpolated(event.prob, parameters["scores"], parameters["values"]))


def _corners(low: Array, high: Array, value: Doubles) -> MapParameters:
    """Return the ends of blocks with their values, equal ends once."""
    corners = np.column_stack([low, high]).astype(np.float64).ravel()
    distinct = np.append(True, corners[1:] > corners[:-1])
    return {"scores": corners[distinct], "values": np.repeat(value, 2)[distinct]}


def smooth_ends(blocks: Blocks, rows: float) -> Blocks:
    """Return the isotonic fit with half of `rows` added below all scores as hits, half above as misses."""
    hits, weight = blocks.hits.copy(), blocks.weight.copy()
    hits[0] += rows / 2
    weight[0] += rows / 2
    weight[-1] += rows / 2
    first, hits, weight = pool(hits, weight)
    last = np.append(first[1:], len(blocks.upper)) - 1
    return Blocks(blocks.lower[first], blocks.upper[last], hits, weight)
