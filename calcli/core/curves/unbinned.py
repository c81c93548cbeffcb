"""Reliability without bins: the isotonic (CORP) curve and the kernel curve, each with a consistency band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.curves.reliability import BAND
from calcli.core.data.arrays import Doubles, Tables
from calcli.core.estimators.consistency import outcome_sums
from calcli.core.estimators.smooth import smooth_ece
from calcli.core.problems.pav import isotonic_blocks, pool
from calcli.core.problems.problem import Problem

CELLS = 1000  # runs of nearly equal scores of which each curve under calibration is made
GRID = 201  # points of a kernel curve
TICKS = 150  # raw data shown on each side


@dataclass(frozen=True)
class Curve:
    """Observed frequency as a function of the score.

    Attributes
    ----------
    lens
        The one-dimensional lens.
    bandwidth
        Standard deviation of the kernel; None for the isotonic curve.
    score
        (p,) ascending scores.
    frequency
        (p,) estimated frequency of the outcome.
    low, high
        (p,) the band in which 90% of the curves lie, point by point, if the scores are calibrated.
    misses, hits
        Scores of some rows without and with the outcome, evenly thinned.
    """

    lens: str
    bandwidth: float | None
    score: Doubles
    frequency: Doubles
    low: Doubles
    high: Doubles
    misses: Doubles
    hits: Doubles

    def tables(self) -> Tables:
        """Return the table behind the curve, and the rows shown as ticks."""
        columns = {
            "score": self.score,
            "frequency": self.frequency,
            "low_if_calibrated": self.low,
            "high_if_calibrated": self.high,
        }
        outcome = np.repeat([0, 1], [len(self.misses), len(self.hits)])
        rows = {"score": np.concatenate([self.misses, self.hits]), "outcome": outcome}
        return {"": columns, "some rows": rows}


def corp_curve(problem: Problem, lens: str, draws: int, rng: np.random.Generator) -> Curve:
    """Return the isotonic reliability curve (CORP; Dimitriadis, Gneiting & Jordan 2021).

    It is given at the lowest and the highest score of each block, and in between often enough for the band.

    Parameters
    ----------
    problem
        Scores and outcomes.
    lens
        The lens' name.
    draws
        Curves of simulated outcomes behind the band.
    rng
        Draws the outcomes.
    """
    blocks = isotonic_blocks(problem)
    ends = np.stack([blocks.lower, blocks.upper], axis=1).ravel().astype(np.float64)
    cells = _Cells(problem, draws, rng)
    score = np.union1d(ends, cells.score)
    frequency = np.interp(score, ends, np.repeat(blocks.value, 2))
    curves = np.empty(cells.simulated.shape)
    for curve, hits in zip(curves, cells.simulated, strict=True):
        first, block_hits, weight = pool(hits, cells.weight)
        curve[:] = np.repeat(block_hits / weight, np.diff(first, append=len(hits)))
    low, high = (np.interp(score, cells.score, bound) for bound in _band(curves))
    return Curve(lens, None, score, frequency, low, high, *_raw(problem))


def kernel_curve(problem: Problem, lens: str, draws: int, rng: np.random.Generator) -> Curve:
    """Return the reliability curve of a Gaussian kernel that is reflected at 0 and 1.

    It is the score plus the smoothed gap, outcome minus score, clipped to [0, 1]: smoothing the gap in place
    of the outcome keeps calibrated curves on the diagonal however wide the kernel is. The bandwidth is the
    smooth calibration error, but at least a step of the grid (Blasiok & Nakkiran 2024).

    Parameters
    ----------
    problem
        Scores and outcomes.
    lens
        The lens' name.
    draws
        Curves of simulated outcomes behind the band.
    rng
        Draws the outcomes.
    """
    bandwidth = max(smooth_ece(problem), 1 / (GRID - 1))
    cells = _Cells(problem, draws, rng)
    grid = np.linspace(cells.score[0], cells.score[-1], GRID)
    images = np.stack([cells.score, -cells.score, 2 - cells.score])
    kernel = np.exp(-0.5 * ((grid[:, None, None] - images) / bandwidth) ** 2).sum(1)
    density = kernel @ cells.weight
    # far from all scores every weight underflows and there is no estimate
    seen = density > 1e-9 * density.max()
    grid, mean = grid[seen], kernel[seen] / density[seen, None]
    expected = cells.weight * cells.score
    frequency = np.clip(grid + mean @ (cells.hits - expected), 0, 1)
    low, high = _band(np.clip(grid + (cells.simulated - expected) @ mean.T, 0, 1))
    return Curve(lens, bandwidth, grid, frequency, low, high, *_raw(problem))


class _Cells:
    """A problem summed over runs of nearly equal scores, and the same sums of simulated outcomes."""

    def __init__(self, problem: Problem, draws: int, rng: np.random.Generator) -> None:
        ends = np.append(0, problem.run_ends)
        cuts = ends[np.unique(np.linspace(0, len(ends) - 1, CELLS + 1).astype(np.intp))]
        bins = problem.binned(cuts)
        full = bins.weight > 0
        self.weight, self.hits = bins.weight[full], bins.outcome[full]
        # the mean of equal scores is that score, but for rounding
        least, most = problem.score[cuts[:-1][full]], problem.score[cuts[1:][full] - 1]
        self.score = np.clip(bins.score[full] / self.weight, least, most)
        self.simulated = outcome_sums(problem, cuts, draws, rng)[:, full]


def _band(curves: Doubles) -> tuple[Doubles, Doubles]:
    low, high = np.quantile(curves, [(1 - BAND) / 2, (1 + BAND) / 2], axis=0)
    return low, high


def _raw(problem: Problem) -> tuple[Doubles, Doubles]:
    return _thinned(problem.score[~problem.outcome]), _thinned(problem.score[problem.outcome])


def _thinned(score: NDArray[np.floating]) -> Doubles:
    kept = np.unique(np.linspace(0, len(score) - 1, min(TICKS, len(score))).astype(np.intp))
    return score[kept].astype(np.float64)
