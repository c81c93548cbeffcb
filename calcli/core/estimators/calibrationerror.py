"""Calibration errors: their common parts, and their null distribution by consistency resampling.

Outcomes are drawn from the predictions themselves and the error is computed again (Broecker & Smith 2007;
Vaicenavicius et al. 2019, section 4.2). The predictions stay fixed, which makes the p-value exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Doubles, Positions, Rng, batches
from calcli.core.data.binning import distinct
from calcli.core.problems.problem import Problem, segment_sums

if TYPE_CHECKING:
    pass

DRAWN_ROWS = 20_000  # rows up to which each row is drawn separately
CELLS = 200  # runs of nearly equal scores; above that number, a run is drawn together
OUTCOMES = 500_000  # drawn at once
SIGNIFICANT = 0.05  # level at which this many draws suffice: their smallest corrected p-value is half of it
SHARPNESS = 4  # ratio of the strictest level to the smallest p-value that resampling can give


@dataclass(frozen=True)
class Null:
    """The distribution of an error under perfect calibration.

    Attributes
    ----------
    mean, sd
        Its moments.
    p_value
        Probability of an error at least as large as the one observed.
    corrected_p
        The same, corrected for the number of slices or classes tested with it (Holm); None for one that is
        tested alone or has too few rows.
    draws
        Number of simulated data sets, B; no p-value is below 1 / (1 + B). None where the
        null distribution is known exactly.
    """

    mean: float
    sd: float
    p_value: float
    corrected_p: float | None = None
    draws: int | None = None


def compare(value: float, draws: Doubles, rounding: float = 0.0) -> Null:
    """Summarize (B,) errors of simulated outcomes; the p-value is (1 + #{draws >= value}) / (1 + B).

    Errors of the same outcomes must count as equal: sums differ in the last bit, others by up to `rounding`.
    """
    at_least = int(np.count_nonzero(draws >= value * (1 - 1e-12) - rounding))
    p_value = (1 + at_least) / (1 + len(draws))
    sd = float(draws.std(ddof=1)) if len(draws) > 1 else math.nan
    return Null(float(draws.mean()), sd, p_value, draws=len(draws))


def outcome_sums(problem: Problem, cut_sets: Sequence[Positions], draws: int, rng: Rng) -> list[Doubles]:
    """Draw outcomes from the scores and sum them, weighted, between consecutive cuts.

    Returns
    -------
    For each set of cuts (draws, len(cuts) - 1) sums, which do not depend on the other sets.
    """
    if problem.counts is None and (problem.weights is not None or len(problem.score) <= DRAWN_ROWS):
        return _of_rows(problem, cut_sets, draws, rng)
    sums, start = [], rng.bit_generator.state
    for cuts in cut_sets:  # each set starts from the same state of the generator
        rng.bit_generator.state = start
        if problem.counts is not None:
            sums.append(_of_entries(problem, problem.counts, cuts, draws, rng))
        else:
            # scores of such a run differ so little that a binomial with their mean has the same variance
            fine = distinct(np.concatenate([cuts, _even_cuts(len(problem.score))]))
            count = np.diff(fine)
            mean = np.clip(segment_sums(problem.score, fine) / count, 0, 1)
            sums.append(_binomial_sums(count, mean, np.searchsorted(fine, cuts), draws, rng))
    return sums


def _of_rows(problem: Problem, cut_sets: Sequence[Positions], draws: int, rng: Rng) -> list[Doubles]:
    """Draw the outcome of every row."""
    n, weights = len(problem.score), problem.weights
    sums = [np.empty((draws, len(cuts) - 1)) for cuts in cut_sets]
    threshold = np.minimum(problem.score.astype(np.float64) * 2**32, 2**32 - 1).astype(np.uint32)
    certain = problem.score == 1
    for batch in batches(draws, n, OUTCOMES):
        size = batch.stop - batch.start
        hits = rng.integers(0, 2**32, size=(size, n), dtype=np.uint32) < threshold
        hits |= certain
        outcomes = hits.view(np.uint8) if weights is None else hits * weights
        for drawn_sums, cuts in zip(sums, cut_sets, strict=True):
            drawn_sums[batch] = segment_sums(outcomes, cuts)
    return sums


def _of_entries(
    problem: Problem, counts: NDArray[np.int64], cuts: Positions, draws: int, rng: Rng
) -> Doubles:
    """Draw the outcomes of entries that stand for several rows, with the same draws as for the rows.

    Rows of unequal weights are drawn like their effective number of rows of equal weight (Kish 1965).
    """
    rows = np.append(0, np.cumsum(counts))
    ends = rows[cuts]
    fine = distinct(np.concatenate([ends, _even_cuts(rows[-1])]))
    weights = counts if problem.weights is None else problem.weights

    def between(values: Array) -> Doubles:
        return np.diff(np.interp(fine, rows, np.append(0.0, np.cumsum(values, dtype=np.float64))))

    weight, squares = between(weights), between(problem.squared_weights)
    mean = np.clip(between(weights * problem.score) / np.where(weight > 0, weight, 1), 0, 1)
    number = np.rint(np.divide(weight**2, squares, out=np.zeros(len(weight)), where=squares > 0))
    per_row = np.divide(weight, number, out=np.zeros(len(weight)), where=number > 0)
    return _binomial_sums(number.astype(np.int64), mean, np.searchsorted(fine, ends), draws, rng, per_row)


def _even_cuts(rows: int) -> Positions:
    return np.linspace(0, rows, CELLS + 1).astype(np.intp)


def _binomial_sums(
    number: NDArray[np.int64],
    mean: Doubles,
    places: Positions,
    draws: int,
    rng: Rng,
    per_hit: Doubles | None = None,
) -> Doubles:
    """Return (draws, m) sums between positions, for cells of `number` rows with weight `per_hit` each."""
    # cell by cell: each distribution is set up once for all draws
    totals = rng.binomial(number[:, None], mean[:, None], size=(len(number), draws))
    return segment_sums(totals.T if per_hit is None else totals.T * per_hit, places)


def holm(p_values: Sequence[float] | Doubles) -> Doubles:
    """Return adjusted p-values; Holm's procedure rejects values at or below a level (Holm 1979).

    The probability of rejecting any true hypothesis is then at most the level, for any dependence between
    the tests.
    each other.

    Parameters
    ----------
    p_values
        (m,) p-values, in [0, 1].

    Returns
    -------
    (m,) adjusted p-values in the same order, in [0, 1].
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    hypotheses_left = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(hypotheses_left * p[order]), 1)
    return adjusted


def enough_draws(tests: int) -> int:
    """Return how many simulated data sets allow the smallest of this many p-values to be significant."""
    return math.ceil(2 * tests / SIGNIFICANT) - 1


def with_holm(nulls: Sequence[Null | None], counted: Sequence[bool]) -> list[Null | None]:
    """Return tests with p-values corrected for their number.

    Parameters
    ----------
    nulls
        One per test; None for what was not tested.
    counted
        Whether each test has enough rows to be corrected; the others stay unchanged.
    """
    p_values = {n: null.p_value for n, null in enumerate(nulls) if null is not None and counted[n]}
    corrected = dict(zip(p_values, holm(list(p_values.values())).tolist(), strict=True))
    return [replace(null, corrected_p=corrected.get(n)) if null else None for n, null in enumerate(nulls)]


def class_wise_error(errors: Doubles, norm: str) -> Any:
    """Aggregate the errors of all classes: their mean, root mean square or maximum.

    Parameters
    ----------
    errors
        (..., K) errors, one per class.
    norm
        "1": their mean; "2": the root of their mean square (van de Waterlaat 2021, CW-ECE); "max": the
        largest; "sum": their sum.

    Returns
    -------
    (...) errors in [0, 1].
    """
    if norm == "2":
        return np.sqrt(np.mean(errors**2, -1))
    if norm == "sum":
        return errors.sum(-1)
    return errors.mean(-1) if norm == "1" else errors.max(-1)
