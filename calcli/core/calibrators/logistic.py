"""Logistic regression on logarithms of the score: Platt scaling and beta calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import ClassVar, Literal

import numpy as np

from calcli.core.calibrators.events import Bools, Event
from calcli.core.calibrators.fit.brier import RAN_AWAY, LogisticBrier, ran_away
from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.calibrators.fit.searching import (
    CALIBRATION_ERRORS,
    REACH,
    binary_error,
    least_in_box,
    told_box,
)
from calcli.core.calibrators.onevsrest import CLASS_WISE, MapParameters, OneDimensional
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.language.errors import UsageError

Input = Literal["log-probs", "raw"]
Score = Literal["log_loss", "brier", "ece", "ece_l2"]
Variant = Literal["abm", "ab", "am"]

TOLERANCE = 1e-10
NOTHING = 1e-100  # of log-odds, whose squares are normal numbers
LOG_2 = float(np.log(2))
LOG_EPSILON = -52 * LOG_2  # stands for a probability of 0 where no positive one was seen


@dataclass(frozen=True)
class LogisticProblem:
    """The rows of one event, with finite logarithms.

    Attributes
    ----------
    log_prob, log_complement
        (N,) logarithms of the score and of 1 - score, those of exactly 0 replaced.
    outcome
        (N,) booleans.
    weight
        (N,) weights, all 1 if none were given.
    score
        What is minimized; a calibration error in a box around the optimum of the log-loss.
    remark
        Notes what is to be said of the fit.
    """

    log_prob: Doubles
    log_complement: Doubles
    outcome: Bools
    weight: Doubles
    score: str = "log_loss"
    remark: Callable[[str], None] = lambda text: None

    @property
    def log_odds(self) -> Doubles:
        """(N,) log-odds of the scores."""
        return self.log_prob - self.log_complement

    def fit(self, features: Doubles, target: Doubles) -> tuple[Doubles, float]:
        """Return the best coefficients of (N, P) features, and the mean loss."""
        units = np.array([unit_of(column) for column in features.T])
        features = features / units  # how far a minimum is found depends on them
        share = self.weight / self.weight.sum()
        loss = LogisticLoss(features, target, share)
        best = np.zeros(features.shape[1])
        if len(best):
            mean = float(share @ target)
            flat = len(best) == 1 or (target == target[0]).all()
            if flat and 0 < mean < 1 and (features[:, -1] == 1).all():
                best[-1] = np.log(mean / (1 - mean))  # which an intercept alone attains
            best = minimize(loss, best, TOLERANCE).x
        if self.score == "brier" and len(best):
            loss = LogisticBrier(features, target, share)
            found = minimize(loss, best, TOLERANCE)
            if ran_away(found, best):
                loss.ridge, loss.centre = 1 / float(self.weight.sum()), best
                found = minimize(loss, best, TOLERANCE)
                self.remark(RAN_AWAY)
            best = found.x
        value = loss.evaluate(best)[0]
        if self.score in CALIBRATION_ERRORS and len(best):
            reach = REACH * np.abs(best)
            reach[(features == features[0]).all(axis=0)] = REACH  # of an intercept
            best = least_in_box(lambda at: self._error(features, at, share), best, reach)
            self.remark(told_box(self.score))
        return best / units, value

    def _error(self, features: Doubles, at: Doubles, share: Doubles) -> float:
        prob = np.exp(-np.logaddexp(0, -(features @ at)))
        return binary_error(prob, self.outcome.astype(np.float64), share, self.score)

    def smoothed_targets(self) -> Doubles:
        """Return Platt's targets: (n1 + 1) / (n1 + 2) for the n1 hits, 1 / (n0 + 2) for the n0 misses."""
        hits = self.weight[self.outcome].sum()
        misses = self.weight.sum() - hits
        return np.where(self.outcome, (hits + 1) / (hits + 2), 1 / (misses + 2))

    def separable(self, *, rising: bool, threshold: float | None = None) -> bool:
        """Return whether a step in the score fits the outcomes perfectly, so that no finite fit is the best.

        Parameters
        ----------
        rising : bool
            Whether only a step upward counts.
        threshold : float, optional
            The only log-odds at which the step can be. Default: anywhere.
        """
        score = self.log_odds if threshold is None else self.log_odds - threshold
        hits, misses = score[self.outcome], score[~self.outcome]
        if not len(hits) or not len(misses):
            alone = np.concatenate([hits, -misses])
            return threshold is None or bool(alone.min() >= 0 and alone.max() > 0)
        if score.min() == score.max():
            return False
        low, high = misses.max(), hits.min()
        if threshold is not None:
            return bool(low <= 0 <= high)
        return bool(low <= high or (not rising and hits.max() <= misses.min()))


def unit_of(values: Doubles) -> float:
    """Return the largest size of some values, by whose square one can divide; 1 if it is next to nothing."""
    largest = float(np.abs(values).max(initial=0))
    return largest if largest > NOTHING else 1.0


def zero_levels(event: Event) -> MapParameters:
    """Return what stands for the logarithm of 0: that of half the smallest positive probability seen."""
    levels = {}
    for key, logs in (("zero_log_prob", event.log_prob), ("zero_log_complement", event.log_complement)):
        finite = np.isfinite(logs)
        smallest = logs.min(where=finite, initial=np.inf) if finite.any() else LOG_EPSILON
        levels[key] = np.array(smallest - LOG_2, dtype=np.float64)
    return levels


def finite_logs(parameters: MapParameters, event: Event) -> tuple[Doubles, Doubles]:
    """Return the log-probabilities of an event and of its complement, (N,) each, those of 0 replaced."""

    def finite(logs: Floats, level: Doubles) -> Doubles:
        return np.where(np.isneginf(logs), level, logs).astype(np.float64, copy=False)

    return (
        finite(event.log_prob, parameters["zero_log_prob"]),
        finite(event.log_complement, parameters["zero_log_complement"]),
    )


def sigmoid_event(logit: Doubles) -> Event:
    """Return the event whose log-odds are `logit`, (N,)."""
    return Event(-np.logaddexp(0, -logit), lambda: -np.logaddexp(0, logit))


@dataclass(kw_only=True, eq=False, repr=False)
class Logistic(OneDimensional):
    """What Platt scaling and beta calibration share: finite logarithms, and the way out of separable data.

    Attributes
    ----------
    score
        What is minimized; a calibration error of the event, in a box around the optimum of the log-loss.
    """

    score: Score = "log_loss"

    def problem(
        self, event: Event, outcome: Bools, weight: Array | None
    ) -> tuple[MapParameters, LogisticProblem]:
        """Return what stands for the logarithm of 0, and the rows to fit to; remark on such probabilities."""
        levels = zero_levels(event)
        if np.isneginf(event.log_prob).any() or np.isneginf(event.log_complement).any():
            self.remark("probabilities of exactly 0 count as half the smallest positive one of the fit")
        weights = np.ones(len(outcome)) if weight is None else weight.astype(np.float64)
        problem = LogisticProblem(*finite_logs(levels, event), outcome, weights, self.score, self.remark)
        return levels, problem

    def safe_targets(self, problem: LogisticProblem, separable: bool) -> Doubles:
        """Return the outcomes as they are, or smoothed as by Platt where no finite fit would be the best."""
        if not separable:
            return problem.outcome.astype(np.float64)
        self.remark("the score separates the outcomes and the best slope is infinite; targets were smoothed")
        return problem.smoothed_targets()


@dataclass(kw_only=True, eq=False, repr=False)
class Platt(Logistic):
    """sigmoid(slope * log-odds + intercept), fitted by maximum likelihood.

    Parameters
    ----------
    target_smoothing : {"auto", True, False}
        Whether the targets are Platt's, (n1 + 1) / (n1 + 2) and 1 / (n0 + 2), or 1 and 0. With 1 and 0
        there is no finite optimum where the score separates the outcomes; Platt's are taken there. "auto" is
        as published for one event, of two classes or of a lens such as top-1; where each of three or more
        classes has a map against the rest, with few rows of its own, they pull it up, and it is False.
    input : {"log-probs", "raw"}
        With "raw" each class against the rest, also of two, has a map of its own logit in place of its
        log-odds (van de Waterlaat 2021, section 6.4).
    {lens}
    score : {"log_loss", "brier", "ece", "ece_l2"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss. A
        calibration error is that of each map by itself, in a box that a note gives; see `Temperature`.

    References
    ----------
    Platt 1999, Probabilistic outputs for support vector machines. The score is the log-odds here, so that
    slope 1 and intercept 0 change nothing.
    """

    name: ClassVar[str] = "platt"

    target_smoothing: Literal["auto", True, False] = "auto"
    input: Input = "log-probs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.input == "raw" and self.lens != CLASS_WISE:
            raise UsageError(f"input=raw takes every logit by itself; leave out lens={self.lens}")

    def working(self, scores: Array) -> Floats:
        """Return what the maps act on."""
        return scores.astype(np.float64, copy=False) if self.input == "raw" else super().working(scores)

    def events_of(self, scores: Floats) -> Iterator[tuple[int, Event]]:
        """Yield the class and event of each map; raw logits are taken for log-odds of every class."""
        if self.input != "raw":
            yield from super().events_of(scores)
            return
        for k, logit in enumerate(scores.T):
            yield k, Event(logit, lambda: np.zeros(len(scores)))

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return `slope` and `intercept`, and the levels that stand for the logarithm of 0."""
        levels, problem = self.problem(event, outcome, weight)
        if self.target_smoothing is True or (self.target_smoothing == "auto" and not self.several):
            target = problem.smoothed_targets()
        else:
            target = self.safe_targets(problem, problem.separable(rising=False))
        features = np.column_stack([problem.log_odds, np.ones(len(outcome))])
        slope, intercept = problem.fit(features, target)[0]
        return {"slope": slope, "intercept": intercept, **levels}

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        log_prob, log_complement = finite_logs(parameters, event)
        return sigmoid_event(parameters["slope"] * (log_prob - log_complement) + parameters["intercept"])


@dataclass(kw_only=True, eq=False, repr=False)
class Beta(Logistic):
    """sigmoid(a ln s - b ln(1 - s) + c) with a, b >= 0, fitted by maximum likelihood.

    Parameters
    ----------
    variant : {"abm", "ab", "am"}
        All three free; c such that 1/2 stays 1/2, c = (a - b) ln 2; or a = b, which is logistic regression on
        the log-odds.
    constrained : bool
        Whether a and b must not be negative, so that the map rises.
    {lens}
    score : {"log_loss", "brier", "ece", "ece_l2"}
        What is minimized. The Brier score is not convex: its minimum nearest to that of the log-loss. A
        calibration error is that of each map by itself, in a box that a note gives; see `Temperature`.

    References
    ----------
    Kull, Silva Filho & Flach 2017, Beyond sigmoids: how to obtain well-calibrated probabilities from binary
    classifiers with beta calibration.
    """

    name: ClassVar[str] = "beta"

    variant: Variant = "abm"
    constrained: bool = True

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return `a`, `b` and `c`, and the levels that stand for the logarithm of 0."""
        levels, problem = self.problem(event, outcome, weight)
        threshold = 0.0 if self.variant == "ab" else None
        separable = problem.separable(rising=self.constrained, threshold=threshold)
        target = self.safe_targets(problem, separable)
        ones = np.ones(len(outcome))
        rising = self.constrained
        if self.variant == "am":
            slope, c = _fit_rising(problem, np.column_stack([problem.log_odds, ones]), target, 1 * rising)
            a = b = slope
        elif self.variant == "ab":
            features = np.column_stack([problem.log_prob + LOG_2, -problem.log_complement - LOG_2])
            a, b = _fit_rising(problem, features, target, 2 * rising)
            c = (a - b) * LOG_2
        else:
            features = np.column_stack([problem.log_prob, -problem.log_complement, ones])
            a, b, c = _fit_rising(problem, features, target, 2 * rising)
        return {"a": a, "b": b, "c": c, **levels}

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        log_prob, log_complement = finite_logs(parameters, event)
        return sigmoid_event(parameters["a"] * log_prob - parameters["b"] * log_complement + parameters["c"])


def _fit_rising(problem: LogisticProblem, features: Doubles, target: Doubles, slopes: int) -> Doubles:
    """Return the best coefficients whose first `slopes` are not negative.

    The function is convex, so that the best of the fits with some of the slopes held at 0 is exact. If the
    fit without any is allowed, it is the best; else the best one holds some slope that is negative there.
    """
    best, best_loss = np.zeros(features.shape[1]), np.inf
    negative = set(range(slopes))
    for held in _subsets(range(slopes)):
        if held and negative.isdisjoint(held):
            continue
        free = [j for j in range(features.shape[1]) if j not in held]
        coefficients = np.zeros(features.shape[1])
        coefficients[free], loss = problem.fit(features[:, free], target)
        below = set(np.flatnonzero(coefficients[:slopes] < 0).tolist())
        if not below and loss < best_loss:
            best, best_loss = coefficients, loss
        if not held:
            negative = below
        if not below and len(negative) < 2:
            break
    return best


def _subsets(items: range) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))
