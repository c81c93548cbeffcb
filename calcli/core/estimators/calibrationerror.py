"""Calibration errors: objects with value, null, bins, truth and bound, found by their expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.estimators.consistency import Null, binned_nulls
from calcli.core.problems.problem import Binning, Problem
from calcli.core.problems.vectors import VectorProblem

if TYPE_CHECKING:
    from calcli.core.estimators.gridded import GridError
    from calcli.core.estimators.intervals import Interval
    from calcli.core.estimators.permutation import Cells, Side
    from calcli.core.state.gridcells import CellTable
from itertools import pairwise
from typing import cast, get_args

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, nearest_name
from calcli.core.problems.problem import NamedBinning, Recursive

RECURSIVE = "recursive"


class CalibrationError:
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


class OneDimensional(CalibrationError, ABC):
    """An error of one score in every row."""

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


@dataclass(frozen=True)
class OfBins(OneDimensional):
    """An error that is a function of sums over bins of the score."""

    binning: Binning = "equal-width"
    bins: int = 15

    @abstractmethod
    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error of sums over its bins of the problem, with other outcomes perhaps."""

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1]."""
        return float(self.of(problem, problem.bins(self.binning, self.bins)))

    def null(self, problem: Problem, draws: int, rng: np.random.Generator) -> Null:
        """Return the distribution of the error under perfect calibration."""
        return binned_nulls(problem, [self], [self.value(problem)], draws, rng)[0]


class OfVectors(CalibrationError, ABC):
    """An error of several outcomes at once, for which at least so many rows are needed."""

    least_rows: ClassVar[int] = 1

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


def find_estimator(call: MetricExpression) -> OneDimensional | OfVectors:
    """Return the estimator that a metric expression asks for.

    Parameters
    ----------
    call
        A metric of the family "error".

    Raises
    ------
    UsageError
        If the binning is unknown, or the lens is not for that estimator.
    """
    given: dict[str, Any] = {**call.arguments, **call.entry.fixed}
    of_lens = {"lens", "region", "training"}
    arguments = {key: value for key, value in given.items() if key not in of_lens}
    make = call.entry.mathematics
    if "binning" in arguments:
        least = Recursive(arguments.pop("min_rows"))
        arguments["binning"] = _binning(call, arguments["binning"], least)
    if issubclass(make, OfVectors) and (call.is_class_wise or call.is_marginal):
        raise UsageError(
            f"{call}: the lens {call.lens} is a problem for each class, not one of vectors; expected one "
            "such as canonical or class-0"
        )
    if call.is_marginal and arguments.get("debiased"):
        raise UsageError(f"{call}: the probabilities of a row depend on each other; leave out debiased")
    if arguments.get("weights", "equal") != "equal" and not call.is_class_wise:
        raise UsageError(f"{call}: weights are those of classes; leave out the lens {call.lens}")
    found: OneDimensional | OfVectors = make(**arguments)
    return found


def _binning(call: MetricExpression, said: str, recursive: Recursive) -> Binning:
    """Return the binning that an argument says: a name, or edges."""
    if said == RECURSIVE:
        return recursive
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
            f"{call}: binning must be one of {', '.join(known)}, or edges that ascend from 0 to 1 such as "
            f"0/0.5/0.9/1, not {said!r}{nearest}"
        )
    return edges
