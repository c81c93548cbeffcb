"""Lenses: which aspect of calibration is looked at (Vaicenavicius et al. 2019, section 2).

A one-dimensional lens maps predictions to an induced binary problem: a score in [0, 1] and an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.binning import equal_mass_cuts, equal_width_cuts, is_run_end
from calcli.core.errors import UsageError
from calcli.core.predictions import Array, Floats
from calcli.core.rows import ROW_STATISTICS, Bins, RowStatistic

Binning = Literal["equal-width", "equal-mass"]


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


def find_lens(name: str, n_classes: int) -> Lens:
    """Return the one-dimensional lens of that name.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    if name == "top-1":
        return Lens(name, "confidence", "hit", {key: ROW_STATISTICS[key] for key in ("confidence", "hit")})
    kind, _, number = name.rpartition("-")
    if kind == "class" and number.isdigit() and int(number) < n_classes:
        k = int(number)
        score, outcome = f"probability of {k}", f"label is {k}"
        statistics: dict[str, RowStatistic] = {
            score: lambda block: block.column(k),
            outcome: lambda block: block.labels == k,
        }
        return Lens(name, score, outcome, statistics)
    known = f"top-1, class-wise, class-0 to class-{n_classes - 1}"
    raise UsageError(f"unknown lens {name!r}; it can be {known}")


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

    def cuts(self, binning: Binning, bins: int) -> NDArray[np.intp]:
        """Return the positions at which a binning parts the rows."""
        if (binning, bins) not in self._cuts:
            if binning == "equal-width":
                cuts = equal_width_cuts(self.score, bins)
            else:
                cuts = equal_mass_cuts(self.score, bins, self.weights)
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
            outcome = segment_sums(self.outcome.view(np.uint8), cuts)
            return Bins(count, count.astype(np.float64), segment_sums(self.score, cuts), outcome)
        weighted = (self.weights, self.score * self.weights, self.outcome * self.weights)
        return Bins(count, *(segment_sums(values, cuts) for values in weighted))


def segment_sums(values: Array, cuts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum values between consecutive cuts, the last of which is their number, along the last axis."""
    starts = cuts[:-1]
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
