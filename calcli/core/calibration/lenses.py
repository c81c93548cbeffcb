"""Lenses: which aspect of calibration is looked at (Vaicenavicius et al. 2019, section 2).

A one-dimensional lens maps predictions to an induced binary problem, a score in [0, 1] and an outcome; a
vector lens to a problem of several outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibration.binning import edge_cuts, equal_mass_cuts, equal_width_cuts, is_run_end
from calcli.core.calibration.vectors import (
    VectorLens,
    VectorProblem,
    canonical_lens,
    group_lens,
    largest_lens,
)
from calcli.core.errors import UsageError
from calcli.core.expressions import nearest_name, region_ends
from calcli.core.predictions import Array, Floats
from calcli.core.rows import ROW_STATISTICS, Bins, RowStatistic

WHOLE = ("canonical", "class-wise", "worst-class")
NUMBERED = ("top", "within-top", "class", "largest")  # kinds of lenses that a number follows
NamedBinning = Literal["equal-width", "equal-mass"]
Binning = NamedBinning | tuple[float, ...]  # or explicit edges
LONG = 1000  # values between two cuts from which they are better summed by themselves


@dataclass(frozen=True)
class Lens:
    """A one-dimensional lens: how a block becomes scores and outcomes.

    Attributes
    ----------
    name
        As written in metric expressions.
    score, outcome
        Names of the row statistics that are its score in [0, 1] and its outcome.
    statistics
        How they are computed from a block.
    """

    name: str
    score: str
    outcome: str
    statistics: dict[str, RowStatistic]


Groups = Mapping[str, Sequence[Sequence[int]]]


def find_lens(name: str, n_classes: int, groups: Groups | None = None) -> Lens | VectorLens:
    """Return the lens of that name.

    Parameters
    ----------
    name
        `top-1`, `top-r`, `within-top-r` (Gupta et al. 2021), `class-k`, `canonical`, `largest-k` (the k
        largest probabilities and the rest; Vaicenavicius et al. 2019, example 2.iii), or a name of groups.
    n_classes
        K.
    groups
        Partitions of the classes by name: the class numbers of each group.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    if name == "top-1":
        return Lens(name, "confidence", "hit", {key: ROW_STATISTICS[key] for key in ("confidence", "hit")})
    if groups and name in groups:
        return group_lens(groups[name])
    if name == "canonical":
        return canonical_lens(n_classes)
    kind, _, digits = name.rpartition("-")
    number = int(digits) if digits.isdigit() else -1
    if kind == "class" and 0 <= number < n_classes:
        return _score_lens(name, lambda block: block.column(number), lambda block: block.labels == number)
    if kind == "top" and 1 <= number <= n_classes:
        return _score_lens(
            name,
            lambda block: block.largest(number)[1][:, -1],
            lambda block: block.largest(number)[0][:, -1] == block.labels,
        )
    if kind == "within-top" and 1 <= number <= n_classes:
        return _score_lens(
            name,
            lambda block: np.minimum(block.largest(number)[1].sum(1), 1),
            lambda block: (block.largest(number)[0] == block.labels[:, None]).any(1),
        )
    if kind == "largest" and 1 <= number < n_classes:
        return largest_lens(number)
    if name in WHOLE:
        raise UsageError(f"the lens {name} is of no single problem here; expected one such as class-0")
    named = "".join(f", {group}" for group in groups or ())
    last = n_classes - 1
    raise UsageError(
        f"unknown lens {name!r}{_nearest_lens(name, groups or ())}; for these classes it can be top-1 to "
        f"top-{n_classes}, within-top-1 to within-top-{n_classes}, class-0 to class-{last}, class-wise, "
        f"worst-class, canonical, largest-1 to largest-{last}{named}"
    )


def _nearest_lens(name: str, groups: Iterable[str]) -> str:
    kind, _, digits = name.rpartition("-")
    if kind in NUMBERED and digits.isdigit():
        return ""  # well written, but the number is out of range
    number = digits if digits.isdigit() else "1"
    return nearest_name(name, [*(f"{kind}-{number}" for kind in NUMBERED), *WHOLE, *groups])


def find_scalar_lens(name: str, n_classes: int) -> Lens:
    """Return the one-dimensional lens of that name.

    Raises
    ------
    UsageError
        If there is no such lens, or it has several outcomes.
    """
    lens = find_lens(name, n_classes)
    if not isinstance(lens, Lens):
        raise UsageError(f"the lens {name} has several outcomes; expected one score, as of top-1 or class-0")
    return lens


def _score_lens(name: str, score: RowStatistic, outcome: RowStatistic) -> Lens:
    columns = f"{name} score", f"{name} outcome"
    return Lens(name, *columns, dict(zip(columns, (score, outcome), strict=True)))


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
    """

    score: Floats
    outcome: NDArray[np.bool_]
    weights: Floats | None = None
    _cuts: dict[tuple[Binning, int], NDArray[np.intp]] = field(default_factory=dict, repr=False)
    _bins: dict[tuple[Binning, int], Bins] = field(default_factory=dict, repr=False)

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

    def within(self, low: float, high: float) -> Problem:
        """Return the rows whose score lies in [low, high], in [low, high) below 1."""
        start, stop = edge_cuts(self.score, np.array([0.0, low, high, 1.0]))[1:3]
        stop = len(self.score) if high >= 1 else stop
        rows = slice(start, stop)
        weights = None if self.weights is None else self.weights[rows]
        return Problem(self.score[rows], self.outcome[rows], weights)

    def in_region(self, region: str, owner: str) -> Problem:
        """Return the rows whose score lies in a region such as "0.8..1"; "all" for every row.

        Raises
        ------
        UsageError
            If there is no such row; the owner, a metric or an option, is named.
        """
        if region == "all":
            return self
        low, high = region_ends(region)
        inside = self.within(low, high)
        if not len(inside.score):
            raise UsageError(f"{owner}: no row has a score from {low:g} to {high:g}")
        return inside

    def as_vectors(self) -> VectorProblem:
        """Return the problem as one of two outcomes: it happens, it does not."""
        probs = np.stack([self.score, 1 - self.score], axis=1)
        return VectorProblem(probs, 1 - self.outcome.astype(np.intp), self.weights)

    def cumulative_gap(self) -> NDArray[np.float64]:
        """Return the cumulative outcome minus the cumulative score at the end of each run of equal scores."""
        gap = np.subtract(self.outcome, self.score, dtype=np.float64)
        if self.weights is not None:
            gap *= self.weights
        np.cumsum(gap, out=gap)
        gap /= self.total_weight
        return gap if self.is_run_end.all() else gap[self.is_run_end]

    @cached_property
    def widest_gap(self) -> float:
        """The cumulative gap of largest size."""
        gap = self.cumulative_gap()
        return float(gap[np.abs(gap).argmax()])

    def cuts(self, binning: Binning, bins: int) -> NDArray[np.intp]:
        """Return the positions at which a binning parts the rows."""
        if (binning, bins) not in self._cuts:
            if binning == "equal-width":
                cuts = equal_width_cuts(self.score, bins)
            elif binning == "equal-mass":
                cuts = equal_mass_cuts(self.score, bins, self.weights)
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
        count = np.diff(cuts)
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
    """Sort an induced problem by its score.

    Without weights the outcome is packed below the bits of the score, so that one plain sort of integers
    does it; non-negative floats sort like their bits.
    """
    if weights is not None:
        order = np.argsort(score, kind="stable")
        return Problem(score[order], outcome[order].astype(bool), weights[order])
    unsigned = np.uint32 if score.dtype == np.float32 else np.uint64
    # the sum makes a copy and turns -0.0 into 0.0
    keys: NDArray[np.unsignedinteger[Any]] = (score + 0).view(unsigned)
    keys <<= 1
    keys |= outcome
    keys.sort()
    hits = (keys & 1).astype(bool)
    keys >>= 1
    return Problem(keys.view(score.dtype), hits)
