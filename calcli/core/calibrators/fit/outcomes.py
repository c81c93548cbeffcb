"""Logistic regression of the outcomes of an event on logarithms of its score; of several events at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from calcli.core.calibrators.events import Bools
from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import RAN_AWAY, minimize, minimize_brier
from calcli.core.data.arrays import Doubles

TOLERANCE = 1e-10
NOTHING = 1e-100  # of log-odds, whose squares are normal numbers


@dataclass(frozen=True)
class LogisticProblem:
    """The rows of one event, with finite logarithms.

    Attributes
    ----------
    levels
        What stands for the logarithm of 0, by the names of these parameters.
    log_prob, log_complement
        (N,) logarithms of the score and of 1 - score, those of exactly 0 replaced.
    outcome
        (N,) booleans.
    weight
        (N,) weights, all 1 if none were given.
    score
        What is minimized.
    remark
        Notes what is to be said of the fit.
    """

    levels: dict[str, Doubles]
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

    @property
    def share(self) -> Doubles:
        """(N,) weights that sum to 1."""
        return self.weight / self.weight.sum()

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


def fit_each(
    problems: Sequence[LogisticProblem], features: Doubles, targets: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the best coefficients, (B, P), of B problems on the same rows, and the mean losses, (B,).

    Parameters
    ----------
    problems : sequence of B
        Their weights and what is minimized.
    features : array (B, N, P)
        Finite.
    targets : array (B, N)
        0 to 1.
    """
    units = np.abs(features).max(axis=1)
    units[units <= NOTHING] = 1
    features = features / units[:, None]  # how far a minimum is found depends on them
    share = problems[0].share
    brier = problems[0].score == "brier"
    loss = LogisticLoss(features, targets, share, brier=brier)
    best = np.zeros(units.shape)
    if units.size:
        mean = targets @ share
        flat = (targets == targets[:, :1]).all(axis=1) | (units.shape[1] == 1)
        flat &= (mean > 0) & (mean < 1) & (features[:, :, -1] == 1).all(axis=1)
        best[flat, -1] = np.log(mean[flat] / (1 - mean[flat]))  # which an intercept alone attains
        best = minimize(LogisticLoss(features, targets, share), best, TOLERANCE).x
        if brier:
            found, drawn = minimize_brier(loss, best, TOLERANCE, 1 / float(problems[0].weight.sum()))
            best = found.x
            for problem in compress(problems, drawn):
                problem.remark(RAN_AWAY)
    return best / units, loss.evaluate(best)[0]


def unit_of(values: Doubles) -> float:
    """Return the largest size of some values, by whose square one can divide; 1 if it is next to nothing."""
    largest = float(np.abs(values).max(initial=0))
    return largest if largest > NOTHING else 1.0
