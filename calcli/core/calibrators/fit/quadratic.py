"""Least squares under linear constraints: a quadratic programme of few unknowns, many constraints."""

from __future__ import annotations

import numpy as np

from calcli.core.data.arrays import Doubles

TOLERANCE = 1e-10
STEPS = 1000  # each takes in a constraint; some times as many as there are unknowns are enough


def nearest_within(point: Doubles, basis: Doubles, rows: Doubles, least: Doubles) -> Doubles:
    """Return the x nearest to `point` by |basis (x - point)|, for which rows @ x >= least.

    Parameters
    ----------
    point : array (m,)
        The least-squares solution without constraints.
    basis : array (n, m)
        Of full rank.
    rows, least : array (c, m), (c,)
        The constraints, which some x must fulfil.

    Notes
    -----
    In z = R (x - point), basis = QR, it is the least distance problem of Lawson & Hanson (1974, chapter 23):
    of the z with G z >= h the shortest follows from the u >= 0 with the smallest |G' u|^2 + (h' u - 1)^2.
    """
    factor = np.linalg.qr(basis)[1]
    short = least - rows @ point
    if short.max(initial=0.0) <= 0:
        return point
    bounds = np.linalg.solve(factor.T, rows.T).T
    scale = np.linalg.norm(bounds, axis=1)
    nonzero = scale > 0
    bounds, short = bounds[nonzero] / scale[nonzero, None], short[nonzero] / scale[nonzero]
    unit = short.max()  # the answer grows with the shortfalls
    system = np.vstack([bounds.T, short / unit])
    target = np.append(np.zeros(len(point)), 1.0)
    residual = system @ _non_negative(system, target) - target
    nearest: Doubles = point + np.linalg.solve(factor, -residual[:-1] / residual[-1]) * unit
    return nearest


def _non_negative(system: Doubles, target: Doubles) -> Doubles:
    """Return the non-negative least squares of system @ u = target (Lawson & Hanson 1974, algorithm NNLS)."""
    u = np.zeros(system.shape[1])
    free = np.zeros(len(u), dtype=np.bool_)
    for _ in range(STEPS):
        gradient = np.where(free, -np.inf, system.T @ (target - system @ u))
        if gradient.max() <= TOLERANCE:
            break
        free[gradient.argmax()] = True
        while True:
            trial = np.zeros(len(u))
            trial[free] = np.linalg.lstsq(system[:, free], target)[0]
            if (trial[free] > 0).all():
                break
            falling = free & (trial <= 0)
            step = (u[falling] / (u[falling] - trial[falling])).min()
            u = u + step * (trial - u)
            free &= u > TOLERANCE * u.max(initial=0)
            u[~free] = 0
        u = trial
    return u
