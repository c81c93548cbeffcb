"""The linear maps of scores whose softmax is fitted: parts that are penalized apart, and a full matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.preconditioning import (
    Solver,
    by_blocks,
    by_entry,
    by_inverse,
    by_kronecker,
    by_line,
    column_sums,
    damping,
)
from calcli.core.calibrators.fit.softmaxloss import BLOCK_BYTES, Coordinates, SoftmaxModel, laid_out
from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import NARROW, row_blocks

SMALL = 17  # parameters up to which the Hessian is made and inverted in each step
SAMPLED = 1 << 29  # products behind a block of the preconditioner, at most
FEW = 4  # rows for each class, up to which it is faster to leave out how the classes are coupled
WIDEST = 128  # classes up to which there is a preconditioner of one full block a class,
TIGHT = 30.0  # unless curvatures of a line add up to so many times its penalty, or less
CHEAP = 4  # products after which another preconditioner pays for itself


class Parts(NamedTuple):
    """The parameters of a `PartsModel`, one by one.

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


class PartsModel(SoftmaxModel):
    """sum_j (slopes_j + own_j) F_j + intercept + F_0 matrix', F_j the class-wise features.

    The parameters are slopes and intercepts less their centres, and the other parts, as far as they are
    fitted. Preconditioned by the Hessian of all parts but the matrix, and for that by a Kronecker product;
    class by class if the rows are few.

    Parameters
    ----------
    features
        (N, K) each.
    strengths
        Weights of the squares of the parts.
    slopes, intercept
        (J,) and (K,) where slopes and intercepts have their centres, and stay if they are not fitted.
    coordinates
        Of the features, where there is one, and slopes of each class and intercepts are fitted.
    """

    def __init__(
        self,
        features: Sequence[Floats],
        strengths: Penalty,
        slopes: Doubles,
        intercept: Doubles | float = 0.0,
        coordinates: Coordinates | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.features, self.strengths = [laid_out(one) for one in features], strengths
        self.slopes, self.intercept = slopes, intercept
        self.scales = strengths.slopes is not None or strengths.own is not None
        count, self._classes = len(features), features[0].shape[1]
        lengths = (count, count * self._classes, self._classes, self._classes**2)
        self._sizes = [0 if one is None else size for one, size in zip(strengths, lengths, strict=True)]
        self._ends = np.cumsum(self._sizes)
        self.intercepts = slice(self._ends[1], self._ends[2])
        self._joined: Floats | None = None
        if self._classes <= NARROW and strengths.matrix is not None:
            self._joined = laid_out(np.concatenate(features, axis=1))
        self._ones = np.ones((self._classes, 1), features[0].dtype)

    @property
    def penalty(self) -> Vector:
        """The weights of the squares, of each parameter."""
        return 2 * np.repeat([weight or 0.0 for weight in self.strengths], self._sizes)

    def pack(self, parts: Parts) -> Vector:
        """Return the parts as one vector."""
        parts = parts._replace(slopes=parts.slopes - self.slopes, intercept=parts.intercept - self.intercept)
        fitted = [
            part.ravel() for part, weight in zip(parts, self.strengths, strict=True) if weight is not None
        ]
        return np.concatenate(fitted).astype(np.float64)

    def parts(self, theta: Vector) -> Parts:
        """Return the parts of a vector."""
        found = self._split(theta)
        return found._replace(slopes=found.slopes + self.slopes, intercept=found.intercept + self.intercept)

    def _split(self, theta: Vector) -> Parts:
        count, classes = len(self.features), self._classes
        slopes, own, intercept, matrix = np.split(theta, self._ends[:-1])
        return Parts(
            slopes if len(slopes) else np.zeros(count),
            own.reshape(count, classes) if len(own) else np.zeros((count, classes)),
            intercept if len(intercept) else np.zeros(classes),
            matrix.reshape(classes, classes) if len(matrix) else np.zeros((0, 0)),
        )

    def forward(self, block: slice, theta: Vector, out: Floats) -> None:
        """Write the new scores; see `SoftmaxModel.forward`."""
        self._write(block, self.parts(theta), out)

    def change(self, block: slice, v: Vector, out: Floats) -> None:
        """Write the change of the scores; see `SoftmaxModel.change`."""
        self._write(block, self._split(v), out)

    def _write(self, block: slice, parts: Parts, out: Floats) -> None:
        if self._joined is None:
            forward([f[block] for f in self.features], parts, out)
            return
        # for few classes one product of matrices is faster than any number of short lines
        table = np.concatenate([np.diag(one) for one in parts.slopes[:, None] + parts.own])
        table[: self._classes] += parts.matrix.T
        np.matmul(self._joined[block], table.astype(out.dtype), out=out)
        out += parts.intercept.astype(out.dtype)

    def adjoint(self, block: slice, r: Floats) -> Vector:
        """Return the gradient; see `SoftmaxModel.adjoint`."""
        classes, fitted = self._classes, self.strengths
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

    def preconditioner(self, weighted: Floats, weights: Floats, penalty: Vector) -> tuple[Solver, int]:
        """Return what solves for the Hessian, on some of the rows if the classes are very many."""
        step = max(1, weighted.size * self._classes // SAMPLED)
        w = weights[::step]
        p = weighted[::step] / w
        w = w / w.sum()
        xs = [f[::step] for f in self.features]
        few = len(p) <= FEW * self._classes
        end = self._ends[2]
        first = (
            self._by_class(xs, p, w, penalty) if few else by_inverse(self._dense(xs, p, w, penalty), p.dtype)
        )
        if self.strengths.matrix is None:
            exact = step == 1 and not few and end <= SMALL and not (self.coordinates and penalty.any())
            return first, 0 if exact else 8 + self._classes // 4
        of_entries = (by_entry if few else by_kronecker)(xs[0], p, w, float(penalty[-1]))

        def solve(g: Vector) -> Vector:
            table = of_entries(g[end:].reshape(self._classes, -1))
            np.fill_diagonal(table, 0)
            return np.concatenate([first(g[:end]), table.ravel()])

        return solve, 8 + self._classes // 4

    def _dense(self, xs: list[Floats], p: Floats, w: Floats, penalty: Vector) -> Doubles:
        """Return the Hessian of slopes, class-wise slopes and intercepts."""
        dense = np.diag(penalty[: self._ends[2]])
        for block in row_blocks(p, BLOCK_BYTES):
            self._add_dense(dense, [x[block] for x in xs], p[block], w[block])
        return dense

    def _add_dense(self, dense: Doubles, xs: list[Floats], p: Floats, w: Floats) -> None:
        fitted, k = self.strengths, self._classes
        wp = w * p
        moved = [wp * (x - (p * x) @ self._ones) for x in xs] if fitted.slopes is not None else []
        columns = [*xs] if fitted.own is not None else []
        columns += [np.ones_like(p)] if fitted.intercept is not None else []
        free = len(moved)
        for j, t in enumerate(moved):
            dense[j, :free] += [column_sums(t * x).sum() for x in xs]
            if columns:
                beside = np.concatenate([column_sums(t * c) for c in columns])
                dense[j, free:] += beside
                dense[free:, j] += beside
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

    def _by_class(self, xs: list[Floats], p: Floats, w: Floats, penalty: Vector) -> Solver:
        """Return what solves for the slopes, and for the other parts of each class by themselves."""
        fitted, k = self.strengths, self._classes
        columns = [*xs] if fitted.own is not None else []
        columns += [np.ones_like(p)] if fitted.intercept is not None else []
        free, count = 0 if fitted.slopes is None else len(xs), len(columns)
        wp = w * p
        moved = [wp * (x - (p * x) @ self._ones) for x in xs[:free]]
        shared = np.diag(penalty[:free])
        shared += np.array([[column_sums(t * x).sum() for x in xs] for t in moved]).reshape(free, free)
        blocks = np.zeros((k, count, count))
        blocks[:, range(count), range(count)] = penalty[free : self._ends[2]].reshape(count, k).T
        for i, j in np.ndindex(count, count):
            blocks[:, i, j] += column_sums(wp * (1 - p) * columns[i] * columns[j])
        first, others = by_inverse(shared, p.dtype), by_blocks(blocks, damping(count, p.dtype))

        def solve(g: Vector) -> Vector:
            table = others(g[free:].reshape(count, k).T)
            return np.concatenate([first(g[:free]), table.T.ravel()])

        return solve


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


class MatrixModel(SoftmaxModel):
    """V z + c, z the scores in their coordinates; the parameters are the rows of (V, c), one a class.

    Preconditioned by the Hessian of each class by itself.
    """

    coordinates: Coordinates

    def __init__(self, rows: TrainingRows) -> None:
        self.coordinates, self._features = Coordinates.of(rows, axis=1)
        self._classes = self._features.shape[1]
        self._shape = self._classes, self._classes + 1
        self.intercepts = slice(self._classes, None, self._classes + 1)
        # how the intercept of the scores depends on a line
        self._shift = np.append(-self.coordinates.mean / self.coordinates.scale, 1.0)

    def change(self, block: slice, v: Vector, out: Floats) -> None:
        """Write the change of the scores; see `SoftmaxModel.change`."""
        table = v.reshape(self._shape).astype(out.dtype)
        np.matmul(self._features[block], table[:, :-1].T, out=out)
        out += table[:, -1]

    def adjoint(self, block: slice, r: Floats) -> Vector:
        """Return the gradient; see `SoftmaxModel.adjoint`."""
        return _products(self._features[block], r).ravel()

    def preconditioner(self, weighted: Floats, weights: Floats, penalty: Vector) -> tuple[Solver, int]:
        """Return what solves for the Hessian, the coupling of the classes left out."""
        by_lines = self._by_lines(weighted, weights, penalty.reshape(self._shape))
        solve = by_lines or by_blocks(self._blocks(weighted, weights, penalty))
        return solve, CHEAP if by_lines else self._classes // 2

    def _by_lines(self, weighted: Floats, weights: Floats, penalty: Doubles) -> Solver | None:
        """Return what solves for a matrix too wide for blocks, or held tight by its penalty; else None."""
        lines, cross = np.zeros(self._shape), np.zeros(self._classes)
        for z, v in self._curvatures(weighted, weights):
            lines += _products(z * z, v)
            cross += column_sums(v * z)
        tight = (penalty[:, :-1] / np.square(self.coordinates.scale)).mean()
        if self._classes <= WIDEST and lines[:, :-1].sum(axis=1).mean() > TIGHT * tight:
            return None
        return by_line(lines, cross, penalty, self.coordinates.scale, self._shift)

    def _blocks(self, weighted: Floats, weights: Floats, penalty: Vector) -> Doubles:
        table = penalty.reshape(self._shape)
        blocks = table[:, -1, None, None] * np.outer(self._shift, self._shift)
        slopes = np.arange(self._classes)
        blocks[:, slopes, slopes] += table[:, :-1] / np.square(self.coordinates.scale)
        for z, v in self._curvatures(weighted, weights):
            features = np.concatenate([z, np.ones((len(z), 1))], axis=1)
            for k in range(self._classes):
                blocks[k] += (features * v[:, k : k + 1]).T @ features
        return blocks

    def _curvatures(self, weighted: Floats, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield features, and the second derivatives of the loss in each new score."""
        for block in row_blocks(weighted, BLOCK_BYTES):
            p = weighted[block]
            yield self._features[block], (1 - p / weights[block]) * p


def _products(z: Floats, r: Floats) -> Doubles:
    """Return the sums of r times features and of r, (K, K + 1)."""
    return np.concatenate([r.T @ z, column_sums(r)[:, None]], axis=1, dtype=np.float64)
