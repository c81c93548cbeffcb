"""Bayesian binning into quantiles (Naeini et al. 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.histogram import TINIEST, equal_mass_edges
from calcli.core.calibrators.onevsrest import MapParameters, OneDimensional
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.binning import bin_index

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
        weights = np.ones(len(outcome)) if weight is None else weight
        root = float(weights.sum()) ** (1 / 3)
        most = min(math.ceil(10 * root), len(np.unique(event.prob)))
        binnings = [
            _binning(event.prob, weights, outcome, equal_mass_edges(event.prob, bins, weight))
            for bins in range(min(max(1, math.floor(root / 10)), most), most + 1)
        ]
        evidence = np.array([binning.evidence for binning in binnings])
        share = np.exp(evidence - evidence.max())
        lower = np.unique(np.concatenate([binning.lower_edges for binning in binnings]))
        values = np.zeros(len(lower))
        for each, binning in zip(share / share.sum(), binnings, strict=True):
            values += each * binning.values[np.searchsorted(binning.lower_edges, lower, side="right") - 1]
        return {"lower_edges": lower, "values": np.minimum(values, 1)}

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        place = np.searchsorted(parameters["lower_edges"][1:], event.prob, side="right")
        return Event.of_probability(parameters["values"][place])


class _Binning(NamedTuple):
    """The lower edges and the values of some bins, and the logarithm of the weight of the binning."""

    lower_edges: Doubles
    values: Doubles
    evidence: float


def _binning(score: Floats, weights: Array, outcome: Bools, edges: Doubles) -> _Binning:
    edges = np.concatenate([[0.0], edges[1:-1], [1.0]])
    index, number = bin_index(score, edges), len(edges) - 1
    count: Doubles = np.bincount(index, weights, minlength=number).astype(np.float64)
    hits: Doubles = np.bincount(index, weights * outcome, minlength=number).astype(np.float64)
    middle = np.clip((edges[:-1] + edges[1:]) / 2, TINIEST, 1 - np.finfo(np.float64).eps)
    prior = STRENGTH / number
    hit, miss = prior * middle, prior * (1 - middle)
    evidence = (
        number * math.lgamma(prior) - _log_gammas(count + prior)
        + _log_gammas(hits + hit) - _log_gammas(hit)
        + _log_gammas(np.maximum(count - hits, 0) + miss) - _log_gammas(miss)
    )  # fmt: skip
    return _Binning(edges[:-1], (hits + hit) / (count + prior), evidence)


def _log_gammas(values: Doubles) -> float:
    return sum(map(math.lgamma, values.tolist()))
