"""The log-loss of a softmax of class-wise features, global slopes, slopes of each class and a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from calcli.core.calibrators.fit.linear import column_sums
from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.preconditioning import (
    TINY,
    Solver,
    by_blocks,
    by_entry,
    by_inverse,
    by_kronecker,
    damping,
)
from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import NARROW, row_blocks, row_max

BLOCK_BYTES = 1 << 20  # large enough for the products of matrices
SAMPLED = 1 << 29  # products behind a block of the preconditioner, at most
FEW = 4  # rows for each class, up to which it is faster to leave out how the classes are coupled


class Parts(NamedTuple):
    """The parameters, one by one.

    Attributes
    ----------
    slopes
        (J,) of the features, for all classes alike.
    own
        (J, K) what each class adds to them.
    intercept
        (K,).
    matrix
        (K, K) of the first feature, its diagonal 0; (0, 0) for none.
    """

    slopes: Doubles
    own: Doubles
    intercept: Doubles
    matrix: Doubles


class Penalty(NamedTuple):
    """Weights of the squares that are added to the mean log-loss; None for what is not fitted at all.

    Attributes
    ----------
    slopes, own, intercept, matrix
        Of the deviations of the slopes from where they start, and of the other parts.
    """

    slopes: float | None
    own: float | None
    intercept: float | None
    matrix: float | None


class StructuredLoss:
    """Weighted mean log-loss of softmax(sum_j (slopes_j + own_j) F_j + intercept + F_0 matrix'), penalized.

    The parameters are one vector: slopes and intercepts less their centres, and the other parts, as far as
    they are fitted.
    Preconditioned by the Hessian of all parts but the matrix, and for that by a Kronecker product; class by
    class if the rows are few.

    Parameters
    ----------
    rows
        Labels and weights.
    features
        (N, K) each.
    penalty
        Weights of the squares.
    centre, intercept
        (J,) and (K,) to where slopes and intercepts are drawn, and where they stay if they are not fitted.
    """

    def __init__(
        self,
        rows: TrainingRows,
        features: Sequence[Floats],
        penalty: Penalty,
        centre: Doubles,
        intercept: Doubles | float = 0.0,
    ) -> None:
        self.rows, self.features, self.penalty = rows, features, penalty
        self.centre, self.intercept = centre, intercept
        self.rounding = 4 * float(np.finfo(features[0].dtype).eps)
        count, self._classes = len(features), features[0].shape[1]
        self.refresh_cost = 8 + self._classes // 4
        lengths = (count, count * self._classes, self._classes, self._classes**2)
        sizes = [0 if weight is None else size for weight, size in zip(penalty, lengths, strict=True)]
        self._ends = np.cumsum(sizes)
        self._penalty: Vector = 2 * np.repeat([weight or 0.0 for weight in penalty], sizes)
        self._weighted = np.empty_like(features[0])
        self._joined = np.concatenate(features, axis=1) if self._classes <= NARROW else None
        self._ones = np.ones((self._classes, 1), features[0].dtype)
        self._weights: Floats = np.maximum(rows.weights, TINY).astype(features[0].dtype)[:, None]

    def pack(self, parts: Parts) -> Vector:
        """Return the parts as one vector."""
        parts = parts._replace(slopes=parts.slopes - self.centre, intercept=parts.intercept - self.intercept)
        fitted = [
            part.ravel() for part, weight in zip(parts, self.penalty, strict=True) if weight is not None
        ]
        return np.concatenate(fitted).astype(np.float64)

    def parts(self, theta: Vector) -> Parts:
        """Return the parts of a vector."""
        found = self._split(theta)
        return found._replace(slopes=found.slopes + self.centre, intercept=found.intercept + self.intercept)

    def _split(self, theta: Vector) -> Parts:
        count, classes = len(self.features), self._classes
        slopes, own, intercept, matrix = np.split(theta, self._ends[:-1])
        return Parts(
            slopes if len(slopes) else np.zeros(count),
            own.reshape(count, classes) if len(own) else np.zeros((count, classes)),
            intercept if len(intercept) else np.zeros(classes),
            matrix.reshape(classes, classes) if len(matrix) else np.zeros((0, 0)),
        )

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss in nats and its gradient."""
        slope = self._penalty * theta
        loss, gradient = 0.5 * float(slope @ theta), slope
        parts = self.parts(theta)
        for block, w, z in self._blocks():
            own = np.arange(len(z)), self.rows.labels[block]
            self._forward(block, parts, out=z)
            z -= row_max(z)
            z_own = z[own]
            np.exp(z, out=z)
            sums = z @ self._ones
            loss += float(self.rows.weights[block] @ (np.log(sums[:, 0]) - z_own))
            z *= w / sums
            p_own = z[own]
            z[own] -= w[:, 0]
            gradient = gradient + self._adjoint(block, z)
            z[own] = p_own
        return loss, gradient

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian at the last evaluation times `v`."""
        product = self._penalty * v
        parts = self._split(v)
        for block, w, p in self._blocks():
            t = np.empty_like(p)
            self._forward(block, parts, out=t)
            t -= (p * t) @ self._ones / w
            t *= p
            product = product + self._adjoint(block, t)
        return product

    def _blocks(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield rows, their weights as a column, and weighted probabilities."""
        for block in row_blocks(self.features[0], BLOCK_BYTES):
            yield block, self._weights[block], self._weighted[block]

    def _forward(self, block: slice, parts: Parts, out: Floats) -> None:
        if self._joined is None:
            forward([f[block] for f in self.features], parts, out)
            return
        # for few classes one product of matrices is faster than any number of short lines
        table = np.concatenate([np.diag(one) for one in parts.slopes[:, None] + parts.own])
        if parts.matrix.size:
            table[: self._classes] += parts.matrix.T
        np.matmul(self._joined[block], table.astype(out.dtype), out=out)
        out += parts.intercept.astype(out.dtype)

    def _adjoint(self, block: slice, r: Floats) -> Vector:
        classes, fitted = self._classes, self.penalty
        first = np.zeros((0, 0))
        if self._joined is not None:
            tables = (r.T @ self._joined[block]).astype(np.float64)
            first = tables[:, :classes]
            each = np.array([np.diagonal(one) for one in np.split(tables, len(self.features), axis=1)])
        else:
            each = np.array([column_sums(r * f[block]) for f in self.features])
            if fitted.matrix is not None:
                first = (r.T @ self.features[0][block]).astype(np.float64)
        parts: list[Doubles] = []
        if fitted.slopes is not None:
            parts.append(each.sum(axis=1))
        if fitted.own is not None:
            parts.append(each.ravel())
        if fitted.intercept is not None:
            parts.append(column_sums(r))
        if fitted.matrix is not None:
            np.fill_diagonal(first, 0)
            parts.append(first.ravel())
        return np.concatenate(parts)

    def refresh(self) -> None:
        """Factorize what stands for the Hessian, on some of the rows if the classes are very many."""
        step = max(1, self.features[0].size * self._classes // SAMPLED)
        w = self._weights[::step]
        p = self._weighted[::step] / w
        w = w / w.sum()
        xs = [f[::step] for f in self.features]
        few = len(p) <= FEW * self._classes
        self._solve = self._by_class(xs, p, w) if few else by_inverse(self._dense(xs, p, w), p.dtype)
        if self.penalty.matrix is not None:
            strength = 2 * self.penalty.matrix
            self._solve_matrix = (
                by_entry(xs[0], p, w, strength) if few else by_kronecker(xs[0], p, w, strength)
            )

    def _dense(self, xs: list[Floats], p: Floats, w: Floats) -> Doubles:
        """Return the Hessian of slopes, class-wise slopes and intercepts."""
        fitted, k = self.penalty, self._classes
        wp = w * p
        moved = [wp * (x - (p * x) @ self._ones) for x in xs] if fitted.slopes is not None else []
        columns = [*xs] if fitted.own is not None else []
        columns += [np.ones_like(p)] if fitted.intercept is not None else []
        free = len(moved)
        dense = np.diag(self._penalty[: self._ends[2]])
        for j, t in enumerate(moved):
            dense[j, :free] += [column_sums(t * x).sum() for x in xs]
            if columns:
                dense[j, free:] = dense[free:, j] = np.concatenate([column_sums(t * c) for c in columns])
        of = [c * p for c in columns]
        for i, first in enumerate(of):
            weighted = first * w
            for j in range(i + 1):
                part = -(weighted.T @ of[j]).astype(np.float64)
                part[range(k), range(k)] += column_sums(weighted * columns[j])
                at, to = slice(free + i * k, free + (i + 1) * k), slice(free + j * k, free + (j + 1) * k)
                dense[at, to] += part
                if j < i:
                    dense[to, at] += part.T
        return dense

    def _by_class(self, xs: list[Floats], p: Floats, w: Floats) -> Solver:
        """Return what solves for the slopes, and for the other parts of each class by themselves."""
        fitted, k = self.penalty, self._classes
        columns = [*xs] if fitted.own is not None else []
        columns += [np.ones_like(p)] if fitted.intercept is not None else []
        free, count = 0 if fitted.slopes is None else len(xs), len(columns)
        wp = w * p
        moved = [wp * (x - (p * x) @ self._ones) for x in xs[:free]]
        shared = np.diag(self._penalty[:free])
        shared += np.array([[column_sums(t * x).sum() for x in xs] for t in moved]).reshape(free, free)
        blocks = np.zeros((k, count, count))
        blocks[:, range(count), range(count)] = self._penalty[free : self._ends[2]].reshape(count, k).T
        for i, j in np.ndindex(count, count):
            blocks[:, i, j] += column_sums(wp * (1 - p) * columns[i] * columns[j])
        first, others = by_inverse(shared, p.dtype), by_blocks(blocks, damping(count, p.dtype))

        def solve(g: Vector) -> Vector:
            table = others(g[free:].reshape(count, k).T)
            return np.concatenate([first(g[:free]), table.T.ravel()])

        return solve

    def precondition(self, g: Vector) -> Vector:
        """Return roughly the inverse Hessian times `g`."""
        end = self._ends[2]
        solved = self._solve(g[:end])
        if self.penalty.matrix is None:
            return solved
        table = self._solve_matrix(g[end:].reshape(self._classes, -1))
        np.fill_diagonal(table, 0)
        return np.concatenate([solved, table.ravel()])

    def unbounded(self) -> bool:
        """Return False: every parameter is penalized, or the rows decide it."""
        return False

    def reach(self, v: Vector) -> float:
        """Return 0, as `unbounded`."""
        return 0.0

    def setback(self, v: Vector) -> float:
        """Return 0, as `unbounded`."""
        return 0.0


def forward(xs: Sequence[Floats], parts: Parts, out: Floats) -> None:
    """Write sum_j (slopes_j + own_j) F_j + intercept + F_0 matrix' to `out`, (n, K)."""
    weights = (parts.slopes[:, None] + parts.own).astype(out.dtype)
    if parts.matrix.size:
        np.matmul(xs[0], parts.matrix.T.astype(out.dtype), out=out)
        out += weights[0] * xs[0]
    else:
        np.multiply(xs[0], weights[0], out=out)
    for x, weight in zip(xs[1:], weights[1:], strict=True):
        out += x * weight
    out += parts.intercept.astype(out.dtype)
