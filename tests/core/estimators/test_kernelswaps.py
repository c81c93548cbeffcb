"""Signed sums of shares, against kernel errors of swapped predictions."""

from __future__ import annotations

import numpy as np
import pytest

from calcli.core.data.units import Units
from calcli.core.estimators import kernelswaps
from calcli.core.estimators.errors import KernelError
from calcli.core.estimators.kernels import median_kernel, skce, skce_blocks
from calcli.core.estimators.kernelswaps import swapped_kernel_error
from calcli.core.problems.vectors import VectorProblem


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("distance", ["tv", "euclidean"])
@pytest.mark.parametrize("form", ["unbiased", "block"])
def test_swaps_agree_with_a_loop(form, distance, weighted, monkeypatch):
    monkeypatch.setattr(kernelswaps, "TILE", 16)  # several tiles, the last one not full
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet([0.5, 1, 2], 41) for _ in range(2)]
    labels = rng.integers(0, 3, 41)
    weights = rng.exponential(size=41) if weighted else None
    problems = [VectorProblem(table, labels, weights) for table in tables]
    kernel = median_kernel(np.concatenate(tables), distance)

    def error(probs):
        if form == "unbiased":
            return skce(probs, labels, kernel, weights)
        return skce_blocks(probs, labels, kernel, np.random.default_rng(0), weights)

    def difference(kept):
        first = np.where(kept[:, None] > 0, tables[0], tables[1])
        return error(tables[0] + tables[1] - first) - error(first)

    units = Units.of(41, None)
    found = swapped_kernel_error(*problems, KernelError(form, distance), units, 8, np.random.default_rng(1))
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(8, 41))
    assert found.draws == pytest.approx([difference(kept) for kept in signs], abs=1e-12)
    assert found.observed == pytest.approx(difference(np.ones(41)), abs=1e-12)


def test_clusters_are_swapped_as_a_whole():
    rng = np.random.default_rng(2)
    problems = [VectorProblem(rng.dirichlet([1, 1], 30), rng.integers(0, 2, 30)) for _ in range(2)]
    one = Units.of(30, np.zeros(30))
    found = swapped_kernel_error(*problems, KernelError("unbiased", "tv"), one, 20, np.random.default_rng(3))
    assert np.abs(found.draws) == pytest.approx(abs(found.observed))
