"""The log-loss of softmax(linear map of the scores), its gradient and its curvature."""

# ruff: noqa: D102  (the methods of a map are described in LinearMap)

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from calcli.core.calibrators.newton import Vector
from calcli.core.calibrators.training import Training
from calcli.core.logspace import row_blocks, row_max
from calcli.core.predictions import Floats

WELL_SEPARATED = 0.7  # just above log 2: below, each label has about half of the probability or more
JITTER = 1e-11  # keeps a block of the preconditioner positive definite
WIDEST = 128  # classes up to which matrix scaling has a preconditioner of one full block a class


class LinearMap(ABC):
    """How parameters turn scores into new scores, linearly in the parameters.

    Parameters are one flat vector; `shape`, (B, m), says in which B blocks of m they curve together.
    """

    offset = False  # whether the scores themselves are added to the map

    def __init__(self, classes: int) -> None:
        self.classes = classes

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Blocks of parameters and size of each."""

    @property
    def refresh_cost(self) -> int:
        """Cost of `moments` in Hessian-vector products."""
        return 1

    @abstractmethod
    def scaled_identity(self, factor: float) -> Vector:
        """Return the parameters that multiply the scores by `factor`."""

    @abstractmethod
    def forward(self, x: Floats, theta: Vector) -> Floats:
        """Return the map of the rows `x`, (n, K)."""

    @abstractmethod
    def adjoint(self, x: Floats, r: Floats) -> Vector:
        """Return the gradient of sum(r * forward(x, theta)) in theta."""

    @abstractmethod
    def moments(self, x: Floats, v: Floats) -> Floats:
        """Return the (B, m, m) second moments of the features, weighted with `v`, (n, K)."""


class BiasMap(LinearMap):
    """x + beta."""

    offset = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes, 1

    def scaled_identity(self, factor: float) -> Vector:
        return np.zeros(self.classes)

    def forward(self, x: Floats, theta: Vector) -> Floats:
        return np.broadcast_to(theta.astype(x.dtype), x.shape)

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return column_sums(r)

    def moments(self, x: Floats, v: Floats) -> Floats:
        return column_sums(v)[:, None, None]


class AffineMap(LinearMap):
    """alpha x + beta; theta = (alpha, beta)."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes + 1, 1

    def scaled_identity(self, factor: float) -> Vector:
        return np.concatenate([[factor], np.zeros(self.classes)])

    def forward(self, x: Floats, theta: Vector) -> Floats:
        theta = theta.astype(x.dtype)
        z: Floats = theta[0] * x
        z += theta[1:]
        return z

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return np.concatenate([[np.vdot(r, x)], column_sums(r)])

    def moments(self, x: Floats, v: Floats) -> Floats:
        return np.concatenate([[np.vdot(v, x * x)], column_sums(v)])[:, None, None]


class VectorMap(LinearMap):
    """w x + b, class by class; theta = (w_1, b_1, w_2, b_2, ...)."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes, 2

    def scaled_identity(self, factor: float) -> Vector:
        return np.tile([factor, 0.0], self.classes)

    def forward(self, x: Floats, theta: Vector) -> Floats:
        w, b = theta.reshape(self.shape).T.astype(x.dtype)
        z = x * w
        z += b
        return z

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return np.stack([column_sums(r * x), column_sums(r)], axis=1).ravel()

    def moments(self, x: Floats, v: Floats) -> Floats:
        vx = v * x
        cross = column_sums(vx)
        moments = np.array([[column_sums(vx * x), cross], [cross, column_sums(v)]])
        return moments.transpose(2, 0, 1)


class MatrixMap(LinearMap):
    """W x + b; theta is the rows of (W, b), one a class."""

    @property
    def shape(self) -> tuple[int, int]:
        if self.classes > WIDEST:
            return self.classes * (self.classes + 1), 1
        return self.classes, self.classes + 1

    @property
    def refresh_cost(self) -> int:
        return self.classes // 2 if self.classes <= WIDEST else 1

    def scaled_identity(self, factor: float) -> Vector:
        return (factor * np.eye(self.classes, self.classes + 1)).ravel()

    def split(self, theta: Vector) -> tuple[Floats, Floats]:
        """Return the matrix, (K, K), and the intercept, (K,)."""
        table = theta.reshape(self.classes, self.classes + 1)
        return table[:, :-1], table[:, -1]

    def forward(self, x: Floats, theta: Vector) -> Floats:
        w, b = self.split(theta.astype(x.dtype))
        z: Floats = x @ w.T
        z += b
        return z

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return np.concatenate([r.T @ x, column_sums(r)[:, None]], axis=1, dtype=np.float64).ravel()

    def moments(self, x: Floats, v: Floats) -> Floats:
        if self.classes > WIDEST:
            return self.adjoint(x * x, v)[:, None, None]
        features = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        return np.stack([(features * v[:, k : k + 1]).T @ features for k in range(self.classes)])


def column_sums(r: Floats) -> Vector:
    """Return the (K,) sums over the rows of a block; one product with ones beats a reduction down columns."""
    sums: Vector = (np.ones(len(r), r.dtype) @ r).astype(np.float64, copy=False)
    return sums


@dataclass
class SoftmaxLoss:
    """Weighted mean log-loss of softmax(map of the scores), plus sum(penalty / 2 * (theta - centre)^2).

    Keeps the probabilities of the last evaluation, one array of the size of the scores, so that a product
    with the Hessian needs no exponential.

    Attributes
    ----------
    rows
        What to fit to.
    map
        The model.
    penalty, centre
        (P,) weights and centre of the quadratic penalty.
    """

    rows: Training
    map: LinearMap
    penalty: Vector
    centre: Vector
    probabilities: Floats = field(init=False)
    worst: float = field(init=False)
    inverse_roots: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.probabilities = np.empty_like(self.rows.scores)
        self.rounding = 4 * float(np.finfo(self.rows.scores.dtype).eps)
        self.refresh_cost = self.map.refresh_cost

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss in nats and its gradient."""
        scores, labels = self.rows.scores, self.rows.labels
        weights = self.rows.weights.astype(scores.dtype, copy=False)
        away = theta - self.centre
        loss = 0.5 * float(self.penalty @ (away * away))
        gradient = self.penalty * away
        self.worst = 0.0
        ones = np.ones(scores.shape[1], scores.dtype)
        for block in row_blocks(scores):
            x, w, z = scores[block], weights[block], self.probabilities[block]
            own = np.arange(len(x)), labels[block]
            np.copyto(z, self.map.forward(x, theta))
            if self.map.offset:
                z += x
            z -= row_max(z)
            z_own = z[own]
            np.exp(z, out=z)
            total = z @ ones
            losses = np.log(total) - z_own
            loss += float(self.rows.weights[block] @ losses)
            self.worst = max(self.worst, float(losses.max()))
            z *= (1 / total)[:, None]
            residual = z * w[:, None]
            residual[own] -= w
            gradient += self.map.adjoint(x, residual)
        return loss, gradient

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian at the last evaluation times `v`."""
        scores = self.rows.scores
        weights = self.rows.weights.astype(scores.dtype, copy=False)
        product = self.penalty * v
        for block in row_blocks(scores):
            x, p = scores[block], self.probabilities[block]
            t = self.map.forward(x, v)
            t = t - np.vecdot(p, t)[:, None]
            t *= p
            t *= weights[block][:, None]
            product += self.map.adjoint(x, t)
        return product

    def refresh(self) -> None:
        """Factorize the blocks of the Hessian in which the classes do not couple."""
        count, size = self.map.shape
        blocks = np.zeros((count, size, size))
        blocks[:, range(size), range(size)] = self.penalty.reshape(count, size)
        weights = self.rows.weights.astype(self.rows.scores.dtype, copy=False)
        for block in row_blocks(self.rows.scores):
            p = self.probabilities[block]
            v = p * (1 - p)
            v *= weights[block][:, None]
            blocks += self.map.moments(self.rows.scores[block], v)
        diagonal = np.diagonal(blocks, axis1=1, axis2=2)
        floor = JITTER * diagonal.max() + np.finfo(np.float64).tiny
        scale = 1 / np.sqrt(np.maximum(diagonal, floor))
        scaled = blocks * scale[:, :, None] * scale[:, None, :] + JITTER * np.eye(size)
        self.inverse_roots = np.linalg.inv(np.linalg.cholesky(scaled)) * scale[:, None, :]

    def precondition(self, g: Vector) -> Vector:
        """Return `g` divided by the factorized blocks."""
        roots = self.inverse_roots
        solved: Vector = roots.transpose(0, 2, 1) @ (roots @ g.reshape(*self.map.shape, 1))
        return solved.ravel()

    def unbounded(self) -> bool:
        """Return whether all labels win: scaling the parameters up then lowers the loss without end."""
        return self.worst < WELL_SEPARATED and not self.map.offset and not self.penalty.any()

    def reach(self, v: Vector) -> float:
        """Return the largest change of a score, against the mean of its row, that the step `v` makes."""
        largest = 0.0
        for block in row_blocks(self.rows.scores):
            t = self.map.forward(self.rows.scores[block], v)
            largest = max(largest, float(np.abs(t - t.mean(axis=1, keepdims=True)).max()))
        return largest
