"""Selective classification: how wrong the most confident rows are, at each share of rows that is answered.

Rows of equal confidence are in random order, in expectation: among the first k of them errors rise linearly.
A row of weight w counts as w rows, or as one of average weight where weights are not whole numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles, Floats
from calcli.core.estimators.gridded import GridError
from calcli.core.estimators.influences import Spread
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.ranking import Placed, Ranking, run_masses
from calcli.core.problems.problem import Problem
from calcli.core.state.gridcells import CellTable

ROUNDING = 1e-9  # of a number of rows
EXPANSION = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)  # of the digamma function, in 1 / x^2
LARGE = 12  # from where that is exact to the last bits
EULER = 0.5772156649015329  # the sum of 1/k up to n is ln n more
NEAR = 2 / 3  # power of the number of rows that tell the error rate at a threshold
ONE_THRESHOLD = "it rests on the error rate near one threshold"


@dataclass(frozen=True)
class Runs:
    """Rows of equal confidence, the most confident first.

    Attributes
    ----------
    hits, errors
        (m,) rows of each run that are right and wrong; no run is empty.
    """

    hits: Doubles
    errors: Doubles

    @classmethod
    def of(cls, hits: Doubles, errors: Doubles) -> Self:
        """Return those runs that have rows."""
        filled = hits + errors > 0
        return cls(hits[filled], errors[filled])

    @cached_property
    def rows(self) -> Doubles:
        """(m,) rows of each run."""
        return self.hits + self.errors

    @cached_property
    def end(self) -> Doubles:
        """(m,) rows up to the end of each run."""
        return np.cumsum(self.rows)

    @cached_property
    def wrong(self) -> Doubles:
        """(m,) errors up to the end of each run."""
        return np.cumsum(self.errors)

    @property
    def number(self) -> float:
        """All rows."""
        return float(self.end[-1])

    @property
    def rate(self) -> Doubles:
        """(m,) error rate of each run."""
        return self.errors / self.rows

    @cached_property
    def harmonic(self) -> Doubles:
        """(m,) sums of 1/k over the rows of each run, the k-th among all."""
        found = 1 / self.end
        several = self.rows != 1
        end, rows = self.end[several], self.rows[several]
        found[several] = _digamma(end + 1) - _digamma(np.maximum(end - rows, 0) + 1)
        return found

    def errors_at(self, rows: float) -> float:
        """Return the errors expected among the first so many rows."""
        return float(np.interp(rows, np.append(0, self.end), np.append(0, self.wrong)))


class Selective(Ranking):
    """A measure of the errors among the most confident rows, which are positive where they are right."""

    @abstractmethod
    def of(self, runs: Runs) -> float:
        """Return the measure."""

    @abstractmethod
    def influences(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return what a row of each run adds to it if it is wrong, and what it adds anyway, up to a constant.

        The second is taken off.
        """

    def place(
        self, outcome: NDArray[np.bool_], weights: Floats | None, ends: NDArray[np.intp]
    ) -> Placed | None:
        """Place runs of ascending confidence."""
        positive, negative = run_masses(outcome, weights, ends)
        unit, filled = _unit(weights), positive + negative > 0
        runs = Runs.of(positive[::-1] / unit, negative[::-1] / unit)
        if_wrong, anyway = self.influences(runs)
        mean = float(runs.errors @ if_wrong - runs.rows @ anyway) / runs.number
        of_right, of_wrong = np.zeros((2, len(positive)))
        of_right[filled] = (-anyway - mean)[::-1]
        of_wrong[filled] = (if_wrong - anyway - mean)[::-1]
        return Placed(self.of(runs), positive, negative, of_right, of_wrong)

    def most(self, rows: float) -> float:
        """Return the most that an error can add to it, in units of 1 over the number of rows."""
        return 1.0

    def held(self, spread: Spread, level: float) -> Interval:
        """Return the interval of a mean over all rows, to which an error adds what its place says."""
        return spread.held(level, spread.number, most=self.most(spread.number))

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return what it is with all that is right first (an oracle), and in a random order."""
        weights = problem.weights
        right = float(np.count_nonzero(problem.outcome) if weights is None else weights @ problem.outcome)
        hits, errors = right / _unit(weights), (problem.total_weight - right) / _unit(weights)
        oracle = Runs.of(np.array([hits, 0]), np.array([0, errors]))
        return {
            "oracle": self.of(oracle),
            "chance": self.of(Runs.of(np.array([hits]), np.array([errors]))),
        }

    def on_grid(self, cells: CellTable) -> GridError:
        """Return how far the value from cells may be from that of the rows, in whatever order."""
        errors, hits = cells.weight[:, ::-1] / _unit(cells.weight.sum(0))
        several = (np.nextafter(cells.low, 2) < cells.high)[::-1]

        def first(of: Doubles, beside: Doubles) -> tuple[Doubles, Doubles]:
            """Return in runs what comes first in each cell, and what comes after it."""
            after = np.where(several, beside, 0)
            return np.stack([of, 0 * of], 1).ravel(), np.stack([beside - after, after], 1).ravel()

        value, best = self.of(Runs.of(hits, errors)), self.of(Runs.of(*first(hits, errors)))
        worst = self.of(Runs.of(*first(errors, hits)[::-1]))
        return GridError.of(max(abs(best - value), abs(worst - value)))


class Aurc(Selective):
    """Area under the risk-coverage curve: the mean over k of the error rate of the k most confident rows."""

    def of(self, runs: Runs) -> float:
        """Return the area."""
        before, first = runs.wrong - runs.errors, runs.end - runs.rows
        sums = runs.errors + (before - runs.rate * first) * runs.harmonic
        return float(sums.sum()) / runs.number

    def most(self, rows: float) -> float:
        """Return the sum of 1/k over all rows, which an error of the most confident one adds."""
        return math.log(rows) + EULER

    def influences(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return the sum of 1/k from a row on, and that over the errors from it on."""
        first = runs.end - runs.rows
        own = (runs.rows - first * runs.harmonic) / runs.rows  # of a row somewhere in its run
        return _after(runs.harmonic) + own, _after(runs.rate * runs.harmonic) + runs.rate * own


class Augrc(Selective):
    """Area under the generalized risk-coverage curve: the mean over k of the errors among k, of all rows."""

    def of(self, runs: Runs) -> float:
        """Return the area."""
        before = runs.wrong - runs.errors
        sums = runs.rows * before + runs.errors * (runs.rows + 1) / 2
        return float(sums.sum()) / runs.number**2

    def influences(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return the share of rows from a row on, and that of errors."""
        own = (runs.rows + 1) / 2
        if_wrong = _after(runs.rows) + own
        return if_wrong / runs.number, (_after(runs.errors) + runs.rate * own) / runs.number


@dataclass(frozen=True)
class SelectiveAccuracy(Selective):
    """Accuracy of the most confident rows, a share of all."""

    coverage: float

    def of(self, runs: Runs) -> float:
        """Return the accuracy."""
        kept = self._kept(runs)
        return 1 - runs.errors_at(kept) / kept

    def influences(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return what a row takes off, and that its place at the threshold goes to another one."""
        kept = self._kept(runs)
        share = np.clip((kept - runs.end + runs.rows) / runs.rows, 0, 1)
        reach = runs.number**NEAR / 2
        low, high = max(0.0, kept - reach), min(runs.number, kept + reach)
        rate = (runs.errors_at(high) - runs.errors_at(low)) / (high - low)
        scale = runs.number / kept
        return -share * scale, -share * rate * scale

    def most(self, rows: float) -> float:
        """Return how many rows there are for each that is kept."""
        return 1 / self.coverage

    def _kept(self, runs: Runs) -> float:
        """Return how many rows are kept."""
        return min(runs.number, math.ceil(self.coverage * runs.number * (1 - ROUNDING)))


@dataclass(frozen=True)
class Coverage(Selective):
    """The largest share of rows, the most confident ones, that has at most so many errors; 0 if none has."""

    max_error: float
    moves = False

    def of(self, runs: Runs) -> float:
        """Return the share, of whole runs."""
        kept = runs.end[runs.wrong <= self.max_error * runs.end * (1 + ROUNDING)]
        return float(kept[-1]) / runs.number if len(kept) else 0.0

    def influences(self, runs: Runs) -> tuple[Doubles, Doubles]:
        """Return nothing: a threshold moves by more than rows bring."""
        return np.zeros(len(runs.rows)), np.zeros(len(runs.rows))

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return the same of an oracle, which goes on into the errors as far as it may, and of chance."""
        found = super().parts(problem)
        unit, right = _unit(problem.weights), found["oracle"] * problem.total_weight
        rows = math.floor(right / unit / (1 - self.max_error) * (1 + ROUNDING))
        return found | {"oracle": min(1.0, rows * unit / problem.total_weight)}

    def on_grid(self, cells: CellTable) -> GridError:
        """Return how much larger it may be where all that is right in a cell comes first."""
        errors, hits = cells.weight[:, ::-1]
        runs = Runs(hits, errors)
        right, before = runs.end - errors, runs.wrong - errors
        further = np.minimum((self.max_error * right - before) / (1 - self.max_error), errors)
        several = (np.nextafter(cells.low, 2) < cells.high)[::-1]
        best = np.max((right + further)[several & (further >= 0)], initial=0.0)
        return GridError.of(float(best) / runs.number - self.of(runs))

    def interval(self, spread: Spread, level: float, unit: str) -> tuple[Interval | None, str]:
        """Return that there is none."""
        return None, ONE_THRESHOLD


def _after(values: Doubles) -> Doubles:
    """Return (m,) the sums of what comes after each."""
    return np.append(np.cumsum(values[::-1])[::-1][1:], 0)


def _unit(weights: Floats | None) -> float:
    """Return the weight that counts as a row."""
    counted = np.ones(1) if weights is None else weights[weights > 0]
    return 1.0 if not len(counted) or not np.mod(counted, 1).any() else float(counted.mean())


def _digamma(x: Doubles) -> Doubles:
    """Return (n,) digamma functions of numbers of at least 1."""
    x, found = x.copy(), np.zeros(len(x))
    for _ in range(LARGE):
        small = x < LARGE
        found[small] -= 1 / x[small]
        x[small] += 1
    series = np.polynomial.polynomial.polyval(1 / np.square(x), (0.0, *EXPANSION))
    return np.asarray(found + np.log(x) - 1 / (2 * x) - series)
