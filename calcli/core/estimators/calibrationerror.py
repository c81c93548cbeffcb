"""Calibration errors: what all have in common, and their null distribution by consistency resampling.

Outcomes are drawn from the predictions themselves and the error is computed again (Broecker & Smith 2007;
Vaicenavicius et al. 2019, section 4.2). The predictions stay fixed, which makes the p-value exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Array, Positions, batches
from calcli.core.data.binning import Bins, distinct
from calcli.core.language.entries import ERROR, Measure, arg
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.language.metrics import LENS, min_rows, number_of_bins, region, vector_region
from calcli.core.problems.lenses import VectorProblem
from calcli.core.problems.problem import Binning, NamedBinning, Problem, Recursive, segment_sums

if TYPE_CHECKING:
    from calcli.core.estimators.gridded import GridError
    from calcli.core.estimators.intervals import Interval
    from calcli.core.estimators.permutation import Cells, Side
    from calcli.core.state.cells import CellTable

DRAWN_ROWS = 20_000  # up to which every row is drawn by itself
CELLS = 500  # runs of nearly equal scores that are drawn together above that
OUTCOMES = 500_000  # drawn at once
SIGNIFICANT = 0.05  # at which that many draws leave room: their least p-value, corrected, is half of it
SHARPNESS = 4  # the least p-value that resampling can give is so much smaller than the strictest level


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
        The same corrected for the number of slices or classes tested with it (Holm); None for one that is
        tested by itself, or has too few rows.
    draws
        Simulated data sets behind it, B, which cannot show a p-value below 1 / (1 + B); None where the
        distribution is known.
    """

    mean: float
    sd: float
    p_value: float
    corrected_p: float | None = None
    draws: int | None = None

    @property
    def is_least(self) -> bool:
        """Whether no draw was as large, so that more of them might show a smaller p-value."""
        return self.draws is not None and self.p_value < 1.5 / (1 + self.draws)


def compare(value: float, draws: NDArray[np.float64], rounding: float = 0.0) -> Null:
    """Summarize (B,) errors of simulated outcomes; the p-value is (1 + #{draws >= value}) / (1 + B).

    Errors of the same outcomes must count as equal: sums differ in the last bit, others by up to `rounding`.
    """
    at_least = int(np.count_nonzero(draws >= value * (1 - 1e-12) - rounding))
    p_value = (1 + at_least) / (1 + len(draws))
    sd = float(draws.std(ddof=1)) if len(draws) > 1 else math.nan
    return Null(float(draws.mean()), sd, p_value, draws=len(draws))


def binned_nulls(
    problem: Problem,
    estimators: Sequence[OfBins],
    values: Sequence[float],
    draws: int,
    rng: np.random.Generator,
) -> list[Null]:
    """Return the null distributions of estimators of bins, given observed values; like bins share draws."""
    if not estimators:
        return []
    cut_sets = [estimator.cuts(problem) for estimator in estimators]
    unlike = {filled.tobytes(): filled for filled in map(distinct, cut_sets)}
    drawn = dict(zip(unlike, outcome_sums(problem, [*unlike.values()], draws, rng), strict=True))
    nulls = []
    for estimator, value, cuts in zip(estimators, values, cut_sets, strict=True):
        observed, filled = problem.bins(estimator.parted, estimator.bins), distinct(cuts)
        simulated, places = drawn[filled.tobytes()], np.searchsorted(filled, cuts)
        found = [
            estimator.of(problem, replace(observed, outcome=segment_sums(simulated[batch], places)))
            for batch in batches(draws, len(places), OUTCOMES)
        ]
        nulls.append(compare(value, np.concatenate(found)))
    return nulls


def outcome_sums(
    problem: Problem, cut_sets: Sequence[NDArray[np.intp]], draws: int, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Draw outcomes from the scores and sum them, weighted, between consecutive cuts.

    Returns
    -------
    For each set of cuts (draws, len(cuts) - 1) sums, the same whichever others are beside it.
    """
    if problem.counts is None and (
        problem.rows is not None or problem.weights is not None or len(problem.score) <= DRAWN_ROWS
    ):
        return _of_rows(problem, cut_sets, draws, rng)
    sums, here = [], rng.bit_generator.state
    for cuts in cut_sets:  # each draws from where the source of chance stood
        rng.bit_generator.state = here
        if problem.counts is not None:
            sums.append(_of_entries(problem, problem.counts, cuts, draws, rng))
        else:
            sums.append(_of_cells(problem, cuts, draws, rng))
    return sums


def _of_rows(
    problem: Problem, cut_sets: Sequence[NDArray[np.intp]], draws: int, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Draw the outcome of every row."""
    n, rows, weights = len(problem.score), problem.rows, problem.weights
    sums = [np.empty((draws, len(cuts) - 1)) for cuts in cut_sets]
    threshold = np.minimum(problem.score.astype(np.float64) * 2**32, 2**32 - 1).astype(np.uint32)
    certain = problem.score == 1
    for batch in batches(draws, n, OUTCOMES):
        size = batch.stop - batch.start
        if rows is not None:
            drawn = rows.drawn(size, rng)
        else:
            drawn = rng.integers(0, 2**32, size=(size, n), dtype=np.uint32) < threshold
            drawn |= certain
        outcomes = drawn.view(np.uint8) if weights is None else drawn * weights
        for own, cuts in zip(sums, cut_sets, strict=True):
            own[batch] = segment_sums(outcomes, cuts)
    return sums


def _of_cells(
    problem: Problem, cuts: NDArray[np.intp], draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the outcomes of runs of rows together.

    Their scores differ so little that a binomial with their mean has the same variance.
    """
    fine = distinct(np.concatenate([cuts, _even_cuts(len(problem.score))]))
    count = np.diff(fine)
    mean = np.clip(segment_sums(problem.score, fine) / count, 0, 1)
    return _binomial_sums(count, mean, np.searchsorted(fine, cuts), draws, rng)


def _of_entries(
    problem: Problem,
    counts: NDArray[np.int64],
    cuts: NDArray[np.intp],
    draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw the outcomes of entries that stand for several rows: the same draws as of the rows themselves.

    Rows of unequal weights are drawn like as many of equal weight as tell as much (Kish 1965).
    """
    rows = np.append(0, np.cumsum(counts))
    ends = rows[cuts]
    fine = distinct(np.concatenate([ends, _even_cuts(rows[-1])]))
    weights = counts if problem.weights is None else problem.weights

    def between(values: Array) -> NDArray[np.float64]:
        return np.diff(np.interp(fine, rows, np.append(0.0, np.cumsum(values, dtype=np.float64))))

    weight, squares = between(weights), between(problem.squared_weights)
    mean = np.clip(between(weights * problem.score) / np.where(weight > 0, weight, 1), 0, 1)
    number = np.rint(np.divide(weight**2, squares, out=np.zeros(len(weight)), where=squares > 0))
    each = np.divide(weight, number, out=np.zeros(len(weight)), where=number > 0)
    return _binomial_sums(number.astype(np.int64), mean, np.searchsorted(fine, ends), draws, rng, each)


def _even_cuts(rows: int) -> NDArray[np.intp]:
    return np.linspace(0, rows, CELLS + 1).astype(np.intp)


def _binomial_sums(
    number: NDArray[np.int64],
    mean: NDArray[np.float64],
    places: NDArray[np.intp],
    draws: int,
    rng: np.random.Generator,
    each: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return (draws, m) sums between places in cells, of as many rows as `number`, that weigh `each`."""
    # cell by cell, as a distribution is set up once for all of its draws
    totals = rng.binomial(number[:, None], mean[:, None], size=(len(number), draws))
    return segment_sums(totals.T if each is None else totals.T * each, places)


def holm(p_values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return adjusted p-values; those at or below a level are rejected by Holm's procedure (Holm 1979).

    The chance that any true hypothesis is rejected is then at most the level, however the tests depend on
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
    """Return how many simulated data sets let the least p-value of so many tests be found significant."""
    return math.ceil(2 * tests / SIGNIFICANT) - 1


def with_holm(nulls: Sequence[Null | None], counted: Sequence[bool]) -> list[Null | None]:
    """Return tests with p-values corrected for their number.

    Parameters
    ----------
    nulls
        One a test; None for what was not tested.
    counted
        Whether each has rows enough to be judged; the others stay as they are.
    """
    judged = {n: null.p_value for n, null in enumerate(nulls) if null is not None and counted[n]}
    corrected = dict(zip(judged, holm(list(judged.values())).tolist(), strict=True))
    return [replace(null, corrected_p=corrected.get(n)) if null else None for n, null in enumerate(nulls)]


RECURSIVE = "recursive"


EXPECTED = "expected calibration error"
BINNING = "how scores are binned: equal-width, equal-mass, recursive, or edges such as 0/0.5/0.9/1"


class CalibrationError(Measure):
    """An estimator of a calibration error, with its choices; what it lacks is as said here.

    Attributes
    ----------
    effort
        What a value costs besides looking at the scores; see `calcli.core.estimators.effort`.
    has_truth
        Whether `true` tells what it is if the posteriors of the labels are known.
    adds_up
        Whether that stays the same if rows of unlike scores are not taken together.
    recomputed
        Whether it is quick enough to be computed again for every permutation.
    """

    family = ERROR
    effort: ClassVar[int] = 0
    has_truth: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    recomputed: ClassVar[bool] = True

    def true(self, bins: Bins) -> float:
        """Return the error of (d, m) sums of scores and of true probabilities, of equal predictions each."""
        raise NotImplementedError

    def judged(self, problem: Problem, level: float) -> tuple[Interval | None, str]:
        """Return the interval of independent rows, or why there is none."""
        return None, ""

    def on_grid(self, cells: CellTable, problem: Problem) -> GridError | None:
        """Return how far the value of cells of the grid may be off; None where no bound is known."""
        return None


@dataclass(frozen=True, kw_only=True)
class OneDimensional(CalibrationError, ABC):
    """An error of one score in every row."""

    lens: str = arg(LENS, default="top-1")
    region: str = region()

    @abstractmethod
    def value(self, problem: Problem) -> float:
        """Return the error."""

    @abstractmethod
    def null(self, problem: Problem, draws: int, rng: np.random.Generator) -> Null:
        """Return the distribution of the error under perfect calibration."""

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return numbers to read it with."""
        return {}

    def swap_cells(self, baseline: Side, candidate: Side) -> Cells | None:
        """Return the cells of which it is a function of sums, to swap; None where it is no such function."""
        return None


@dataclass(frozen=True, kw_only=True)
class OfBins(OneDimensional):
    """An error that is a function of sums over bins of the score."""

    binning: str = arg(BINNING, default="equal-width")
    bins: int = number_of_bins()
    min_rows: int = min_rows()

    def __post_init__(self) -> None:
        """Check the binning."""
        assert self.parted

    @cached_property
    def parted(self) -> Binning:
        """How scores are binned."""
        return parted(self, self.binning, self.min_rows)

    def cuts(self, problem: Problem) -> Positions:
        """Return where the bins end."""
        return problem.cuts(self.parted, self.bins)

    @abstractmethod
    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error of sums over its bins of the problem, with other outcomes perhaps."""

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1]."""
        return float(self.of(problem, problem.bins(self.parted, self.bins)))

    def null(self, problem: Problem, draws: int, rng: np.random.Generator) -> Null:
        """Return the distribution of the error under perfect calibration."""
        return binned_nulls(problem, [self], [self.value(problem)], draws, rng)[0]


@dataclass(frozen=True, kw_only=True)
class OfVectors(CalibrationError, ABC):
    """An error of several outcomes at once, for which at least so many rows are needed."""

    least_rows: ClassVar[int] = 1
    lens: str = arg(
        "which probabilities: canonical (all classes), largest-2 (the two largest and the rest), "
        "--class-groups, or a single one such as top-1 or class-1",
        default="canonical",
    )
    region: str = vector_region()

    def __post_init__(self) -> None:
        """Check the lens."""
        if self.lens in ("class-wise", "worst-class", "marginal"):
            raise UsageError(
                f"{self}: the lens {self.lens} is a problem for each class, not one of vectors; expected one "
                "such as canonical or class-0"
            )

    @abstractmethod
    def found(
        self, problem: VectorProblem, draws: int, rng: np.random.Generator
    ) -> tuple[float, Null | None, Bins | None]:
        """Return the error, if there are draws its distribution under perfect calibration, and its bins.

        Those are (d, m) sums of scores and outcomes; None of an error without bins.
        """


def null_distributions(
    problem: Problem,
    estimators: Sequence[OneDimensional],
    values: Sequence[float],
    draws: int,
    rng: np.random.Generator,
) -> list[Null]:
    """Return the null distribution of every estimator of a problem, the same as if it were the only one.

    Those of bins, which are many, share what is drawn.
    """
    here = rng.bit_generator.state
    binned = [(one, value) for one, value in zip(estimators, values, strict=True) if isinstance(one, OfBins)]
    together = iter(binned_nulls(problem, [one for one, _ in binned], [v for _, v in binned], draws, rng))
    nulls = []
    for estimator in estimators:
        rng.bit_generator.state = here
        shared = isinstance(estimator, OfBins)
        nulls.append(next(together) if shared else estimator.null(problem, draws, rng))
    return nulls


def parted(measure: Measure, said: str, min_rows: int) -> Binning:
    """Return the binning that an argument says: a name, or edges.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if said == RECURSIVE:
        return Recursive(min_rows)
    if said in get_args(NamedBinning):
        return cast(NamedBinning, said)
    known = [*get_args(NamedBinning), RECURSIVE]
    try:
        edges = tuple(map(float, said.split("/")))
    except ValueError:
        edges = ()
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not all(a < b for a, b in pairwise(edges)):
        nearest = nearest_name(said, known)
        raise UsageError(
            f"{measure}: binning must be one of {', '.join(known)}, or edges that ascend from 0 to 1 such as "
            f"0/0.5/0.9/1, not {said!r}{nearest}"
        )
    return edges
