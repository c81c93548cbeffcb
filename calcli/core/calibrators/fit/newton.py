"""Newton's method with conjugate gradients, for smooth convex functions of very many parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MAX_ITERATIONS = 100
MAX_PRODUCTS = 1500  # Hessian-vector products in all
MAX_CG = 300  # of them in one iteration
MAX_HALVINGS = 30
NO_LOSS = 1e-5  # values below count as this much where a gradient is judged, for it may be all rounding
ARMIJO = 1e-4
LOOSEST = 0.1  # share of the residual that conjugate gradients may leave far from the optimum
FLAT = 1e-14  # curvature, in the units of the preconditioner, that counts as none
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

    Attributes
    ----------
    rounding
        Error of a value, relative to the value or to 1, whichever is larger.
    refresh_cost
        Number of products after which a new preconditioner pays for itself; 0 if it inverts the Hessian.
    """

    rounding: float
    refresh_cost: int

    def evaluate(self, x: Vector) -> tuple[float, Vector]:
        """Return the value and the gradient at `x`."""

    def curve(self, v: Vector) -> Vector:
        """Return the Hessian times `v`."""

    def refresh(self) -> None:
        """Rebuild the preconditioner at the last evaluation."""

    def precondition(self, g: Vector) -> Vector:
        """Return roughly the inverse Hessian times `g`."""

    def unbounded(self) -> bool:
        """Return whether the last evaluation shows that no finite optimum exists."""

    def reach(self, v: Vector) -> float:
        """Return the largest change of a score that the step `v` makes."""

    def setback(self, v: Vector) -> float:
        """Return by how much the step `v` raises a score, at most, above that of the label."""

    def hold(self, centre: Vector, ridge: float) -> None:
        """Add ridge / 2 * |x - centre|^2 from now on."""


@dataclass(frozen=True)
class Minimum:
    """Where a minimization ended.

    Attributes
    ----------
    x
        The parameters.
    gradient
        Largest entry of the gradient, relative to the value.
    converged
        Whether `gradient` is within the tolerance.
    at_infinity
        Whether the value keeps falling as the parameters grow without limit.
    """

    x: Vector
    gradient: float
    converged: bool
    at_infinity: bool


def minimize(objective: Objective, x: Vector, tolerance: float) -> Minimum:
    """Minimize a convex function by inexact Newton steps with backtracking.

    The Newton equations are solved by preconditioned conjugate gradients, ever more exactly as the gradient
    falls, so that the convergence stays superlinear (Nocedal & Wright, Numerical Optimization, 2006,
    algorithm 7.1).

    Parameters
    ----------
    objective : Objective
        The function.
    x : array (P,)
        Where to start.
    tolerance : float
        Largest entry of the gradient over the value at which to stop.

    Returns
    -------
    Minimum
        The last point, and whether it is the minimum.
    """
    value, gradient = objective.evaluate(x)
    step = np.zeros_like(x)
    products = spent = extra = 0
    for iteration in range(MAX_ITERATIONS):
        relative = _relative(gradient, value)
        if objective.unbounded() or products >= MAX_PRODUCTS:
            break
        if relative <= tolerance:
            if extra == EXTRA or relative > SETTLED or not _is_long(objective, step):
                break
            extra += 1
        if iteration == 0 or spent >= objective.refresh_cost:
            objective.refresh()
            spent = 0
        direction, used = _newton_direction(objective, gradient, min(LOOSEST, relative**0.5))
        products, spent = products + used, spent + used
        found = _backtrack(objective, x, value, direction, slope=float(gradient @ direction))
        if found is None:
            step = direction
            break
        size, value, gradient = found
        step = size * direction
        x = x + step
    relative = _relative(gradient, value)
    converged = relative <= tolerance
    strides = bool(np.abs(step).max() > STRIDE * np.abs(x).max())
    runs = (extra == EXTRA or (not converged and strides)) and _is_long(objective, step)
    for_ever = runs and objective.setback(step) <= SETBACK * objective.reach(step)
    return Minimum(x, relative, converged, objective.unbounded() or for_ever)


def minimize_brier(
    objective: Objective, start: Vector, tolerance: float, ridge: float
) -> tuple[Minimum, list[str]]:
    """Minimize a Brier score from the optimum of the log-loss; where that leads far away, near it.

    Parameters
    ----------
    objective : Objective
        The Brier score, which is not convex.
    start : array (P,)
        The optimum of the log-loss.
    tolerance : float
        As of `minimize`.
    ridge : float
        How strongly the parameters are drawn towards `start` then.

    Returns
    -------
    The minimum, and what there is to say about it.
    """
    best = minimize(objective, start, tolerance)
    far = np.abs(best.x).max() > FAR * max(1.0, float(np.abs(start).max()))
    if not (far or best.at_infinity or not best.converged):
        return best, []
    objective.hold(start, ridge)
    return minimize(objective, start, tolerance), [RAN_AWAY]


def _is_long(objective: Objective, step: Vector) -> bool:
    return bool(np.abs(step).max() >= SHORT) and objective.reach(step) > RUNAWAY


def _relative(gradient: Vector, value: float) -> float:
    return float(np.abs(gradient).max()) / max(value, NO_LOSS)


@np.errstate(over="ignore", invalid="ignore")  # of curvature that is all but 0
def _newton_direction(objective: Objective, gradient: Vector, accuracy: float) -> tuple[Vector, int]:
    """Return a descent direction that solves the Newton equations to `accuracy`, and the products it took."""
    direction = np.zeros_like(gradient)
    residual = -gradient
    scaled = objective.precondition(residual)
    search = scaled
    norm = first = float(residual @ scaled)
    if not 0 < norm < np.inf:  # rounding left no curvature to divide by
        return residual, 0
    if objective.refresh_cost == 0:
        return scaled, 0
    for used in range(1, MAX_CG + 1):
        product = objective.curve(search)
        curvature = float(search @ product)
        if not curvature > FLAT * norm:  # flat to rounding: only the first search direction is worth a step
            return (direction if used > 1 else search), used
        size = norm / curvature
        direction = direction + size * search
        residual = residual - size * product
        scaled = objective.precondition(residual)
        previous, norm = norm, float(residual @ scaled)
        if norm <= max(accuracy**2 * first, 0):
            break
        search = scaled + norm / previous * search
    return direction, used


def _backtrack(
    objective: Objective, x: Vector, value: float, direction: Vector, slope: float
) -> tuple[float, float, Vector] | None:
    """Return the first step of 1, 1/2, 1/4, ... that lowers the value enough; value and gradient there."""
    noise = objective.rounding * max(value, 1)
    size = 1.0
    for _ in range(MAX_HALVINGS):
        with np.errstate(over="ignore", invalid="ignore"):  # of a step too long by far
            new_value, gradient = objective.evaluate(x + size * direction)
        if new_value <= value + ARMIJO * size * slope + noise:
            return size, new_value, gradient
        size /= 2
    return None
