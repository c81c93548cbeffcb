"""Bayesian binning into quantiles (Naeini et al. 2015)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.histogram import TINIEST, edges_at
from calcli.core.calibrators.onevsrest import MapParameters, OneDimensional
from calcli.core.data.arrays import Array, Doubles, Positions
from calcli.core.data.binning import distinct, equal_mass_cuts

STRENGTH = 2.0  # of the prior of a binning, in rows; the paper's N'


@dataclass(kw_only=True, eq=False, repr=False)
class BBQ(OneDimensional):
    """The mean of many histograms of equal-mass bins, weighted by how well their bins explain the outcomes.

    There are from N^(1/3) / 10 to 10 N^(1/3) bins for N rows. The frequency of a bin has a Beta prior around
    its midpoint that weighs two rows in all bins together, and the weight of a binning is the
    probability of the outcomes under these priors.

    Parameters
    ----------
    {lens}

    References
    ----------
    Naeini, Cooper & Hauskrecht 2015, Obtaining well calibrated probabilities using Bayesian binning.
    """

    name: ClassVar[str] = "bbq"
    tables: ClassVar[tuple[str, ...]] = ("lower_edges", "values")

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the lower edges of the steps of the mean, and its values there."""
        order = np.argsort(event.prob, kind="stable")
        score = event.prob[order].astype(np.float64, copy=False)
        own = None if weight is None else weight[order]
        root = float(len(score) if weight is None else weight.sum()) ** (1 / 3)
        most = min(math.ceil(10 * root), len(distinct(score)))
        fewest = min(max(1, math.floor(root / 10)), most)
        cuts = [equal_mass_cuts(score, bins, own) for bins in range(fewest, most + 1)]
        binnings = _Binnings.of(score, outcome[order], own, cuts)
        lower = distinct(binnings.lower_edges)
        values = np.zeros(len(lower))
        for share, edges, heights in binnings.each():
            values += share * heights[np.searchsorted(edges, lower, side="right") - 1]
        return {"lower_edges": lower, "values": np.minimum(values, 1)}

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        place = np.searchsorted(parameters["lower_edges"][1:], event.prob, side="right")
        return Event.of_probability(parameters["values"][place])


class _Binnings(NamedTuple):
    """The lower edges and the values of the bins of several binnings, end to end.

    Attributes
    ----------
    lower_edges, values
        (B,) of all bins.
    first
        (M,) positions of the first bin of each binning.
    share
        (M,) probabilities of the binnings, which sum to 1.
    """

    lower_edges: Doubles
    values: Doubles
    first: Positions
    share: Doubles

    @classmethod
    def of(cls, score: Doubles, outcome: Bools, weight: Array | None, cuts: list[Positions]) -> _Binnings:
        """Return the binnings of ascending scores that are parted at some positions."""
        start, stop = (np.concatenate([each[own] for each in cuts]) for own in (np.s_[:-1], np.s_[1:]))
        weights = np.ones(len(score)) if weight is None else weight.astype(np.float64, copy=False)
        count, hits = (_sums(values, start, stop) for values in (weights, weights * outcome))
        first = np.flatnonzero(start == 0)
        number = np.diff(np.append(first, len(start)))
        lower = np.where(start == 0, 0.0, edges_at(score, start))
        upper = np.append(np.where(start == 0, 1.0, lower)[1:], 1.0)
        middle = np.clip((lower + upper) / 2, TINIEST, 1 - np.finfo(np.float64).eps)
        prior = np.repeat(STRENGTH / number, number)
        hit, miss = prior * middle, prior * (1 - middle)
        evidence = (
            np.repeat(_log_gamma(STRENGTH / number), number) - _log_gamma(count + prior)
            + _log_gamma(hits + hit) - _log_gamma(hit)
            + _log_gamma(np.maximum(count - hits, 0) + miss) - _log_gamma(miss)
        )  # fmt: skip
        in_all = np.add.reduceat(evidence, first)
        share = np.exp(in_all - in_all.max())
        return cls(lower, (hits + hit) / (count + prior), first, share / share.sum())

    def each(self) -> Iterator[tuple[float, Doubles, Doubles]]:
        """Yield the share of each binning, and the lower edges and values of its bins."""
        bins = (np.split(values, self.first[1:]) for values in (self.lower_edges, self.values))
        return zip(self.share.tolist(), *bins, strict=True)


def _sums(values: Doubles, start: Positions, stop: Positions) -> Doubles:
    """Return the sums of values from each start to its stop, which is behind it."""
    return np.add.reduceat(np.append(values, 0), np.column_stack([start, stop]).ravel())[::2]


def _log_gamma(values: Doubles) -> Doubles:
    return np.array(list(map(math.lgamma, values.tolist())))
