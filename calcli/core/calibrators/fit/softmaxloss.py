"""The log-loss, or the Brier score, of softmax(linear map of the scores): value, gradient, curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from calcli.core.calibrators.fit.newton import Objective, Vector
from calcli.core.calibrators.fit.preconditioning import TINY, Solver
from calcli.core.calibrators.fit.training import NEVER, TrainingRows
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import NARROW, row_blocks, row_max

WELL_SEPARATED = 0.69  # just below log 2: below, each label has more than half of the probability
BLOCK_BYTES = 1 << 20  # large enough for the products of matrices
CONSTANT = 1e-13  # spread over size below which a feature is constant, up to rounding


@dataclass(frozen=True)
class Coordinates:
    """W x + b = V z + c with z = (x - mean) / scale: nearly constant features do no harm to the fit.

    Attributes
    ----------
    mean, scale
        (K,) of the features.
    axis
        Where intercepts are beside slopes in the table of the parameters: 1 of (K, K + 1), a line for each
        class; 0 of (2, K), where each class has one slope, that of its own score.
    """

    mean: Doubles
    scale: Doubles
    axis: int

    @classmethod
    def of(cls, rows: TrainingRows, axis: int) -> tuple[Self, Floats]:
        """Return the coordinates of rows of finite scores, and the scores in them."""
        mean = rows.weights @ rows.scores
        scores = (rows.scores - mean).astype(rows.scores.dtype, copy=False)
        scale = np.sqrt(rows.weights @ np.square(scores))
        scale[scale <= CONSTANT * np.abs(mean)] = 1
        scores /= scale.astype(scores.dtype)
        return cls(mean, scale, axis), scores

    def inward(self, theta: Vector) -> Vector:
        """Return V and c, flat, of W and b."""
        table, slopes, intercept = self._table(theta)
        intercept += (slopes * self.mean).sum(axis=self.axis, keepdims=True)
        slopes *= self.scale
        return table.ravel()

    def outward(self, theta: Vector) -> Vector:
        """Return W and b, flat, of V and c."""
        table, slopes, intercept = self._table(theta)
        slopes /= self.scale
        intercept -= (slopes * self.mean).sum(axis=self.axis, keepdims=True)
        return table.ravel()

    def gradient(self, slope: Vector) -> Vector:
        """Return the gradient in V and c of what has the gradient `slope` in W and b."""
        table, slopes, intercept = self._table(slope)
        slopes -= intercept * self.mean
        slopes /= self.scale
        return table.ravel()

    def _table(self, theta: Vector) -> tuple[Doubles, Doubles, Doubles]:
        """Return a copy of the parameters as a table, and its slopes and intercepts."""
        classes = len(self.mean)
        table = theta.reshape((classes, -1) if self.axis else (-1, classes)).copy()
        slopes, intercept = np.split(table, [-1], axis=self.axis)
        return table, slopes, intercept


class SoftmaxModel(ABC):
    """New scores of the rows of a fit, linear in the parameters, which are one flat vector.

    Attributes
    ----------
    coordinates
        In which the parameters are; None for those of the scores themselves.
    scales
        Whether some parameters multiply the scores.
    intercepts
        Where the intercepts stand; a constant added to all of them changes nothing.
    """

    coordinates: Coordinates | None = None
    scales: bool = True
    intercepts: slice

    @abstractmethod
    def change(self, block: slice, v: Vector, out: Floats) -> None:
        """Write by how much the step `v` changes the new scores of some rows to `out`, (n, K)."""

    def forward(self, block: slice, theta: Vector, out: Floats) -> None:
        """Write the new scores of some rows to `out`, (n, K)."""
        self.change(block, theta, out)

    @abstractmethod
    def adjoint(self, block: slice, r: Floats) -> Vector:
        """Return the gradient in the parameters of sum(r * new scores)."""

    @abstractmethod
    def preconditioner(self, weighted: Floats, weights: Floats, penalty: Vector) -> tuple[Solver, int]:
        """Return what solves for the Hessian of the log-loss, roughly.

        Parameters
        ----------
        weighted : array (N, K)
            Probabilities, each times the weight of its row.
        weights : array (N, 1)
            Of the rows.
        penalty : array (P,)
            Of the squares that are added.

        Returns
        -------
        The solver, and the number of products after which a new one pays for itself; 0 if it is exact.
        """


def empty(like: Floats) -> Floats:
    """Return an (N, K) array laid out class by class if they are few, as steps along rows are short."""
    return np.empty(like.shape, like.dtype, order="F" if like.shape[1] <= NARROW else "C")


def laid_out(table: Floats) -> Floats:
    """Return a table laid out in the same way."""
    if table.shape[1] > NARROW:
        return table
    found = empty(table)
    for block in row_blocks(table):
        found[block] = table[block]
    return found


class SoftmaxLoss(Objective):
    """Weighted mean loss of softmax(new scores), plus sum(penalty / 2 * (theta - centre)^2).

    Keeps the probabilities of the last evaluation, each times the weight of its row: one array of the size of
    the scores, with which a product with the Hessian needs no exponential.

    The Brier score, sum_k (p_k - y_k)^2, is not convex: a fit finds the minimum near which it starts. Its
    curvature is that of Gauss and Newton, which is never negative.

    Attributes
    ----------
    rows
        Labels and weights.
    model
        The new scores.
    penalty, centre
        (P,) weights and centre, at first 0, of the quadratic penalty, of parameters without coordinates.
    brier
        Whether the loss is the Brier score.
    """

    def __init__(
        self,
        rows: TrainingRows,
        model: SoftmaxModel,
        penalty: Vector,
        *,
        brier: bool = False,
    ) -> None:
        self.rows, self.model, self.penalty, self.brier = rows, model, penalty, brier
        self.centre: Vector = np.zeros(penalty.shape)
        dtype = rows.scores.dtype
        self.rounding = 4 * float(np.finfo(dtype).eps)
        self.refresh_cost = 1
        self._weights: Floats = np.maximum(rows.weights, TINY).astype(dtype)[:, None]
        self._weighted = empty(rows.scores)
        self._of_labels = None if brier else self._gradient_of_labels()
        self._ones = np.ones((rows.scores.shape[1], 1), dtype)
        self._worst = np.inf
        self._solve: Solver = lambda g: g

    def _gradient_of_labels(self) -> Vector:
        """Return the gradient of the mean new score of the labels, which is the same everywhere."""
        found = np.zeros(self.penalty.shape)
        for block, w, z in self._blocks():
            z[:] = 0
            z[np.arange(len(z)), self.rows.labels[block]] = w[:, 0]
            found += self.model.adjoint(block, z)
        return found

    def _penalized(self, theta: Vector) -> tuple[float, Vector]:
        """Return the penalty and its gradient."""
        coordinates = self.model.coordinates
        away = (coordinates.outward(theta) if coordinates else theta) - self.centre
        slope = self.penalty * away
        return 0.5 * float(slope @ away), coordinates.gradient(slope) if coordinates else slope

    def _penalty_product(self, v: Vector) -> Vector:
        coordinates = self.model.coordinates
        if coordinates is None:
            return self.penalty * v
        return coordinates.gradient(self.penalty * coordinates.outward(v))

    def _blocks(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield rows, their weights as a column, and weighted probabilities."""
        for block in row_blocks(self._weighted, BLOCK_BYTES):
            yield block, self._weights[block], self._weighted[block]

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss, of log-loss in nats, and its gradient."""
        loss, gradient = self._penalized(theta)
        if self._of_labels is not None:
            gradient = gradient - self._of_labels
        self._worst = 0.0
        for block, w, z in self._blocks():
            own = np.arange(len(z)), self.rows.labels[block]
            self.model.forward(block, theta, out=z)
            z -= row_max(z)
            z_own = z[own]
            np.exp(z, out=z)
            sums = z @ self._ones
            losses = np.log(sums[:, 0]) - z_own
            self._worst = max(self._worst, float(losses.max()))
            z *= w / sums
            if self.brier:
                p = z / w
                away = p.copy()
                away[own] -= 1
                losses = np.vecdot(away, away)
                gradient = gradient + self.model.adjoint(block, 2 * z * (away - np.vecdot(p, away)[:, None]))
            else:
                gradient = gradient + self.model.adjoint(block, z)
            loss += float(self.rows.weights[block] @ losses)
        return loss, gradient

    def curve(self, v: Vector) -> Vector:
        """Return the curvature at the last evaluation times `v`."""
        product = self._penalty_product(v)
        for block, w, weighted in self._blocks():
            t = np.empty_like(weighted)
            self.model.change(block, v, out=t)
            t -= (weighted * t) @ self._ones / w
            t *= weighted
            if self.brier:  # once more, from probabilities to scores
                p = weighted / w
                t = 2 * p * (t - (p * t) @ self._ones)
            product = product + self.model.adjoint(block, t)
        return product

    def refresh(self) -> None:
        """Build the preconditioner."""
        self._solve, cost = self.model.preconditioner(self._weighted, self._weights, self.penalty)
        self.refresh_cost = max(cost, 1) if self.brier else cost

    def precondition(self, g: Vector) -> Vector:
        """Return roughly the inverse Hessian times `g`, free intercepts kept at a sum of 0."""
        if self.penalty.any():  # which tells what is to be added to all of them
            return self._solve(g)
        return self._centred(self._solve(self._centred(g.copy())))

    def _centred(self, theta: Vector) -> Vector:
        intercepts = theta[self.model.intercepts]
        intercepts -= intercepts.sum() / max(len(intercepts), 1)
        return theta

    def hold(self, centre: Vector, ridge: float) -> None:
        """Draw all parameters towards a centre from now on."""
        coordinates = self.model.coordinates
        self.penalty = self.penalty + ridge
        self.centre = coordinates.outward(centre) if coordinates else centre

    def unbounded(self) -> bool:
        """Return whether all labels win: scaling the parameters up then lowers the loss without end."""
        return self._worst < WELL_SEPARATED and self.model.scales and not self.penalty.any()

    def reach(self, v: Vector) -> float:
        """Return the largest change of a score, against the mean of its row, that the step `v` makes.

        None counts where every parameter is penalized, so that no minimum is at infinity.
        """
        largest = 0.0
        if self.penalty.all():
            return largest
        for _, t in self._changes(v):
            t -= t.mean(axis=1, keepdims=True)
            largest = max(largest, float(t.max()), -float(t.min()))
        return largest

    def setback(self, v: Vector) -> float:
        """Return by how much the step `v` raises a score, at most, above that of the label."""
        worst = 0.0
        for block, t in self._changes(v):
            own = t[np.arange(len(t)), self.rows.labels[block]]
            worst = max(worst, float((row_max(t)[:, 0] - own).max()))
        return worst

    def _changes(self, v: Vector) -> Iterator[tuple[slice, Floats]]:
        for block, _, weighted in self._blocks():
            t = np.empty_like(weighted)
            self.model.change(block, v, out=t)
            t[self.rows.scores[block] <= NEVER] = 0
            yield block, t
