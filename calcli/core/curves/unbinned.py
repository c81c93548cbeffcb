"""The numbers of KS graphs: cumulative and smoothed scores and outcomes against the fractile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.spline import even_knots, spline_basis
from calcli.core.curves.needs import row_weights
from calcli.core.curves.reliability import BAND, FEW_ROWS
from calcli.core.data.arrays import WIDEST, Doubles, Stream, Tables, from_log_odds, generator, log_odds
from calcli.core.data.binning import edge_cuts, equal_width_edges
from calcli.core.estimators.calibrationerror import Null, outcome_sums
from calcli.core.estimators.flexible import flexible_curve
from calcli.core.evaluating.metrics.cumulative import KolmogorovSmirnov
from calcli.core.evaluating.metrics.smooth import SmoothECE
from calcli.core.problems.problem import Problem, isotonic_blocks, pool, segment_sums

POINTS = 800  # more are indistinguishable in print
KNOTS = 6  # of the spline, as in Gupta et al. 2021


@dataclass(frozen=True)
class Cumulative:
    """Sums over the rows of the lowest scores, and the rates at which they grow.

    Attributes
    ----------
    lens
        The one-dimensional lens.
    fractile
        (p,) ascending share of the rows, from 0 to 1; it occurs twice where equal scores begin.
    score_sum, outcome_sum
        (p,) sum of the scores and of the outcomes over that share, divided by the weight of all rows.
    score
        (p,) the score at the fractile, a step where equal scores begin.
    frequency
        (p,) expected outcome at the fractile: score plus the slope of a spline through the difference of
        the sums, clipped to [0, 1].
    widest
        Index where the sums differ most.
    ks
        The largest difference (Gupta et al. 2021, eq. 12), in [0, 1].
    if_calibrated
        Its distribution if calibrated, if it was computed.
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

    The slopes come from a spline with `knots` knots. About 800 of many distinct scores are kept, including
    the score where the sums differ most and scores of many rows. Equal scores have one slope, given
    where they begin and where they end.
    """
    counts = np.ones(len(problem.score)) if problem.counts is None else problem.counts.astype(np.float64)
    ends, rows = problem.run_ends, np.diff(_sums_at(counts, problem.run_ends))
    gap = problem.cumulative_gap()
    widest = int(np.abs(gap).argmax())
    many = np.flatnonzero(rows * POINTS > problem.n_rows)
    even = np.linspace(0, len(ends) - 1, POINTS).astype(np.intp)
    cuts = np.unique(np.concatenate([even, [widest], many, many - 1]).clip(min=0))
    score = problem.score.astype(np.float64, copy=False)
    weights = row_weights(problem)
    share = _sums_at(weights, ends[cuts]) / problem.total_weight
    score_sum = _sums_at(weights * score, ends[cuts]) / problem.total_weight
    gap_kept = np.append(0, gap[cuts])
    at = np.append(score[0], score[ends[cuts] - 1])
    frequency = np.clip(at + _slope(share, gap_kept, knots), 0, 1)
    tied = 1 + np.flatnonzero((rows[cuts] > 1) & (np.diff(cuts, prepend=0) == 1))  # steps behind another one
    sums, slopes = (np.sort(np.append(np.arange(len(share)), steps)) for steps in (tied - 1, tied))
    return Cumulative(
        lens,
        share[sums],
        score_sum[sums],
        (score_sum + gap_kept)[sums],
        at[slopes],
        frequency[slopes],
        int(np.searchsorted(sums, np.searchsorted(cuts, widest) + 1)),
        float(abs(gap[widest])),
    )


def ks_if_calibrated(problem: Problem, draws: int, seed: int) -> Null | None:
    """Return the distribution of the KS error if calibrated; None without draws."""
    if not draws:
        return None
    measure, rng = KolmogorovSmirnov(), generator(seed, Stream.OUTCOMES)
    return measure.null(problem, draws, rng)


def _sums_at(values: Doubles, ends: NDArray[np.intp]) -> Doubles:
    return np.append(0, np.cumsum(values)[ends - 1])


def _slope(share: Doubles, gap: Doubles, knots: int) -> Doubles:
    """Return the slope of the least-squares spline through the gap, as the mean over each step.

    A step with a weight lost in rounding has the slope of the previous step.
    """
    grid, at = np.linspace(0, 1, POINTS), even_knots(knots)
    heights = np.linalg.lstsq(spline_basis(grid, at, "natural"), np.interp(grid, share, gap))[0]
    distinct, step = np.unique(share, return_inverse=True)
    rise = np.diff(spline_basis(distinct, at, "natural") @ heights) / np.diff(distinct)
    return np.append(rise[0], rise)[step].astype(np.float64, copy=False)


CELLS = 1000  # runs of nearly equal scores in each curve under calibration
GRID = 201  # points of a smooth curve, evenly spaced in scores and again in log-odds
TICKS = 150  # raw data shown on each side
SHARES = 40  # bins of the distribution of the scores
WIDE_GAP = 0.02  # distance between scores beyond which a curve has no support


@dataclass(frozen=True)
class Curve:
    """Observed frequency as a function of the score.

    Attributes
    ----------
    lens
        The one-dimensional lens.
    rows
        Number of rows.
    score
        (p,) ascending scores.
    frequency
        (p,) estimated frequency of the outcome.
    supported
        (p,) whether rows support the curve; elsewhere it is interpolated.
    low, high
        (p,) pointwise band of 90% of the curves if the scores are calibrated; nan
        without draws.
    misses, hits
        Scores of some rows without and with the outcome, evenly thinned.
    share
        (b,) share of the weight in equal-width bins of the score.
    error
        The smooth calibration error, in [0, 1].
    interval
        (p,) each, the ends of pointwise 95% intervals of the frequency; None for dependent rows, and of the
        isotonic curve.
    knots
        Knots of the spline; None for the isotonic curve.
    """

    lens: str
    rows: int
    score: Doubles
    frequency: Doubles
    supported: NDArray[np.bool_]
    low: Doubles
    high: Doubles
    misses: Doubles
    hits: Doubles
    share: Doubles
    error: float
    interval: tuple[Doubles, Doubles] | None = None
    knots: int | None = None

    @property
    def has_band(self) -> bool:
        """Whether outcomes were drawn for a band."""
        return not np.isnan(self.low[0])

    def tables(self) -> Tables:
        """Return the table behind the curve, and the rows shown as ticks."""
        columns = {
            "score": self.score,
            "frequency": self.frequency,
            "supported": self.supported.astype(np.intp),
            "low_if_calibrated": self.low,
            "high_if_calibrated": self.high,
        }
        outcome = np.repeat([0, 1], [len(self.misses), len(self.hits)])
        rows = {"score": np.concatenate([self.misses, self.hits]), "outcome": outcome}
        edges = equal_width_edges(len(self.share))
        shares = {"lower_edge": edges[:-1], "upper_edge": edges[1:], "share": self.share}
        summary = {"rows": np.array([self.rows]), "smooth_ece": np.array([self.error])}
        if self.interval is not None:
            columns |= {"low": self.interval[0], "high": self.interval[1]}
        if self.knots is not None:
            summary["knots"] = np.array([self.knots])
        return {"": columns, "some rows": rows, "distribution": shares, "summary": summary}


def corp_curve(problem: Problem, lens: str, draws: int, rng: np.random.Generator) -> Curve:
    """Return the isotonic reliability curve (CORP; Dimitriadis, Gneiting & Jordan 2021).

    It is given at the lowest and highest score of each block, and between these densely enough for the band.
    Between blocks more than 0.02 apart no rows support it.

    Parameters
    ----------
    problem
        Scores and outcomes.
    lens
        The lens' name.
    draws
        Curves of simulated outcomes behind the band; 0 for none.
    rng
        Draws the outcomes.
    """
    blocks = isotonic_blocks(problem)
    ends = np.stack([blocks.lower, blocks.upper], axis=1).ravel().astype(np.float64)
    cuts = _cuts(problem)
    cells, (simulated,) = _CutSums(problem, cuts), outcome_sums(problem, [cuts], draws, rng)
    before, after = ends[1:-1:2], ends[2::2]
    wide = after - before > WIDE_GAP
    between = (before + after)[wide] / 2
    score = np.union1d(np.union1d(ends, cells.score), between)
    inside = np.searchsorted(before[wide], score) - np.searchsorted(after[wide], score, side="right")
    frequency = np.interp(score, ends, np.repeat(blocks.value, 2))
    curves = np.empty((draws, len(cells.weight)))
    for curve, hits in zip(curves, simulated[:, cells.full], strict=True):
        starts, block_hits, weight = pool(hits, cells.weight)
        curve[:] = np.repeat(block_hits / weight, np.diff(starts, append=len(hits)))
    low, high = (np.interp(score, cells.score, bound) for bound in _band(curves))
    return Curve(lens, len(problem.score), score, frequency, inside == 0, low, high, *_around(problem))


def flexible_reliability(problem: Problem, lens: str, draws: int, rng: np.random.Generator) -> Curve:
    """Return the flexible calibration curve, a spline in log-odds; see `flexible_curve`.

    Rows are summed over a thousand cells of log-odds. The curve is not supported where fewer than ten rows
    have lower scores, or higher ones.

    Parameters
    ----------
    problem
        Scores and outcomes.
    lens
        The lens' name.
    draws
        Curves of simulated outcomes behind the band; 0, for dependent rows, gives no bands.
    rng
        Draws the outcomes.
    """
    edges = from_log_odds(np.linspace(-WIDEST, WIDEST, CELLS - 1))
    cuts = edge_cuts(problem.score, np.concatenate([[0], edges, [1]]))
    cells, (simulated,) = _CutSums(problem, cuts), outcome_sums(problem, [cuts], draws, rng)
    place = log_odds(cells.score)
    fitted = partial(
        flexible_curve, place, weights=cells.weight, squared_weights=cells.weight * cells.row_weight
    )
    curve = fitted(cells.hits / cells.weight)
    if_calibrated = fitted(simulated[:, cells.full] / cells.weight, knots=curve.knots)
    least, highest = cells.score[0], cells.score[-1]
    grid = np.union1d(
        np.linspace(least, highest, GRID),
        np.clip(from_log_odds(np.linspace(place[0], place[-1], GRID)), least, highest),
    )
    at, rows = log_odds(grid), np.append(0, np.cumsum(cells.rows))
    below = rows[np.searchsorted(cells.score, grid, side="right")]
    above = rows[-1] - rows[np.searchsorted(cells.score, grid)]
    supported = np.minimum(below, above) >= min(FEW_ROWS, rows[-1])
    interval = curve.interval(at) if draws else None
    low, high = _band(if_calibrated.frequency(at))
    around, frequency = _around(problem), curve.frequency(at)
    return Curve(
        lens, len(problem.score), grid, frequency, supported, low, high, *around, interval, len(curve.knots)
    )


def _cuts(problem: Problem) -> NDArray[np.intp]:
    """Return the positions of about two thousand runs of nearly equal scores.

    They have about equal numbers of rows, but fewer towards the ends, where few rows make a block.
    """
    ends = np.append(0, problem.run_ends)
    last = len(ends) - 1
    near = np.geomspace(1, last, CELLS // 2)
    places = np.concatenate([np.linspace(0, last, CELLS + 1), near, last - near])
    return ends[np.unique(places.astype(np.intp))]


class _CutSums:
    """A problem summed between cuts, cells without rows left out.

    Attributes
    ----------
    full
        Cells with rows.
    rows, weight, hits, score, row_weight
        (c,) rows, their weight and the weight of rows with the outcome, mean score, and mean weight of a row.
    """

    def __init__(self, problem: Problem, cuts: NDArray[np.intp]) -> None:
        bins = problem.binned(cuts)
        self.full = full = bins.weight > 0
        self.rows, self.weight, self.hits = bins.count[full], bins.weight[full], bins.outcome[full]
        # the mean of equal scores is this score, up to rounding
        starts, stops = cuts[:-1][full], cuts[1:][full]
        mean = bins.score[full] / self.weight
        self.score = np.clip(mean, problem.score[starts], problem.score[stops - 1])
        self.row_weight = np.ones(len(self.rows))
        if problem.weights is not None:
            self.row_weight = segment_sums(problem.squared_weights, cuts)[full] / self.weight


def _band(curves: Doubles) -> tuple[Doubles, Doubles]:
    if not len(curves):
        nothing = np.full(curves.shape[1], np.nan)
        return nothing, nothing
    low, high = np.quantile(curves, [(1 - BAND) / 2, (1 + BAND) / 2], axis=0)
    return low, high


def _around(problem: Problem) -> tuple[Doubles, Doubles, Doubles, float]:
    """Return some misses and hits, the distribution of the scores, and the smooth calibration error."""
    misses, hits = _thinned(problem.score[~problem.outcome]), _thinned(problem.score[problem.outcome])
    share = problem.bins("equal-width", SHARES).weight / problem.total_weight
    return misses, hits, share, SmoothECE().value(problem)


def _thinned(score: NDArray[np.floating]) -> Doubles:
    places = np.unique(np.linspace(0, len(score) - 1, min(TICKS, len(score))).astype(np.intp))
    return score[places].astype(np.float64)
