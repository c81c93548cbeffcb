"""The numbers of figures of risk: rejection, precision and recall, net benefit, weighted risk, divergence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.comparing.comparison import evidence, influences
from calcli.core.comparing.pairing import Paired, pair
from calcli.core.curves.needs import problem_of, row_weights
from calcli.core.curves.reliability import FEW_ROWS
from calcli.core.data.arrays import Doubles, Positions, Tables
from calcli.core.estimators.expected import BetaScore, IntegralOfRisks
from calcli.core.estimators.intervals import Interval, wilson_interval
from calcli.core.evaluating.evaluate import measure
from calcli.core.evaluating.metrics.base import Pair, System
from calcli.core.evaluating.metrics.scores import OfThresholds
from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.evaluating.usual import is_sampled
from calcli.core.language.errors import CalcliError, NeedsRows
from calcli.core.language.expressions import parse_metrics
from calcli.core.problems.problem import Problem

POINTS = 401
NEAREST = 0.005  # distance to 0 and 1, where the Kullback-Leibler divergence is infinite


@dataclass(frozen=True)
class Divergences:
    """Mean divergences from a fixed posterior (Ferrer & Ramos 2024, appendix B, fig. 4).

    Attributes
    ----------
    fixed
        (p,) the first class's probability in the fixed posterior, evenly spaced.
    curves
        (p,) means by name: of the absolute difference of one probability, of the sum of both, of the squared
        Euclidean distance, and of the Kullback-Leibler divergence in nats.
    mean
        Mean probability of the first class, where each score divergence is least.
    at_mean
        The value of each curve there.
    """

    fixed: Doubles
    curves: Mapping[str, Doubles]
    mean: float
    at_mean: Mapping[str, float]

    def tables(self) -> Tables:
        """Return the table behind the curves, and the mean."""
        mean = {"mean": np.array([self.mean]), **{name: np.array([y]) for name, y in self.at_mean.items()}}
        return {"": {"fixed": self.fixed, **self.curves}, "mean": mean}


def divergences(problem: Problem) -> Divergences:
    """Return the divergences of the posteriors in the ordered problem of the first of two classes."""
    score, weights = problem.score.astype(np.float64, copy=False), row_weights(problem)
    mean = float(np.average(score, weights=weights))
    fixed = np.linspace(NEAREST, 1 - NEAREST, POINTS)
    at_mean = {name: float(y[0]) for name, y in _curves(score, weights, np.array([mean])).items()}
    return Divergences(fixed, _curves(score, weights, fixed), mean, at_mean)


def _curves(score: Doubles, weights: Doubles, fixed: Doubles) -> dict[str, Doubles]:
    share = weights / weights.sum()
    below = np.searchsorted(score, fixed)
    number = np.append(0, np.cumsum(share))[below]
    part, mean = np.append(0, np.cumsum(share * score))[below], float(share @ score)
    absolute = fixed * (2 * number - 1) - 2 * part + mean
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(p > 0, p * np.log(p), 0) for p in (score, 1 - score)]
        cross = mean * np.log(fixed) + (1 - mean) * np.log1p(-fixed)
    return {
        "l1_of_one": absolute,
        "l1": 2 * absolute,
        "squared": 2 * (float(share @ score**2) - 2 * fixed * mean + fixed**2),
        "kl": float(share @ (terms[0] + terms[1])) - cross,
    }


WIDEST = 16.0  # largest log-odds: costs of one to nine million
PLAIN = {"log_loss": BetaScore(1, 1), "brier": BetaScore(2, 2)}  # integrals of risks, up to a factor
TAIL = 3.0  # log-odds shown beyond the most extreme score, where the risk falls to 0
HIGHEST = 0.99  # largest threshold shown: beyond it, one false positive outweighs a hundred true ones
SPACED = tuple(n / 20 for n in range(1, 20))  # thresholds with intervals, if none are asked for


@dataclass(frozen=True)
class RiskCurve:
    """Bayes risk of a two-class system against the threshold of its decisions.

    At threshold t a false alarm costs t and a miss costs 1 - t: for calibrated probabilities it is optimal to
    decide for class 1 when its probability is at least t. Over the log-odds of the threshold the area under
    the risk is the log-loss; over the threshold, twice the area is the Brier score (Ferrer & Ramos 2024,
    section 2.3 and fig. 1; Brummer & du Preez 2006).

    Attributes
    ----------
    log_odds
        (p,) thresholds as natural log-odds, evenly spaced.
    risk, constant_risk
        (p,) mean cost of the system, and of always making the better decision, at these thresholds.
    threshold
        (q,) thresholds, evenly spaced from 0 to 1.
    brier_risk, constant_brier_risk
        (q,) twice the mean cost at these thresholds.
    log_loss, brier
        The areas: exact means over the rows, not sums over the points; the log-loss may be inf.
    """

    log_odds: Doubles
    risk: Doubles
    constant_risk: Doubles
    threshold: Doubles
    brier_risk: Doubles
    constant_brier_risk: Doubles
    log_loss: float
    brier: float

    def tables(self) -> Tables:
        """Return the table behind the curves: risk and threshold at both sets of points."""
        from_odds = 1 / (1 + np.exp(-self.log_odds))
        columns = {
            "threshold": np.concatenate([from_odds, self.threshold]),
            "risk": np.concatenate([self.risk, self.brier_risk / 2]),
            "constant_risk": np.concatenate([self.constant_risk, self.constant_brier_risk / 2]),
        }
        return {"": columns}


def risk_curve(problem: Problem, log_loss: float | None = None) -> RiskCurve:
    """Return the risk curves of the ordered problem of one of two classes.

    A probability close to 1 is rounded to 1 in the problem: the log-loss of the rows themselves, if given,
    is exact.
    """
    score = problem.score.astype(np.float64, copy=False)
    weights = row_weights(problem)
    inner = score[(score > 0) & (score < 1)]
    ends = [0.5, *inner[:1], *inner[-1:], problem.outcome.mean()]
    reach = max(abs(np.log(end) - np.log1p(-end)) for end in ends if 0 < end < 1) + TAIL
    log_odds = np.linspace(-1, 1, POINTS) * min(reach, WIDEST)
    threshold = np.linspace(0, 1, POINTS)
    risk, constant = _risks(problem, 1 / (1 + np.exp(-log_odds)))
    brier_risk, constant_brier = _risks(problem, threshold)
    of_outcome = np.where(problem.outcome, score, 1 - score)
    if log_loss is None:
        with np.errstate(divide="ignore"):
            log_loss = float(np.average(-np.log(of_outcome), weights=weights))
    brier = float(np.average((1 - of_outcome) ** 2, weights=weights))
    scaled = 2 * brier_risk, 2 * constant_brier
    return RiskCurve(log_odds, risk, constant, threshold, *scaled, log_loss, brier)


@dataclass(frozen=True)
class WeightedRiskCurve:
    """Bayes risks of two classes, weighted to make areas equal scores (Ferrer & Ramos 2024, eq. 10-12).

    A wrong decision costs 1 / a_1 where the first class is true, and 1 / a_2 = 1 / (1 - a_1) where the second
    one is: the second one is decided for where its probability is above the threshold a_2.

    Attributes
    ----------
    a
        (p,) a_1, between 0 and 1.
    risk
        (p,) the risk.
    weighted
        The (p,) risk times the weight W of each score, by its name: the area is the score; for the Brier
        score it is three times the score.
    normalized
        Each score divided by the score of the class frequencies; nan if all rows have one class.
    """

    a: Doubles
    risk: Doubles
    weighted: Mapping[str, Doubles]
    normalized: Mapping[str, float]

    def tables(self) -> Tables:
        """Return the table behind the curves."""
        weighted = {f"risk_for_{name}": curve for name, curve in self.weighted.items()}
        scores = {f"normalized_{name}": np.array([value]) for name, value in self.normalized.items()}
        return {"": {"a_1": self.a, "risk": self.risk, **weighted}, "scores": scores}


def integrals_of(evaluation: Evaluation, metrics: Sequence[str] = ()) -> dict[str, IntegralOfRisks]:
    """Return the weights of risks in scores of two classes that integrate over the threshold, by name.

    Parameters
    ----------
    evaluation
        The evaluation with the scores.
    metrics
        The requested metrics; all if empty.
    """
    calls = {name: estimate.metric for name, estimate in evaluation.estimates.items()}
    requested = [str(metric) for metric in parse_metrics(metrics, evaluation.settings.defaults)] or [*calls]
    integrals = dict[str, IntegralOfRisks]()
    for name, call in ((name, calls[name]) for name in requested if name in calls):
        if call.entry.name in PLAIN:
            integrals[name] = PLAIN[call.entry.name]
        elif isinstance(call, OfThresholds) and not call.normalized:
            integrals[name] = call.integral(evaluation.predictions, evaluation.settings)
    return integrals


def weighted_risk(evaluation: Evaluation, scores: Mapping[str, IntegralOfRisks]) -> WeightedRiskCurve:
    """Return the weighted risks of an evaluation of two classes, for its scores."""
    problem = problem_of(evaluation, "class-1")
    a = (np.arange(POINTS) + 0.5) / POINTS
    risk = _risks(problem, 1 - a)[0] / (a * (1 - a))
    weighted = {name: score.weight(1 - a) * risk for name, score in scores.items()}
    estimates = {name: evaluation.estimates[name] for name in scores}
    return WeightedRiskCurve(
        a, risk, weighted, {name: _normalized(estimate) for name, estimate in estimates.items()}
    )


def _normalized(estimate: Estimate) -> float:
    constant = estimate.parts["constant"]
    return estimate.value / constant if constant > 0 else math.nan


def _risks(problem: Problem, threshold: Doubles) -> tuple[Doubles, Doubles]:
    """Return the risk of the system at (p,) thresholds, and of the better constant decision."""
    hits, alarms = _above(problem)
    above = np.searchsorted(problem.score, threshold)
    risk = threshold * alarms[above] + (1 - threshold) * (hits[0] - hits[above])
    return risk, np.minimum(threshold * alarms[0], (1 - threshold) * hits[0])


@dataclass(frozen=True)
class RejectionCurve:
    """Error rate of the kept rows when the least confident rows are rejected.

    Attributes
    ----------
    rejected
        (p,) rejected share of the weight, ascending from 0.
    error_rate
        (p,) share of the kept weight with a wrong predicted class.
    promised
        (p,) one minus the mean confidence of the kept rows: the error rate if they were calibrated.
    low, high
        (p,) ends of the interval of the error rate (Wilson 1927); nan without a level.
    """

    rejected: Doubles
    error_rate: Doubles
    promised: Doubles
    low: Doubles
    high: Doubles

    def tables(self) -> Tables:
        """Return the table behind the curve."""
        names = ("rejected", "error_rate", "low", "high", "promised")
        return {"": {name: getattr(self, name) for name in names}}


def rejection_curve(problem: Problem, level: float | None = None) -> RejectionCurve:
    """Return the error rate against the share of rows rejected, from the top-1 problem.

    Rows of equal confidence are rejected together. The curve ends where fewer than ten rows would be kept
    (risk and coverage; El-Yaniv & Wiener 2010).

    Parameters
    ----------
    problem
        Confidence of the rows, and whether they are right.
    level
        Level of the intervals, which assume independent rows; None for none.
    """
    ends = problem.run_ends
    starts = np.append(0, ends[:-1])
    starts = starts[: max(1, np.searchsorted(starts, len(problem.score) - FEW_ROWS, side="right"))]
    cuts = starts[np.unique(np.linspace(0, len(starts) - 1, POINTS).astype(np.intp))]
    weights = row_weights(problem)
    doubted = weights * (1 - problem.score.astype(np.float64))
    every = (weights, problem.squared_weights, weights * ~problem.outcome, doubted)
    sums = np.stack([np.cumsum(values[::-1], dtype=np.float64)[::-1][cuts] for values in every])
    weight, squares, errors, promised = sums[:, sums[0] > 0]
    rate = errors / weight
    low, high = np.full((2, len(rate)), np.nan)
    if level is not None:
        low, high = wilson_interval(np.clip(rate, 0, 1), weight**2 / squares, level)
    return RejectionCurve(1 - weight / weight[0], rate, promised / weight, low, high)


@dataclass(frozen=True)
class Rates:
    """Rates of predicting the class at or above each score; rows of equal score are taken together.

    Attributes
    ----------
    threshold
        (p,) scores, the highest first.
    share, recall, false_positive_rate
        (p,) share of all rows, of the rows of the class, and of the other rows that have at least this score.
    precision
        (p,) share of the class among the rows with at least this score; nan without such rows.
    frequency
        Frequency of the class: the precision of random scores.
    marked
        The rates at the thresholds of the settings; None without thresholds.
    """

    threshold: Doubles
    share: Doubles
    recall: Doubles
    precision: Doubles
    false_positive_rate: Doubles
    frequency: float
    marked: Rates | None = None

    @property
    def lift(self) -> Doubles:
        """(p,) precision over frequency."""
        return self.precision / self.frequency

    def tables(self) -> Tables:
        """Return the table behind the curve, and the marked thresholds."""
        names = ("threshold", "share", "recall", "precision", "false_positive_rate", "lift")
        every = {"": self} | ({"marked": self.marked} if self.marked else {})
        return {part: {name: getattr(rates, name) for name in names} for part, rates in every.items()}


@dataclass(frozen=True)
class Benefits:
    """Net benefits of a system at some thresholds, or the differences between two systems.

    Attributes
    ----------
    threshold
        (q,) in (0, 1).
    value
        (q,) net benefits, or differences.
    low, high
        (q,) ends of the interval at each threshold; nan where there is none.
    """

    threshold: Doubles
    value: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, points: Iterable[tuple[float, float, Interval | None]]) -> Benefits:
        """Return thresholds, values and their intervals as columns."""
        nowhere = Interval(math.nan, math.nan, 0)
        ends = ((t, value, interval or nowhere) for t, value, interval in points)
        return cls(*np.array([(t, value, of.low, of.high) for t, value, of in ends]).T)

    def tables(self) -> Tables:
        """Return the table of the values."""
        return {"": vars(self)}


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit at every threshold (Vickers & Elkin 2006).

    Attributes
    ----------
    threshold
        (p,) evenly spaced, from 0 to `HIGHEST`.
    net_benefit, treat_all
        (p,) of predicting the class where its score is at least that, and everywhere.
    points
        Net benefits with intervals; None for a state without the sums.
    """

    threshold: Doubles
    net_benefit: Doubles
    treat_all: Doubles
    points: Benefits | None = None

    def tables(self) -> Tables:
        """Return the table behind the curve, and the net benefits with intervals."""
        names = ("threshold", "net_benefit", "treat_all")
        points = {} if self.points is None else {"intervals": vars(self.points)}
        return {"": {name: getattr(self, name) for name in names}, **points}


def _above(problem: Problem) -> tuple[Doubles, Doubles]:
    """Return (n + 1,) shares of the weight from each row on, in the class and outside it."""
    of_class = problem.outcome.astype(np.float64)
    hits, alarms = (
        np.append(np.cumsum((row_weights(problem) * kind)[::-1])[::-1], 0) / problem.total_weight
        for kind in (of_class, 1 - of_class)
    )
    return hits, alarms


def rates(problem: Problem, thresholds: Sequence[float] = ()) -> Rates:
    """Return the rates of the ordered problem of one class: at up to 802 scores, and at the thresholds."""
    hits, alarms = _above(problem)
    starts = np.append(0, problem.run_ends[:-1])[::-1]
    starts = starts[hits[starts] + alarms[starts] > 0]
    steps = [np.linspace(0, total[0], POINTS) for total in (hits, alarms)]
    places = [np.searchsorted(of[starts], at) for of, at in zip((hits, alarms), steps, strict=True)]
    starts = starts[np.unique(np.concatenate(places)).clip(max=len(starts) - 1)]

    def at(threshold: Doubles, starts: Positions, marked: Rates | None = None) -> Rates:
        hit, alarm = hits[starts], alarms[starts]
        recall, precision, false = (
            np.divide(part, total, out=np.full(len(part), np.nan), where=np.asarray(total) > 0)
            for part, total in ((hit, hits[0]), (hit, hit + alarm), (alarm, alarms[0]))
        )
        return Rates(threshold, hit + alarm, recall, precision, false, float(hits[0]), marked)

    chosen = np.array(thresholds)
    marked = at(chosen, np.searchsorted(problem.score, chosen)) if thresholds else None
    return at(problem.score[starts].astype(np.float64), starts, marked)


def net_benefit(problem: Problem, points: Benefits | None = None) -> NetBenefit:
    """Return the net benefit of the ordered problem of one class, with its values at some thresholds."""
    threshold = np.linspace(0, HIGHEST, POINTS)
    hits, alarms = _above(problem)
    below = np.searchsorted(problem.score, threshold)
    odds = threshold / (1 - threshold)
    return NetBenefit(threshold, hits[below] - alarms[below] * odds, hits[0] - alarms[0] * odds, points)


def benefits(evaluations: Sequence[Evaluation]) -> tuple[Sequence[Benefits | None], Benefits | None]:
    """Return the net benefits of systems with intervals, and the differences (second minus first) of a pair.

    The settings have the thresholds; by default they are evenly spaced. A pair is two systems with the same
    cases.

    Parameters
    ----------
    evaluations
        Of two classes.
    """
    settings, every = evaluations[0].settings, [evaluation.predictions for evaluation in evaluations]
    names = tuple(f"net_benefit:threshold={t!r}" for t in settings.thresholds or SPACED)
    settings = replace(settings, metrics=names, thresholds=(), draws=0, priors=None, shift_to_priors=None)
    same = Paired(tuple(every), (0,) * len(every), paired=False)
    if len(every) == 2:
        with suppress(CalcliError):  # other cases
            same = pair(every)
    metrics = {call.arguments["threshold"]: call for call in parse_metrics(names)}
    systems, estimates = list[System](), list[dict[float, Estimate]]()
    for rows, evaluation in zip(same.systems, evaluations, strict=True):
        many = is_sampled(rows, settings)
        measured = measure(rows, settings, sections=(), sampled=many, summed=many)
        try:
            estimates.append({t: metric.estimate(measured, settings) for t, metric in metrics.items()})
        except NeedsRows:
            return [None] * len(every), None
        brought = influences(measured, [*metrics.values()]) if settings.intervals else {}
        systems.append(System(measured, evaluation, brought))
    points = [Benefits.of((t, e.value, e.interval) for t, e in by_t.items()) for by_t in estimates]
    if not same.paired:
        return points, None
    sides, (baseline, candidate) = Pair(systems[0], systems[1], settings), estimates
    changes = {t: evidence(metric, sides).interval(settings.level) for t, metric in metrics.items()}
    return points, Benefits.of((t, candidate[t].value - baseline[t].value, x) for t, x in changes.items())
