"""The log-loss of logistic regression on few features, with its full Hessian; one or several at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.fit.newton import (
    ARMIJO,
    EXTRA,
    MAX_HALVINGS,
    MAX_ITERATIONS,
    NO_LOSS,
    RUNAWAY,
    SHORT,
)
from calcli.core.data.arrays import Array, Doubles, Floats

EPSILON = float(np.finfo(np.float64).eps)
TINIEST = float(np.finfo(np.float64).tiny)


class LogisticLoss:
    """Mean log-loss of sigmoid(features @ x + offset), for few features, with its full Hessian.

    Or its Brier score, the mean of (p - target)^2, with the curvature of Gauss and Newton.

    Leading axes of the features, the targets and x, (B,), are as many problems on the same rows; what is told
    of one is told of each.

    Parameters
    ----------
    features : array (..., N, P)
        Finite.
    target : array (..., N)
        0 to 1.
    weight : array (N,)
        Weights that sum to 1.
    offset : array (N,), optional
        What is added to the logits.
    brier : bool
        Whether it is the Brier score.

    Attributes
    ----------
    prob : array (..., N)
        Probabilities at the last evaluation.
    residual : array (..., N)
        Weighted probabilities minus targets at the last evaluation.
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
        self.features, self.target, self.weight, self.offset = features, target, weight, offset
        self.brier, self.ridge, self.centre = brier, 0.0, np.zeros(features.shape[-1])
        self.prob: Doubles = np.full(target.shape, 0.5)
        self.hessian: Doubles = np.eye(features.shape[-1])
        self.axes, self.inverse = self.hessian, np.ones(features.shape[-1])

    def evaluate(self, x: Doubles) -> tuple[Any, Doubles]:
        """Return the value, (...,), and the gradient, (..., P), at `x`, (..., P)."""
        logit = _times(self.features, x) + self.offset
        small = np.exp(-np.abs(logit))
        self.prob = np.where(logit >= 0, 1, small) / (1 + small)
        away = self.prob - self.target
        if self.brier:
            loss, slope = np.square(away), 2 * away * self.prob * (1 - self.prob)
        else:
            loss, slope = np.maximum(logit, 0) + np.log1p(small) - self.target * logit, away
        self.residual: Doubles = self.weight * slope
        value, gradient = loss @ self.weight, _sums(self.residual, self.features)
        if self.ridge:
            drawn = x - self.centre
            value, gradient = value + self.ridge / 2 * drawn @ drawn, gradient + self.ridge * drawn
        return value, gradient

    def refresh(self) -> None:
        """Compute the Hessian at the last evaluation, and its inverse."""
        self.hessian = self._curvature()
        sizes, self.axes = np.linalg.eigh(self.hessian)
        counts = sizes > np.maximum(sizes.shape[-1] * EPSILON * sizes[..., -1:], TINIEST)
        self.inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=counts)

    def _curvature(self) -> Doubles:
        """Return the Hessian at the last evaluation, (..., P, P)."""
        spread = self.prob * (1 - self.prob)
        weight = self.weight * (2 * spread**2 if self.brier else spread)
        curvature = np.swapaxes(self.features, -1, -2) @ (weight[..., None] * self.features)
        return curvature + self.ridge * np.eye(curvature.shape[-1]) if self.ridge else curvature

    def curve(self, v: Doubles) -> Doubles:
        """Return the Hessian times `v`."""
        return _times(self.hessian, v)

    def precondition(self, g: Doubles) -> Doubles:
        """Return the inverse Hessian times `g`; the shortest solution where it has none."""
        return _times(self.axes, self.inverse * _sums(g, self.axes))

    def unbounded(self) -> bool:
        """Return False: separable problems are seen before the fit."""
        return False

    def reach(self, v: Doubles) -> Any:
        """Return the largest change of a logit by the step `v`, (...,)."""
        return np.abs(_times(self.features, v)).max(axis=-1)

    def setback(self, v: Doubles) -> float:
        """Return by how much the step `v` of one problem moves a logit, at most, away from the outcome."""
        change = self.features @ v
        return float(np.maximum(-change * (self.target > 0), change * (self.target < 1)).max())

    def hold(self, centre: Doubles, ridge: float) -> None:
        """Draw the coefficients of one problem towards a centre from now on."""
        self.centre, self.ridge = centre, ridge

    def of(self, problems: NDArray[np.bool_]) -> LogisticLoss:
        """Return some of the problems, at the last evaluation."""
        some = LogisticLoss(self.features[problems], self.target[problems], self.weight, self.offset)
        some.prob = self.prob[problems]
        return some


def minimize_each(loss: LogisticLoss, x: Doubles, tolerance: float) -> Doubles:
    """Return where each of several log-losses is least, (B, P), from `x`.

    What `newton.minimize` does with one: Newton steps with backtracking, and a few beyond the tolerance while
    they are long, as where a row outweighs the others.
    """
    x, step = x.copy(), np.zeros_like(x)
    value, gradient = loss.evaluate(x)
    going = np.arange(len(x))  # the problems that are not done
    extra, moved = np.zeros_like(going), np.ones(len(x), dtype=np.bool_)
    for _ in range(MAX_ITERATIONS):
        near = np.abs(gradient[going]).max(axis=1) <= tolerance * np.maximum(value[going], NO_LOSS)
        further = near & (extra[going] < EXTRA) & (np.abs(step[going]).max(axis=1) >= SHORT)
        if further.any():
            further[further] = loss.of(further).reach(step[going[further]]) > RUNAWAY
        on = moved[going] & (~near | further)
        if not on.all():
            going, loss = going[on], loss.of(on)
        if not len(going):
            break
        extra[going] += near[on]
        loss.refresh()
        direction = _directions(loss, gradient[going])
        found = _backtrack_each(loss, x[going], value[going], gradient[going], direction)
        size, value[going], gradient[going] = found
        step[going] = size[:, None] * direction
        before = x[going]
        x[going] += step[going]
        moved[going] = (x[going] != before).any(axis=1)
    return x


def _directions(loss: LogisticLoss, gradient: Doubles) -> Doubles:
    """Return the Newton steps; where rounding left no curvature to divide by, the way down."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = loss.precondition(-gradient)
        slope = -(gradient * steps).sum(axis=1)
    return np.where(((slope > 0) & (slope < np.inf))[:, None], steps, -gradient)


def _backtrack_each(
    loss: LogisticLoss, x: Doubles, value: Doubles, gradient: Doubles, direction: Doubles
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the first of 1, 1/2, 1/4, ... steps that lower the values enough, 0 for none; both there."""
    slope = (gradient * direction).sum(axis=1)
    noise = loss.rounding * np.maximum(value, 1)
    size = np.ones(len(x))
    new_value, new_gradient = value.copy(), gradient.copy()
    left, part = np.arange(len(x)), loss
    for _ in range(MAX_HALVINGS):
        with np.errstate(over="ignore", invalid="ignore"):  # of a step too long by far
            new_value[left], new_gradient[left] = part.evaluate(x[left] + size[left, None] * direction[left])
        if part is not loss:
            loss.prob[left] = part.prob
        enough = new_value[left] <= value[left] + ARMIJO * size[left] * slope[left] + noise[left]
        if enough.all():
            return size, new_value, new_gradient
        left, part = left[~enough], part.of(~enough)
        size[left] /= 2
    size[left], new_value[left], new_gradient[left] = 0, value[left], gradient[left]
    return size, new_value, new_gradient


def _times(matrix: Doubles, vector: Doubles) -> Doubles:
    """Return matrix @ vector, (..., N), of each of the problems."""
    return (matrix @ vector[..., None])[..., 0]


def _sums(vector: Doubles, matrix: Doubles) -> Doubles:
    """Return vector @ matrix, (..., P), of each of the problems."""
    return (vector[..., None, :] @ matrix)[..., 0, :]
