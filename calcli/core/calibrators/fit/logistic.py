"""The log-loss of logistic regression on few features, with its full Hessian; one or several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import compress
from typing import Any, Self

import numpy as np

from calcli.core.calibrators.fit.newton import RAN_AWAY, Objective, minimize, minimize_brier
from calcli.core.data.arrays import TOGETHER, Array, Bools, Doubles, Floats, batches

EPSILON = float(np.finfo(np.float64).eps)
TINIEST = float(np.finfo(np.float64).tiny)


class LogisticLoss(Objective):
    """Mean log-loss of sigmoid(features @ x + offset), for few features, with its full Hessian.

    Or its Brier score, the mean of (p - target)^2, with the curvature of Gauss and Newton.

    Leading axes of the features, the targets and x, (B,), are B problems on the same rows; each result then
    has one entry for each problem.

    Parameters
    ----------
    features : array (..., N, P)
        Finite.
    target : array (..., N)
        0 to 1.
    weight : array (N,)
        Weights that sum to 1.
    offset : array (N,), optional
        Added to the logits.
    brier : bool
        Whether it is the Brier score.

    Attributes
    ----------
    prob : array (..., N)
        Probabilities at the last evaluation.
    hessian : array (..., P, P)
        As of the last `refresh`.
    axes, inverse : array (..., P, P), array (..., P)
        Its eigenvectors, and one over its eigenvalues; 0 where they are 0 to rounding.
    """

    rounding = 1e-14
    refresh_cost = 0  # the Hessian is P x P: inverting it costs nothing

    def __init__(
        self,
        features: Doubles,
        target: Array,
        weight: Doubles,
        offset: Floats | float = 0.0,
        *,
        brier: bool = False,
    ) -> None:
        self.features, self.target, self.weight = features, target, weight
        self.offset = np.broadcast_to(offset, target.shape[-1])
        self.brier, self.ridge = brier, np.zeros((*target.shape[:-1], 1))
        self.centre: Doubles = np.zeros((*target.shape[:-1], features.shape[-1]))
        self.prob: Doubles = np.full(target.shape, 0.5)
        self.hessian: Doubles = np.eye(features.shape[-1])
        self.axes, self.inverse = self.hessian, np.ones(features.shape[-1])

    def of(self, functions: Array) -> Self:
        """Return some of the problems, at the last evaluation."""
        subset = copy(self)
        for name in ("features", "target", "prob", "ridge", "centre"):
            setattr(subset, name, getattr(self, name)[functions])
        return subset

    def evaluate(self, x: Doubles) -> tuple[Any, Doubles]:
        """Return the value, (...,), and the gradient, (..., P), at `x`, (..., P)."""
        away = x - self.centre
        value, gradient = np.vecdot(self.ridge * away, away) / 2, self.ridge * away
        for rows in self._batches():
            features, target, weight = self.features[..., rows, :], self.target[..., rows], self.weight[rows]
            logit = _times(features, x) + self.offset[rows]
            small = np.exp(-np.abs(logit))
            self.prob[..., rows] = prob = np.where(logit >= 0, 1, small) / (1 + small)
            error = prob - target
            if self.brier:
                loss, slope = np.square(error), 2 * error * prob * (1 - prob)
            else:
                loss, slope = np.maximum(logit, 0) + np.log1p(small) - target * logit, error
            value = value + loss @ weight
            gradient = gradient + _sums(weight * slope, features)
        return value, gradient

    @property
    def residual(self) -> Doubles:
        """(..., N) weighted probabilities minus targets at the last evaluation."""
        return self.weight * (self.prob - self.target)

    def _batches(self) -> Iterator[slice]:
        """Yield batches of rows with temporaries that stay in the cache."""
        return batches(self.target.shape[-1], max(1, self.target[..., 0].size), TOGETHER)

    def refresh(self) -> None:
        """Compute the Hessian at the last evaluation, and its inverse."""
        self.hessian = self._curvature()
        sizes, self.axes = np.linalg.eigh(self.hessian)
        counts = sizes > np.maximum(sizes.shape[-1] * EPSILON * sizes[..., -1:], TINIEST)
        self.inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=counts)

    def _curvature(self) -> Doubles:
        """Return the Hessian at the last evaluation, (..., P, P)."""
        curvature: Doubles = np.zeros((*self.target.shape[:-1], *self.features.shape[-1:] * 2))
        for rows in self._batches():
            prob, features = self.prob[..., rows], self.features[..., rows, :]
            spread = prob * (1 - prob)
            weight = self.weight[rows] * (2 * spread**2 if self.brier else spread)
            curvature += np.swapaxes(features, -1, -2) @ (weight[..., None] * features)
        return curvature + self.ridge[..., None] * np.eye(curvature.shape[-1])

    def curve(self, v: Doubles) -> Doubles:
        """Return the Hessian times `v`."""
        return _times(self.hessian, v)

    def precondition(self, g: Doubles) -> Doubles:
        """Return the inverse Hessian times `g`; the shortest solution where it has none."""
        return _times(self.axes, self.inverse * _sums(g, self.axes))

    def max_logit_change(self, v: Doubles) -> Any:
        """Return the largest change of a logit by the step `v`, (...,)."""
        return np.abs(_times(self.features, v)).max(axis=-1)

    def max_label_loss(self, v: Doubles) -> Any:
        """Return by how much the step `v` moves a logit, at most, away from the outcome, (...,)."""
        change = _times(self.features, v)
        return np.maximum(-change * (self.target > 0), change * (self.target < 1)).max(axis=-1)

    def add_ridge(self, centre: Doubles, ridge: Doubles) -> None:
        """Draw the coefficients towards a centre from now on, by (...,) ridges."""
        self.centre, self.ridge = centre, ridge[..., None]


def _times(matrix: Doubles, vector: Doubles) -> Doubles:
    """Return matrix @ vector, (..., N), of each of the problems."""
    return (matrix @ vector[..., None])[..., 0]


def _sums(vector: Doubles, matrix: Doubles) -> Doubles:
    """Return vector @ matrix, (..., P), of each of the problems."""
    return (vector[..., None, :] @ matrix)[..., 0, :]


TOLERANCE = 1e-10
NOTHING = 1e-100  # of log-odds, whose squares are normal numbers


@dataclass(frozen=True)
class LogisticProblem:
    """The rows of one event, with finite logarithms.

    Attributes
    ----------
    levels
        Stand-ins for the logarithm of 0, by name of the parameters.
    log_prob, log_complement
        (N,) logarithms of the score and of 1 - score, with stand-ins for the logarithm of 0.
    outcome
        (N,) booleans.
    weight
        (N,) weights, all 1 if none were given.
    score
        The score to minimize.
    remark
        Remarks on the fit.
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
        """Return whether a step in the score fits the outcomes perfectly, so no finite fit is the best.

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
        Their weights and the score to minimize.
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
            optimum, guarded = minimize_brier(loss, best, TOLERANCE, 1 / float(problems[0].weight.sum()))
            best = optimum.x
            for problem in compress(problems, guarded):
                problem.remark(RAN_AWAY)
    return best / units, loss.evaluate(best)[0]
