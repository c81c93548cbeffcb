"""The log-loss of softmax(alpha x + beta) for few classes, kept class by class, with its full Hessian."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calcli.core.calibrators.fit.linear import WELL_SEPARATED
from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.training import NEVER, TrainingRows
from calcli.core.data.arrays import Floats
from calcli.core.data.logspace import row_blocks

FEW = 16  # classes up to which this is faster than row by row, where each step along the classes is short


class AffineLoss:
    """Weighted mean log-loss of softmax(alpha x + beta), plus sum(penalty / 2 * (theta - centre)^2).

    What `SoftmaxLoss` is with an `AffineMap`; theta = (alpha, beta). A Newton step is solved exactly.

    Attributes
    ----------
    rows
        What to fit to.
    penalty, centre
        (K + 1,) weights and centre of the quadratic penalty.
    """

    coordinates = None  # the Hessian is inverted as it is
    refresh_cost = 0  # a product with the Hessian costs nothing, an old one costs iterations

    def __init__(self, rows: TrainingRows, penalty: Vector, centre: Vector) -> None:
        self.rows, self.penalty, self.centre = rows, penalty, centre
        self.rounding = 4 * float(np.finfo(rows.scores.dtype).eps)
        self._scores: Floats = np.ascontiguousarray(rows.scores.T)
        self._own: Floats = rows.scores[np.arange(len(rows.labels)), rows.labels]
        classes = len(self._scores)
        frequencies = np.bincount(rows.labels, rows.weights, classes)
        self._of_labels: Vector = np.append(rows.weights @ self._own, frequencies)
        self._weighted = np.empty_like(self._scores)
        self._weights: Floats = rows.weights.astype(rows.scores.dtype, copy=False)
        self._worst = np.inf
        self._hessian: NDArray[np.float64] = np.eye(classes + 1)

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss in nats and its gradient."""
        away = theta - self.centre
        loss = 0.5 * float(self.penalty @ (away * away))
        gradient: Vector = self.penalty * away - self._of_labels
        alpha, *beta = theta.astype(self._scores.dtype)
        shift = np.array(beta)
        self._worst = 0.0
        for block in row_blocks(self._scores.T):
            x, z = self._scores[:, block], self._weighted[:, block]
            own = alpha * self._own[block] + shift[self.rows.labels[block]]
            np.multiply(x, alpha, out=z)
            z += shift[:, None]
            top = z.max(axis=0)
            z -= top
            np.exp(z, out=z)
            sums = z.sum(axis=0)
            losses = top - own + np.log(sums)
            loss += float(self.rows.weights[block] @ losses)
            self._worst = max(self._worst, float(losses.max()))
            z *= self._weights[block] / sums
            gradient[0] += (z * x).sum(axis=0).sum(dtype=np.float64)
            gradient[1:] += z.sum(axis=1, dtype=np.float64)
        return loss, gradient

    def refresh(self) -> None:
        """Compute the Hessian at the last evaluation."""
        self._hessian = np.diag(self.penalty)
        for block in row_blocks(self._scores.T):
            w = self.rows.weights[block]
            p = self._weighted[:, block].astype(np.float64)
            x = self._scores[:, block]
            px = p * x
            features = np.vstack([px.sum(axis=0), p])
            self._hessian -= (features / w) @ features.T
            self._hessian[0, 0] += np.vecdot(px, x).sum()
            self._hessian[0, 1:] += px.sum(axis=1)
            self._hessian[1:, 0] += px.sum(axis=1)
            self._hessian[range(1, len(features)), range(1, len(features))] += p.sum(axis=1)
        # a constant added to all of beta has no effect: curvature that keeps it out of the steps
        self._hessian[1:, 1:] += np.diagonal(self._hessian)[1:].mean()

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian times `v`."""
        return self._hessian @ v

    def precondition(self, g: Vector) -> Vector:
        """Return the inverse Hessian times `g`; the shortest solution where it has none."""
        return np.linalg.lstsq(self._hessian, g, rcond=None)[0].astype(np.float64, copy=False)

    def unbounded(self) -> bool:
        """Return whether all labels win: scaling the parameters up then lowers the loss without end."""
        return self._worst < WELL_SEPARATED and not self.penalty.any()

    def reach(self, v: Vector) -> float:
        """Return the largest change of a score, against the mean of its row, that the step `v` makes."""
        largest = 0.0
        for _, t in self._changes(v):
            t -= t.mean(axis=0)
            largest = max(largest, float(t.max()), -float(t.min()))
        return largest

    def setback(self, v: Vector) -> float:
        """Return by how much the step `v` raises a score, at most, above that of the label."""
        worst = 0.0
        for block, t in self._changes(v):
            own = t[self.rows.labels[block], np.arange(t.shape[1])]
            worst = max(worst, float((t.max(axis=0) - own).max()))
        return worst

    def _changes(self, v: Vector) -> Iterator[tuple[slice, Floats]]:
        for block in row_blocks(self._scores.T):
            x = self._scores[:, block]
            yield block, v[0] * np.where(x > NEVER, x, self._own[block]) + v[1:, None]
