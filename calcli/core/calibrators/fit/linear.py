"""The log-loss of softmax(linear map of the scores), its gradient and its curvature."""

# ruff: noqa: D102  (the methods of a map are described in LinearMap)

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calcli.core.calibrators.fit.coordinates import Coordinates
from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.preconditioning import Solver, by_blocks, by_line
from calcli.core.calibrators.fit.training import NEVER, TrainingRows
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import BLOCK_BYTES, row_blocks, row_max

WELL_SEPARATED = 0.69  # just below log 2: below, each label has more than half of the probability
WIDEST = 128  # classes up to which matrix scaling has a preconditioner of one full block a class,
TIGHT = 30.0  # unless curvatures of a line add up to so many times its penalty, or less
CHEAP = 4  # products after which most preconditioners pay for themselves


class LinearMap(ABC):
    """How parameters turn scores into new scores, linearly in the parameters.

    Parameters are one flat vector; `shape`, (B, m), says in which B blocks of m they curve together.
    """

    offset: ClassVar[bool] = False  # whether the scores themselves are added to the map
    block_bytes: ClassVar[int] = BLOCK_BYTES

    def __init__(self, classes: int) -> None:
        self.classes = classes

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Blocks of parameters and size of each."""

    @property
    @abstractmethod
    def intercepts(self) -> slice:
        """Where the K intercepts stand in the vector; a constant added to all of them changes nothing."""

    @property
    def refresh_cost(self) -> int:
        """After how many Hessian-vector products new `moments` pay for themselves."""
        return CHEAP

    @abstractmethod
    def scaled_identity(self, factor: float) -> Vector:
        """Return the parameters that multiply the scores by `factor`."""

    @abstractmethod
    def forward(self, x: Floats, theta: Vector, out: Floats) -> None:
        """Write the map of the rows `x`, (n, K), to `out`."""

    @abstractmethod
    def adjoint(self, x: Floats, r: Floats) -> Vector:
        """Return the gradient in theta of sum(r * map of x)."""

    @abstractmethod
    def moments(self, x: Floats, v: Floats) -> Floats:
        """Return the (B, m, m) second moments of the features, weighted with `v`, (n, K)."""


class BiasMap(LinearMap):
    """beta, to be added to the scores."""

    offset = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes, 1

    @property
    def intercepts(self) -> slice:
        return slice(None)

    def scaled_identity(self, factor: float) -> Vector:
        return np.zeros(self.classes)

    def forward(self, x: Floats, theta: Vector, out: Floats) -> None:
        out[:] = theta

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return column_sums(r)

    def moments(self, x: Floats, v: Floats) -> Floats:
        return column_sums(v)[:, None, None]


class AffineMap(LinearMap):
    """alpha x + beta; theta = (alpha, beta)."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes + 1, 1

    @property
    def intercepts(self) -> slice:
        return slice(1, None)

    def scaled_identity(self, factor: float) -> Vector:
        return np.concatenate([[factor], np.zeros(self.classes)])

    def forward(self, x: Floats, theta: Vector, out: Floats) -> None:
        theta = theta.astype(x.dtype)
        np.multiply(x, theta[0], out=out)
        out += theta[1:]

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return np.concatenate([[total(r, x)], column_sums(r)])

    def moments(self, x: Floats, v: Floats) -> Floats:
        return np.concatenate([[total(v * x, x)], column_sums(v)])[:, None, None]


class VectorMap(LinearMap):
    """w x + b, class by class; theta = (w_1, b_1, w_2, b_2, ...)."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes, 2

    @property
    def intercepts(self) -> slice:
        return slice(1, None, 2)

    def scaled_identity(self, factor: float) -> Vector:
        return np.tile([factor, 0.0], self.classes)

    def forward(self, x: Floats, theta: Vector, out: Floats) -> None:
        w, b = theta.reshape(self.shape).T.astype(x.dtype, order="C")
        np.multiply(x, w, out=out)
        out += b

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return np.stack([column_sums(r * x), column_sums(r)], axis=1).ravel()

    def moments(self, x: Floats, v: Floats) -> Floats:
        vx = v * x
        cross = column_sums(vx)
        moments = np.array([[column_sums(vx * x), cross], [cross, column_sums(v)]])
        return moments.transpose(2, 0, 1)


class MatrixMap(LinearMap):
    """W x + b; theta is the rows of (W, b), one a class."""

    block_bytes = 16 * BLOCK_BYTES  # matrix products do their own blocking, and like few and large ones

    @property
    def shape(self) -> tuple[int, int]:
        return self.classes, self.classes + 1

    @property
    def intercepts(self) -> slice:
        return slice(self.classes, None, self.classes + 1)

    @property
    def refresh_cost(self) -> int:
        return self.classes // 2

    def scaled_identity(self, factor: float) -> Vector:
        return (factor * np.eye(self.classes, self.classes + 1)).ravel()

    def split(self, theta: Vector) -> tuple[Floats, Floats]:
        """Return the matrix, (K, K), and the intercept, (K,)."""
        table = theta.reshape(self.classes, self.classes + 1)
        return table[:, :-1], table[:, -1]

    def forward(self, x: Floats, theta: Vector, out: Floats) -> None:
        w, b = self.split(theta.astype(x.dtype))
        np.matmul(x, w.T, out=out)
        out += b

    def adjoint(self, x: Floats, r: Floats) -> Vector:
        return np.concatenate([r.T @ x, column_sums(r)[:, None]], axis=1, dtype=np.float64).ravel()

    def moments(self, x: Floats, v: Floats) -> Floats:
        features = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        return np.stack([(features * v[:, k : k + 1]).T @ features for k in range(self.classes)])


def column_sums(r: Floats) -> Vector:
    """Return the (K,) sums over the rows of a block; one product with ones beats a reduction down columns."""
    return (np.ones(len(r), r.dtype) @ r).astype(np.float64, copy=False)


def total(a: Floats, b: Floats) -> float:
    """Return the sum of a * b, the rows added in double precision."""
    return float(np.vecdot(a, b).sum(dtype=np.float64))


@dataclass
class SoftmaxLoss:
    """Weighted mean log-loss of softmax(map of the scores), plus sum(penalty / 2 * (theta - centre)^2).

    With `coordinates` the rows are in them, and so are the parameters; the penalty is as without.

    Keeps the probabilities of the last evaluation, each times the weight of its row: one array of the size of
    the scores, with which a product with the Hessian needs no exponential.

    Attributes
    ----------
    rows
        What to fit to.
    map
        The model.
    penalty, centre
        (P,) weights and centre of the quadratic penalty.
    coordinates
        What was done to the scores of the rows; None for nothing.
    """

    rows: TrainingRows
    map: LinearMap
    penalty: Vector
    centre: Vector
    coordinates: Coordinates | None = None

    def __post_init__(self) -> None:
        self.rounding = 4 * float(np.finfo(self.rows.scores.dtype).eps)
        self.refresh_cost = self.map.refresh_cost
        self._weighted = np.empty_like(self.rows.scores)
        self._worst = np.inf
        self._solve: Solver = lambda g: g

    def _penalized(self, theta: Vector) -> tuple[float, Vector]:
        """Return the penalty and its gradient."""
        away = (self.coordinates.outward(theta) if self.coordinates else theta) - self.centre
        slope = self.penalty * away
        return 0.5 * float(slope @ away), self.coordinates.gradient(slope) if self.coordinates else slope

    def _penalty_product(self, v: Vector) -> Vector:
        if self.coordinates is None:
            return self.penalty * v
        return self.coordinates.gradient(self.penalty * self.coordinates.outward(v))

    def _penalty_blocks(self, count: int, size: int) -> Doubles:
        blocks = np.zeros((count, size, size))
        if self.coordinates is None:
            blocks[:, range(size), range(size)] = self.penalty.reshape(count, size)
        elif self.penalty.any():
            blocks += self.coordinates.curvature(self.penalty)
        return blocks

    def _blocks(self) -> Iterator[tuple[slice, Floats, Floats, Floats]]:
        """Yield rows, scores, weights of the rows as a column, and weighted probabilities."""
        weights = self.rows.weights.astype(self.rows.scores.dtype, copy=False)[:, None]
        for block in row_blocks(self.rows.scores, self.map.block_bytes):
            yield block, self.rows.scores[block], weights[block], self._weighted[block]

    def _mapped(self, x: Floats, theta: Vector, out: Floats) -> None:
        """Write the mapped scores, the largest of each row being 0."""
        self.map.forward(x, theta, out=out)
        if self.map.offset:
            out += x
        out -= row_max(out)

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss in nats and its gradient."""
        loss, gradient = self._penalized(theta)
        self._worst = 0.0
        ones = np.ones((self.rows.scores.shape[1], 1), self.rows.scores.dtype)
        for block, x, w, z in self._blocks():
            own = np.arange(len(x)), self.rows.labels[block]
            self._mapped(x, theta, z)
            z_own = z[own]
            np.exp(z, out=z)
            sums = z @ ones
            losses = np.log(sums[:, 0]) - z_own
            loss += float(self.rows.weights[block] @ losses)
            self._worst = max(self._worst, float(losses.max()))
            z *= w / sums
            p_own = z[own]
            z[own] -= w[:, 0]
            gradient += self.map.adjoint(x, z)
            z[own] = p_own
        return loss, gradient

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian at the last evaluation times `v`."""
        product = self._penalty_product(v)
        for _, x, w, p in self._blocks():
            t = np.empty_like(p)
            self.map.forward(x, v, out=t)
            t -= np.vecdot(p, t)[:, None] / w
            t *= p
            product += self.map.adjoint(x, t)
        return product

    def refresh(self) -> None:
        """Build the preconditioner, the coupling of the classes left out."""
        by_lines = None
        if self.coordinates is not None and isinstance(self.map, MatrixMap):
            by_lines = self._by_lines(self.map, self.coordinates)
        self.refresh_cost = CHEAP if by_lines else self.map.refresh_cost
        self._solve = by_lines or by_blocks(self._block_moments())

    def _by_lines(self, matrix: MatrixMap, coordinates: Coordinates) -> Solver | None:
        """Return what solves for a matrix too wide for blocks, or held tight by its penalty; else None."""
        moments = np.zeros_like(self.penalty)
        cross = np.zeros(matrix.classes)
        for x, v in self._curvatures():
            moments += matrix.adjoint(x * x, v)
            cross += column_sums(v * x)
        lines = moments.reshape(matrix.shape)
        penalty = self.penalty.reshape(matrix.shape)
        tight = (penalty[:, :-1] / np.square(coordinates.scale)).mean()
        if matrix.classes <= WIDEST and lines[:, :-1].sum(axis=1).mean() > TIGHT * tight:
            return None
        return by_line(lines, cross, penalty, coordinates)

    def _block_moments(self) -> Doubles:
        blocks = self._penalty_blocks(*self.map.shape)
        for x, v in self._curvatures():
            blocks += self.map.moments(x, v)
        return blocks

    def _curvatures(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield scores, and the second derivatives of the loss in each mapped score."""
        for _, x, w, p in self._blocks():
            v = p / -w
            v += 1
            v *= p
            yield x, v

    def precondition(self, g: Vector) -> Vector:
        """Return roughly the inverse Hessian times `g`, the intercepts kept at a sum of 0."""
        centred = self._centre_intercepts(g.copy())
        return self._centre_intercepts(self._solve(centred))

    def _centre_intercepts(self, theta: Vector) -> Vector:
        if self.coordinates is None or not self.penalty.any():  # else the constant is for the penalty
            theta[self.map.intercepts] -= theta[self.map.intercepts].mean()
        return theta

    def unbounded(self) -> bool:
        """Return whether all labels win: scaling the parameters up then lowers the loss without end."""
        return self._worst < WELL_SEPARATED and not self.map.offset and not self.penalty.any()

    def reach(self, v: Vector) -> float:
        """Return the largest change of a score, against the mean of its row, that the step `v` makes."""
        largest = 0.0
        for t in self._changes(v):
            t -= t.mean(axis=1, keepdims=True)
            largest = max(largest, float(t.max()), -float(t.min()))
        return largest

    def setback(self, v: Vector) -> float:
        """Return by how much the step `v` raises a score, at most, above that of the label."""
        worst = 0.0
        for block, t in zip(
            row_blocks(self.rows.scores, self.map.block_bytes), self._changes(v), strict=True
        ):
            own = t[np.arange(len(t)), self.rows.labels[block]]
            worst = max(worst, float((row_max(t)[:, 0] - own).max()))
        return worst

    def _changes(self, v: Vector) -> Iterator[Floats]:
        for _, x, _, _ in self._blocks():
            t = np.empty_like(x)
            self.map.forward(x, v, out=t)
            t[x <= NEVER] = 0
            yield t
