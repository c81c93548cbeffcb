"""A score and an outcome for every row: the problem behind every one-dimensional error.

Rows of the same score and outcome may share one entry, which stands for them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Bools, Doubles, Floats, Positions, batches
from calcli.core.data.binning import (
    Bins,
    edge_cuts,
    equal_mass_cuts,
    equal_width_cuts,
    is_run_end,
    recursive_cuts,
)
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import region_ends
from calcli.core.problems.lenses import VectorProblem

NamedBinning = Literal["equal-width", "equal-mass"]


@dataclass(frozen=True)
class Recursive:
    """Bins split at their mean while they have at least `min_rows` rows."""

    min_rows: int


Binning = NamedBinning | tuple[float, ...] | Recursive  # or explicit edges


LONG = 1000  # values between two cuts from which they are better summed by themselves
GAPS = 1 << 16  # rows whose gaps are added up at once; their temporaries stay in the cache


@dataclass(frozen=True)
class Problem:
    """An induced binary problem, its rows in ascending order of the score.

    Attributes
    ----------
    score
        (n,) ascending, in [0, 1].
    outcome
        (n,) booleans in the same order.
    weights
        (n,) row weights in the same order, or None.
    counts
        (n,) how many rows each entry stands for, their weights being the sum of theirs; None for one each.
    squares
        (n,) sums of their squared weights; None with `counts`.
    """

    score: Floats
    outcome: Bools
    weights: Floats | None = None
    counts: NDArray[np.int64] | None = None
    squares: Floats | None = None
    _cuts: dict[tuple[Binning, int], Positions] = field(default_factory=dict, repr=False)
    _bins: dict[tuple[Binning, int], Bins] = field(default_factory=dict, repr=False)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.score) if self.counts is None else int(self.counts.sum())

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows without weights."""
        return float(len(self.score) if self.weights is None else self.weights.sum())

    @cached_property
    def is_run_end(self) -> Bools:
        """(n,) whether a row is the last one of a run of equal scores."""
        return is_run_end(self.score)

    @cached_property
    def run_ends(self) -> Positions:
        """Positions just behind each run of equal scores."""
        return np.flatnonzero(self.is_run_end) + 1

    @cached_property
    def squared_weights(self) -> Floats:
        """(n,) squared row weights, or their sums."""
        if self.squares is not None:
            return self.squares
        return np.ones(len(self.score)) if self.weights is None else np.square(self.weights)

    @cached_property
    def mean_row_weights(self) -> Floats:
        """(n,) weight of a row of each entry; of rows of unlike weights their mean, by weight."""
        if self.weights is None or self.squares is None:
            return np.ones(len(self.score)) if self.weights is None else self.weights
        return np.divide(self.squares, self.weights, out=np.zeros(len(self.score)), where=self.weights > 0)

    def within(self, low: float, high: float) -> Problem:
        """Return the rows with a score in [low, high], or in [low, high) below 1."""
        start, stop = edge_cuts(self.score, np.array([0.0, low, high, 1.0]))[1:3]
        stop = len(self.score) if high >= 1 else stop
        return self.at(slice(int(start), int(stop)))

    def at(self, rows: slice) -> Problem:
        """Return some rows."""
        weights = None if self.weights is None else self.weights[rows]
        counts = None if self.counts is None else self.counts[rows]
        squares = None if self.squares is None else self.squares[rows]
        return Problem(self.score[rows], self.outcome[rows], weights, counts, squares)

    def in_region(self, region: str, owner: str) -> Problem:
        """Return the rows with a score in a region such as "0.8..1"; "all" for every row.

        Raises
        ------
        UsageError
            If there is no such row of weight; the owner, a metric or an option, is named.
        """
        if region == "all":
            return self
        low, high = region_ends(region)
        inside = self.within(low, high)
        if not inside.total_weight:
            raise UsageError(f"{owner}: no row has a score from {low:g} to {high:g}")
        return inside

    def as_vectors(self) -> VectorProblem:
        """Return the problem as one of two outcomes: it happens, it does not.

        Raises
        ------
        NeedsRows
            If entries stand for several rows.
        """
        if self.counts is not None:
            raise NeedsRows("its estimator looks at single rows")
        probs = np.stack([self.score, 1 - self.score], axis=1)
        return VectorProblem(probs, 1 - self.outcome.astype(np.intp), self.weights)

    def cumulative_gap(self) -> Doubles:
        """Return the cumulative outcome minus the cumulative score at the end of each run of equal scores."""
        gap = self._gaps(slice(None))
        np.cumsum(gap, out=gap)
        gap /= self.total_weight
        return gap if self.is_run_end.all() else gap[self.is_run_end]

    @cached_property
    def gap_extremes(self) -> tuple[float, float]:
        """The least and the largest cumulative gap, 0 before the first row among them."""
        low = high = before = 0.0
        for rows in batches(len(self.score), 1, GAPS):
            gap = self._gaps(rows)
            gap[0] += before
            np.cumsum(gap, out=gap)
            before = gap[-1]
            gap *= self.is_run_end[rows]
            low, high = min(low, gap.min()), max(high, gap.max())
        return float(low / self.total_weight), float(high / self.total_weight)

    def _gaps(self, rows: slice) -> Doubles:
        gap = np.subtract(self.outcome[rows], self.score[rows], dtype=np.float64)
        return gap if self.weights is None else np.multiply(gap, self.weights[rows], out=gap)

    def cuts(self, binning: Binning, bins: int) -> Positions:
        """Return the positions at which a binning parts the rows."""
        if (binning, bins) not in self._cuts:
            if binning == "equal-width":
                cuts = equal_width_cuts(self.score, bins)
            elif binning == "equal-mass":
                cuts = equal_mass_cuts(self.score, bins, self.weights)
            elif isinstance(binning, Recursive):
                cuts = recursive_cuts(self.score, binning.min_rows, self.weights, self.counts)
            else:
                cuts = edge_cuts(self.score, np.array(binning))
            self._cuts[binning, bins] = cuts
        return self._cuts[binning, bins]

    def bins(self, binning: Binning, bins: int) -> Bins:
        """Return the sums over the bins of a binning."""
        if (binning, bins) not in self._bins:
            self._bins[binning, bins] = self.binned(self.cuts(binning, bins))
        return self._bins[binning, bins]

    def binned(self, cuts: Positions) -> Bins:
        """Return the sums between consecutive cuts."""
        count = np.diff(cuts if self.counts is None else np.append(0, np.cumsum(self.counts))[cuts])
        if self.weights is None:
            outcome = segment_sums(self.outcome, cuts)
            return Bins(count, count.astype(np.float64), segment_sums(self.score, cuts), outcome)
        weighted = (self.weights, self.score * self.weights, self.outcome * self.weights)
        return Bins(count, *(segment_sums(values, cuts) for values in weighted))


def segment_sums(values: Array, cuts: Positions) -> Doubles:
    """Sum values between consecutive cuts along the last axis; the last cut is the number of values."""
    starts = cuts[:-1]
    if values.ndim == 1 and len(values) > LONG * len(starts):
        segments = (values[start:stop] for start, stop in pairwise(cuts.tolist()))
        # several times as fast as reduceat, which turns one value after the other into a double
        total = np.count_nonzero if values.dtype == bool else partial(np.sum, dtype=np.float64)
        return np.array([total(part) for part in segments], np.float64)
    filled = starts < cuts[1:]
    sums = np.zeros((*values.shape[:-1], len(starts)))
    if filled.any():
        sums[..., filled] = np.add.reduceat(values, starts[filled], axis=-1, dtype=np.float64)
    return sums


def ordered_problem(score: Floats, outcome: Array, weights: Floats | None = None) -> Problem:
    """Sort an induced problem by its score; rows of weight 0 are left out.

    Without weights the outcome is packed below the bits of the score, for one plain sort of integers;
    non-negative floats sort like their bits.
    """
    if weights is not None:
        order = np.argsort(score, kind="stable")
        if not weights.all():
            order = order[weights[order] > 0]
        return Problem(score[order], outcome[order].astype(bool), weights[order])
    keys = keys_of(score, outcome)
    keys.sort()
    hits = (keys & 1).astype(bool)
    keys >>= 1
    return Problem(keys.view(score.dtype), hits)


def keys_of(score: Floats, outcome: Array) -> NDArray[np.unsignedinteger[Any]]:
    """Return the bits of (n,) scores with their outcomes below them."""
    unsigned = np.uint32 if score.dtype == np.float32 else np.uint64
    # the sum makes a copy and turns -0.0 into 0.0
    keys: NDArray[np.unsignedinteger[Any]] = (score + 0).view(unsigned)
    keys <<= 1
    keys |= outcome
    return keys


FEW = 64  # so few blocks are pooled faster one by one
MANY_TIES = 0.002  # share of rows in the middle of mixed ties from which looking up each takes longer


class Blocks(NamedTuple):
    """The blocks of an isotonic fit, in ascending order of score.

    Attributes
    ----------
    lower, upper : array (B,)
        Smallest and largest score in each block.
    hits : array (B,)
        Weight of the rows with outcome 1.
    weight : array (B,)
        Weight of all rows.
    """

    lower: Floats
    upper: Floats
    hits: Doubles
    weight: Doubles

    @property
    def value(self) -> Doubles:
        """Frequency of the outcome in each block, (B,), increasing."""
        return self.hits / self.weight


def pav(score: Floats, outcome: Array, weight: Floats | None = None) -> Blocks:
    """Return the isotonic fit of 0/1 outcomes on a score: equal scores share a block, equal values too.

    Parameters
    ----------
    score : array (N,)
        Any real numbers.
    outcome : array (N,)
        0 or 1, or booleans.
    weight : array (N,), optional
        Positive weights. Default: all 1.

    Returns
    -------
    Blocks
        Their `value` increases strictly.
    """
    if weight is None and score.min() < 0:
        weight = np.ones(len(score))  # only non-negative scores can be sorted by their bits
    return isotonic_blocks(ordered_problem(score, outcome.astype(np.bool_, copy=False), weight))


def isotonic_blocks(problem: Problem) -> Blocks:
    """Return the isotonic fit of a problem with rows in ascending order of score; see `pav`."""
    if problem.weights is None:
        start = _run_starts(problem)
        hits = np.add.reduceat(problem.outcome, start, dtype=np.float64)
        weight = np.diff(start, append=len(problem.score)).astype(np.float64)
    else:
        cuts = np.append(0, np.flatnonzero(problem.is_run_end) + 1)
        start = cuts[:-1]
        hits = segment_sums(problem.weights * problem.outcome, cuts)
        weight = segment_sums(problem.weights, cuts)
    starts, hits, weight = pool(hits, weight)
    start = start[starts]
    last = np.append(start[1:], len(problem.score)) - 1
    return Blocks(problem.score[start], problem.score[last], hits, weight)


def pool(hits: Doubles, weight: Doubles) -> tuple[Positions, Doubles, Doubles]:
    """Pool adjacent blocks until their frequencies increase strictly.

    All chains of falling neighbors are merged at once while that removes many blocks; the remaining blocks
    are pooled one by one, in linear time whatever the data.

    Parameters
    ----------
    hits, weight : array (B,)
        Weight of the outcomes 1 and of all rows in each block.

    Returns
    -------
    first : array of int (C,)
        The old block with which each new one begins.
    hits, weight : array (C,)
        Sums over the new blocks.
    """
    starts = np.arange(len(hits))
    while len(hits) > FEW:
        frequency = hits / weight
        rising = np.flatnonzero(np.append(True, frequency[1:] > frequency[:-1]))
        if len(rising) > 0.9 * len(hits):
            break
        starts, hits, weight = starts[rising], np.add.reduceat(hits, rising), np.add.reduceat(weight, rising)
    pooled: list[tuple[int, float, float]] = []
    for begin, hit, size in zip(starts.tolist(), hits.tolist(), weight.tolist(), strict=True):
        while pooled and pooled[-1][1] * size >= hit * pooled[-1][2]:
            begin, hits_before, size_before = pooled.pop()
            hit, size = hit + hits_before, size + size_before
        pooled.append((begin, hit, size))
    begins, hit_sums, sizes = zip(*pooled, strict=True)
    return np.array(begins, dtype=np.intp), np.array(hit_sums), np.array(sizes)


def _run_starts(problem: Problem) -> Positions:
    """Return where each run of equal outcomes begins; equal scores with both outcomes are a run of their own.

    Within equal scores the rows without weights are in ascending order of outcome. Where scores are often
    equal, every run of equal scores is one.
    """
    score, outcome = problem.score, problem.outcome
    change = np.flatnonzero(outcome[1:] != outcome[:-1]) + 1
    start = np.append(0, change)
    mixed = change[score[change] == score[change - 1]]
    if len(mixed) > MANY_TIES * len(score):
        return np.append(0, problem.run_ends[:-1])
    if len(mixed):
        begins = np.zeros(len(score) + 1, np.bool_)
        for side in ("left", "right"):
            begins[np.searchsorted(score, score[mixed], side=side)] = True
        begins[start] = True
        begins[mixed] = False
        start = np.flatnonzero(begins[:-1])
    return start
