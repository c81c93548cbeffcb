"""What stands for a Hessian in conjugate gradients: near it, and quick to solve for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from calcli.core.data.arrays import Doubles, Floats

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
    """Return what to add to the diagonal of a scaled matrix that was computed in `dtype`."""
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
    own, intercept = diagonal.diagonal(), diagonal[:, -1]
    most = APART * np.sqrt(own * intercept)
    cross = np.clip(cross, -most, most)
    determinant = own * intercept - np.square(cross)

    def coupled(g: Doubles) -> Doubles:
        found = g / diagonal
        np.fill_diagonal(found, (intercept * g.diagonal() - cross * g[:, -1]) / determinant)
        found[:, -1] = (own * g[:, -1] - cross * g.diagonal()) / determinant
        return found

    turned = coupled(np.broadcast_to(shift, diagonal.shape))
    share = penalty[:, -1] / (1 + penalty[:, -1] * (turned @ shift))

    def solve(g: Doubles) -> Doubles:
        found = coupled(g.reshape(diagonal.shape))
        found -= (share * (found @ shift))[:, None] * turned
        return found.reshape(g.shape)

    return solve


def by_kronecker(x: Floats, p: Floats, w: Floats, strength: float) -> Solver:
    """Return what solves for the matrix as if the curvature of a row were the same in each direction."""
    wp, g = w * p, w * (1 - np.vecdot(p, p)[:, None])
    spread = np.diag(wp.sum(axis=0)) - wp.T @ p
    moments = (x * g).T @ x / max(float(g.sum()), TINY)
    left, rotate = np.linalg.eigh(spread.astype(np.float64))
    right, turn = np.linalg.eigh(moments.astype(np.float64))
    curvature = np.maximum(np.outer(left, right), 0) + strength
    return lambda table: rotate @ (rotate.T @ table @ turn / curvature) @ turn.T


def by_entry(x: Floats, p: Floats, w: Floats, strength: float) -> Solver:
    """Return what solves for each entry of the matrix by itself."""
    curvature = (w * p * (1 - p)).T.astype(np.float64) @ (x * x) + strength
    return lambda table: table / curvature


def inverse(a: Floats, damping: float) -> Floats:
    """Return the inverse of a symmetric (n, n) matrix whose diagonal is damped, and stays positive definite.

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
    whole = np.zeros_like(a)
    whole[:half, :half] = first = _inverse_triangle(a[:half, :half])
    whole[half:, half:] = last = _inverse_triangle(a[half:, half:])
    whole[half:, :half] = -(last @ a[half:, :half]) @ first
    return whole
