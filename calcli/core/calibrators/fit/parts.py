"""Fits to rows in parts: sums of the loss and its derivatives over each add up to those of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from calcli.core.calibrators.arguments import weighted_rows
from calcli.core.calibrators.fit.linear import WELL_SEPARATED, AffineMap, BiasMap, LinearMap
from calcli.core.calibrators.fit.newton import Vector
from calcli.core.calibrators.fit.scale import Derivatives, derivatives, mean_lead
from calcli.core.calibrators.fit.training import (
    NEVER,
    TrainingRows,
    of_zeros,
    stand_in_below,
    without_zeros,
)
from calcli.core.data.arrays import Array, Doubles, Floats
from calcli.core.data.logspace import LEAST, log_softmax, row_blocks, row_max

T = TypeVar("T")


class OverParts(Protocol):
    """Passes over the prepared rows of all parts."""

    def total(self, of: Callable[[TrainingRows], T], add: Callable[[Sequence[T]], T]) -> T:
        """Return the sum of what is made of the rows of each part, by functions that can be pickled."""


@dataclass(frozen=True)
class Overview:
    """What all rows have to say before a fit to parts of them.

    Attributes
    ----------
    counts, weights
        (K,) rows of each class that have weight, and their weight.
    zeros, of_label
        Probabilities of 0, and those of the true class.
    smallest
        The smallest finite score, a logarithm of a probability unless they are raw.
    """

    counts: Array
    weights: Doubles
    zeros: int
    of_label: int
    smallest: float

    @classmethod
    def of(cls, scores: Floats, labels: Array, weights: Floats | None, *, raw: bool = False) -> Overview:
        """Return what (N, K) logits or log-probabilities have to say."""
        n_classes = scores.shape[1]
        scores, labels, weights = weighted_rows(scores, labels, weights)
        counts = np.bincount(labels, minlength=n_classes)
        sums = np.bincount(labels, weights, n_classes).astype(np.float64)
        zeros = of_label = 0
        smallest = np.inf
        for block in row_blocks(scores):
            values = scores[block].astype(np.float64, copy=False)
            values = values if raw else log_softmax(values)
            zero = values <= LEAST
            zeros += int(zero.sum())
            of_label += int(zero[np.arange(len(zero)), labels[block]].sum())
            smallest = min(smallest, float(values.min(where=~zero, initial=np.inf)))
        return cls(counts, sums, zeros, of_label, smallest)

    def __add__(self, other: Overview) -> Overview:
        return Overview(
            self.counts + other.counts,
            self.weights + other.weights,
            self.zeros + other.zeros,
            self.of_label + other.of_label,
            min(self.smallest, other.smallest),
        )

    def stand_in(self, *, keep_zeros: bool) -> TrainingRows:
        """Return rows with all that a fit asks of rows besides its sums: a row for each class that occurs."""
        labels = np.flatnonzero(self.counts)
        stay = keep_zeros and not self.of_label
        floor = None if stay or not self.zeros else stand_in_below(self.smallest, zeros=True)
        notes = (of_zeros(self.zeros, self.of_label, stay=stay),) if self.zeros else ()
        total = float(self.weights.sum())
        scores = np.full((len(labels), len(self.counts)), self.smallest)
        return TrainingRows(scores, labels, self.weights[labels] / total, total, floor, notes)


@dataclass(frozen=True)
class Preparation:
    """How the rows of a part are prepared, as `prepare` would with all rows.

    Attributes
    ----------
    total, floor
        Of the stand-in.
    log_probs
        Whether to fit to log-probabilities, not to the scores as they are.
    zeros
        Whether some are -inf.
    """

    total: float
    floor: float | None
    log_probs: bool
    zeros: bool

    def rows(self, scores: Floats, labels: Array, weights: Floats | None) -> TrainingRows:
        """Return the rows of a part, whose weights sum to their share of all."""
        scores, labels, weights = weighted_rows(scores, labels, weights)
        values: Floats = scores.astype(np.float64, copy=False)
        if self.log_probs:
            values = log_softmax(values)
        if self.zeros:
            values = without_zeros(values, self.floor)
        share = np.full(len(labels), 1.0) if weights is None else weights.astype(np.float64)
        return TrainingRows(
            np.ascontiguousarray(values), labels.astype(np.intp), share / self.total, self.total, self.floor
        )


@dataclass(frozen=True)
class LossSums:
    """Sums over rows at some parameters.

    Attributes
    ----------
    loss, gradient, hessian
        Of the log-loss, in the parameters.
    worst
        The largest loss of a row.
    """

    loss: float
    gradient: Vector
    hessian: Doubles
    worst: float

    def __add__(self, other: LossSums) -> LossSums:
        worst = max(self.worst, other.worst)
        hessian = self.hessian + other.hessian
        return LossSums(self.loss + other.loss, self.gradient + other.gradient, hessian, worst)


def loss_sums(linear: LinearMap, theta: Vector, rows: TrainingRows) -> LossSums:
    """Return the sums of softmax(map of the scores) over the rows of a part."""
    found = LossSums(0.0, np.zeros(theta.size), np.zeros((theta.size, theta.size)), 0.0)
    for block in row_blocks(rows.scores):
        x, w, labels = rows.scores[block], rows.weights[block], rows.labels[block]
        z = np.empty_like(x)
        linear.forward(x, theta, out=z)
        if linear.offset:
            z += x
        z -= row_max(z)
        own = np.arange(len(x)), labels
        z_own = z[own]
        np.exp(z, out=z)
        total = z.sum(axis=1)
        losses = np.log(total) - z_own
        p = z / total[:, None]
        weighted = p * w[:, None]
        residual = weighted.copy()
        residual[own] -= w
        found += LossSums(
            float(w @ losses),
            linear.adjoint(x, residual),
            _hessian(linear, x, p, weighted, w),
            float(losses.max(initial=0.0)),
        )
    return found


def _hessian(linear: LinearMap, x: Floats, p: Floats, weighted: Floats, w: Floats) -> Doubles:
    """Return sum w (sum_k p_k d_k d_k' - (sum_k p_k d_k) (sum_k p_k d_k)'), d_k the slopes of score k."""
    px = p * x
    mean = p
    if isinstance(linear, AffineMap):
        mean = np.column_stack([px.sum(axis=1), p])
    elif not isinstance(linear, BiasMap):
        mean = np.stack([px, p], axis=2).reshape(len(p), -1)
    found: Doubles = -(mean * w[:, None]).T @ mean
    blocks = linear.moments(x, weighted)
    count, size = linear.shape
    of_block = found.reshape(count, size, count, size)
    number = np.arange(count)
    of_block[number, :, number, :] += blocks
    if isinstance(linear, AffineMap):
        cross = (weighted * x).sum(axis=0)
        found[0, 1:] += cross
        found[1:, 0] += cross
    return found


def step_sizes(linear: LinearMap, step: Vector, rows: TrainingRows) -> tuple[float, float]:
    """Return the largest change of a score that a step makes, and the most that one gains on its label."""
    reach = setback = 0.0
    for block in row_blocks(rows.scores):
        x = rows.scores[block]
        t = np.empty_like(x)
        linear.forward(x, step, out=t)
        t[x <= NEVER] = 0
        own = t[np.arange(len(t)), rows.labels[block]]
        reach = max(reach, float(np.abs(t - t.mean(axis=1, keepdims=True)).max(initial=0.0)))
        setback = max(setback, float((t.max(axis=1) - own).max(initial=0.0)))
    return reach, setback


def added(sums: Sequence[LossSums]) -> LossSums:
    """Return the sum of sums."""
    return sum(sums[1:], sums[0])


def added_derivatives(sums: Sequence[Derivatives]) -> Derivatives:
    """Return the sum of derivatives."""
    return sum(sums[1:], sums[0])


def largest(sizes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the largest of each kind."""
    return max(one for one, _ in sizes), max(other for _, other in sizes)


class PartedLoss:
    """Weighted mean log-loss of softmax(map of the scores), plus sum(penalty / 2 * (theta - centre)^2).

    What `SoftmaxLoss` is, of rows in parts; a Newton step is solved exactly.

    Attributes
    ----------
    rows
        What stands in for the rows.
    penalty, centre
        (P,) weights and centre of the quadratic penalty.
    """

    coordinates = None
    refresh_cost = 0  # a product with the Hessian costs nothing

    def __init__(self, rows: TrainingRows, linear: LinearMap, over: OverParts) -> None:
        self.rows, self._linear, self._over = rows, linear, over
        self.centre = linear.scaled_identity(1)
        self.penalty = np.zeros_like(self.centre)
        self.rounding = 4 * float(np.finfo(np.float64).eps)
        self._hessian: Doubles = np.eye(self.centre.size)
        self._worst = np.inf
        self._sizes: tuple[Vector, tuple[float, float]] | None = None

    def evaluate(self, theta: Vector) -> tuple[float, Vector]:
        """Return the loss in nats and its gradient."""
        sums = self._over.total(partial(loss_sums, self._linear, theta), added)
        away = theta - self.centre
        self._worst, self._hessian = sums.worst, sums.hessian + np.diag(self.penalty)
        shifts = np.arange(theta.size)[self._linear.intercepts]
        # a constant added to all intercepts changes nothing: curvature that keeps it out of the steps
        self._hessian[np.ix_(shifts, shifts)] += np.diagonal(self._hessian)[shifts].mean()
        return sums.loss + 0.5 * float(self.penalty @ away**2), sums.gradient + self.penalty * away

    def refresh(self) -> None:
        """Do nothing: the Hessian comes with each evaluation."""

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian times `v`."""
        return self._hessian @ v

    def precondition(self, g: Vector) -> Vector:
        """Return the inverse Hessian times `g`; the shortest solution where it has none."""
        scale = 1 / np.sqrt(np.maximum(np.diagonal(self._hessian), np.finfo(np.float64).tiny))
        scaled = self._hessian * scale[:, None] * scale
        return scale * np.linalg.lstsq(scaled, scale * g, rcond=None)[0]

    def unbounded(self) -> bool:
        """Return whether all labels win: scaling the parameters up then lowers the loss without end."""
        return self._worst < WELL_SEPARATED and not self._linear.offset and not self.penalty.any()

    def reach(self, v: Vector) -> float:
        """Return the largest change of a score, against the mean of its row, that the step `v` makes."""
        return self._of_step(v)[0]

    def setback(self, v: Vector) -> float:
        """Return by how much the step `v` raises a score, at most, above that of the label."""
        return self._of_step(v)[1]

    def _of_step(self, v: Vector) -> tuple[float, float]:
        if self._sizes is None or not np.array_equal(self._sizes[0], v):
            self._sizes = v, self._over.total(partial(step_sizes, self._linear, v), largest)
        return self._sizes[1]


def scale_of(over: OverParts) -> tuple[Callable[[float], Derivatives], float]:
    """Return the derivatives of the log-loss in the scale of the scores, and their mean lead."""

    def at_scale(alpha: float) -> Derivatives:
        return over.total(partial(derivatives_at, alpha), added_derivatives)

    return at_scale, over.total(mean_lead, total_of)


def total_of(values: Sequence[float]) -> float:
    """Return the sum of numbers."""
    return sum(values)


def derivatives_at(alpha: float, rows: TrainingRows) -> Derivatives:
    """Return the derivatives of the log-loss of one part; see `derivatives`."""
    return derivatives(rows, alpha)
