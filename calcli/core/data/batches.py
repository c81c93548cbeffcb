"""Batches: large work in steps whose arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator


def batches(number: int, size: int, most: int) -> Iterator[slice]:
    """Yield slices of `number` things of a size each, in order; of about `most` in all, one at least."""
    step = max(1, most // size)
    for start in range(0, number, step):
        yield slice(start, min(start + step, number))


def batch_sizes(number: int, size: int, most: int) -> Iterator[int]:
    """Yield how many things each of these slices holds."""
    for batch in batches(number, size, most):
        yield batch.stop - batch.start
