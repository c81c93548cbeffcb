"""The numbers of reliability and deviation diagrams: bins, gaps, and their range under calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Stream, Tables, from_log_odds, generator, log_odds
from calcli.core.data.binning import Bins, equal_width_edges
from calcli.core.estimators.calibrationerror import Null, outcome_sums
from calcli.core.estimators.evidence import beyond_chance
from calcli.core.estimators.intervals import of_equal_weight, wilson_interval
from calcli.core.evaluating.metrics.cumulative import KolmogorovSmirnov
from calcli.core.evaluating.metrics.miscalibration import ECE, BinnedError, binned_error
from calcli.core.evaluating.results import Estimate
from calcli.core.language.expressions import AUTO_LENS, Measure, parse_metric, region_ends
from calcli.core.problems.problem import Problem, segment_sums

FEW_ROWS = 10  # a frequency from fewer rows has a standard error above 0.1
BAND = 0.9  # consistency bars run from the 5% to the 95% quantile (Vaicenavicius et al. 2019, fig. 4)
HISTOGRAM_BINS = 20
CROWDED = 0.8  # share of rows in the first or last default bin
MARGIN = 0.5  # margin in log-odds around the data
CELLS = 400  # runs of nearly equal scores; each point of the curve is the mean of one


@dataclass(frozen=True)
class Error:
    """A calibration error shown beside a diagram.

    Attributes
    ----------
    metric
        The metric expression.
    value
        The error, in [0, 1].
    if_calibrated
        Its distribution under perfect calibration, if it was computed.
    """

    metric: Measure
    value: float
    if_calibrated: Null | None


class _Binned:
    """Statistics of each bin from its sums; a leading axis may run over classes."""

    bins: Bins
    heaviest: float

    @cached_property
    def beyond_chance(self) -> NDArray[np.bool_]:
        """(..., m) whether a gap exceeds chance, corrected for the number of nonempty bins."""
        return beyond_chance(self.bins, self.heaviest)

    @cached_property
    def mean_score(self) -> Doubles:
        """(..., m) mean score; nan for empty bins."""
        return _ratio(self.bins.score, self.bins.weight)

    @cached_property
    def frequency(self) -> Doubles:
        """(..., m) frequency of the outcome; nan for empty bins."""
        return _ratio(self.bins.outcome, self.bins.weight)

    @cached_property
    def gap(self) -> Doubles:
        """(..., m) mean score minus frequency: above 0 if scores are too high; nan for empty bins."""
        return self.mean_score - self.frequency

    @cached_property
    def thin(self) -> NDArray[np.bool_]:
        """(..., m) whether a bin has rows, but too few to say anything."""
        return (self.bins.count > 0) & (self.bins.count < FEW_ROWS)


@dataclass(frozen=True)
class Reliability(_Binned):
    """Observed frequency against predicted score, bin by bin.

    Attributes
    ----------
    lens
        The one-dimensional lens.
    edges
        (m + 1,) edges of the bins; for equal-mass bins halfway between two scores.
    bins
        (m,) sums; empty bins are kept.
    interval
        The ends, (m,) each, of 95% intervals of the frequency of independent rows (Wilson 1927).
    low, high
        (m,) quantiles of the frequency if the scores were calibrated; nan for empty bins.
    share_edges, share
        (b + 1,) and (b,) share of the weight in equal-width bins of the score.
    binned, ks
        The error over these bins, and the error without bins.
    heaviest
        The largest weight of a row.
    in_log_odds
        Whether to show log-odds, since scores crowd near 0 or 1.
    """

    lens: str
    edges: Doubles
    bins: Bins
    interval: tuple[Doubles, Doubles]
    low: Doubles
    high: Doubles
    share_edges: Doubles
    share: Doubles
    binned: Error
    ks: Error
    heaviest: float = 1.0
    in_log_odds: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The range of probabilities shown in log-odds."""
        scores = np.concatenate([self.mean_score, self.frequency, self.low, self.high])
        odds = log_odds(scores[(scores > 0) & (scores < 1)])
        odds = odds if len(odds) else np.zeros(1)
        return float(from_log_odds(odds.min() - MARGIN)), float(from_log_odds(odds.max() + MARGIN))

    @property
    def overall_score(self) -> float:
        """Mean score over all rows."""
        return float(self.bins.score.sum() / self.bins.weight.sum())

    @property
    def overall_frequency(self) -> float:
        """Frequency of the outcome over all rows."""
        return float(self.bins.outcome.sum() / self.bins.weight.sum())

    def tables(self) -> Tables:
        """Return the bins, the distribution of the scores if it has separate bins, and the errors."""
        unknown = np.full(self.low.shape, np.nan)  # allowed by chance, without draws
        columns: dict[str, Array] = {
            "lower_edge": self.edges[:-1],
            "upper_edge": self.edges[1:],
            "rows": self.bins.count,
            "weight": self.bins.weight,
            "mean_score": self.mean_score,
            "frequency": self.frequency,
            "gap": self.gap,
            **dict(zip(("low", "high"), self.interval, strict=True)),
            "low_if_calibrated": self.low,
            "high_if_calibrated": self.high,
            "beyond_chance": unknown if np.isnan(self.low).all() else self.beyond_chance.astype(np.intp),
        }
        tables: Tables = {"": columns}
        if self.share_edges is not self.edges:
            lower, upper = self.share_edges[:-1], self.share_edges[1:]
            tables["distribution"] = {"lower_edge": lower, "upper_edge": upper, "share": self.share}
        errors = (self.binned, self.ks)
        nulls = [error.if_calibrated for error in errors]
        tables["errors"] = {
            "metric": np.array([str(error.metric) for error in errors]),
            "value": np.array([error.value for error in errors]),
            "mean_if_calibrated": np.array([null.mean if null else np.nan for null in nulls]),
            "sd_if_calibrated": np.array([null.sd if null else np.nan for null in nulls]),
        }
        return tables


def reliability(
    problem: Problem,
    lens: str = "top-1",
    estimator: BinnedError | None = None,
    estimates: Mapping[str, Estimate] | None = None,
    draws: int = 999,
    seed: int = 0,
    region: str = "all",
    *,
    in_log_odds: bool = False,
) -> Reliability:
    """Return the reliability of an ordered problem.

    Parameters
    ----------
    problem
        Scores and outcomes of the lens.
    lens
        The lens' name.
    estimator
        How the scores are binned; 15 equal-width bins if None. In a region the same number lies within it,
        unlike the bins of the metric, which keep their edges.
    estimates
        Estimates of an evaluation, by canonical expression, reused if they are the same errors.
    draws
        Simulated data sets behind the consistency bars and the errors under calibration; 0 for neither.
    seed
        Their seed.
    region
        The part of the scores that the problem holds.
    in_log_odds
        Whether to show log-odds, also for the distribution of the scores.
    """
    estimator = estimator or ECE()
    binning = estimator.parted
    if region != "all" and binning == "equal-width":
        binning = tuple(np.linspace(*region_ends(region), estimator.bins + 1).tolist())
        estimator = replace(estimator, binning="/".join(map(str, sorted({0.0, *binning, 1.0}))))
    cuts, bins = problem.cuts(binning, estimator.bins), problem.bins(binning, estimator.bins)
    if binning == "equal-width":
        edges = equal_width_edges(estimator.bins)
        share_edges, share = edges, bins.weight / problem.total_weight
    else:
        explicit = isinstance(binning, tuple)
        edges = np.array(binning, np.float64) if explicit else _edges_between(problem.score, cuts)
        share_edges, shares = equal_width_edges(HISTOGRAM_BINS), problem.bins("equal-width", HISTOGRAM_BINS)
        if region != "all":
            share_edges = np.linspace(*region_ends(region), HISTOGRAM_BINS + 1)
            shares = problem.bins(tuple(share_edges.tolist()), HISTOGRAM_BINS)
        share = shares.weight / problem.total_weight
    low, high = consistency_band(problem, cuts, draws, generator(seed, Stream.BANDS))
    least = f":min_rows={estimator.min_rows}" if estimator.binning == "recursive" else ""
    ece = f"ece:binning={estimator.binning}:bins={estimator.bins}:norm={estimator.norm}{least}"
    errors = []
    measures: dict[str, BinnedError | KolmogorovSmirnov] = {ece: estimator, "ks": KolmogorovSmirnov()}
    for metric, measure in measures.items():
        call = parse_metric(f"{metric}:lens={lens}:region={region}")
        same = [
            (estimates or {}).get(str(metric_call))
            for metric_call in (call, call.with_argument("lens", AUTO_LENS))
        ]
        estimate = next(
            (
                same_estimate
                for same_estimate in same
                if same_estimate and f"|lens:{lens}|" in same_estimate.signature
            ),
            None,
        )
        if estimate is None:
            errors.append(_error(call, measure, problem, draws, seed))
        else:
            errors.append(Error(call, estimate.value, estimate.if_calibrated))
    binned, ks = errors
    heaviest = float(problem.mean_row_weights.max())
    alike = of_equal_weight(bins.weight, segment_sums(problem.squared_weights, cuts))
    interval = wilson_interval(_ratio(bins.outcome, bins.weight), np.maximum(alike, 1), 0.95)
    diagram = Reliability(
        lens, edges, bins, interval, low, high, share_edges, share, binned, ks, heaviest, in_log_odds
    )
    if not in_log_odds:
        return diagram
    low_end, last = log_odds(np.array(diagram.ends)).tolist()
    between = from_log_odds(np.linspace(low_end, last, HISTOGRAM_BINS + 1))
    every = (0.0, *between[1:-1].tolist(), 1.0)  # values beyond the ends count there
    inside = problem.bins(every, HISTOGRAM_BINS).weight / problem.total_weight
    return replace(diagram, share_edges=between, share=inside)


def is_crowded(problem: Problem) -> bool:
    """Return whether nearly all rows are in the first default bin, as for rare events, or in the last."""
    weight = problem.bins("equal-width", ECE().bins).weight
    return bool(max(weight[0], weight[-1]) > CROWDED * problem.total_weight)


def consistency_band(
    problem: Problem, cuts: NDArray[np.intp], draws: int, rng: np.random.Generator
) -> tuple[Doubles, Doubles]:
    """Return quantiles of each bin's frequency for outcomes drawn from the scores.

    Broecker & Smith 2007; Vaicenavicius et al. 2019, section 4.2.

    Returns
    -------
    Two arrays (m,), nan for empty bins and without draws.
    """
    filled = np.diff(cuts) > 0  # only a few of very many bins
    band = np.full((2, len(filled)), np.nan)
    if draws:
        cuts_filled = np.append(cuts[:-1][filled], cuts[-1])
        tails = [(1 - BAND) / 2, (1 + BAND) / 2]
        weight = problem.binned(cuts_filled).weight
        (simulated,) = outcome_sums(problem, [cuts_filled], draws, rng)
        sums = np.quantile(simulated, tails, axis=0)
        band[:, filled] = [_ratio(sum_, weight) for sum_ in sums]
    return band[0], band[1]


def _error(
    metric: Measure, estimator: BinnedError | KolmogorovSmirnov, problem: Problem, draws: int, seed: int
) -> Error:
    value = estimator.value(problem)
    if not draws:
        return Error(metric, value, None)
    rng = generator(seed, Stream.OUTCOMES)
    return Error(metric, value, estimator.null(problem, draws, rng))


def _edges_between(score: NDArray[np.floating], cuts: NDArray[np.intp]) -> Doubles:
    inner = cuts[1:-1]
    middle = (score[inner - 1].astype(np.float64) + score[inner]) / 2
    return np.concatenate([[float(score[0])], middle, [float(score[-1])]])


def _ratio(value: Doubles, weight: Doubles) -> Doubles:
    return np.divide(value, weight, out=np.full(np.shape(weight), np.nan), where=weight > 0)


@dataclass(frozen=True)
class ClassReliability(_Binned):
    """Observed frequency against predicted probability, for every class and bin.

    Attributes
    ----------
    classes
        K names.
    edges
        (m + 1,) edges of the bins, the same for all classes.
    bins
        (K, m) sums.
    error
        (K,) L1 calibration error of each class's probability.
    heaviest
        The largest weight of a row.
    """

    classes: tuple[str, ...]
    edges: Doubles
    bins: Bins
    error: Doubles
    heaviest: float = 1.0

    @cached_property
    def worst_first(self) -> NDArray[np.intp]:
        """(K,) classes in descending order of their error, which may be due to chance."""
        return np.argsort(-self.error, kind="stable")

    def tables(self) -> Tables:
        """Return the table behind the figure, one row per class and bin, worst class first."""
        worst, m = self.worst_first, len(self.edges) - 1
        per_bin = {
            "rows": self.bins.count,
            "weight": self.bins.weight,
            "mean_prob": self.mean_score,
            "frequency": self.frequency,
            "gap": self.gap,
            "beyond_chance": self.beyond_chance.astype(np.intp),
        }
        columns = {
            "class": np.repeat(np.array(self.classes)[worst], m),
            "class_ece": np.repeat(self.error[worst], m),
            "lower_edge": np.tile(self.edges[:-1], len(worst)),
            "upper_edge": np.tile(self.edges[1:], len(worst)),
            **{name: table[worst].ravel() for name, table in per_bin.items()},
        }
        return {"": columns}


def class_reliability(bins: Bins, classes: Sequence[str], heaviest: float = 1.0) -> ClassReliability:
    """Return the reliability of every class from its equal-width sums, (K, m), and the largest weight."""
    error = np.asarray(binned_error(bins, "1"))
    return ClassReliability(tuple(classes), equal_width_edges(bins.count.shape[-1]), bins, error, heaviest)
