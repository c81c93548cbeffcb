"""Features of mean 0 and spread 1, and what parameters of theirs are as parameters of the scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calcli.core.calibrators.fit.training import TrainingRows
from calcli.core.data.arrays import Doubles

CONSTANT = 1e-13  # spread over size below which a feature is constant, up to rounding


@dataclass(frozen=True)
class Coordinates:
    """W x + b = V z + c with z = (x - mean) / scale: nearly constant features do no harm to the fit.

    Parameters are tables, (K, m + 1): a line for each class, first the slopes, then the intercept.

    Attributes
    ----------
    mean, scale
        Of the features, broadcast against the (K, m) slopes.
    """

    mean: Doubles
    scale: Doubles

    @classmethod
    def of(cls, rows: TrainingRows, *, per_class: bool) -> tuple[Self, TrainingRows]:
        """Return the coordinates of rows, and the rows in them.

        Parameters
        ----------
        rows
            Finite scores.
        per_class
            Whether each class has one slope, that of its own score.
        """
        mean = rows.weights @ rows.scores
        scores = (rows.scores - mean).astype(rows.scores.dtype, copy=False)
        scale = np.sqrt(rows.weights @ np.square(scores))
        scale[scale <= CONSTANT * np.abs(mean)] = 1
        scores /= scale.astype(scores.dtype)
        axes = (slice(None), None) if per_class else (None, slice(None))
        return cls(mean[axes], scale[axes]), replace(rows, scores=scores)

    @property
    def shift(self) -> Doubles:
        """How the intercept of the scores depends on a line of V and c, broadcast against (K, m + 1)."""
        ratio = -self.mean / self.scale
        return np.concatenate([ratio, np.ones_like(ratio[:, :1])], axis=1)

    def inward(self, theta: Doubles) -> Doubles:
        """Return V and c, flat, of W and b."""
        table = self._table(theta)
        table[:, -1] += (table[:, :-1] * self.mean).sum(axis=1)
        table[:, :-1] *= self.scale
        return table.ravel()

    def outward(self, theta: Doubles) -> Doubles:
        """Return W and b, flat, of V and c."""
        table = self._table(theta)
        table[:, :-1] /= self.scale
        table[:, -1] -= (table[:, :-1] * self.mean).sum(axis=1)
        return table.ravel()

    def gradient(self, slope: Doubles) -> Doubles:
        """Return the gradient in V and c of what has the gradient `slope` in W and b."""
        table = self._table(slope)
        table[:, :-1] = (table[:, :-1] - table[:, -1:] * self.mean) / self.scale
        return table.ravel()

    def curvature(self, penalty: Doubles) -> Doubles:
        """Return the (K, m + 1, m + 1) blocks of the Hessian in V and c of sum(penalty / 2 * (W, b)^2)."""
        table = self._table(penalty)
        shift = np.broadcast_to(self.shift, table.shape)
        blocks = table[:, -1, None, None] * shift[:, :, None] * shift[:, None, :]
        slopes = np.arange(table.shape[1] - 1)
        blocks[:, slopes, slopes] += table[:, :-1] / np.square(self.scale)
        return blocks

    def _table(self, theta: Doubles) -> Doubles:
        classes = self.mean.size
        return theta.reshape(classes, -1).copy()
