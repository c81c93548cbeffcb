"""Permutation tests of differences, and how many permutations are worth their time.

Work is counted, not timed, so that a seed gives the same anywhere. The unit is a look at one score, of which
a processor takes some twenty million a second. What else a metric costs was measured in such looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calcli.core.data.arrays import Array, Doubles, Floats, Positions, batch_sizes
from calcli.core.data.binning import MASS_ROUNDING, Bins
from calcli.core.data.units import Units, deal
from calcli.core.estimators.calibrationerror import SHARPNESS
from calcli.core.estimators.intervals import Influences
from calcli.core.language.expressions import region_ends
from calcli.core.problems.problem import ordered_problem

CALL = 20_000  # what computing any metric again costs, besides its scores
CLASS = 1_000  # and each class of it
GRID = 20_000  # one error on the fine grid of the unit interval
FIT = 10_000  # any fit of a calibrator
FIT_ROWS = 4_000  # rows whose scores cost as much as all else that grows with what is learned

ENOUGH = 30_000_000  # for all permutations of a metric, however few the scores
EACH_SCORE = 2_000  # looks at each, where there are more
MOST_WORK = 150_000_000  # for the fewest permutations of so many tests, however many there are
COUNTED = 3

DEALS = 20  # of rows into folds, at most
DEALT = 20_000  # rows of all deals together: of many rows deals differ little
DEALING = 5_000_000  # for the fits of all deals


def affordable_draws(draws: int, effort: float, scores: int, tests: int = 1) -> int:
    """Return how many permutations are made of those wanted.

    Where few are affordable there are as many as the strictest of the tests needs, which `draws` were meant
    for; none, where these would take too long as well.

    Parameters
    ----------
    draws
        How many are wanted.
    effort
        What one of them costs, in looks at a score.
    scores
        Those of both systems.
    tests
        How many pairs of systems, on how many slices, are tested on the same metric.
    """
    enough = max(ENOUGH, EACH_SCORE * scores)
    least = max(1, draws // (2 * SHARPNESS))
    affordable = int(enough / (tests * effort))
    if affordable >= least:
        return min(draws, affordable)
    return least if least * effort * min(tests, COUNTED) <= MOST_WORK else 0


def affordable_deals(rows: int, effort: float) -> int:
    """Return how often rows may be dealt into folds, to see how much of a cross-validation is chance.

    Parameters
    ----------
    rows
        Their number.
    effort
        What the fits of one deal cost, in looks at a score.
    """
    return max(1, min(DEALS, DEALT // rows, int(DEALING / effort)))


Statistic = Callable[[Bins], Any]

CELLS = 500  # steps of the score, if it has more distinct values
ROUNDING = 1e-13  # relative to a difference: what a unit brings that is the same in both systems
MEMBERSHIPS = 5_000_000  # of units in systems, held in memory at once
VISITS = 100_000_000  # scores that all permutations together may look at, before there are fewer of them
FEWEST_DRAWS = 199


@dataclass(frozen=True)
class PermutationDistribution:
    """Differences of a statistic, candidate minus baseline.

    Attributes
    ----------
    observed
        Of the systems as they are.
    draws
        (B,) with predictions swapped at random.
    """

    observed: float
    draws: Doubles


@dataclass(frozen=True)
class SystemScores:
    """One system through a one-dimensional lens: (n,) scores, outcomes and weights, row by row."""

    score: Floats
    outcome: Array
    units: Units
    weights: Floats | None = None

    def within(self, region: str) -> SystemScores:
        """Return the rows whose score lies in a region such as "0.8..1"; "all" for every row."""
        if region == "all":
            return self
        low, high = map(np.float64, region_ends(region))  # not to be rounded to single precision
        inside = (self.score >= low) & ((self.score < high) | (high >= 1))
        weights = None if self.weights is None else self.weights[inside]
        return SystemScores(self.score[inside], self.outcome[inside], self.units.within(inside), weights)


def swapped_signs(difference: Influences, draws: int, rng: np.random.Generator) -> PermutationDistribution:
    """Return differences of means with what each unit brings to them swapped between paired systems."""
    share = 1 / len(difference.of_units) if difference.share is None else difference.share
    influence_values = difference.of_units + difference.value * share
    influence_values = influence_values[np.abs(influence_values) > ROUNDING * abs(difference.value)]
    drawn = [
        rng.choice([-1.0, 1.0], (size, len(influence_values))) @ influence_values
        for size in batch_sizes(draws, max(1, len(influence_values)), MEMBERSHIPS)
    ]
    return PermutationDistribution(float(influence_values.sum()), np.concatenate(drawn))


def permuted_differences(
    baseline: SystemScores,
    candidate: SystemScores,
    estimator: Any,
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> PermutationDistribution:
    """Return differences of an estimator with predictions swapped at random.

    Parameters
    ----------
    baseline, candidate
        If paired, of the same rows.
    estimator
        A calibration error.
    draws
        How many permutations.
    rng
        Source of randomness.
    paired
        Whether predictions are swapped within a row only.

    Returns
    -------
    The differences. Those of cumulative errors and of equal-mass bins follow steps of the score where it has
    very many values. Estimators that are not made of sums over cells of the score are computed anew each
    time.
    """
    cells = estimator.swap_cells(baseline, candidate)
    if cells is None:
        return _computed_anew(baseline, candidate, estimator, draws, rng, paired)
    units = deal([baseline.units, candidate.units], 3 * cells.number)
    sums = [
        _unit_sums(replace(side, units=of_side), index, cells.number)
        for side, index, of_side in zip((baseline, candidate), cells.indices, units, strict=True)
    ]
    return swapped_sums(sums[0], sums[1], cells.statistic, draws, rng, paired)


def _computed_anew(
    baseline: SystemScores,
    candidate: SystemScores,
    estimator: Any,
    draws: int,
    rng: np.random.Generator,
    paired: bool,
) -> PermutationDistribution:
    """Return differences of an estimator that needs all rows; there are fewer where they are very many."""
    sides = baseline, candidate
    weights = None
    if any(side.weights is not None for side in sides):
        weights = np.concatenate(
            [np.ones(len(side.score)) if side.weights is None else side.weights for side in sides]
        )
    score, outcome = (np.concatenate([getattr(side, of) for side in sides]) for of in ("score", "outcome"))

    def value(rows: Positions) -> float:
        problem = ordered_problem(score[rows], outcome[rows], None if weights is None else weights[rows])
        return estimator.value(problem) if problem.total_weight else math.nan

    draws = min(draws, max(FEWEST_DRAWS, VISITS // len(score)))
    return swapped_rows(value, [baseline.units, candidate.units], draws, rng, paired)


def swapped_rows(
    value: Callable[[Positions], float],
    units: Sequence[Units],
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> PermutationDistribution:
    """Return differences of a value that is computed anew of the rows on either side.

    Parameters
    ----------
    value
        What rows of both systems show, those of the baseline numbered first; nan where it is undefined.
    units
        Rows of each that change sides together.
    draws, rng, paired
        As for `permuted_differences`.

    Returns
    -------
    The differences; permutations in which the value is undefined do not count.
    """
    numbers = units[0].number, units[1].number
    unit = np.concatenate([units[0].of_row, numbers[0] + units[1].of_row])
    # in the order of the cases, whichever system they come from
    order = np.argsort(np.concatenate([np.arange(one.rows) for one in units]), kind="stable")

    def difference(membership: Doubles) -> float:
        whole = np.concatenate([membership, 1 - membership]) if paired else membership
        first = whole[unit[order]] > 0
        return value(order[~first]) - value(order[first])

    drawn = np.array([difference(group_labels(1, *numbers, rng, paired)[0]) for _ in range(draws)])
    as_they_are = np.repeat([1.0, 0.0], [numbers[0], 0 if paired else numbers[1]])
    return PermutationDistribution(difference(as_they_are), drawn[~np.isnan(drawn)])


def swapped_sums(
    baseline: Doubles,
    candidate: Doubles,
    statistic: Statistic,
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> PermutationDistribution:
    """Return differences of a statistic of sums, with units swapped between the systems at random.

    Parameters
    ----------
    baseline, candidate
        (units, 3, ...) sums of weight, score and outcome over the bins, of each unit.
    statistic
        Of the sums over all units, (B, ...).
    """
    first, second, step = _in_whole_steps(baseline, candidate)
    total = first.sum(0) + second.sum(0)
    if paired:  # where a unit of the baseline is not, that of the candidate is
        moved, rest = first - second, second.sum(0)
    else:
        moved, rest = np.concatenate([first, second]), np.zeros_like(total)

    def differences(sides: Doubles) -> Doubles:
        first_sums = sides @ moved + rest
        both = [
            (sums * step).reshape(len(sides), *baseline.shape[1:])
            for sums in (first_sums, total - first_sums)
        ]
        before, after = (statistic(_as_bins(sums)) for sums in both)
        return np.asarray(after - before)

    as_they_are = np.repeat([[1.0, 0.0]], [len(baseline), len(moved) - len(baseline)], axis=1)
    parts = [
        differences(group_labels(size, len(baseline), len(candidate), rng, paired))
        for size in batch_sizes(draws, max(moved.shape), MEMBERSHIPS)
    ]
    return PermutationDistribution(float(differences(as_they_are)[0]), np.concatenate(parts))


def _in_whole_steps(first: Doubles, second: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the sums of each unit, (units, m), as multiples of a step of their column, and the (m,) steps.

    They are whole numbers, which add up exactly in any order. So the units that are not summed leave exactly
    0 of a bin that is empty for them, not a rounding error.
    """
    first, second = (values.reshape(len(values), -1) for values in (first, second))
    step = 2 * np.spacing(np.abs(first).sum(0) + np.abs(second).sum(0))
    return np.rint(first / step), np.rint(second / step), step


def group_labels(
    draws: int, baseline: int, candidate: int, rng: np.random.Generator, paired: bool
) -> Doubles:
    """Return (draws, units) ones for the units that play the baseline, zeros for the others.

    Of paired systems those of the baseline's units; the candidate's are the complement.
    """
    if paired:
        return rng.integers(0, 2, size=(draws, baseline)).astype(np.float64)
    sides = np.repeat([1.0, 0.0], [baseline, candidate])
    return rng.permuted(np.tile(sides, (draws, 1)), axis=1)


def _as_bins(sums: Doubles) -> Bins:
    weight, score, outcome = np.moveaxis(sums, 1, 0)
    return Bins(weight, weight, score, outcome)


@dataclass(frozen=True)
class Cells:
    """Fixed cells of the score, of which an estimator is a function of sums."""

    number: int
    indices: tuple[Positions, Positions]
    statistic: Statistic

    @classmethod
    def steps(cls, scores: tuple[Floats, Floats], most: int, statistic: Statistic) -> Cells:
        """Return a cell for each value of the score, or for as many runs of them as allowed."""
        values = np.unique(np.concatenate(scores))
        if len(values) > most:
            values = values[np.linspace(0, len(values) - 1, most).astype(np.intp)]
        first, second = (np.searchsorted(values, score) for score in scores)
        return cls(len(values), (first, second), statistic)


def of_equal_mass(cells: Bins, bins: int, unit: float | None) -> Bins:
    """Return the sums over bins of about equal weight, made of cells; see `binning.equal_mass_cuts`."""
    mass = np.cumsum(cells.weight, axis=-1)
    steps = mass if unit is None else np.rint(mass / unit)
    total = steps[:, -1:]
    extra = np.zeros_like(total) if unit is None else total % bins
    number = np.arange(1, bins + 1)
    targets = (number * ((total - extra) / bins) + np.minimum(number, extra)) * (1 - MASS_ROUNDING)
    last = np.array(
        [np.searchsorted(steps_of_draw, target) for steps_of_draw, target in zip(steps, targets, strict=True)]
    )
    np.minimum(last, mass.shape[1] - 1, out=last)
    sums: list[Any] = [
        np.diff(np.take_along_axis(cumulative, last, axis=-1), axis=-1, prepend=0)
        for cumulative in (mass, np.cumsum(cells.score, axis=-1), np.cumsum(cells.outcome, axis=-1))
    ]
    return Bins(sums[0], *sums)


def _unit_sums(side: SystemScores, index: Positions, cells: int) -> Doubles:
    """Return (units, 3, cells) sums of weight, score and outcome."""
    units = side.units.number
    place = side.units.cells(cells)
    place += index
    weights = np.ones(len(place)) if side.weights is None else side.weights
    sums = [
        np.bincount(place, values, units * cells).reshape(units, cells)
        for values in (weights, weights * side.score, weights * side.outcome)
    ]
    return np.stack(sums, axis=1)
