"""A sequential test of calibration, valid at any number of looks.

A bet (a, b) says that the log-odds of an outcome are a z + b, where the prediction says z. A row adds to the
evidence the log of how much more likely the bet makes its outcome than the hypothesis does, at the log-odds
nearest to the bet where the hypothesis allows an interval: its factor has a mean of at most 1 under it
(Arnold, Henzi & Ziegel 2021; Henzi, Puke, Dimitriadis & Ziegel 2022), and so has the product over rows. For
dependent rows, the mean of their factors has such a mean (Vovk & Wang 2021).
Evidence is added up by period, over rows, files and machines. Every bet is started anew in each period, with
weights that sum to 1; the mean of all exceeds 1 / (1 - level) in at most 1 - level of all streams without a
fault, at any time (Ville 1939).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import minimize
from calcli.core.data.arrays import WIDEST, Array, Doubles, Positions, batches, from_log_odds, log_odds
from calcli.core.data.units import Units

STEPS = (0.05, 0.1, 0.2, 0.4, 0.8)  # of the log-odds, up and down
BETS = np.array(
    [
        *((1, sign * step) for step, sign in product(STEPS, (1, -1))),
        *((slope, 0) for slope in (0.5, 0.7, 0.85, 1.2, 1.5)),
        *product((0.7, 1.3), (0.2, -0.2)),
    ]
)
AT_ONCE = 1 << 16  # numbers; their temporaries stay in the cache
LATER = 1.0  # evidence by which a start after the first period has to explain more than that one
RIDGE, GRADIENT = 1e-3, 1e-12  # of the fit to a reference


@dataclass(frozen=True)
class Reference:
    """The outcomes of reference rows, as a line in the log-odds of their predictions.

    Attributes
    ----------
    rows
        Number of rows.
    line, covariance
        Intercept and slope, and their covariance; rows may be dependent.
    """

    rows: int
    line: tuple[float, float]
    covariance: tuple[tuple[float, float], tuple[float, float]]

    @classmethod
    def of(cls, score: Doubles, outcome: Array, units: Units, *, flat: bool = False) -> Reference:
        """Return the line of (n,) probabilities and outcomes; a flat line has only an intercept."""
        features = np.stack([np.ones(len(score)), log_odds(score)], axis=1)[:, : 1 if flat else 2]
        loss = LogisticLoss(features, outcome, np.full(len(score), 1 / len(score)))
        loss.add_ridge(np.array([0.0, 1.0][: features.shape[1]]), np.array(RIDGE / len(score)))
        line = minimize(loss, loss.centre, GRADIENT).x
        loss.evaluate(line)
        loss.refresh()
        influence_values = np.stack([units.sums(column) for column in (loss.residual[:, None] * features).T])
        few = units.number / max(1, units.number - len(line))
        inverse = np.linalg.inv(loss.hessian)
        covariance, ends = np.zeros((2, 2)), np.zeros(2)
        covariance[: len(line), : len(line)] = (
            few * inverse @ (influence_values @ influence_values.T) @ inverse
        )
        ends[: len(line)] = line
        (a, b), ((aa, ab), (ba, bb)) = ends.tolist(), covariance.tolist()
        return cls(len(score), (a, b), ((aa, ab), (ba, bb)))


@dataclass(frozen=True)
class Hypothesis:
    """A range of log-odds for the outcomes; an end beyond one in a million is open.

    Attributes
    ----------
    log_odds, low, high
        (n,) the predicted log-odds, and the ends of the range that the hypothesis allows.
    """

    log_odds: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, score: Doubles, low: Doubles, high: Doubles) -> Hypothesis:
        """Return the hypothesis that true probabilities lie between (n,) others; the bet uses the score."""
        ends = log_odds(low), log_odds(high)
        return cls(
            log_odds(score),
            np.where(ends[0] <= -WIDEST + 1e-9, -np.inf, ends[0]),
            np.where(ends[1] >= WIDEST - 1e-9, np.inf, ends[1]),
        )

    @classmethod
    def within(cls, score: Doubles, tolerance: float) -> Hypothesis:
        """Return the hypothesis that (n,) probabilities are right up to a tolerance."""
        return cls.of(score, score - tolerance, score + tolerance)

    @classmethod
    def against(cls, score: Doubles, reference: Reference, level: float) -> Hypothesis:
        """Return the hypothesis that (n,) probabilities behave as in a reference, at a level."""
        features = np.stack([np.ones(len(score)), log_odds(score)], axis=1)
        middle = features @ np.array(reference.line)
        spread = np.sqrt(np.vecdot(features @ np.array(reference.covariance), features))
        reach = np.sqrt(-2 * np.log1p(-level)) * spread  # of a line: Scheffe 1953
        return cls(middle, middle - reach, middle + reach)

    def widened(self, tolerance: float) -> Hypothesis:
        """Return the hypothesis with a tolerance added on both sides."""
        if not tolerance:
            return self
        ends = from_log_odds(self.low) - tolerance, from_log_odds(self.high) + tolerance
        return Hypothesis.of(from_log_odds(self.log_odds), *ends)

    def log_factors(self, outcome: Array) -> Doubles:
        """Return the (n, bets) logarithms of the factors of rows, for (n,) outcomes from 0 to 1.

        For outcomes between 0 and 1 the means are at most 1 as well, by Jensen's inequality.
        """
        bet = self.log_odds[:, None] * BETS[:, 0] + BETS[:, 1]
        nearest = self.low[:, None]
        if not np.array_equal(self.low, self.high):
            nearest = np.clip(bet, nearest, self.high[:, None])
        log_factors = _softplus(nearest) - _softplus(bet)
        log_factors += outcome[:, None] * (bet - nearest)
        return log_factors


def _softplus(values: Doubles) -> Doubles:
    """Return log(1 + exp(values)), several times as fast as numpy's logaddexp."""
    return np.maximum(values, 0) + np.log1p(np.exp(-np.abs(values)))


def evidence(
    hypothesis: Hypothesis,
    outcome: Array,
    period: Positions,
    periods: int,
    units: Units | None = None,
    counts: Array | None = None,
) -> Doubles:
    """Return the (periods, bets) evidence of rows.

    Parameters
    ----------
    hypothesis
        The hypothesis for each row.
    outcome
        (n,) from 0 to 1.
    period
        (n,) number of the period of each row.
    periods
        Number of periods.
    units
        Dependent rows of one period; None for independent rows.
    counts
        (n,) number of rows that each stands for; None for one.
    """
    group, groups = (period, periods) if units is None else (units.of_row, units.number)
    total = np.zeros((groups, len(BETS)))
    for rows in batches(len(outcome), len(BETS), AT_ONCE):
        part = Hypothesis(hypothesis.log_odds[rows], hypothesis.low[rows], hypothesis.high[rows])
        log_factors = part.log_factors(outcome[rows])
        log_factors = log_factors if units is None else np.exp(log_factors)
        log_factors = log_factors if counts is None else log_factors * counts[rows, None]
        total += np.stack([np.bincount(group[rows], column, groups) for column in log_factors.T], axis=1)
    if units is None:
        return total
    means, of = np.log(total / np.bincount(group)[:, None]), np.zeros(groups, np.intp)
    of[group] = period
    return np.stack([np.bincount(of, column, periods) for column in means.T], axis=1)


def log_e_values(evidence: Doubles) -> Doubles:
    """Return the (periods, ...) logarithms of e-values, one after each period of (periods, ..., bets).

    The weight of future starts is not bet.
    """
    running = np.full(evidence.shape[1:], -np.inf)
    log_values = np.empty(evidence.shape[:-1])
    for t, log_factor in enumerate(evidence):
        running = np.logaddexp(running, -np.log((t + 1) * (t + 2))) + log_factor
        mixed = np.logaddexp.reduce(running, axis=-1) - np.log(evidence.shape[-1])
        log_values[t] = np.logaddexp(mixed, -np.log(t + 2))
    return log_values


@dataclass(frozen=True)
class Change:
    """The change that best explains the evidence up to a period.

    Attributes
    ----------
    start
        Number of the period in which it began.
    slope, intercept
        The log-odds of the outcomes are these functions of the predicted ones.
    """

    start: int
    slope: float
    intercept: float


def change(evidence: Doubles) -> Change:
    """Return the change that best explains (periods, bets) evidence.

    Starts after the first period share one penalty; a penalty that grows with the start belongs to the alarm.
    """
    terms = np.cumsum(evidence[::-1], axis=0)[::-1].copy()
    terms[1:] -= LATER
    start, bet = np.unravel_index(terms.argmax(), terms.shape)
    return Change(int(start), *BETS[bet].tolist())


def first_alarm(log_values: Doubles, level: float) -> int | None:
    """Return the number of the first period with enough evidence at a level; None if there is none."""
    places: Positions = np.flatnonzero(log_values >= -np.log1p(-level))
    return int(places[0]) if len(places) else None
