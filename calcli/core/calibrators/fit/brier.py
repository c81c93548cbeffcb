"""The Brier score in place of the log-loss as what a fit minimizes."""

from __future__ import annotations

import numpy as np

from calcli.core.calibrators.fit.linear import SoftmaxLoss
from calcli.core.calibrators.fit.logistic import LogisticLoss
from calcli.core.calibrators.fit.newton import Minimum, Vector
from calcli.core.data.arrays import Doubles

FAR = 10.0  # times the largest parameter of the log-loss fit, or 1: beyond that, a fit runs to a step
RAN_AWAY = (
    "the Brier score is least at a step, with infinite parameters: they are drawn towards those of the "
    "log-loss by the weight of one row"
)


def ran_away(best: Minimum, start: Vector) -> bool:
    """Tell whether a fit of the Brier score from the optimum of the log-loss found no minimum near it."""
    far = np.abs(best.x).max() > FAR * max(1.0, float(np.abs(start).max()))
    return far or best.at_infinity or not best.converged


class SoftmaxBrier(SoftmaxLoss):
    """Weighted mean of sum_k (p_k - y_k)^2 of softmax(map of the scores), plus the penalty.

    It is not convex: a fit finds the minimum near which it starts. The curvature is that of Gauss and Newton,
    which is never negative.
    """

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss and its gradient."""
        loss, gradient = self._penalized(theta)
        self._worst = 0.0
        for block, x, w, z in self._blocks():
            own = np.arange(len(x)), self.rows.labels[block]
            self._mapped(x, theta, z)
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore"):
                self._worst = max(self._worst, float(-np.log(z[own].min())))
            away_rows = z.copy()
            away_rows[own] -= 1
            loss += float(self.rows.weights[block] @ np.vecdot(away_rows, away_rows))
            slope = 2 * w * z * (away_rows - np.vecdot(z, away_rows)[:, None])
            gradient += self.map.adjoint(x, slope)
            z *= w  # as `refresh` and `curve` expect
        return loss, gradient

    def curve(self, v: Vector) -> Vector:
        """Return the curvature at the last evaluation times `v`."""
        product = self._penalty_product(v)
        for _, x, w, weighted in self._blocks():
            p = weighted / w
            t = np.empty_like(p)
            self.map.forward(x, v, out=t)
            for _ in range(2):  # from scores to probabilities, and back
                t -= np.vecdot(p, t)[:, None]
                t *= p
            product += self.map.adjoint(x, 2 * w * t)
        return product


class LogisticBrier(LogisticLoss):
    """Mean of (p - target)^2 of sigmoid(features @ x + offset), with the curvature of Gauss and Newton.

    Attributes
    ----------
    ridge, centre
        Weight of ridge / 2 * |x - centre|^2, which is added; 0 for none.
    """

    ridge: float = 0.0
    centre: Doubles | float = 0.0

    def evaluate(self, x: Doubles) -> tuple[float, Doubles]:
        """Return the value and the gradient at `x`, (P,)."""
        super().evaluate(x)
        away = self.prob - self.target
        self.residual = 2 * self.weight * away * self.prob * (1 - self.prob)
        drawn = x - self.centre
        value = float(self.weight @ np.square(away)) + self.ridge / 2 * float(drawn @ drawn)
        return value, self.features.T @ self.residual + self.ridge * drawn

    def _curvature(self) -> Doubles:
        """Return the Hessian at the last evaluation, but for what the residuals add, (P, P)."""
        weight = 2 * self.weight * np.square(self.prob * (1 - self.prob))
        curvature: Doubles = self.features.T @ (weight[:, None] * self.features)
        return curvature + self.ridge * np.eye(len(curvature))
