"""The log-loss of logistic regression on few features, with its full Hessian."""

from __future__ import annotations

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats

EPSILON = float(np.finfo(np.float64).eps)


class LogisticLoss:
    """Mean log-loss of sigmoid(features @ x + offset), for few features, with its full Hessian.

    Parameters
    ----------
    features : array (N, P)
        Finite.
    target : array (N,)
        0 to 1.
    weight : array (N,)
        Weights that sum to 1.
    offset : array (N,), optional
        What is added to the logits.

    Attributes
    ----------
    residual : array (N,)
        Weighted probabilities minus targets at the last evaluation.
    hessian : array (P, P)
        As of the last `refresh`.
    axes, sizes : array (P, R), array (R,)
        Its eigenvectors and eigenvalues, without those that are 0 to rounding.
    """

    rounding = 1e-14
    refresh_cost = 0  # the Hessian is P x P: inverting it costs nothing

    def __init__(
        self, features: Doubles, target: Array, weight: Doubles, offset: Floats | float = 0.0
    ) -> None:
        self.features, self.target, self.weight, self.offset = features, target, weight, offset
        self.hessian: Doubles = np.eye(features.shape[1])
        self.axes, self.sizes = self.hessian, np.ones(features.shape[1])

    def evaluate(self, x: Doubles) -> tuple[float, Doubles]:
        """Return the value and the gradient at `x`, (P,)."""
        logit = self.features @ x + self.offset
        small = np.exp(-np.abs(logit))
        self.prob: Doubles = np.where(logit >= 0, 1, small) / (1 + small)
        loss = np.maximum(logit, 0) + np.log1p(small) - self.target * logit
        self.residual: Doubles = self.weight * (self.prob - self.target)
        return float(self.weight @ loss), self.features.T @ self.residual

    def refresh(self) -> None:
        """Compute the Hessian at the last evaluation, and its eigenvectors."""
        self.hessian = self._curvature()
        sizes, axes = np.linalg.eigh(self.hessian)
        kept = sizes > len(sizes) * EPSILON * sizes[-1]
        self.axes, self.sizes = axes[:, kept], sizes[kept]

    def _curvature(self) -> Doubles:
        """Return the Hessian at the last evaluation, (P, P)."""
        weight = self.weight * self.prob * (1 - self.prob)
        return self.features.T @ (weight[:, None] * self.features)

    def curve(self, v: Doubles) -> Doubles:
        """Return the Hessian times `v`."""
        return self.hessian @ v

    def precondition(self, g: Doubles) -> Doubles:
        """Return the inverse Hessian times `g`; the shortest solution where it has none."""
        return self.axes @ (self.axes.T @ g / self.sizes)

    def unbounded(self) -> bool:
        """Return False: separable problems are seen before the fit."""
        return False

    def reach(self, v: Doubles) -> float:
        """Return the largest change of a logit by the step `v`."""
        return float(np.abs(self.features @ v).max())

    def setback(self, v: Doubles) -> float:
        """Return by how much the step `v` moves a logit, at most, away from the outcome."""
        change = self.features @ v
        return float(np.maximum(-change * (self.target > 0), change * (self.target < 1)).max())
