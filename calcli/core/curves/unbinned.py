"""The numbers of KS graphs: cumulative and smoothed scores and outcomes against the fractile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.spline import even_knots, spline_basis
from calcli.core.curves.needs import row_weights
from calcli.core.curves.reliability import BAND, FEW_ROWS
from calcli.core.data.arrays import WIDEST, Doubles, Stream, Tables, from_log_odds, generator, log_odds
from calcli.core.data.binning import edge_cuts, equal_width_edges
from calcli.core.estimators.calibrationerror import Null, outcome_sums
from calcli.core.evaluating.metrics.cumulative import KolmogorovSmirnov
from calcli.core.evaluating.metrics.smooth import SmoothECE
from calcli.core.problems.problem import Problem, isotonic_blocks, pool, segment_sums

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

    The slopes come from a spline with `knots` knots. Of many distinct scores some 800 are kept, among them
    the one where the sums differ most and the scores of many rows. Rows of equal scores have one slope, given
    where they begin and where they end.
    """
    ends, rows = problem.run_ends, _rows_of_runs(problem)
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


def _rows_of_runs(problem: Problem) -> Doubles:
    """Return how many rows each run of equal scores has."""
    counts = np.ones(len(problem.score)) if problem.counts is None else problem.counts.astype(np.float64)
    return np.diff(_sums_at(counts, problem.run_ends))


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

    A step with a weight lost in rounding has the slope of the one before it.
    """
    grid, at = np.linspace(0, 1, POINTS), even_knots(knots)
    heights = np.linalg.lstsq(spline_basis(grid, at, "natural"), np.interp(grid, share, gap))[0]
    distinct, step = np.unique(share, return_inverse=True)
    rise = np.diff(spline_basis(distinct, at, "natural") @ heights) / np.diff(distinct)
    return np.append(rise[0], rise)[step].astype(np.float64, copy=False)


CELLS = 1000  # runs of nearly equal scores of which each curve under calibration is made
GRID = 201  # points of a kernel curve, evenly spaced in scores and again in log-odds
TICKS = 150  # raw data shown on each side
SHARES = 40  # bins of the distribution of the scores
BANDWIDTHS = np.geomspace(0.05, 4, 24)  # of which cross-validation chooses
WIDE_GAP = 0.02  # between two scores: what a curve does in it, no row says


@dataclass(frozen=True)
class Curve:
    """Observed frequency as a function of the score.

    Attributes
    ----------
    lens
        The one-dimensional lens.
    rows
        How many there are.
    score
        (p,) ascending scores.
    frequency
        (p,) estimated frequency of the outcome.
    supported
        (p,) whether rows tell it; in between it is interpolated.
    low, high
        (p,) the band in which 90% of the curves lie, point by point, if the scores are calibrated; nan
        without draws.
    misses, hits
        Scores of some rows without and with the outcome, evenly thinned.
    share
        (b,) share of the weight in equal-width bins of the score.
    error
        The smooth calibration error, in [0, 1].
    bandwidth
        Standard deviation of the kernel, in log-odds; None for the isotonic curve.
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
    bandwidth: float | None = None

    @property
    def has_band(self) -> bool:
        """Whether outcomes were drawn for one."""
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
        if self.bandwidth is not None:
            summary["bandwidth_in_log_odds"] = np.array([self.bandwidth])
        return {"": columns, "some rows": rows, "distribution": shares, "summary": summary}


def corp_curve(problem: Problem, lens: str, draws: int, rng: np.random.Generator) -> Curve:
    """Return the isotonic reliability curve (CORP; Dimitriadis, Gneiting & Jordan 2021).

    It is given at the lowest and the highest score of each block, and in between often enough for the band.
    Between blocks more than 0.02 apart no row tells it.

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


def kernel_curve(problem: Problem, lens: str, draws: int, rng: np.random.Generator) -> Curve:
    """Return the reliability curve of a Gaussian kernel over the log-odds of the score.

    It is the score plus the smoothed gap, outcome minus score, clipped to [0, 1]: smoothing the gap in place
    of the outcome keeps calibrated curves on the diagonal however wide the kernel is. The bandwidth is the
    one of least Brier score when each row is left out in turn (leave-one-out cross-validation; Stone 1974). A
    bandwidth that fits the calibration error, such as the one of the smooth error, does not fit the curve.
    Where the kernel holds fewer than ten rows, they do not tell it.

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
    edges = from_log_odds(np.linspace(-WIDEST, WIDEST, CELLS - 1))
    cuts = edge_cuts(problem.score, np.concatenate([[0], edges, [1]]))
    cells, (simulated,) = _CutSums(problem, cuts), outcome_sums(problem, [cuts], draws, rng)
    place = log_odds(cells.score)
    bandwidth = _cross_validated(cells, place)
    least, highest = cells.score[0], cells.score[-1]
    grid = np.union1d(
        np.linspace(least, highest, GRID),
        np.clip(from_log_odds(np.linspace(place[0], place[-1], GRID)), least, highest),
    )
    kernel = _kernel(log_odds(grid)[:, None] - place, bandwidth)
    sums = kernel @ cells.weight
    supported = kernel @ cells.rows >= min(FEW_ROWS, len(problem.score))
    seen = sums > 0
    mean = np.divide(kernel, sums[:, None], out=np.zeros_like(kernel), where=seen[:, None])
    expected = cells.weight * cells.score
    frequency = np.clip(grid + mean @ (cells.hits - expected), 0, 1)
    low, high = _band(np.clip(grid + (simulated[:, cells.full] - expected) @ mean.T, 0, 1))
    rows, around = len(problem.score), _around(problem)
    return Curve(lens, rows, grid, frequency, supported, low, high, *around, bandwidth=bandwidth)


def _cross_validated(cells: _CutSums, place: Doubles) -> float:
    """Return the bandwidth of least Brier score, each row left out when it is predicted.

    For a mean of neighbors the residual without a row is the residual with it divided by one minus the share
    that the row has in its own mean (Hastie, Tibshirani & Friedman 2009, section 7.10).
    """
    distance = place[:, None] - place
    expected = cells.weight * cells.score
    losses = []
    for bandwidth in BANDWIDTHS:
        kernel = _kernel(distance, bandwidth)
        sums = kernel @ cells.weight
        gap, leverage = kernel @ (cells.hits - expected) / sums, cells.row_weight / sums
        alone = leverage > 1 - 1e-9  # without others nothing is known of the gap
        scale = np.where(alone, 1, 1 - leverage)
        gap[alone] = 0
        hit, miss = (1 - cells.score - gap) / scale, (cells.score + gap) / scale
        losses.append(cells.hits @ hit**2 + (cells.weight - cells.hits) @ miss**2)
    return float(BANDWIDTHS[np.argmin(losses)])


def _kernel(distance: Doubles, bandwidth: float) -> Doubles:
    return np.exp(-0.5 * np.square(distance / bandwidth))


def _cuts(problem: Problem) -> NDArray[np.intp]:
    """Return the positions of some two thousand runs of nearly equal scores.

    They have about equally many rows each, but the nearer to an end the fewer: there few rows make a block.
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
        Which cells have rows.
    rows, weight, hits, score, row_weight
        (c,) rows, their weight and the weight of rows with the outcome, mean score, and mean weight of a row.
    """

    def __init__(self, problem: Problem, cuts: NDArray[np.intp]) -> None:
        bins = problem.binned(cuts)
        self.full = full = bins.weight > 0
        self.rows, self.weight, self.hits = bins.count[full], bins.weight[full], bins.outcome[full]
        # the mean of equal scores is that score, but for rounding
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
