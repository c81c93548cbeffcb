"""Spline calibration (Gupta et al. 2021): the slope of a smoothed cumulative curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.onevsrest import MapParameters, OneDimensional, interpolated
from calcli.core.data.arrays import Array, Doubles
from calcli.core.problems.problem import Problem, ordered_problem

Runout = Literal["natural", "quadratic", "cubic"]

GRID = 4096  # steps of the fractile at which the curve is looked at, and scores that are kept


@dataclass(kw_only=True, eq=False, repr=False)
class Spline(OneDimensional):
    """The score plus the slope, at its fractile, of a spline through the cumulative difference to outcomes.

    With rows in ascending order of score, t the share of rows up to a score, and G(t) the sum of
    outcome - score over them divided by the number of all rows, the expected outcome is score + G'(t). G is
    replaced by the cubic spline on evenly spaced knots that is nearest to it in least squares; for a score
    that a share of the rows have in common, the slope is the mean over that share. Of calibrated scores G is
    0 but for noise, and they stay.

    Parameters
    ----------
    knots : int
        Number of knots, 4 or more.
    runout : {"natural", "quadratic", "cubic"}
        The outer pieces: without curvature at the ends, quadratic, or one cubic with their neighbors.
    smoothing : float
        The slope can lead out of [0, 1]. The calibrated score is clipped to no less than (m / 2) / (n + m),
        what Jeffreys' prior (m = 1) makes of an outcome never seen in n rows, and to no more than 1
        minus that. 0 clips to [0, 1].
    lens : str
        What the map acts on: "class-wise", every class against the rest; "class-0" and so on, one class;
        "top-1", the confidence, "top-2" and so on; "within-top-2" and so on, the sum of the largest; or
        "top-wise", as class-wise, with a map for each rank in place of each class.
    keep_top : bool
        Whether, with "top-r" and "within-top-r", every class keeps its rank, the predicted one too.
    ranks : int
        With "top-wise", how many ranks have a map; 0 is all of them.

    References
    ----------
    Gupta et al. 2021, Calibration of neural networks using splines, section 4 and appendix C.
    """

    name: ClassVar[str] = "spline"
    tables: ClassVar[tuple[str, ...]] = ("scores", "values")

    knots: int = 6
    runout: Runout = "natural"
    smoothing: float = 1.0

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return calibrated `values` at some `scores`, between which the map is linear."""
        problem = ordered_problem(event.prob, outcome, weight)
        scores = problem.score[problem.is_run_end].astype(np.float64)
        share = _cumulative_share(problem)
        gap = np.append(0, problem.cumulative_gap())
        grid = np.linspace(0, 1, GRID + 1)
        heights = _least_squares(self.knots, self.runout) @ np.interp(grid, share, gap)
        grows = np.diff(share) > 0  # not by rows whose weight is nothing beside that of all
        kept = np.append(True, grows)
        scores, share, gap = scores[grows], share[kept], gap[kept]
        slope = np.diff(spline_basis(share, self.knots, self.runout) @ heights) / np.diff(share)
        least = self.smoothing / 2 / (problem.total_weight + self.smoothing)
        values = np.clip(scores + slope, least, 1 - least)
        kept = np.unique(np.searchsorted(share[1:-1], grid))
        return {"scores": scores[kept], "values": values[kept]}

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        return Event.of_probability(interpolated(event.prob, parameters["scores"], parameters["values"]))


@cache
def _least_squares(knots: int, runout: Runout) -> Doubles:
    """Return the matrix that turns values on the grid into the heights of the nearest spline."""
    basis = spline_basis(np.linspace(0, 1, GRID + 1), knots, runout)
    return np.linalg.pinv(basis).astype(np.float64, copy=False)


def _cumulative_share(problem: Problem) -> Doubles:
    """Return 0 and the share of rows up to the end of each run of equal scores, ending with 1."""
    weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
    cumulative = np.cumsum(weights, dtype=np.float64)[problem.is_run_end]
    return np.append(0, cumulative / cumulative[-1])


def spline_basis(t: Doubles, knots: int, runout: Runout) -> Doubles:
    """Return the matrix that turns heights at evenly spaced knots into the values of their cubic spline.

    Parameters
    ----------
    t : array (N,)
        Where to evaluate it, in [0, 1].
    knots : int
        Number of knots, the first at 0 and the last at 1.
    runout : {"natural", "quadratic", "cubic"}
        The end conditions.

    Returns
    -------
    array (N, knots)
    """
    position = t * (knots - 1)
    piece = np.minimum(position.astype(np.intp), knots - 2)
    right = (position - piece)[:, None]
    left = 1 - right
    rows = np.arange(len(t))[:, None]
    ends = piece[:, None] + [0, 1]
    linear, bend = np.zeros((2, len(t), knots))
    linear[rows, ends] = np.hstack([left, right])
    bend[rows, ends] = np.hstack([left**3 - left, right**3 - right]) / 6
    return linear + bend @ _curvatures(knots, runout)


def _curvatures(knots: int, runout: Runout) -> Doubles:
    """Return the matrix that turns heights at knots one apart into second derivatives there."""
    system, difference = np.zeros((2, knots, knots))
    for i in range(1, knots - 1):
        system[i, i - 1 : i + 2] = 1, 4, 1
        difference[i, i - 1 : i + 2] = 6, -12, 6
    ends = {"natural": (1, 0, 0), "quadratic": (1, -1, 0), "cubic": (1, -2, 1)}[runout]
    system[0, :3] = ends
    system[-1, -3:] = ends[::-1]
    return np.linalg.solve(system, difference).astype(np.float64, copy=False)
