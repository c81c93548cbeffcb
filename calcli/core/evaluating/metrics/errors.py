"""Calibration errors: common parts, errors through one lens, over the classes, and of vectors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, cast, get_args

import numpy as np

from calcli.core.data.arrays import (
    Doubles,
    Positions,
    Rng,
    Stream,
    batch_sizes,
    batches,
    draw_labels,
    generator,
)
from calcli.core.data.binning import Bins, distinct, equal_width_index
from calcli.core.estimators.calibrationerror import Null, class_wise_error, compare, outcome_sums
from calcli.core.estimators.intervals import Interval
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import Calls, signature
from calcli.core.evaluating.results import Estimate, VectorBins
from calcli.core.evaluating.usual import tests_classes
from calcli.core.language.entries import ERROR, arg
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import AUTO_LENS, Measure, nearest_name, region_ends
from calcli.core.language.metrics import LENS, min_rows, number_of_bins, region, vector_region
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import VectorProblem
from calcli.core.problems.problem import Binning, NamedBinning, Problem, Recursive, segment_sums
from calcli.core.state.needs import Need, Pass, all_probs, class_sums, through

LABELS = 1_000_000  # drawn at once
HELD = 5_000_000  # sums of outcomes


class TestedError(NamedTuple):
    """An error, its distribution if calibrated if requested, and numbers to read it with."""

    value: float
    null: Null | None = None
    parts: Mapping[str, float] = MappingProxyType({})
    bins: VectorBins | None = None


RECURSIVE = "recursive"


EXPECTED = "expected calibration error"
BINNING = "how scores are binned: equal-width, equal-mass, recursive, or edges such as 0/0.5/0.9/1"


class CalibrationError(Measure, ABC):
    """An estimator of a calibration error, with its options; the base class holds the defaults."""

    family = ERROR

    def judged(self, problem: Problem, level: float) -> tuple[Interval | None, str]:
        """Return the interval of independent rows, or why there is none."""
        return None, ""

    @abstractmethod
    def tested(self, measured: Measurements, settings: Settings, metrics: Calls) -> TestedError:
        """Return the error and, if there are draws, its distribution if calibrated; see `estimate`."""

    def estimate(self, measured: Measurements, settings: Settings, metrics: Calls = ()) -> Estimate:
        """Return the error beside what it would be if calibrated."""
        value, null, terms, bins = self.tested(measured, settings, metrics)
        line = signature(self, measured, settings, f"draws:{settings.draws}")
        interval, reason = self._interval(measured, settings)
        return Estimate(self, value, line, interval, reason, null, parts=terms, bins=bins)

    def scalar_problem(self, measured: Measurements) -> Problem:
        """Return the scores of the lens, in the region."""
        if not measured.is_scalar(self.lens):
            raise UsageError(
                f"{self}: the lens {self.lens} has several outcomes; look at them with "
                "expected_miscalibration, worst_miscalibration or skce"
            )
        problem = measured.problem(self.lens)
        if "@" in self.region:
            raise UsageError(f"{self}: with one score, a region is given by its ends, as in region=0.8..1")
        return problem if self.region == "all" else problem.within(*region_ends(self.region))

    def _interval(self, measured: Measurements, settings: Settings) -> tuple[Interval | None, str]:
        """Return the interval, if it has one, or why there is none."""
        if not self.entry.bounds or not settings.intervals:
            return None, ""
        if self.is_class_wise:
            return None, f"the lens {self.lens} has a score for each class"
        if not settings.draws_outcomes:
            return None, "rows depend on each other, or are weighted by their labels"
        problem = self.scalar_problem(measured)
        return self.judged(problem, settings.level) if problem.total_weight else (None, "")


@dataclass(frozen=True, kw_only=True)
class OneDimensional(CalibrationError, ABC):
    """An error of one score in every row."""

    lens: str = arg(LENS, default=AUTO_LENS)
    region: str = region()

    rounding: ClassVar[float] = 0.0  # tolerance between errors of the same outcomes

    def cuts(self, problem: Problem) -> Positions:
        """Return the positions between which rows are summed: the ends of runs of equal scores."""
        return np.append(0, problem.run_ends)

    @abstractmethod
    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return (...) errors from (..., m) sums between its cuts, for observed or drawn outcomes."""

    def value(self, problem: Problem) -> float:
        """Return the error."""
        return float(self.of(problem, problem.binned(self.cuts(problem))))

    def limit(self, problem: Problem) -> Null | None:
        """Return the distribution of the error under perfect calibration, if it is known."""
        return None

    def null(self, problem: Problem, draws: int, rng: Rng) -> Null:
        """Return the distribution of the error under perfect calibration."""
        return null_distributions(problem, [self], draws, rng)[0]

    def parts(self, problem: Problem) -> dict[str, float]:
        """Return numbers to read it with."""
        return {}

    @property
    def from_sums(self) -> bool:
        """Whether sums over equal-width bins are enough, without sorting scores."""
        return False

    def of_sums(self, bins: Bins) -> Any:
        """Return (...) errors from (..., m) sums over its bins, or over steps of the score."""
        raise NotImplementedError

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return scores and outcomes of the lens; for class-wise errors sums, or all probabilities."""
        if not self.is_class_wise:
            return (through(self.lens, of.rows, of.settings),)
        if not self.from_sums:
            return (all_probs(of.rows),)
        bins = self.arguments["bins"]
        return class_sums(bins, of.rows, of.settings)

    def tested(self, measured: Measurements, settings: Settings, metrics: Calls) -> TestedError:
        """Return the error, tested on the same simulated outcomes as others with its lens and region.

        It is nan if its region has no rows; class-wise errors are tested only if
        the settings say so.
        """
        if self.is_class_wise:
            return _class_wise(measured, self, self, settings)
        problem = self.scalar_problem(measured)
        if not problem.total_weight:
            return TestedError(math.nan)
        value, null = self.value(problem), None
        if settings.draws:
            seen = self.lens, self.region
            similar = [m for m in metrics if isinstance(m, OneDimensional) and (m.lens, m.region) == seen]
            same = similar if self in similar else [self]
            nulls = measured.once(
                ("nulls", settings.draws, *map(str, same)),
                lambda: null_distributions(problem, same, settings.draws, _rng(settings)),
            )
            null = nulls[same.index(self)]
        return TestedError(value, null, self.parts(problem))


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
        """The binning of the scores."""
        return parted(self, self.binning, self.min_rows)

    def cuts(self, problem: Problem) -> Positions:
        """Return where the bins end."""
        return problem.cuts(self.parted, self.bins)

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1]."""
        return float(self.of(problem, problem.bins(self.parted, self.bins)))


@dataclass(frozen=True, kw_only=True)
class OfVectors(CalibrationError, ABC):
    """An error of several outcomes at once, with the fewest rows that it needs."""

    least_rows: ClassVar[int] = 1
    lens: str = arg(
        "which probabilities: canonical (all classes), largest-2 (the two largest and the rest), "
        "--class-groups, or a single one such as top-1 or class-1",
        default="canonical",
    )
    region: str = vector_region()

    def __post_init__(self) -> None:
        """Check the lens."""
        if self.is_class_wise:
            raise UsageError(
                f"{self}: the lens {self.lens} is a problem for each class, not one of vectors; expected one "
                "such as canonical or class-0"
            )

    def needs(self, of: Pass) -> Iterable[Need]:
        """Return the rows through the lens."""
        return (through(self.lens, of.rows, of.settings, each=True),)

    def tested(self, measured: Measurements, settings: Settings, metrics: Calls) -> TestedError:
        """Return the error with its bins."""
        if measured.is_scalar(self.lens):
            problem = self.scalar_problem(measured).as_vectors()
        else:
            problem = measured.vector_problem(self.lens)
            problem = problem.in_region(self.region, str(self))
        problem = problem.with_weight()
        if len(problem.probs) < self.least_rows:
            return TestedError(math.nan)
        value, null, bins = self.found(problem, settings.draws, _rng(settings))
        if bins is None:
            return TestedError(value, null)
        if bins.score.size > MOST_NUMBERS:
            return TestedError(value, null, {"bins_left_out": len(bins.count)})
        return TestedError(value, null, bins=_shown(bins, self, measured))

    @abstractmethod
    def found(self, problem: VectorProblem, draws: int, rng: Rng) -> tuple[float, Null | None, Bins | None]:
        """Return the error, its distribution under perfect calibration if there are draws, and its bins.

        Sums of scores and outcomes are (d, m); None for an error without bins.
        """


def null_distributions(
    problem: Problem, errors: Sequence[OneDimensional], draws: int, rng: Rng
) -> list[Null]:
    """Return the distribution of every error of a problem if calibrated, independent of the other errors.

    Outcomes are drawn from the scores and summed between the cuts of each error; errors with few cuts share
    the draws.
    """
    start, limits = rng.bit_generator.state, [error.limit(problem) for error in errors]
    drawing = [error for error, limit in zip(errors, limits, strict=True) if limit is None]
    filled = {drawn_error: distinct(drawn_error.cuts(problem)) for drawn_error in drawing}
    few = {cuts.tobytes(): cuts for cuts in filled.values() if draws * len(cuts) <= HELD}
    shared = dict(zip(few, outcome_sums(problem, [*few.values()], draws, rng), strict=True)) if few else {}

    def null(error: OneDimensional) -> Null:
        rng.bit_generator.state = start
        of_error, cuts = filled[error], error.cuts(problem)
        places, observed = np.searchsorted(of_error, cuts), problem.binned(cuts)
        sums = (
            [shared[of_error.tobytes()]]
            if of_error.tobytes() in shared
            else (
                outcome_sums(problem, [of_error], size, rng)[0]
                for size in batch_sizes(draws, len(of_error), HELD)
            )
        )
        simulated = [
            error.of(problem, replace(observed, outcome=segment_sums(sum_[batch], places)))
            for sum_ in sums
            for batch in batches(len(sum_), len(places), HELD)
        ]
        return compare(float(error.of(problem, observed)), np.concatenate(simulated), error.rounding)

    return [null(error) if limit is None else limit for error, limit in zip(errors, limits, strict=True)]


def parted(measure: Measure, text: str, min_rows: int) -> Binning:
    """Return the binning of an argument: a name, or edges.

    Raises
    ------
    UsageError
        If the argument is neither.
    """
    if text == RECURSIVE:
        return Recursive(min_rows)
    if text in get_args(NamedBinning):
        return cast(NamedBinning, text)
    names = [*get_args(NamedBinning), RECURSIVE]
    try:
        edges = tuple(map(float, text.split("/")))
    except ValueError:
        edges = ()
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not all(a < b for a, b in pairwise(edges)):
        nearest = nearest_name(text, names)
        raise UsageError(
            f"{measure}: binning must be one of {', '.join(names)}, or edges that ascend from 0 to 1 such as "
            f"0/0.5/0.9/1, not {text!r}{nearest}"
        )
    return edges


def class_wise_null(
    measured: Measurements,
    estimator: OneDimensional,
    over: str,
    value: float,
    draws: int,
    rng: Rng,
) -> Null:
    """Return the null distribution of the error over all classes, given its observed value.

    Parameters
    ----------
    measured
        Measurements made for tests, with all probabilities.
    estimator
        Estimator of the error of each class.
    over
        How they are aggregated: norm 1, 2 or max.
    value
        The observed error.
    draws
        Simulated data sets, B.
    rng
        Source of chance.
    """
    simulated = simulated_class_errors(measured, estimator, draws, rng)
    return compare(value, class_wise_error(simulated, over))


def simulated_class_errors(
    measured: Measurements, estimator: OneDimensional, draws: int, rng: Rng
) -> Doubles:
    """Return the (draws, K) errors of every class in simulated data sets; otherwise as `class_wise_null`."""
    problem = measured.vector_problem("canonical")
    if estimator.from_sums:
        return _sums_only(problem, measured.class_bins(estimator.arguments["bins"]), estimator, draws, rng)
    k = problem.probs.shape[1]
    errors = np.empty((draws, k))
    for start, labels in _drawn(problem, draws, rng):
        for number, score in enumerate(problem.probs.T):
            order = np.argsort(score, kind="stable")
            outcomes = labels[:, order] == number
            weights = None if problem.weights is None else problem.weights[order]
            ordered = Problem(score[order], outcomes[0], weights)
            for draw, outcome in enumerate(outcomes, start):
                errors[draw, number] = estimator.value(replace(ordered, outcome=outcome, _bins={}))
    return errors


def _sums_only(problem: VectorProblem, observed: Bins, estimator: Any, draws: int, rng: Rng) -> Doubles:
    n, k = problem.probs.shape
    cells = equal_width_index(problem.probs, estimator.bins) + np.arange(k) * estimator.bins
    cell = cells.ravel()
    errors = np.empty((draws, k))
    for start, labels in _drawn(problem, draws, rng):
        for draw, places in enumerate(labels + np.arange(n) * k, start):
            outcome = np.bincount(cell.take(places), problem.weights, k * estimator.bins)
            bins = replace(observed, outcome=outcome.reshape(k, -1).astype(np.float64))
            errors[draw] = estimator.of_sums(bins)
    return errors


def _drawn(problem: VectorProblem, draws: int, rng: Rng) -> Iterator[tuple[int, Positions]]:
    """Yield the index of the first of some simulated data sets, and their (b, N) labels."""
    for batch in batches(draws, len(problem.probs), LABELS):
        yield batch.start, draw_labels(problem.probs, batch.stop - batch.start, rng).T


MOST_NUMBERS = 1_000_000  # largest number of means of bins of vectors in a report


def _rng(settings: Settings) -> Rng:
    return generator(settings.seed, Stream.OUTCOMES)


def _shown(bins: Bins, metric: Measure, measured: Measurements) -> VectorBins:
    """Return the bins with a positive weight, with outcomes named by classes and groups."""
    filled = bins.weight > 0
    weight = bins.weight[filled]
    means = ((table[:, filled] / weight).T for table in (bins.score, bins.outcome))
    names = measured.outcomes_of(metric.lens, len(bins.score))
    return VectorBins(names, bins.count[filled], weight / weight.sum(), *means)


def _class_wise(
    measured: Measurements, metric: Measure, estimator: OneDimensional, settings: Settings
) -> TestedError:
    if metric.region != "all":
        raise UsageError(f"{metric}: a region needs one score; name the class, as in lens=class-0")
    if estimator.from_sums:
        errors = estimator.of_sums(measured.class_bins(estimator.arguments["bins"]))
    else:
        errors = np.array([estimator.value(problem) for problem in measured.class_problems()])
    value, details = float(class_wise_error(errors, metric.over_classes)), dict[str, float]()
    if metric.over_classes == "sum":
        details["absent_classes"] = int(np.count_nonzero(measured.rows_by_class == 0))
    rows = measured.predictions  # a sample may lack what these need
    if not (measured.state.provides(all_probs(rows)) and tests_classes(rows, settings)):
        return TestedError(value, parts=details)
    null = class_wise_null(measured, estimator, metric.over_classes, value, settings.draws, _rng(settings))
    return TestedError(value, null, details)
