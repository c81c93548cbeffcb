"""Newton's method with conjugate gradients, for smooth convex functions of very many parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike

from calcli.core.data.arrays import Array, Doubles, Floats

Vector = Doubles

MAX_ITERATIONS = 100
MAX_PRODUCTS = 1500  # Hessian-vector products in all
MAX_CG = 300  # products in one iteration
MAX_HALVINGS = 30
NO_LOSS = 1e-5  # smallest divisor of a relative gradient: smaller values may be rounding errors
ARMIJO = 1e-4
LOOSEST = 0.1  # share of the residual that conjugate gradients may leave far from the optimum
FLAT = 1e-14  # curvature, in units of the preconditioner, that counts as 0
RUNAWAY = 0.5  # a last step that still moves a score by so much was not the end of the way,
SETTLED = 1e-6  # unless a rough fit stopped it above this relative gradient
EXTRA = 4  # steps beyond the tolerance: towards a minimum they shrink, towards infinity they do not,
SETBACK = 0.05  # nor does any label lose by more than this share of the step
STRIDE = 1e-3  # nor are they, but for rounding, so short beside the parameters themselves
SHORT = 1e-4  # steps below are never that long; spares a pass over the rows
FAR = 10.0  # times the largest parameter of the log-loss fit, or 1: beyond that, a fit runs to a step
RAN_AWAY = (
    "the Brier score is least at a step, with infinite parameters: they are drawn towards those of the "
    "log-loss by the weight of one row"
)


class Objective(Protocol):
    """A convex function that remembers its curvature where it was last evaluated.

    An objective with a preconditioner that inverts the Hessian may be B functions, of parameters (B, P): a
    result of shape () then has shape (B,).

    Attributes
    ----------
    rounding
        Error of a value, relative to the value or to 1, whichever is larger.
    refresh_cost
        Number of products after which a new preconditioner pays for itself; 0 if it inverts the Hessian.
    """

    rounding: float
    refresh_cost: int

    def of(self, functions: Array) -> Self:
        """Return some of the functions, at the last evaluation."""
        return self

    def evaluate(self, x: Vector) -> tuple[Any, Vector]:
        """Return the value and the gradient at `x`."""

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian times `v`."""

    def refresh(self) -> None:
        """Rebuild the preconditioner at the last evaluation."""

    def precondition(self, g: Vector) -> Vector:
        """Return roughly the inverse Hessian times `g`."""

    def unbounded(self) -> bool:
        """Return whether the last evaluation shows that no finite optimum exists."""
        return False

    def max_logit_change(self, v: Vector) -> Any:
        """Return the largest change of a score that the step `v` makes."""

    def max_label_loss(self, v: Vector) -> Any:
        """Return by how much the step `v` raises a score, at most, above the score of the label."""

    def add_ridge(self, centre: Vector, ridge: Any) -> None:
        """Add ridge / 2 * |x - centre|^2 from now on."""


@dataclass(frozen=True)
class Minimum:
    """Where a minimization ended.

    Attributes
    ----------
    x
        (P,) or (B, P) parameters.
    gradient
        () or (B,) largest entry of the gradient, relative to the value.
    converged
        () or (B,) whether `gradient` is within the tolerance.
    at_infinity
        () or (B,) whether the value keeps falling as the parameters grow without limit.
    """

    x: Vector
    gradient: Any
    converged: Any
    at_infinity: Any


@np.errstate(over="ignore", invalid="ignore")  # of steps too long by far, and curvature all but 0
def minimize(objective: Objective, x: Vector, tolerance: float) -> Minimum:
    """Minimize a convex function, or each of several, by inexact Newton steps with backtracking.

    Preconditioned conjugate gradients solve the Newton equations, ever more exactly as the gradient falls;
    the convergence stays superlinear (Nocedal & Wright, Numerical Optimization, 2006, algorithm 7.1).

    Parameters
    ----------
    objective : Objective
        The function.
    x : array (P,) or (B, P)
        The start.
    tolerance : float
        Largest entry of the gradient over the value at which to stop.

    Returns
    -------
    Minimum
        The last point, and whether it is the minimum.
    """
    x, step, extra = x.copy(), np.zeros_like(x), np.zeros(x.shape[:-1])
    value, gradient = map(np.array, objective.evaluate(x))
    at: Any = ...  # the functions that are not done
    active, moves = objective, np.ones(x.shape[:-1], dtype=np.bool_)
    products = spent = 0
    for iteration in range(MAX_ITERATIONS):
        relative = _relative(gradient[at], value[at])
        if objective.unbounded() or products >= MAX_PRODUCTS:
            break
        near = relative <= tolerance
        further = _are_long(active, step[at], near & (extra[at] < EXTRA) & (relative <= SETTLED))
        goes_on = moves & (~near | further)
        if not goes_on.any():
            break
        extra[at] += near & goes_on
        if not goes_on.all():
            at, active = np.arange(len(x))[at][goes_on], active.of(goes_on)
        if iteration == 0 or spent >= objective.refresh_cost:
            active.refresh()
            spent = 0
        direction, count = _newton_direction(active, gradient[at], float(relative.max()))
        products, spent = products + count, spent + count
        size, value[at], gradient[at] = _backtrack(active, x[at], value[at], gradient[at], direction)
        step[at] = np.where(size > 0, size, 1) * direction
        new = x[at] + size * direction
        moves = (new != x[at]).any(axis=-1)
        x[at] = new
    relative = _relative(gradient, value)
    converged = relative <= tolerance
    strides = np.abs(step).max(axis=-1) > STRIDE * np.abs(x).max(axis=-1)
    runs = _are_long(objective, step, (extra == EXTRA) | (~converged & strides))
    if runs.any():
        runs = runs & (objective.max_label_loss(step) <= SETBACK * objective.max_logit_change(step))
    return Minimum(x, relative, converged, runs | objective.unbounded())


def minimize_brier(
    objective: Objective, start: Vector, tolerance: float, ridge: float
) -> tuple[Minimum, Array]:
    """Minimize a Brier score from the optimum of the log-loss; where that leads far away, near it.

    Parameters
    ----------
    objective : Objective
        The Brier score, which is not convex, or several.
    start : array (P,) or (B, P)
        The optimum of the log-loss.
    tolerance : float
        As of `minimize`.
    ridge : float
        How strongly the parameters are then drawn towards `start`.

    Returns
    -------
    The minimum, and () or (B,) whether parameters were drawn, which `RAN_AWAY` tells.
    """
    best = minimize(objective, start, tolerance)
    far = np.abs(best.x).max(axis=-1) > FAR * np.maximum(1, np.abs(start).max(axis=-1))
    unstable = far | best.at_infinity | ~best.converged
    if unstable.any():
        objective.add_ridge(start, ridge * unstable)
        best = minimize(objective, start, tolerance)
    return best, unstable


def _are_long(objective: Objective, step: Vector, those: Array) -> Array:
    """Return the steps that move a score far."""
    if those.any():
        those = those & (np.abs(step).max(axis=-1) >= SHORT)
    return those & (objective.max_logit_change(step) > RUNAWAY) if those.any() else those


def _relative(gradient: Vector, value: Any) -> Any:
    return np.abs(gradient).max(axis=-1) / np.maximum(value, NO_LOSS)


def _newton_direction(objective: Objective, gradient: Vector, relative: float) -> tuple[Vector, int]:
    """Return a descent direction, which solves the Newton equations, and the products it took.

    It solves them the more exactly, the smaller the relative gradient.
    """
    residual = -gradient
    scaled = objective.precondition(residual)
    norm = start = np.vecdot(residual, scaled)
    curved = (norm > 0) & (norm < np.inf)  # else rounding left no curvature to divide by
    if objective.refresh_cost == 0 or not curved:
        return np.where(curved[..., None], scaled, residual), 0
    direction = np.zeros_like(gradient)
    search = scaled
    for steps in range(1, MAX_CG + 1):
        product = objective.curve(search)
        curvature = float(search @ product)
        if not curvature > FLAT * norm:  # flat to rounding: only the first search direction is worth a step
            return (direction if steps > 1 else search), steps
        size = norm / curvature
        direction = direction + size * search
        residual = residual - size * product
        scaled = objective.precondition(residual)
        previous, norm = norm, float(residual @ scaled)
        if norm <= min(LOOSEST**2, relative) * start:
            break
        search = scaled + norm / previous * search
    return direction, steps


def _backtrack(
    objective: Objective, x: Vector, value: Any, gradient: Vector, direction: Vector
) -> tuple[Vector, Any, Vector]:
    """Return the first step of 1, 1/2, 1/4, ... that lowers the value enough, 0 if none; both there."""
    slope, noise = np.vecdot(gradient, direction), objective.rounding * np.maximum(value, 1)
    size = np.ones(x.shape[:-1])
    for _ in range(MAX_HALVINGS):
        new_value, new_gradient = objective.evaluate(x + size[..., None] * direction)
        lower = new_value <= value + ARMIJO * size * slope + noise
        if lower.all():
            return size[..., None], new_value, new_gradient
        size = np.where(lower, size, size / 2)
    value, gradient = np.where(lower, new_value, value), np.where(lower[..., None], new_gradient, gradient)
    return np.where(lower, size, 0)[..., None], value, gradient


JITTER = 1e-11  # keeps a block positive definite
DAMPING = 100.0  # roundings a line, which keep it so that was computed in lower precision
SMALL = 64  # lines of a matrix that is inverted at once
TINY = 1e-30  # in place of 0, by which nothing can be divided
APART = 1 - 1e-6  # of slope and intercept, whose correlation is no more

Solver = Callable[[Doubles], Doubles]


def column_sums(r: Floats) -> Doubles:
    """Return the (K,) sums over the rows of a block; one product with ones beats a reduction down columns."""
    return (np.ones(len(r), r.dtype) @ r).astype(np.float64, copy=False)


def damping(lines: int, dtype: DTypeLike) -> float:
    """Return the damping of the diagonal of a scaled matrix that was computed in `dtype`."""
    return DAMPING * float(np.finfo(dtype).eps) * lines


def by_inverse(hessian: Doubles, dtype: np.dtype) -> Solver:
    """Return what multiplies by the inverse of a Hessian that was computed in `dtype`."""
    if not len(hessian):
        return lambda g: g
    scale = 1 / np.sqrt(np.maximum(hessian.diagonal(), JITTER))
    scaled = hessian * scale * scale[:, None]
    inverted = inverse(scaled, damping(len(scale), dtype)) * scale * scale[:, None]
    return lambda g: inverted @ g


def by_blocks(blocks: Doubles, damped: float = JITTER) -> Solver:
    """Return what multiplies lines, B of m each, by the inverses of blocks, (B, m, m)."""
    diagonal = np.diagonal(blocks, axis1=1, axis2=2)
    floor = JITTER * diagonal.max(initial=1)  # no step over flat ground is too long to be halved back
    scale = 1 / np.sqrt(np.maximum(diagonal, floor))
    scaled = blocks * scale[:, :, None] * scale[:, None, :] + damped * np.eye(blocks.shape[1])
    roots = np.linalg.inv(np.linalg.cholesky(scaled)) * scale[:, None, :]
    inverses = roots.transpose(0, 2, 1) @ roots
    return lambda g: np.vecdot(inverses, g.reshape(len(inverses), 1, -1)).reshape(g.shape)


def by_line(moments: Doubles, cross: Doubles, penalty: Doubles, scale: Doubles, shift: Doubles) -> Solver:
    """Return what solves for slopes and intercepts of a wide matrix, K lines of K + 1, in coordinates.

    A line counts as diagonal but for what couples the slope of its own score with the intercept, and for the
    penalty of the intercept of the scores themselves, which is of rank one.

    Parameters
    ----------
    moments : array (K, K + 1)
        Diagonal of the Hessian, without the penalty.
    cross : array (K,)
        Entries of own slope and intercept.
    penalty : array (K, K + 1)
        Of the matrix and the intercepts of the scores themselves.
    scale, shift : array (K,), (K + 1,)
        Of the features, and how the intercept of the scores depends on a line.
    """
    diagonal = moments.copy()
    diagonal[:, :-1] += penalty[:, :-1] / np.square(scale)
    np.maximum(diagonal, JITTER * max(diagonal.max(), 1), out=diagonal)
    slope_curvature, intercept = diagonal.diagonal(), diagonal[:, -1]
    limit = APART * np.sqrt(slope_curvature * intercept)
    cross = np.clip(cross, -limit, limit)
    determinant = slope_curvature * intercept - np.square(cross)

    def coupled(g: Doubles) -> Doubles:
        step = g / diagonal
        np.fill_diagonal(step, (intercept * g.diagonal() - cross * g[:, -1]) / determinant)
        step[:, -1] = (slope_curvature * g[:, -1] - cross * g.diagonal()) / determinant
        return step

    turned = coupled(np.broadcast_to(shift, diagonal.shape))
    share = penalty[:, -1] / (1 + penalty[:, -1] * (turned @ shift))

    def solve(g: Doubles) -> Doubles:
        step = coupled(g.reshape(diagonal.shape))
        step -= (share * (step @ shift))[:, None] * turned
        return step.reshape(g.shape)

    return solve


def by_kronecker(x: Floats, p: Floats, w: Floats, strength: float) -> Solver:
    """Return what solves for the matrix as if the curvature of a row were the same in each direction."""
    wp, g = w * p, w * (1 - np.vecdot(p, p)[:, None])
    spread = np.diag(wp.sum(axis=0)) - wp.T @ p
    moments = (x * g).T @ x / max(float(g.sum()), TINY)
    outer, rotate = np.linalg.eigh(spread.astype(np.float64))
    right, turn = np.linalg.eigh(moments.astype(np.float64))
    curvature = np.maximum(np.outer(outer, right), 0) + strength
    return lambda table: rotate @ (rotate.T @ table @ turn / curvature) @ turn.T


def by_entry(x: Floats, p: Floats, w: Floats, strength: float) -> Solver:
    """Return what solves for each entry of the matrix by itself."""
    curvature = (w * p * (1 - p)).T.astype(np.float64) @ (x * x) + strength
    return lambda table: table / curvature


def inverse(a: Floats, damping: float) -> Floats:
    """Return the inverse of a symmetric (n, n) matrix with a damped diagonal, which stays positive definite.

    The damping grows where rounding left the matrix indefinite.
    """
    while True:
        try:
            root = _inverse_triangle(np.linalg.cholesky(a + damping * np.eye(len(a), dtype=a.dtype)))
        except np.linalg.LinAlgError:
            if not np.isfinite(a).all():
                raise
            damping *= 100
        else:
            return root.T @ root


def _inverse_triangle(a: Floats) -> Floats:
    """Return the inverse of a lower triangle, by halves: products of matrices are faster than LAPACK."""
    if len(a) <= SMALL:
        return np.linalg.inv(a)
    half = len(a) // 2
    inverse = np.zeros_like(a)
    inverse[:half, :half] = upper = _inverse_triangle(a[:half, :half])
    inverse[half:, half:] = last = _inverse_triangle(a[half:, half:])
    inverse[half:, :half] = -(last @ a[half:, :half]) @ upper
    return inverse
