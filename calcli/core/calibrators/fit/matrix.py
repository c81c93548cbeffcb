"""A full matrix of slopes and intercepts, in coordinates that suit the scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.preconditioning import Solver, by_blocks, by_line, column_sums
from calcli.core.calibrators.fit.softmaxloss import BLOCK_BYTES, Coordinates, SoftmaxModel
from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.data.arrays import Doubles, Floats
from calcli.core.data.logspace import row_blocks

WIDEST = 128  # classes up to which there is a preconditioner of one full block a class,
TIGHT = 30.0  # unless curvatures of a line add up to so many times its penalty, or less
CHEAP = 4  # products after which another preconditioner pays for itself


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
