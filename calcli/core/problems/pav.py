"""Isotonic regression of outcomes on a score: pool adjacent violators, on whole arrays.

The fit is the non-decreasing function of the score that is nearest to the outcomes, in squares as in
logarithms. It is constant on blocks; the value of a block is the frequency of the outcome in it (Ayer et al.
1955, An empirical distribution function for sampling with incomplete information).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Positions
from calcli.core.problems.problem import Problem, ordered_problem, segment_sums

FEW = 64  # so few blocks are pooled faster one by one
MANY_TIES = 0.002  # share of rows in the middle of mixed ties from which looking up each takes longer


class Blocks(NamedTuple):
    """The blocks of an isotonic fit, in ascending order of score.

    Attributes
    ----------
    lower, upper : array (B,)
        Smallest and largest score in each block.
    hits : array (B,)
        Weight of the rows whose outcome is 1.
    weight : array (B,)
        Weight of all rows.
    """

    lower: Floats
    upper: Floats
    hits: Doubles
    weight: Doubles

    @property
    def value(self) -> Doubles:
        """Frequency of the outcome in each block, (B,), increasing."""
        return self.hits / self.weight


def pav(score: Floats, outcome: Array, weight: Floats | None = None) -> Blocks:
    """Return the isotonic fit of 0/1 outcomes on a score: equal scores share a block, equal values too.

    Parameters
    ----------
    score : array (N,)
        Any real numbers.
    outcome : array (N,)
        0 or 1, or booleans.
    weight : array (N,), optional
        Positive weights. Default: all 1.

    Returns
    -------
    Blocks
        Their `value` increases strictly.
    """
    if weight is None and score.min() < 0:
        weight = np.ones(len(score))  # only non-negative scores can be sorted by their bits
    return isotonic_blocks(ordered_problem(score, outcome.astype(np.bool_, copy=False), weight))


def isotonic_blocks(problem: Problem) -> Blocks:
    """Return the isotonic fit of a problem whose rows are in ascending order of score; see `pav`."""
    if problem.weights is None:
        start = _run_starts(problem)
        hits = np.add.reduceat(problem.outcome, start, dtype=np.float64)
        weight = np.diff(start, append=len(problem.score)).astype(np.float64)
    else:
        cuts = np.append(0, np.flatnonzero(problem.is_run_end) + 1)
        start = cuts[:-1]
        hits = segment_sums(problem.weights * problem.outcome, cuts)
        weight = segment_sums(problem.weights, cuts)
    first, hits, weight = pool(hits, weight)
    start = start[first]
    last = np.append(start[1:], len(problem.score)) - 1
    return Blocks(problem.score[start], problem.score[last], hits, weight)


def pool(hits: Doubles, weight: Doubles) -> tuple[Positions, Doubles, Doubles]:
    """Pool adjacent blocks until their frequencies increase strictly.

    All chains of falling neighbors are merged at once while that removes many blocks; what is left is
    pooled one by one, so that the time is linear whatever the data.

    Parameters
    ----------
    hits, weight : array (B,)
        Weight of the outcomes 1 and of all rows in each block.

    Returns
    -------
    first : array of int (C,)
        The old block with which each new one begins.
    hits, weight : array (C,)
        Sums over the new blocks.
    """
    first = np.arange(len(hits))
    while len(hits) > FEW:
        frequency = hits / weight
        rising = np.flatnonzero(np.append(True, frequency[1:] > frequency[:-1]))
        if len(rising) > 0.9 * len(hits):
            break
        first, hits, weight = first[rising], np.add.reduceat(hits, rising), np.add.reduceat(weight, rising)
    pooled: list[tuple[int, float, float]] = []
    for begin, hit, size in zip(first.tolist(), hits.tolist(), weight.tolist(), strict=True):
        while pooled and pooled[-1][1] * size >= hit * pooled[-1][2]:
            begin, hits_before, size_before = pooled.pop()
            hit, size = hit + hits_before, size + size_before
        pooled.append((begin, hit, size))
    begins, hit_sums, sizes = zip(*pooled, strict=True)
    return np.array(begins, dtype=np.intp), np.array(hit_sums), np.array(sizes)


def _run_starts(problem: Problem) -> Positions:
    """Return where each run of equal outcomes begins; equal scores with both outcomes are a run of their own.

    Within equal scores the rows without weights are in ascending order of outcome. Where scores are often
    equal, every run of equal scores is one.
    """
    score, outcome = problem.score, problem.outcome
    change = np.flatnonzero(outcome[1:] != outcome[:-1]) + 1
    start = np.append(0, change)
    mixed = change[score[change] == score[change - 1]]
    if len(mixed) > MANY_TIES * len(score):
        return np.append(0, problem.run_ends[:-1])
    if len(mixed):
        begins = np.zeros(len(score) + 1, np.bool_)
        for side in ("left", "right"):
            begins[np.searchsorted(score, score[mixed], side=side)] = True
        begins[start] = True
        begins[mixed] = False
        start = np.flatnonzero(begins[:-1])
    return start
