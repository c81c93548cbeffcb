"""Permutation tests: differences of two systems with their predictions swapped at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calcli.core.data.arrays import Doubles, Floats, Positions, batch_sizes
from calcli.core.data.binning import MASS_ROUNDING, Bins
from calcli.core.data.units import Units
from calcli.core.estimators.intervals import Influences
from calcli.core.problems.lenses import ScoredRows

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


def swapped_signs(difference: Influences, draws: int, rng: np.random.Generator) -> PermutationDistribution:
    """Return differences of means with what each unit brings to them swapped between paired systems."""
    share = 1 / len(difference.of_units) if difference.share is None else difference.share
    sums = difference.of_units + difference.value * share
    sums = sums[np.abs(sums) > ROUNDING * abs(difference.value), None]
    return swapped_sums(np.zeros_like(sums), sums, lambda total: total[:, 0], draws, rng)


def swapped_sums(
    baseline: Doubles,
    candidate: Doubles,
    statistic: Callable[[Doubles], Any],
    draws: int,
    rng: np.random.Generator,
    paired: bool = True,
) -> PermutationDistribution:
    """Return differences of a statistic of sums, with units swapped between the systems at random.

    Parameters
    ----------
    baseline, candidate
        (units, ...) sums of each unit; paired ones are of the same units.
    statistic
        (B,) values of (B, ...) sums over all units.
    draws
        How many permutations, B.
    rng
        Source of randomness.
    paired
        Whether units change sides with their counterpart only.
    """
    first, second, step = _in_whole_steps(baseline, candidate)
    total = first.sum(0) + second.sum(0)
    if paired:  # where a unit of the baseline is not, that of the candidate is
        moved, rest = first - second, second.sum(0)
    else:
        moved, rest = np.concatenate([first, second]), np.zeros_like(total)

    def differences(sides: Doubles) -> Doubles:
        before = sides @ moved + rest
        both = [(sums * step).reshape(-1, *baseline.shape[1:]) for sums in (before, total - before)]
        return np.asarray(statistic(both[1]) - statistic(both[0]))

    as_they_are = np.repeat([[1.0, 0.0]], [len(baseline), len(moved) - len(baseline)], axis=1)
    parts = [
        differences(group_labels(size, len(baseline), len(candidate), rng, paired))
        for size in batch_sizes(draws, max(1, *moved.shape), MEMBERSHIPS)
    ]
    return PermutationDistribution(float(differences(as_they_are)[0]), np.concatenate(parts))


def swapped_rows(
    value: Callable[[Positions], float],
    units: Sequence[Units],
    scores: int,
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
    scores
        How many a permutation looks at; where they are very many, there are fewer permutations.
    draws, rng, paired
        As for `swapped_sums`.

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

    draws = min(draws, max(FEWEST_DRAWS, VISITS // scores))
    drawn = np.array([difference(group_labels(1, *numbers, rng, paired)[0]) for _ in range(draws)])
    as_they_are = np.repeat([1.0, 0.0], [numbers[0], 0 if paired else numbers[1]])
    return PermutationDistribution(difference(as_they_are), drawn[~np.isnan(drawn)])


def joined_weights(systems: Sequence[tuple[Floats | None, int]]) -> Floats | None:
    """Return the weights of the rows of systems one after the other, given those and the rows of each."""
    if all(weights is None for weights, _ in systems):
        return None
    return np.concatenate([np.ones(rows) if weights is None else weights for weights, rows in systems])


def _in_whole_steps(first: Doubles, second: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the sums of each unit, (units, m), as multiples of a step of their column, and the (m,) steps.

    They are whole numbers, which add up exactly in any order. So the units that are not summed leave exactly
    0 of a bin that is empty for them, not a rounding error.
    """
    first, second = (sums.reshape(len(sums), math.prod(sums.shape[1:])) for sums in (first, second))
    step = 2 * np.spacing(np.abs(first).sum(0) + np.abs(second).sum(0))
    first, second = first / step, second / step
    return np.rint(first, out=first), np.rint(second, out=second), step


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


class Cells(NamedTuple):
    """Cells of the score, of which an estimator is a function of sums.

    Attributes
    ----------
    number
        Of cells.
    of
        Returns the cell of each of (n,) scores.
    statistic
        The values of (B, number) sums.
    """

    number: int
    of: Callable[[Floats], Positions]
    statistic: Callable[[Bins], Any]

    @classmethod
    def steps(cls, systems: Sequence[ScoredRows], most: int, statistic: Callable[[Bins], Any]) -> Cells:
        """Return a cell for each value of the score, or for as many runs of them as allowed."""
        values = np.unique(np.concatenate([one.score for one in systems]))
        if len(values) > most:
            values = values[np.linspace(0, len(values) - 1, most).astype(np.intp)]
        return cls(len(values), values.searchsorted, statistic)

    def sums(self, rows: ScoredRows, units: Units) -> Doubles:
        """Return (units, 3, number) sums of weight, score and outcome."""
        weights = np.ones(len(rows.score)) if rows.weights is None else rows.weights
        values = weights, weights * rows.score, weights * rows.outcome
        return units.table(self.of(rows.score), self.number, *values)


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
