"""Logistic regression on logarithms of the score: Platt scaling and beta calibration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal

import numpy as np

from calcli.core.calibrators.base import FITTED_TO, MINIMIZED, Event
from calcli.core.calibrators.fit.logistic import LogisticProblem, fit_each
from calcli.core.calibrators.fit.training import LOG_2, STAND_IN, clip_below, floor_level
from calcli.core.calibrators.onevsrest import CLASS_WISE, MapParameters, OneDimensional
from calcli.core.data.arrays import Array, Bools, Doubles, Floats
from calcli.core.language.entries import arg, method
from calcli.core.language.errors import UsageError

Input = Literal["log-probs", "raw"]
Score = Literal["log_loss", "brier"]
Variant = Literal["abm", "ab", "am"]

AT_ONCE = 2**15  # rows times problems that are fitted together


def zero_levels(event: Event) -> MapParameters:
    """Return what stands for the logarithm of 0, of the event and of its complement."""
    logs = {"zero_log_prob": event.log_prob, "zero_log_complement": event.log_complement}
    return {key: np.array(floor_level(values), dtype=np.float64) for key, values in logs.items()}


def finite_logs(parameters: MapParameters, event: Event) -> tuple[Doubles, Doubles]:
    """Return the log-probabilities of an event and of its complement, (N,) each, raised to their levels."""
    return (
        clip_below(event.log_prob, parameters["zero_log_prob"]),
        clip_below(event.log_complement, parameters["zero_log_complement"]),
    )


def sigmoid_event(logit: Doubles) -> Event:
    """Return the event with log-odds `logit`, (N,)."""
    return Event(-np.logaddexp(0, -logit), lambda: -np.logaddexp(0, logit))


@dataclass(kw_only=True, eq=False, repr=False)
class Logistic(OneDimensional):
    """What Platt scaling and beta calibration share: finite logarithms, and the way out of separable data.

    Attributes
    ----------
    score
        Score that the fit minimizes.
    """

    score: Score = arg(MINIMIZED, default="log_loss")

    def fit_maps(self, events: Iterable[tuple[Event, Bools]], weight: Array | None) -> list[MapParameters]:
        """Return the parameters of the maps of some events, of few rows fitted many at once."""
        maps: list[MapParameters] = []
        waiting: list[LogisticProblem] = []
        for event, outcome in events:
            waiting.append(self._problem(event, outcome, weight))
            if len(waiting) * len(outcome) >= AT_ONCE:
                maps += self.fit_together(waiting)
                waiting = []
        return maps + (self.fit_together(waiting) if waiting else [])

    def fit_map(self, event: Event, outcome: Bools, weight: Array | None) -> MapParameters:
        """Return the parameters of one map; see `fit_maps`."""
        return self.fit_maps([(event, outcome)], weight)[0]

    @abstractmethod
    def fit_together(self, problems: Sequence[LogisticProblem]) -> list[MapParameters]:
        """Return the parameters of the maps of several events of the same rows."""

    def _problem(self, event: Event, outcome: Bools, weight: Array | None) -> LogisticProblem:
        """Return the rows to fit to; remark on probabilities of 0."""
        levels = zero_levels(event)
        if np.isneginf(event.log_prob).any() or np.isneginf(event.log_complement).any():
            self.remark(f"some probabilities are exactly 0 or 1: a 0 {STAND_IN}; a 1 is treated likewise")
        weights = np.ones(len(outcome)) if weight is None else weight.astype(np.float64)
        logs = finite_logs(levels, event)
        return LogisticProblem(levels, *logs, outcome, weights, self.score, self.remark)

    def breakpoints(self) -> Doubles:
        """Return what stands for 0 and for 1, beyond which a map is flat."""
        zero, complement = (np.asarray(self.learned(key)) for key in ("zero_log_prob", "zero_log_complement"))
        return np.concatenate([np.exp(zero), -np.expm1(complement)])

    def safe_targets(self, problem: LogisticProblem, separable: bool) -> Doubles:
        """Return the outcomes as they are, or smoothed as by Platt where no finite fit would be the best."""
        if not separable:
            return problem.outcome.astype(np.float64)
        self.remark("the score separates the outcomes and the best slope is infinite; targets were smoothed")
        return problem.smoothed_targets()


@method(
    "platt", "Platt scaling", family="one score", freedom=90, parameters="2 a class", count=lambda k, s: 2,
    effort=14,
)  # fmt: skip
class Platt(Logistic):
    """sigmoid(slope * log-odds + intercept), fitted by maximum likelihood.

    Learns: sigmoid(slope * log-odds + intercept)
    Keeps: with two classes, the order of the rows while the map is increasing
    Source: Platt 1999

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
    score : {"log_loss", "brier"}
        Score that the fit minimizes. The Brier score is not convex: its minimum nearest to the minimum of the
        log-loss.

    References
    ----------
    Platt 1999, Probabilistic outputs for support vector machines. The score is the log-odds here: slope 1 and
    intercept 0 change nothing.
    """

    target_smoothing: Literal["auto", True, False] = arg(
        "Platt's smoothed targets instead of 1 and 0; auto: for one event, not for three or more classes",
        default="auto",
    )
    input: Input = arg(FITTED_TO, default="log-probs")

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

    def fit_together(self, problems: Sequence[LogisticProblem]) -> list[MapParameters]:
        """Return `slope` and `intercept` of each, and the levels that stand for the logarithm of 0."""
        odds = np.array([problem.log_odds for problem in problems])
        features = np.stack([odds, np.ones_like(odds)], axis=2)
        best = fit_each(problems, features, np.array([self._target(problem) for problem in problems]))[0]
        return [
            {"slope": slope, "intercept": intercept, **problem.levels}
            for (slope, intercept), problem in zip(best, problems, strict=True)
        ]

    def _target(self, problem: LogisticProblem) -> Doubles:
        if self.target_smoothing is True or (self.target_smoothing == "auto" and not self.several):
            return problem.smoothed_targets()
        return self.safe_targets(problem, problem.separable(rising=False))

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        log_prob, log_complement = finite_logs(parameters, event)
        return sigmoid_event(parameters["slope"] * (log_prob - log_complement) + parameters["intercept"])


@method(
    "beta", "Beta calibration", family="one score", freedom=100, parameters="3 a class",
    count=lambda k, s: 3, effort=40, quick=True,
)  # fmt: skip
class Beta(Logistic):
    """sigmoid(a ln s - b ln(1 - s) + c) with a, b >= 0, fitted by maximum likelihood.

    Learns: sigmoid(a ln s - b ln(1 - s) + c), a and b not negative
    Keeps: with two classes, the order of the rows
    Source: Kull et al. 2017

    Parameters
    ----------
    variant : {"abm", "ab", "am"}
        All three free; c such that 1/2 stays 1/2, c = (a - b) ln 2; or a = b, which is logistic regression on
        the log-odds.
    constrained : bool
        Whether a and b must not be negative, which makes the map rise.
    {lens}
    score : {"log_loss", "brier"}
        Score that the fit minimizes. The Brier score is not convex: its minimum nearest to the minimum of the
        log-loss.

    References
    ----------
    Kull, Silva Filho & Flach 2017, Beyond sigmoids: how to obtain well-calibrated probabilities from binary
    classifiers with beta calibration.
    """

    variant: Variant = arg("all three free; 1/2 fixed; or a = b", default="abm")
    constrained: bool = arg("whether a and b are not negative", default=True)

    def fit_together(self, problems: Sequence[LogisticProblem]) -> list[MapParameters]:
        """Return `a`, `b` and `c` of each, and the levels that stand for the logarithm of 0."""
        log_prob = np.array([problem.log_prob for problem in problems])
        log_complement = np.array([problem.log_complement for problem in problems])
        intercept = np.ones_like(log_prob)
        if self.variant == "am":
            columns = [log_prob - log_complement, intercept]
        elif self.variant == "ab":
            columns = [log_prob + LOG_2, -log_complement - LOG_2]
        else:
            columns = [log_prob, -log_complement, intercept]
        best = self._rising(problems, np.stack(columns, axis=2))
        if self.variant == "am":
            best = best[:, [0, 0, 1]]
        elif self.variant == "ab":
            best = np.column_stack([best, (best[:, 0] - best[:, 1]) * LOG_2])
        return [
            {"a": a, "b": b, "c": c, **problem.levels}
            for (a, b, c), problem in zip(best, problems, strict=True)
        ]

    def _rising(self, problems: Sequence[LogisticProblem], features: Doubles) -> Doubles:
        """Return the best coefficients, with slopes not negative where `constrained`."""
        threshold = 0.0 if self.variant == "ab" else None
        separable = [problem.separable(rising=self.constrained, threshold=threshold) for problem in problems]
        targets = np.array([self.safe_targets(*pair) for pair in zip(problems, separable, strict=True)])
        slopes = 1 if self.variant == "am" else 2
        return _fit_rising(problems, features, targets, slopes if self.constrained else 0)

    def apply_map(self, parameters: MapParameters, event: Event) -> Event:
        """Return the event after calibration."""
        log_prob, log_complement = finite_logs(parameters, event)
        return sigmoid_event(parameters["a"] * log_prob - parameters["b"] * log_complement + parameters["c"])


def _fit_rising(
    problems: Sequence[LogisticProblem], features: Doubles, targets: Doubles, slopes: int
) -> Doubles:
    """Return the best coefficients of each problem with its first `slopes` not negative.

    The function is convex: the best of the fits with some of the slopes held at 0 is exact. If the fit
    without any is allowed, it is the best; else the best one holds some slope that is negative there.
    """
    best, least = np.zeros(features[:, 0].shape), np.full(len(features), np.inf)
    negative = np.ones((len(features), slopes), dtype=np.bool_)  # without any held
    open_ = np.ones(len(features), dtype=np.bool_)
    for subset in _subsets(range(slopes)):
        at = np.flatnonzero(open_ & (negative[:, subset].any(axis=1) if subset else True))
        if not len(at):
            continue
        free = [j for j in range(features.shape[2]) if j not in subset]
        coefficients = np.zeros((len(at), features.shape[2]))
        chosen = features[at][:, :, free] if subset else features
        coefficients[:, free], losses = fit_each([problems[i] for i in at.tolist()], chosen, targets[at])
        below = coefficients[:, :slopes] < 0
        allowed = ~below.any(axis=1)
        better = allowed & (losses < least[at])
        best[at[better]], least[at[better]] = coefficients[better], losses[better]
        if not subset:
            negative = below
        open_[at[allowed & (negative[at].sum(axis=1) < 2)]] = False
    return best


def _subsets(items: range) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))
