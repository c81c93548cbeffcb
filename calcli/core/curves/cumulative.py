"""The numbers of KS graphs: cumulative and smoothed scores and outcomes against the fractile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.spline import even_knots, spline_basis
from calcli.core.curves.needs import row_weights
from calcli.core.data.arrays import Doubles, Tables
from calcli.core.data.chance import Stream, generator
from calcli.core.estimators.calibrationerror import null_distributions
from calcli.core.estimators.consistency import Null
from calcli.core.estimators.cumulative import KolmogorovSmirnov
from calcli.core.problems.problem import Problem

POINTS = 800  # more cannot be told apart in print
KNOTS = 6  # of the spline, as in Gupta et al. 2021


@dataclass(frozen=True)
class Cumulative:
    """Sums over the rows of the lowest scores, and the rates at which they grow.

    Attributes
    ----------
    lens
        The one-dimensional lens.
    fractile
        (p,) ascending share of the rows, from 0 to 1; there twice where equal scores begin.
    score_sum, outcome_sum
        (p,) sum of the scores and of the outcomes over that share, divided by the weight of all rows.
    score
        (p,) the score at the fractile, a step where equal scores begin.
    frequency
        (p,) expected outcome at the fractile: score plus the slope of a spline through the difference of
        the sums, clipped to [0, 1].
    widest
        Where the sums differ most: its index.
    ks
        The difference there (Gupta et al. 2021, eq. 12), in [0, 1].
    if_calibrated
        Its distribution if calibrated, where that was computed.
    """

    lens: str
    fractile: Doubles
    score_sum: Doubles
    outcome_sum: Doubles
    score: Doubles
    frequency: Doubles
    widest: int
    ks: float
    if_calibrated: Null | None = None

    def tables(self) -> Tables:
        """Return the table behind the graphs."""
        columns = {
            "fractile": self.fractile,
            "score_sum": self.score_sum,
            "outcome_sum": self.outcome_sum,
            "score": self.score,
            "frequency": self.frequency,
        }
        return {"": columns}


def cumulative(problem: Problem, lens: str = "top-1", knots: int = KNOTS) -> Cumulative:
    """Return the cumulative curves of an ordered problem (Gupta et al. 2021, fig. 1).

    The slopes are those of a spline of so many knots. Of many distinct scores some 800 are kept, among them
    the one where the sums differ most and those of many rows. Rows of equal scores have one slope: it is
    told where they begin and where they end.
    """
    ends, rows = problem.run_ends, _rows_of_runs(problem)
    gap = problem.cumulative_gap()
    widest = int(np.abs(gap).argmax())
    many = np.flatnonzero(rows * POINTS > problem.n_rows)
    even = np.linspace(0, len(ends) - 1, POINTS).astype(np.intp)
    kept = np.unique(np.concatenate([even, [widest], many, many - 1]).clip(min=0))
    score = problem.score.astype(np.float64, copy=False)
    weights = row_weights(problem)
    share = _sums_at(weights, ends[kept]) / problem.total_weight
    score_sum = _sums_at(weights * score, ends[kept]) / problem.total_weight
    gap_kept = np.append(0, gap[kept])
    at = np.append(score[0], score[ends[kept] - 1])
    frequency = np.clip(at + _slope(share, gap_kept, knots), 0, 1)
    tied = 1 + np.flatnonzero((rows[kept] > 1) & (np.diff(kept, prepend=0) == 1))  # steps behind another one
    sums, slopes = (np.sort(np.append(np.arange(len(share)), more)) for more in (tied - 1, tied))
    return Cumulative(
        lens,
        share[sums],
        score_sum[sums],
        (score_sum + gap_kept)[sums],
        at[slopes],
        frequency[slopes],
        int(np.searchsorted(sums, np.searchsorted(kept, widest) + 1)),
        float(abs(gap[widest])),
    )


def _rows_of_runs(problem: Problem) -> Doubles:
    """Return how many rows each run of equal scores has."""
    counts = np.ones(len(problem.score)) if problem.counts is None else problem.counts.astype(np.float64)
    return np.diff(_sums_at(counts, problem.run_ends))


def ks_if_calibrated(problem: Problem, draws: int, seed: int) -> Null | None:
    """Return the distribution of the KS error if calibrated; None without draws."""
    if not draws:
        return None
    measure, rng = KolmogorovSmirnov(), generator(seed, Stream.OUTCOMES)
    return null_distributions(problem, [measure], [measure.value(problem)], draws, rng)[0]


def _sums_at(values: Doubles, ends: NDArray[np.intp]) -> Doubles:
    return np.append(0, np.cumsum(values)[ends - 1])


def _slope(share: Doubles, gap: Doubles, knots: int) -> Doubles:
    """Return the slope of the least-squares spline through the gap, as the mean over each step.

    A step whose weight is lost in rounding has the slope of the one before it.
    """
    grid, at = np.linspace(0, 1, POINTS), even_knots(knots)
    heights = np.linalg.lstsq(spline_basis(grid, at, "natural"), np.interp(grid, share, gap))[0]
    distinct, step = np.unique(share, return_inverse=True)
    rise = np.diff(spline_basis(distinct, at, "natural") @ heights) / np.diff(distinct)
    return np.append(rise[0], rise)[step].astype(np.float64, copy=False)
