"""A score and an outcome for every row: the problem behind every one-dimensional error.

Rows of the same score and outcome may be one entry, which stands for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Floats, batches
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
from calcli.core.problems.vectors import (
    VectorProblem,
)

NamedBinning = Literal["equal-width", "equal-mass"]


@dataclass(frozen=True)
class Recursive:
    """Bins that are split at their mean while they have at least so many rows."""

    min_rows: int


Binning = NamedBinning | tuple[float, ...] | Recursive  # or explicit edges


class Together(Protocol):
    """Rows of which a problem holds several pairs of score and outcome, which are drawn together."""

    def drawn(self, draws: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return (draws, n) outcomes, drawn from the predictions."""

    def within(self, kept: slice, low: float, high: float) -> Together:
        """Return the same of a part of the problem."""

    def resampled(self, rng: np.random.Generator) -> Problem:
        """Return the problem of rows drawn with replacement, their outcomes from their predictions."""


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
    rows
        What is drawn together; None if every pair is a row of its own.
    counts
        (n,) how many rows each entry stands for, their weights being the sum of theirs; None for one each.
    squares
        (n,) sums of their squared weights; None with `counts`.
    """

    score: Floats
    outcome: NDArray[np.bool_]
    weights: Floats | None = None
    rows: Together | None = None
    counts: NDArray[np.int64] | None = None
    squares: Floats | None = None
    _cuts: dict[tuple[Binning, int], NDArray[np.intp]] = field(default_factory=dict, repr=False)
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
    def is_run_end(self) -> NDArray[np.bool_]:
        """(n,) whether a row is the last one of a run of equal scores."""
        return is_run_end(self.score)

    @cached_property
    def run_ends(self) -> NDArray[np.intp]:
        """Positions just behind each run of equal scores."""
        return np.flatnonzero(self.is_run_end) + 1

    @cached_property
    def squared_weights(self) -> Floats:
        """(n,) squared row weights, or sums of them."""
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
        """Return the rows whose score lies in [low, high], in [low, high) below 1."""
        start, stop = edge_cuts(self.score, np.array([0.0, low, high, 1.0]))[1:3]
        stop = len(self.score) if high >= 1 else stop
        kept = slice(int(start), int(stop))
        rows = None if self.rows is None else self.rows.within(kept, low, high)
        return replace(self.at(kept), rows=rows)

    def resampled(self, rng: np.random.Generator) -> Problem:
        """Return rows that are drawn with replacement, their outcomes from their scores.

        Consistency resampling (Vaicenavicius et al. 2019, section 4.2); again if none has weight, or
        none is in the region, as that is not data.
        """
        if self.rows is not None:
            drawn = self.rows.resampled(rng)
        else:
            n = len(self.score)
            rows = np.sort(rng.integers(0, n, n))
            score = self.score[rows]
            weights = None if self.weights is None else self.weights[rows]
            drawn = Problem(score, rng.random(n) < score, weights)
        return drawn if drawn.total_weight else self.resampled(rng)

    def at(self, rows: slice) -> Problem:
        """Return some rows, as if every pair were a row of its own."""
        weights = None if self.weights is None else self.weights[rows]
        counts = None if self.counts is None else self.counts[rows]
        squares = None if self.squares is None else self.squares[rows]
        return Problem(self.score[rows], self.outcome[rows], weights, None, counts, squares)

    def of_other_class(self) -> Problem:
        """Return the problem of the first of two classes, if this is that of the second."""
        turned = self.at(slice(None, None, -1))
        return replace(turned, score=1 - turned.score, outcome=~turned.outcome)

    def in_region(self, region: str, owner: str) -> Problem:
        """Return the rows whose score lies in a region such as "0.8..1"; "all" for every row.

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

    def cumulative_gap(self) -> NDArray[np.float64]:
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

    def _gaps(self, rows: slice) -> NDArray[np.float64]:
        gap = np.subtract(self.outcome[rows], self.score[rows], dtype=np.float64)
        return gap if self.weights is None else np.multiply(gap, self.weights[rows], out=gap)

    def cuts(self, binning: Binning, bins: int) -> NDArray[np.intp]:
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

    def binned(self, cuts: NDArray[np.intp]) -> Bins:
        """Return the sums between consecutive cuts."""
        count = np.diff(cuts if self.counts is None else np.append(0, np.cumsum(self.counts))[cuts])
        if self.weights is None:
            outcome = segment_sums(self.outcome, cuts)
            return Bins(count, count.astype(np.float64), segment_sums(self.score, cuts), outcome)
        weighted = (self.weights, self.score * self.weights, self.outcome * self.weights)
        return Bins(count, *(segment_sums(values, cuts) for values in weighted))


def segment_sums(values: Array, cuts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum values between consecutive cuts, the last of which is their number, along the last axis."""
    starts = cuts[:-1]
    if values.ndim == 1 and len(values) > LONG * len(starts):
        parts = (values[start:stop] for start, stop in pairwise(cuts.tolist()))
        # several times as fast as reduceat, which turns one value after the other into a double
        total = np.count_nonzero if values.dtype == bool else partial(np.sum, dtype=np.float64)
        return np.array([total(part) for part in parts], np.float64)
    filled = starts < cuts[1:]
    sums = np.zeros((*values.shape[:-1], len(starts)))
    if filled.any():
        sums[..., filled] = np.add.reduceat(values, starts[filled], axis=-1, dtype=np.float64)
    return sums


def ordered_problem(score: Floats, outcome: Array, weights: Floats | None = None) -> Problem:
    """Sort an induced problem by its score; rows of weight 0 are left out.

    Without weights the outcome is packed below the bits of the score, so that one plain sort of integers
    does it; non-negative floats sort like their bits.
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
