"""Permutation test of the difference between two systems' kernel calibration errors.

With one kernel for both systems the difference of the estimates is a sum over pairs of rows, to which a row
that is swapped gives its share with the opposite sign: all permutations are signed sums of the shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.batches import batch_sizes, batches
from calcli.core.data.streams import Stream, generator
from calcli.core.data.units import Units
from calcli.core.estimators.errors import KernelError
from calcli.core.estimators.kerneldraws import TERMS
from calcli.core.estimators.kernels import TILE, LaplacianKernel, median_kernel
from calcli.core.estimators.permutation import MEMBERSHIPS, Swapped
from calcli.core.problems.vectors import VectorProblem

Tile = tuple[Any, Any, bool]


def swapped_kernel_error(
    baseline: VectorProblem,
    candidate: VectorProblem,
    estimator: KernelError,
    units: Units,
    draws: int,
    rng: np.random.Generator,
) -> Swapped:
    """Return differences of a kernel error with predictions swapped at random.

    The kernel is as wide as the median distance between all predictions of both systems, and so the same
    after every swap.

    Parameters
    ----------
    baseline, candidate
        The same rows.
    estimator
        Which error.
    units
        Rows that are swapped together.
    draws
        How many permutations.
    rng
        Source of randomness.
    """
    kernel = median_kernel(np.concatenate([baseline.probs, candidate.probs]), estimator.distance)
    of_units = units.sums(swap_shares(baseline, candidate, estimator, kernel))
    parts = [
        rng.choice([-1.0, 1.0], size=(size, units.number)) @ of_units
        for size in batch_sizes(draws, units.number, MEMBERSHIPS)
    ]
    return Swapped(float(of_units.sum()), np.concatenate(parts))


def swap_shares(
    baseline: VectorProblem, candidate: VectorProblem, estimator: KernelError, kernel: LaplacianKernel
) -> Doubles:
    """Return (n,) shares of the rows in the difference, whose signs change if the rows are swapped.

    A pair of rows counts h(p_i, p_j) = k(p_i, p_j) <e_i - p_i, e_j - p_j>. Let a and b be the predictions of
    candidate and baseline. Row i's share is the half sum over its partners j of h(a_i, a_j) - h(b_i, b_j),
    which changes its sign if both are swapped, and of h(a_i, b_j) - h(b_i, a_j), which does if only i is.
    """
    old, new = (np.ascontiguousarray(one.probs) for one in (baseline, candidate))
    weights = np.ones(len(old)) if baseline.weights is None else baseline.weights
    outcomes = np.eye(old.shape[1])  # of answers each system has its own
    gaps = (outcomes[one.labels] - probs for one, probs in ((baseline, old), (candidate, new)))
    old_gap, new_gap = (gap * weights[:, None] for gap in gaps)
    shares, pairs = np.zeros(len(old)), 0.0
    for rows, others, is_own in _tiles(len(old), estimator):
        tile = np.zeros((*old[rows].shape[:-1], old[others].shape[-2]))
        for left, left_gap in ((new, new_gap), (old, old_gap)):
            for right, right_gap in ((new, new_gap), (old, old_gap)):
                terms = kernel(left[rows], right[others])
                terms *= left_gap[rows] @ np.swapaxes(right_gap[others], -1, -2)
                tile += terms if left is new else -terms
        pair_weight = weights[rows][..., :, None] * weights[others][..., None, :]
        if is_own:
            np.einsum("...ii->...i", tile)[:] = 0
            np.einsum("...ii->...i", pair_weight)[:] = 0
        shares[rows] += tile.sum(-1)
        pairs += float(pair_weight.sum()) / 2
    return shares / (2 * pairs)


def _tiles(n: int, estimator: KernelError) -> Iterator[Tile]:
    """Yield rows with their partners, and whether these are the same: every pair twice, once for each row."""
    if estimator.estimator == "block":  # the disjoint pairs of `kernels.skce_blocks`
        pairs = generator(estimator.seed, Stream.PAIRS).permutation(n)[: n // 2 * 2].reshape(-1, 2)
        for batch in batches(len(pairs), 1, TERMS):
            yield pairs[batch], pairs[batch], True
        return
    starts = range(0, n, TILE)
    for i in starts:
        for j in starts:
            yield slice(i, i + TILE), slice(j, j + TILE), i == j
