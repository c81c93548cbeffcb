"""The log-loss, or the Brier score, of softmax(linear map of the scores): value, gradient, curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from calcli.core.calibrators.fit.newton import (
    TINY,
    Objective,
    Solver,
    Vector,
    by_blocks,
    by_entry,
    by_inverse,
    by_kronecker,
    by_line,
    column_sums,
    damping,
)
from calcli.core.calibrators.fit.training import MASKED, TrainingRows
from calcli.core.data.arrays import NARROW, Doubles, Floats, row_blocks, row_max

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
        class; 0 of (2, K), where each class has one slope, for its own score.
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
        In which the parameters are; None for the scores themselves.
    scales
        Whether some parameters multiply the scores.
    intercepts
        Where the intercepts stand; a constant added to every intercept changes nothing.
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
            Weights of the squares in the penalty.

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
    copied = empty(table)
    for block in row_blocks(table):
        copied[block] = table[block]
    return copied


class SoftmaxLoss(Objective):
    """Weighted mean loss of softmax(new scores), plus sum(penalty / 2 * (theta - centre)^2).

    Keeps the probabilities of the last evaluation, each times the weight of its row: one array of the size of
    the scores, with which a product with the Hessian needs no exponential.

    The Brier score, sum_k (p_k - y_k)^2, is not convex: a fit finds the minimum near which it starts. Its
    curvature is the Gauss-Newton one, which is never negative.

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
        self, rows: TrainingRows, model: SoftmaxModel, penalty: Vector, *, brier: bool = False
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
        gradient = np.zeros(self.penalty.shape)
        for block, w, z in self._blocks():
            z[:] = 0
            z[np.arange(len(z)), self.rows.labels[block]] = w[:, 0]
            gradient += self.model.adjoint(block, z)
        return gradient

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
            label_index = np.arange(len(z)), self.rows.labels[block]
            self.model.forward(block, theta, out=z)
            z -= row_max(z)
            z_own = z[label_index]
            np.exp(z, out=z)
            sums = z @ self._ones
            losses = np.log(sums[:, 0]) - z_own
            self._worst = max(self._worst, float(losses.max()))
            z *= w / sums
            if self.brier:
                p = z / w
                away = p.copy()
                away[label_index] -= 1
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

    def add_ridge(self, centre: Vector, ridge: float) -> None:
        """Draw all parameters towards a centre from now on."""
        coordinates = self.model.coordinates
        self.penalty = self.penalty + ridge
        self.centre = coordinates.outward(centre) if coordinates else centre

    def unbounded(self) -> bool:
        """Return whether all labels win: scaling the parameters up then lowers the loss without end."""
        return self._worst < WELL_SEPARATED and self.model.scales and not self.penalty.any()

    def max_logit_change(self, v: Vector) -> float:
        """Return the largest change of a score, against the mean of its row, that the step `v` makes.

        None counts where every parameter is penalized, and no minimum is at infinity.
        """
        largest = 0.0
        if self.penalty.all():
            return largest
        for _, t in self._changes(v):
            t -= t.mean(axis=1, keepdims=True)
            largest = max(largest, float(t.max()), -float(t.min()))
        return largest

    def max_label_loss(self, v: Vector) -> float:
        """Return by how much the step `v` raises a score, at most, above the score of the label."""
        worst = 0.0
        for block, t in self._changes(v):
            of_label = t[np.arange(len(t)), self.rows.labels[block]]
            worst = max(worst, float((row_max(t)[:, 0] - of_label).max()))
        return worst

    def _changes(self, v: Vector) -> Iterator[tuple[slice, Floats]]:
        for block, _, weighted in self._blocks():
            t = np.empty_like(weighted)
            self.model.change(block, v, out=t)
            t[self.rows.scores[block] <= MASKED] = 0
            yield block, t


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
    """Weights of the squares in the penalty; None where a parameter is not fitted.

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
        self.features, self.strengths = [laid_out(feature) for feature in features], strengths
        self.slopes, self.intercept = slopes, intercept
        self.scales = strengths.slopes is not None or strengths.own is not None
        count, self._classes = len(features), features[0].shape[1]
        lengths = (count, count * self._classes, self._classes, self._classes**2)
        self._sizes = [
            0 if strength is None else size for strength, size in zip(strengths, lengths, strict=True)
        ]
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

    def pack(self, fields: Parts) -> Vector:
        """Return the parts as one vector."""
        fields = fields._replace(
            slopes=fields.slopes - self.slopes, intercept=fields.intercept - self.intercept
        )
        fitted = [
            part.ravel() for part, weight in zip(fields, self.strengths, strict=True) if weight is not None
        ]
        return np.concatenate(fitted).astype(np.float64)

    def parts(self, theta: Vector) -> Parts:
        """Return the parts of a vector."""
        split = self._split(theta)
        return split._replace(slopes=split.slopes + self.slopes, intercept=split.intercept + self.intercept)

    def _split(self, theta: Vector) -> Parts:
        count, classes = len(self.features), self._classes
        slopes, diagonal, intercept, matrix = np.split(theta, self._ends[:-1])
        return Parts(
            slopes if len(slopes) else np.zeros(count),
            diagonal.reshape(count, classes) if len(diagonal) else np.zeros((count, classes)),
            intercept if len(intercept) else np.zeros(classes),
            matrix.reshape(classes, classes) if len(matrix) else np.zeros((0, 0)),
        )

    def forward(self, block: slice, theta: Vector, out: Floats) -> None:
        """Write the new scores; see `SoftmaxModel.forward`."""
        self._write(block, self.parts(theta), out)

    def change(self, block: slice, v: Vector, out: Floats) -> None:
        """Write the change of the scores; see `SoftmaxModel.change`."""
        self._write(block, self._split(v), out)

    def _write(self, block: slice, params: Parts, out: Floats) -> None:
        if self._joined is None:
            forward([f[block] for f in self.features], params, out)
            return
        # for few classes one product of matrices is faster than any number of short lines
        table = np.concatenate([np.diag(diagonal) for diagonal in params.slopes[:, None] + params.own])
        table[: self._classes] += params.matrix.T
        np.matmul(self._joined[block], table.astype(out.dtype), out=out)
        out += params.intercept.astype(out.dtype)

    def adjoint(self, block: slice, r: Floats) -> Vector:
        """Return the gradient; see `SoftmaxModel.adjoint`."""
        classes, fitted = self._classes, self.strengths
        matrix = np.zeros((0, 0))
        if self._joined is not None:
            tables = (r.T @ self._joined[block]).astype(np.float64)
            matrix = tables[:, :classes]
            products = np.array(
                [np.diagonal(table) for table in np.split(tables, len(self.features), axis=1)]
            )
        else:
            products = np.array([column_sums(r * f[block]) for f in self.features])
            if fitted.matrix is not None:
                matrix = (r.T @ self.features[0][block]).astype(np.float64)
        gradients: list[Doubles] = []
        if fitted.slopes is not None:
            gradients.append(products.sum(axis=1))
        if fitted.own is not None:
            gradients.append(products.ravel())
        if fitted.intercept is not None:
            gradients.append(column_sums(r))
        if fitted.matrix is not None:
            np.fill_diagonal(matrix, 0)
            gradients.append(matrix.ravel())
        return np.concatenate(gradients)

    def preconditioner(self, weighted: Floats, weights: Floats, penalty: Vector) -> tuple[Solver, int]:
        """Return what solves for the Hessian, on some of the rows if the classes are very many."""
        step = max(1, weighted.size * self._classes // SAMPLED)
        w = weights[::step]
        p = weighted[::step] / w
        w = w / w.sum()
        xs = [f[::step] for f in self.features]
        few = len(p) <= FEW * self._classes
        end = self._ends[2]
        of_scales = (
            self._by_class(xs, p, w, penalty) if few else by_inverse(self._dense(xs, p, w, penalty), p.dtype)
        )
        if self.strengths.matrix is None:
            exact = step == 1 and not few and end <= SMALL and not (self.coordinates and penalty.any())
            return of_scales, 0 if exact else 8 + self._classes // 4
        of_entries = (by_entry if few else by_kronecker)(xs[0], p, w, float(penalty[-1]))

        def solve(g: Vector) -> Vector:
            table = of_entries(g[end:].reshape(self._classes, -1))
            np.fill_diagonal(table, 0)
            return np.concatenate([of_scales(g[:end]), table.ravel()])

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
                mixed = np.concatenate([column_sums(t * c) for c in columns])
                dense[j, free:] += mixed
                dense[free:, j] += mixed
        of = [c * p for c in columns]
        for i, scaled in enumerate(of):
            weighted = scaled * w
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
        of_slopes, of_classes = by_inverse(shared, p.dtype), by_blocks(blocks, damping(count, p.dtype))

        def solve(g: Vector) -> Vector:
            table = of_classes(g[free:].reshape(count, k).T)
            return np.concatenate([of_slopes(g[:free]), table.T.ravel()])

        return solve


def forward(xs: Sequence[Floats], fields: Parts, out: Floats) -> None:
    """Write sum_j (slopes_j + own_j) F_j + intercept + F_0 matrix' to `out`, (n, K)."""
    weights = (fields.slopes[:, None] + fields.own).astype(out.dtype)
    if fields.matrix.size:
        np.matmul(xs[0], fields.matrix.T.astype(out.dtype), out=out)
        out += weights[0] * xs[0]
    else:
        np.multiply(xs[0], weights[0], out=out)
    for x, weight in zip(xs[1:], weights[1:], strict=True):
        out += x * weight
    out += fields.intercept.astype(out.dtype)


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
