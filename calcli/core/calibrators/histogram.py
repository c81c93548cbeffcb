"""Calibrators with constant values in bins of the score: histogram binning and scaling-binning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from calcli.core.calibrators.base import SMOOTHED, Calibrator, Event
from calcli.core.calibrators.fit.training import Parameters
from calcli.core.calibrators.logistic import Platt
from calcli.core.calibrators.onevsrest import CLASSES, MapParameters, OneDimensional, interpolated
from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Labels, Positions, log_softmax
from calcli.core.data.binning import bin_index, distinct, equal_mass_cuts, equal_width_edges
from calcli.core.language.entries import arg, method
from calcli.core.problems.lenses import Splits, recursive_splits
from calcli.core.problems.problem import Blocks, pav, pool

Binning = Literal["equal-mass", "equal-width"]

TINIEST = float(np.finfo(np.float64).tiny)


@method(
    "histogram", "Histogram binning", family="one score", freedom=130, parameters="15 bins a class",
    count=lambda k, s: s["bins"],
)  # fmt: skip
class Histogram(OneDimensional):
    """The frequency of the event in each bin of the score.

    Learns: the frequency of the class in each bin of its score
    Keeps: nothing
    Source: Zadrozny & Elkan 2001

    Parameters
    ----------
    bins : int
        Number of bins, 1 or more; fewer where many scores are equal.
    binning : {"equal-mass", "equal-width"}
        How the scores are binned.
    smoothing : float
        Rows with the overall frequency of the event added to each bin: the frequency is (hits + m * overall)
        / (count + m), the m-estimate of Cestnik 1990, which Zadrozny & Elkan use for calibration. The overall
        frequency has Jeffreys' prior of the same weight: no score gets a probability of 0 or 1 even if the
        event never happened. 0 is the plain frequency.
    {lens}

    Notes
    -----
    In a bin without rows nothing is known, and the scores stay as they are.

    References
    ----------
    Zadrozny & Elkan 2001, Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers.
    """

    tables: ClassVar[tuple[str, ...]] = ("lower_edges", "values")
    gaps: ClassVar[bool] = True

    bins: int = arg("how many bins", default=15, least=1)
    binning: Binning = arg("how scores are binned", default="equal-mass")
    smoothing: float = arg(SMOOTHED, default=1.0, least=0)

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


@method(
    "scaling-binning", "Scaling-binning", family="one score", freedom=120,
    parameters="2 a class, 15 values", count=lambda k, s: 2, effort=22,
)  # fmt: skip
class ScalingBinning(OneDimensional):
    """Platt scaling, then the mean of the scaled scores in each of their equal-mass bins.

    Learns: Platt scaling, then the mean of each equal-mass bin
    Keeps: with two classes, the order of the rows while the map is increasing, up to ties
    Source: Kumar et al. 2019

    The values come from a smooth curve, not from frequencies: few rows a bin suffice, none is 0 or 1, and
    there are few enough of them to measure their calibration error.

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

    tables: ClassVar[tuple[str, ...]] = ("lower_edges", "log_probs", "log_complements")

    bins: int = arg("how many bins", default=15, least=1)

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

    def breakpoints(self) -> Doubles:
        """Return the edges of the bins as probabilities before the curve."""
        maps = [
            calibration_map
            for calibration_map in self._unpacked(int(self.learned(CLASSES)))
            if calibration_map["slope"]
        ]
        odds = [(map_["lower_edges"] - map_["intercept"]) / map_["slope"] for map_ in maps]
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


def _bin(score: Floats, parameters: MapParameters) -> Positions:
    return bin_index(score, np.append(parameters["lower_edges"], np.inf))


Interpolation = Literal["linear", "steps"]


@method("isotonic", "Isotonic regression", family="one score", freedom=160, parameters="decided by the data")
class Isotonic(OneDimensional):
    """The non-decreasing map of a score that is nearest to the outcomes.

    Learns: the nearest non-decreasing function of the score
    Keeps: with two classes, the order of the rows, up to ties
    Source: Zadrozny & Elkan 2002

    Parameters
    ----------
    smoothing : float
        Rows added against the order, half of them below all scores with the event, half above all scores
        without it: no unseen score gets probability 0 or 1. They reach the first and the last block, the only
        ones with a frequency of 0 or 1, and the result is still an isotonic fit. The default, 1 row in all,
        is the weight of Jeffreys' prior; 0 is the plain fit.
    interpolation : {"linear", "steps"}
        Between the blocks, a straight line, or the block below. Below the first and above the last, constant.
    {lens}

    References
    ----------
    Zadrozny & Elkan 2002, Transforming classifier scores into accurate multiclass probability estimates.
    """

    tables: ClassVar[tuple[str, ...]] = ("scores", "values")

    smoothing: float = arg(SMOOTHED, default=1.0, least=0)
    interpolation: Interpolation = arg("straight lines between blocks, or steps", default="linear")

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


@method(
    "centered-isotonic", "Centered isotonic regression", family="one score", freedom=150,
    parameters="decided by the data", effort=4,
)  # fmt: skip
class CenteredIsotonic(OneDimensional):
    """Straight lines between the blocks of an isotonic fit, each put at the mean score of its rows.

    Learns: straight lines between the blocks of isotonic regression, each at its mean score
    Keeps: with two classes, the order of the rows, up to ties
    Source: Oron & Flournoy 2017

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

    tables: ClassVar[tuple[str, ...]] = ("scores", "values")

    smoothing: float = arg(SMOOTHED, default=1.0, least=0)

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
    breakpoints = np.column_stack([low, high]).astype(np.float64).ravel()
    distinct = np.append(True, breakpoints[1:] > breakpoints[:-1])
    return {"scores": breakpoints[distinct], "values": np.repeat(value, 2)[distinct]}


def smooth_ends(blocks: Blocks, rows: float) -> Blocks:
    """Return the isotonic fit with half of `rows` added below all scores as hits, half above as misses."""
    hits, weight = blocks.hits.copy(), blocks.weight.copy()
    hits[0] += rows / 2
    weight[0] += rows / 2
    weight[-1] += rows / 2
    starts, hits, weight = pool(hits, weight)
    last = np.append(starts[1:], len(blocks.upper)) - 1
    return Blocks(blocks.lower[starts], blocks.upper[last], hits, weight)


STRENGTH = 2.0  # of the prior of a binning, in rows; the paper's N'


@method(
    "bbq", "Bayesian binning into quantiles", family="one score", freedom=140,
    parameters="decided by the data", effort=150,
)  # fmt: skip
class BBQ(OneDimensional):
    """The mean of many histograms of equal-mass bins, weighted by how well their bins explain the outcomes.

    Learns: the mean of histograms of many numbers of bins, weighted by their evidence
    Keeps: nothing
    Source: Naeini et al. 2015

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

    tables: ClassVar[tuple[str, ...]] = ("lower_edges", "values")

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the lower edges of the steps of the mean, and its values there."""
        order = np.argsort(event.prob, kind="stable")
        score = event.prob[order].astype(np.float64, copy=False)
        weights = None if weight is None else weight[order]
        root = float(len(score) if weight is None else weight.sum()) ** (1 / 3)
        largest = min(math.ceil(10 * root), len(distinct(score)))
        fewest = min(max(1, math.floor(root / 10)), largest)
        cuts = [equal_mass_cuts(score, bins, weights) for bins in range(fewest, largest + 1)]
        binnings = _Binnings.of(score, outcome[order], weights, cuts)
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
        """Return the binnings of ascending scores, cut at some positions."""
        start, stop = (np.concatenate([cut[ends] for cut in cuts]) for ends in (np.s_[:-1], np.s_[1:]))
        weights = np.ones(len(score)) if weight is None else weight.astype(np.float64, copy=False)
        count, hits = (_sums(values, start, stop) for values in (weights, weights * outcome))
        starts = np.flatnonzero(start == 0)
        number = np.diff(np.append(starts, len(start)))
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
        in_all = np.add.reduceat(evidence, starts)
        share = np.exp(in_all - in_all.max())
        return cls(lower, (hits + hit) / (count + prior), starts, share / share.sum())

    def each(self) -> Iterator[tuple[float, Doubles, Doubles]]:
        """Yield the share of each binning, and the lower edges and values of its bins."""
        bins = (np.split(values, self.first[1:]) for values in (self.lower_edges, self.values))
        return zip(self.share.tolist(), *bins, strict=True)


def _sums(values: Doubles, start: Positions, stop: Positions) -> Doubles:
    """Return the sums of values from each start to its stop, which is behind it."""
    return np.add.reduceat(np.append(values, 0), np.column_stack([start, stop]).ravel())[::2]


def _log_gamma(values: Doubles) -> Doubles:
    return np.array(list(map(math.lgamma, values.tolist())))


TREE = ("dimension", "threshold", "below", "above")


@method(
    "vector-histogram", "Histogram regression on vectors", family="vectors", freedom=230,
    parameters="decided by the data",
)  # fmt: skip
class VectorHistogram(Calibrator):
    """The frequencies of the classes in each bin of a partition that follows the data.

    Learns: the class frequencies in each bin of probability vectors, split where they vary most
    Keeps: nothing
    Source: Vaicenavicius et al. 2019, section 4.1
    Misses: with many classes the bins are wide and lose what differs within them: the rows needed grow
        exponentially with the classes

    Rows are split at the mean of the class with the most varied probability, again and again while a bin has
    rows enough.

    Parameters
    ----------
    min_rows : int
        Rows from which a bin is split, whatever their weights; it may leave bins with fewer.
    smoothing : float
        Rows with the overall frequencies of the classes added to each bin, and the same number spread evenly
        over the classes: no class gets a probability of 0. 0 is the plain frequency.

    References
    ----------
    Vaicenavicius et al. 2019, Evaluating model calibration in classification, sections 2.1 and 4.1 and
    appendix B, after Nobel 1996, Histogram regression estimation using data-dependent partitions.
    """

    min_rows: int = arg("bins of more rows are split at their mean", default=100, least=2)
    smoothing: float = arg(SMOOTHED, default=1.0, least=0)

    def learn(self, scores: Array, labels: Labels, weights: Array | None, start: Parameters | None) -> None:
        """Set `parameters`: the tree of the splits, and the (m, K) frequencies of the bins."""
        probs = _probs(scores)
        weighted = None if weights is None else weights > 0
        if weighted is not None and weights is not None and not weighted.all():
            probs, labels, weights = probs[weighted], labels[weighted], weights[weighted]
        splits = recursive_splits(probs, self.min_rows, weights)[1]
        bins, classes = len(splits.threshold) + 1, probs.shape[1]
        cells = splits.bin_of(probs) * classes + labels.astype(np.intp)
        count = np.bincount(cells, weights, bins * classes).reshape(bins, classes).astype(np.float64)
        overall = count.sum(0) + self.smoothing / classes
        overall /= overall.sum()
        values = (count + self.smoothing * overall) / (count.sum(1, keepdims=True) + self.smoothing)
        self.parameters = {name: getattr(splits, name) for name in TREE} | {"values": values}
        self.notes = (
            [] if bins > 1 else [f"one bin, as no {self.min_rows} rows differ: every row gets the same"]
        )

    def apply(self, scores: Array) -> Doubles:
        """Return the recalibrated log-probabilities, (N, K), of `scores`, (N, K)."""
        with np.errstate(divide="ignore"):
            values = np.log(self.learned("values"))
        return np.asarray(values[self._splits.bin_of(_probs(scores))])

    def breakpoints(self) -> Doubles:
        """Return the probabilities at which rows are split."""
        return np.asarray(self.learned("threshold"))

    @property
    def _splits(self) -> Splits:
        dimension, threshold, below, above = (np.asarray(self.learned(name)) for name in TREE)
        return Splits(dimension.astype(np.intp), threshold, below.astype(np.intp), above.astype(np.intp))

    def check(self) -> None:
        """Raise `ValueError` unless the parameters are such as a fit gives."""
        if not all(np.isfinite(self.learned(name)).all() for name in TREE):
            raise ValueError("splits that are not finite")
        values, splits = np.asarray(self.learned("values")), self._splits
        if values.ndim != 2 or values.min() < 0 or not np.allclose(values.sum(1), 1):
            raise ValueError("values that are not probabilities")
        bins, classes = values.shape
        tables = (splits.dimension, splits.threshold, splits.below, splits.above)
        if any(table.shape != (bins - 1,) for table in tables):
            raise ValueError("splits that are not those of the bins")
        if ((splits.dimension < 0) | (splits.dimension >= classes)).any():
            raise ValueError("splits of a class that there is not")
        sides, parents = np.stack([splits.below, splits.above]), np.arange(bins - 1)
        below = np.sort(np.append(sides, 0)) if bins > 1 else np.array([-1, 0])
        # each bin and each split but the first is once below a split with a lower number
        complete = np.array_equal(below, np.arange(-bins, max(bins - 1, 1)))
        if not complete or ((sides >= 0) & (sides <= parents)).any():
            raise ValueError("splits that make no tree")


def _probs(scores: Array) -> Doubles:
    return np.exp(log_softmax(scores.astype(np.float64, copy=False)))
