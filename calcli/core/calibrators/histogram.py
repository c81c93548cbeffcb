"""Calibrators that are constant on bins of the score: histogram binning and scaling-binning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.logistic import Platt
from calcli.core.calibrators.onevsrest import CLASSES, MapParameters, OneDimensional
from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.data.binning import bin_index, equal_mass_cuts, equal_width_edges

Binning = Literal["equal-mass", "equal-width"]

TINIEST = float(np.finfo(np.float64).tiny)


@dataclass(kw_only=True, eq=False, repr=False)
class Histogram(OneDimensional):
    """The frequency of the event in each bin of the score.

    Parameters
    ----------
    bins : int
        Number of bins, 1 or more; fewer where many scores are equal.
    binning : {"equal-mass", "equal-width"}
        How the scores are binned.
    smoothing : float
        Rows with the overall frequency of the event added to each bin: the frequency is
        (hits + m * overall) / (count + m), the m-estimate of Cestnik 1990, which Zadrozny & Elkan use for
        calibration. The overall frequency has Jeffreys' prior of the same weight, so that no score gets a
        probability of 0 or 1 even if the event never happened. 0 is the plain frequency.
    {lens}

    Notes
    -----
    In a bin without rows nothing is known, and the scores stay as they are.

    References
    ----------
    Zadrozny & Elkan 2001, Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers.
    """

    name: ClassVar[str] = "histogram"
    tables: ClassVar[tuple[str, ...]] = ("lower_edges", "values")
    gaps: ClassVar[bool] = True

    bins: int = 15
    binning: Binning = "equal-mass"
    smoothing: float = 1.0

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the lower edge and the value of each bin; the value of an empty bin is nan."""
        score = event.prob
        if self.binning == "equal-width":
            edges = equal_width_edges(self.bins)
        else:
            edges = equal_mass_edges(score, self.bins, weight)
        index = bin_index(score, edges)
        weights = np.ones(len(outcome)) if weight is None else weight
        count = np.bincount(index, weights, minlength=len(edges) - 1)
        hits = np.bincount(index, weights * outcome, minlength=len(edges) - 1)
        overall = (hits.sum() + self.smoothing / 2) / (count.sum() + self.smoothing)
        with np.errstate(invalid="ignore"):
            values = (hits + self.smoothing * overall) / (count + self.smoothing)
        return {"lower_edges": edges[:-1], "values": np.where(count > 0, values, np.nan)}

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        values = parameters["values"][_bin(event.prob, parameters)]
        return Event.of_probability(np.where(np.isnan(values), event.prob, values))


@dataclass(kw_only=True, eq=False, repr=False)
class ScalingBinning(OneDimensional):
    """Platt scaling, then the mean of the scaled scores in each of their equal-mass bins.

    The values are those of a smooth curve, not frequencies, so that few rows a bin suffice and none of
    them is 0 or 1; and there are few of them, so that their calibration error can be measured.

    Parameters
    ----------
    bins : int
        Number of bins, 1 or more; fewer where many scores are equal.
    {lens}

    References
    ----------
    Kumar, Liang & Ma 2019, Verified uncertainty calibration, section 4. As in their experiments, the same
    rows serve for the curve, the bins and the means. Of the targets of the curve, see `Platt`.
    """

    name: ClassVar[str] = "scaling-binning"
    tables: ClassVar[tuple[str, ...]] = ("lower_edges", "log_probs", "log_complements")

    bins: int = 15

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the curve, and of each bin the lower edge in log-odds and the logarithms of the means."""
        platt = Platt(target_smoothing=not self.several)
        curve = platt.fit_map(event, outcome, weight)
        self.notes += platt.notes
        scaled = platt.apply_map(curve, event)
        log_odds = scaled.log_prob - scaled.log_complement  # saturates nowhere, unlike the probability
        edges = equal_mass_edges(log_odds, self.bins, weight)
        index = bin_index(log_odds, edges)
        weights = np.ones(len(outcome)) if weight is None else weight
        count = np.bincount(index, weights)
        mean = np.bincount(index, weights * scaled.prob) / count
        complement = np.bincount(index, weights * np.exp(scaled.log_complement)) / count
        return {
            **curve,
            "lower_edges": edges[:-1],
            "log_probs": np.log(np.maximum(mean, TINIEST)),
            "log_complements": np.log(np.maximum(complement, TINIEST)),
        }

    def corners(self) -> Doubles:
        """Return the edges of the bins as probabilities before the curve."""
        maps = [one for one in self._unpacked(int(self.learned(CLASSES))) if one["slope"]]
        odds = [(one["lower_edges"] - one["intercept"]) / one["slope"] for one in maps]
        return np.exp(-np.logaddexp(0, -np.concatenate([*odds, np.empty(0)])))

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        super().check()
        sums = np.exp(self.learned("log_probs")) + np.exp(self.learned("log_complements"))
        if not np.allclose(sums, 1):
            raise ValueError("log_probs and log_complements whose probabilities do not sum to 1")

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        scaled = Platt().apply_map(parameters, event)
        index = _bin(scaled.log_prob - scaled.log_complement, parameters)
        return Event(parameters["log_probs"][index], lambda: parameters["log_complements"][index])


def equal_mass_edges(score: Floats, bins: int, weight: Array | None) -> Doubles:
    """Return the (m + 1,) edges of at most `bins` equal-mass bins, halfway between scores around a cut."""
    if weight is not None:
        order = np.argsort(score, kind="stable")
        score, weight = score[order], weight[order]
    ordered = np.sort(score).astype(np.float64, copy=False)
    cuts = equal_mass_cuts(ordered, bins, weight)
    return np.concatenate([ordered[:1], edges_at(ordered, cuts[1:-1]), ordered[-1:]])


def edges_at(ordered: Doubles, cuts: Positions) -> Doubles:
    """Return the edges halfway between the ascending scores before and after each cut, (m,)."""
    below, above = ordered[cuts - 1], ordered[cuts]
    halfway = below + (above - below) / 2
    # of two neighboring doubles the half may be the lower one, which belongs below the edge
    return np.where(halfway > below, halfway, above)


def _bin(score: Floats, parameters: MapParameters) -> NDArray[np.intp]:
    return bin_index(score, np.append(parameters["lower_edges"], np.inf))
