"""Spline calibration (Gupta et al. 2021): the slope of a smoothed cumulative curve."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Literal

import numpy as np

from calcli.core.calibrators.base import SMOOTHED, Event
from calcli.core.calibrators.fit.quadratic import nearest_within
from calcli.core.calibrators.onevsrest import ACTS_ON, CLASS_WISE, MapParameters, OneDimensional, interpolated
from calcli.core.data.arrays import Array, Bools, Doubles
from calcli.core.language.entries import arg, method, written
from calcli.core.language.errors import UsageError
from calcli.core.problems.problem import ordered_problem

Runout = Literal["natural", "quadratic", "cubic"]
Target = Literal["difference", "cumulative"]

GRID = 4096  # steps of the fractile at which the curve is looked at, and scores that are kept


@method(
    "spline", "Spline calibration", family="one score", freedom=110, parameters="6 knots",
    count=lambda k, s: len(s["positions"]) or s["knots"], effort=4,
)  # fmt: skip
class Spline(OneDimensional):
    """The score plus the slope, at its fractile, of a spline through the cumulative difference to outcomes.

    Learns: s plus the slope of a cubic spline through the cumulative outcome - s
    Keeps: the predicted class of three or more
    Source: Gupta et al. 2021

    With rows in ascending order of score, t the share of rows up to a score, and G(t) the sum of
    outcome - score over them divided by the number of all rows, the expected outcome is score + G'(t). G is
    replaced by the cubic spline on evenly spaced knots that is nearest to it in least squares; for a score
    that a share of the rows have in common, the slope is the mean over that share. Of calibrated scores G is
    0 but for noise, and they stay.

    The lens is "auto" if none is given: "top-1" of three or more classes, as in the paper, which keeps the
    predicted class; of two, the probability of class 1.

    Parameters
    ----------
    knots : int
        Number of knots, 4 or more, evenly spaced.
    positions : tuple of float
        Knots to use in their place: ascending fractiles of the rows from 0 to 1, 4 or more.
    runout : {"natural", "quadratic", "cubic"}
        The outer pieces: without curvature at the ends, quadratic, or one cubic with their neighbors.
    target : {"difference", "cumulative"}
        Target of the spline: the cumulative outcome - score, which is only noise if the scores are
        calibrated; or the cumulative outcome itself, with the calibrated score as its slope, as in section 4
        of the paper.
    constrained : bool
        Whether no calibrated score may leave [0, 1], as a constraint of the least squares (section 4.1).
    monotone : bool
        Whether no calibrated score may fall where the score rises, likewise.
    smoothing : float
        The slope can lead out of [0, 1]. The calibrated score is clipped to no less than (m / 2) / (n + m),
        what Jeffreys' prior (m = 1) makes of an outcome never seen in n rows, and to no more than 1
        minus that. 0 clips to [0, 1].
    {lens}

    References
    ----------
    Gupta et al. 2021, Calibration of neural networks using splines, section 4 and appendix C.
    """

    tables: ClassVar[tuple[str, ...]] = ("scores", "values")

    lens: str = arg(f"{ACTS_ON}; auto: class-1 of two classes, else top-1", default="auto")
    knots: int = arg("the number of evenly spaced knots", default=6, least=4)
    positions: tuple[float, ...] = arg(
        "the knots themselves, fractiles of the rows from 0 to 1", default=(), least=0, most=1
    )
    runout: Runout = arg("the form of the outer pieces", default="natural")
    target: Target = arg(
        "fitted to the cumulative outcome minus score, or to the cumulative outcome", default="difference"
    )
    constrained: bool = arg("whether the fit stays within [0, 1]", default=False)
    monotone: bool = arg("whether the map is increasing", default=False)
    smoothing: float = arg(SMOOTHED, default=1.0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        at = self.positions
        if at and (len(at) < 4 or at[0] != 0 or at[-1] != 1 or min(np.diff(at)) <= 0):
            raise UsageError(
                f"positions must be 4 or more ascending numbers from 0 to 1; got {written(tuple(at))}"
            )

    def lens_of(self, classes: int) -> str:
        """Return what the map acts on, of so many classes."""
        if self.lens != "auto":
            return self.lens
        return CLASS_WISE if classes == 2 else "top-1"

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return calibrated `values` at some `scores`, between which the map is linear."""
        problem = ordered_problem(event.prob, outcome, weight)
        scores = problem.score[problem.is_run_end].astype(np.float64)
        weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
        cumulative = np.cumsum(weights, dtype=np.float64)[problem.is_run_end]
        share = np.append(0, cumulative / cumulative[-1])
        gap = np.append(0, problem.cumulative_gap())
        grows = np.diff(share) > 0  # not by rows of negligible weight
        grid = np.linspace(0, 1, GRID + 1)
        chosen = np.append(True, grows)
        start = scores[grows] if self.target == "difference" else np.zeros(grows.sum())
        if self.target == "cumulative":
            gap = gap + np.append(0, np.cumsum(np.diff(share) * scores))
        curve = np.interp(grid, share, gap)
        scores, share = scores[grows], share[chosen]
        slopes = np.diff(spline_basis(share, self._knots, self.runout), axis=0) / np.diff(share)[:, None]
        chosen = np.unique(np.searchsorted(share[1:-1], grid))
        heights = self._heights(curve, slopes[chosen], start[chosen])
        least = self.smoothing / 2 / (problem.total_weight + self.smoothing)
        values = np.clip(start[chosen] + slopes[chosen] @ heights, least, 1 - least)
        return {"scores": scores[chosen], "values": values}

    def _heights(self, curve: Doubles, slopes: Doubles, start: Doubles) -> Doubles:
        """Return the heights at the knots; the calibrated scores are `slopes` @ heights + `start`."""
        heights = _least_squares(self._knots, self.runout) @ curve
        rows, least = [], []
        if self.constrained:
            rows += [slopes, -slopes]
            least += [-start, start - 1]
        if self.monotone and self.target == "cumulative":
            rows.append(_curvatures(np.array(self._knots), self.runout))
            least.append(np.zeros(len(self._knots)))
        elif self.monotone:
            rows.append(np.diff(slopes, axis=0))
            least.append(-np.diff(start))
        if not rows:
            return heights
        basis = spline_basis(np.linspace(0, 1, GRID + 1), self._knots, self.runout)
        return nearest_within(heights, basis, np.concatenate(rows), np.concatenate(least))

    @property
    def _knots(self) -> tuple[float, ...]:
        return tuple(self.positions) or even_knots(self.knots)

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        return Event.of_probability(interpolated(event.prob, parameters["scores"], parameters["values"]))


@cache
def _least_squares(knots: tuple[float, ...], runout: Runout) -> Doubles:
    """Return the matrix that turns values on the grid into the heights of the nearest spline."""
    basis = spline_basis(np.linspace(0, 1, GRID + 1), knots, runout)
    return np.linalg.pinv(basis).astype(np.float64, copy=False)


def even_knots(number: int) -> tuple[float, ...]:
    """Return a number of knots, evenly spaced from 0 to 1."""
    return tuple(np.linspace(0, 1, number).tolist())


def spline_basis(t: Doubles, knots: tuple[float, ...], runout: Runout) -> Doubles:
    """Return the matrix that turns heights at knots into the values of their cubic spline.

    Parameters
    ----------
    t : array (N,)
        Where to evaluate it, in [0, 1].
    knots : tuple of float
        Ascending, the first 0 and the last 1.
    runout : {"natural", "quadratic", "cubic"}
        The end conditions.

    Returns
    -------
    array (N, knots)
    """
    at = np.array(knots)
    piece = np.clip(np.searchsorted(at, t, side="right") - 1, 0, len(at) - 2)
    width = np.diff(at)[piece][:, None]
    right = (t - at[piece])[:, None] / width
    complement = 1 - right
    rows = np.arange(len(t))[:, None]
    ends = piece[:, None] + [0, 1]
    linear, bend = np.zeros((2, len(t), len(at)))
    linear[rows, ends] = np.hstack([complement, right])
    bend[rows, ends] = np.hstack([complement**3 - complement, right**3 - right]) * width**2 / 6
    return linear + bend @ _curvatures(at, runout)


def _curvatures(at: Doubles, runout: Runout) -> Doubles:
    """Return the matrix that turns heights at knots into second derivatives there."""
    number, width = len(at), np.diff(at)
    system, difference = np.zeros((2, number, number))
    for i in range(1, number - 1):
        before, behind = width[i - 1 : i + 1]
        system[i, i - 1 : i + 2] = before, 2 * (before + behind), behind
        difference[i, i - 1 : i + 2] = 6 / before, -6 / before - 6 / behind, 6 / behind
    system[0, :3] = _runout(width[0], width[1], runout)
    system[-1, -3:] = _runout(width[-1], width[-2], runout)[::-1]
    return np.linalg.solve(system, difference).astype(np.float64, copy=False)


def _runout(outer: float, inner: float, runout: Runout) -> tuple[float, float, float]:
    """Return the factors with which the second derivatives at the three last knots of a side sum to 0."""
    if runout == "cubic":  # the third derivative does not jump
        return inner, -(outer + inner), outer
    return (1, 0, 0) if runout == "natural" else (1, -1, 0)
