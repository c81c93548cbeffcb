"""The estimator that a metric expression asks for: its value, and its distribution if calibrated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.data.chance import Stream, generator
from calcli.core.estimators.confidence import ConfidenceShare
from calcli.core.estimators.consistency import Null, binned_nulls
from calcli.core.estimators.cumulative import CumulativeError, KolmogorovSmirnov, Kuiper
from calcli.core.estimators.effort import CLASS, GRID
from calcli.core.estimators.kernels import (
    KernelDistance,
    median_kernel,
    skce,
    skce_blocks,
    skce_blocks_test,
    skce_test,
)
from calcli.core.estimators.miscalibration import BinnedError, Norm
from calcli.core.estimators.mmce import mmce, mmce_null
from calcli.core.estimators.partitions import (
    Distance,
    cell_partition,
    miscalibration,
    miscalibration_null,
    vector_bins,
)
from calcli.core.estimators.smooth import kde_ece, kde_ece_null, smooth_ece, smooth_ece_null
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, nearest_name
from calcli.core.problems.problem import Binning, NamedBinning, Problem, Recursive
from calcli.core.problems.splits import Partition, recursive_partition
from calcli.core.problems.vectors import VectorProblem


@dataclass(frozen=True)
class Smoothed:
    """An estimator without bins: two functions of a one-dimensional problem, and what a value costs."""

    value: Callable[[Problem], float]
    null: Callable[[Problem, int, np.random.Generator], Null]
    effort: int = GRID


@dataclass(frozen=True)
class VectorMiscalibration:
    """Expected or worst distance between mean prediction and outcome frequencies over bins of vectors."""

    norm: Norm
    distance: Distance
    binning: Binning
    bins: int = 15
    of_top: bool = False  # whether only the predicted class counts, the bins being those of vectors
    least_rows: ClassVar[int] = 1

    def value(self, problem: VectorProblem) -> float:
        """Return the error; see `calcli.core.estimators.partitions.miscalibration`."""
        return self.of(self.binned(problem))

    def binned(self, problem: VectorProblem) -> Bins:
        """Return the sums of the bins, (d, m) of scores and outcomes."""
        seen = self._seen(problem)
        return vector_bins(seen.probs, seen.labels, self._partition(problem), seen.weights)

    def of(self, bins: Bins) -> float:
        """Return the error of such sums."""
        return float(miscalibration(bins, self.distance, self.norm))

    def tested(self, problem: VectorProblem, draws: int, rng: np.random.Generator) -> tuple[float, Null]:
        """Return the error, and its distribution under perfect calibration."""
        return self.value(problem), self.null(problem, draws, rng)

    def null(self, problem: VectorProblem, draws: int, rng: np.random.Generator) -> Null:
        """Return the distribution of the error under perfect calibration."""
        seen = self._seen(problem)
        return miscalibration_null(
            seen.probs,
            seen.labels,
            self._partition(problem),
            self.distance,
            self.norm,
            draws,
            rng,
            seen.weights,
        )

    def _seen(self, problem: VectorProblem) -> VectorProblem:
        return problem.of_top() if self.of_top else problem

    def _partition(self, problem: VectorProblem) -> Partition:
        if isinstance(self.binning, Recursive):
            return recursive_partition(problem.probs, self.binning.min_rows, problem.weights)
        if problem.probs.shape[1] > 2:
            if self.binning != "equal-width":
                raise UsageError(
                    "vectors of several outcomes take binning=recursive or equal-width; others need one score"
                )
            return cell_partition(problem.probs, self.bins)
        # of two classes the second is the one that is scored, of other problems the first outcome
        scored = 1 if "class-1" in problem.names else 0
        score = problem.probs[:, scored]
        order = np.argsort(score, kind="stable")
        weights = None if problem.weights is None else problem.weights[order]
        ordered = Problem(score[order], problem.labels[order] == scored, weights)
        return Partition(order, ordered.cuts(self.binning, self.bins))


@dataclass(frozen=True)
class KernelError:
    """Squared kernel calibration error, from all pairs of rows or from disjoint blocks."""

    estimator: Literal["unbiased", "block"]
    distance: KernelDistance
    seed: int = 0
    least_rows: ClassVar[int] = 2

    def value(self, problem: VectorProblem) -> float:
        """Return the error, in [-2, 2]."""
        kernel = median_kernel(problem.probs, self.distance)
        if self.estimator == "block":
            return skce_blocks(problem.probs, problem.labels, kernel, self._shuffle, problem.weights)
        return skce(problem.probs, problem.labels, kernel, problem.weights)

    def tested(self, problem: VectorProblem, draws: int, rng: np.random.Generator) -> tuple[float, Null]:
        """Return the error, and its distribution under perfect calibration."""
        probs, labels, weights = problem.probs, problem.labels, problem.weights
        kernel = median_kernel(probs, self.distance)
        if self.estimator == "block":
            return skce_blocks_test(probs, labels, kernel, draws, (self._shuffle, rng), weights)
        return skce_test(probs, labels, kernel, draws, rng, weights)

    @property
    def _shuffle(self) -> np.random.Generator:
        return generator(self.seed, Stream.PAIRS)


OfBins = BinnedError | ConfidenceShare
OneDimensional = OfBins | CumulativeError | Smoothed
OfVectors = VectorMiscalibration | KernelError


ESTIMATORS: dict[str, Callable[..., OneDimensional | OfVectors]] = {  # those of all others are BinnedError
    "ks": KolmogorovSmirnov,
    "kuiper": Kuiper,
    "smooth_ece": partial(Smoothed, smooth_ece, smooth_ece_null),
    "kde_ece": lambda norm: Smoothed(partial(kde_ece, norm=norm), partial(kde_ece_null, norm=norm)),
    "mmce": partial(Smoothed, mmce, mmce_null, CLASS),
    "over_confidence": ConfidenceShare,
    "under_confidence": ConfidenceShare,
    "expected_miscalibration": VectorMiscalibration,
    "worst_miscalibration": VectorMiscalibration,
    "ece_given_vector": VectorMiscalibration,
    "cw_ece_given_vector": VectorMiscalibration,
    "skce": KernelError,
}
RECURSIVE = "recursive"


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
    make = ESTIMATORS.get(call.entry.name, BinnedError)
    if "binning" in arguments:
        least = Recursive(arguments.pop("min_rows"))
        arguments["binning"] = _binning(call, arguments["binning"], least)
    if make in (VectorMiscalibration, KernelError) and (call.is_class_wise or call.is_marginal):
        raise UsageError(
            f"{call}: the lens {call.lens} is a problem for each class, not one of vectors; expected one "
            "such as canonical or class-0"
        )
    if call.is_marginal and arguments.get("debiased"):
        raise UsageError(f"{call}: the probabilities of a row depend on each other; leave out debiased")
    if arguments.get("weights", "equal") != "equal" and not call.is_class_wise:
        raise UsageError(f"{call}: weights are those of classes; leave out the lens {call.lens}")
    return make(**arguments)


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


def null_distributions(
    problem: Problem,
    estimators: Sequence[OneDimensional],
    values: Sequence[float],
    draws: int,
    rng: np.random.Generator,
) -> list[Null]:
    """Return the null distribution of every estimator of a problem, the same as if it were the only one."""
    here = rng.bit_generator.state
    pairs = zip(estimators, values, strict=True)
    binned = [(estimator, value) for estimator, value in pairs if isinstance(estimator, OfBins)]
    together = iter(binned_nulls(problem, [e for e, _ in binned], [v for _, v in binned], draws, rng))
    nulls = []
    for estimator in estimators:
        rng.bit_generator.state = here
        if isinstance(estimator, OfBins):
            nulls.append(next(together))
        else:
            nulls.append(estimator.null(problem, draws, rng))
    return nulls
