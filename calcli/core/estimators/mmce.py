"""Maximum mean calibration error: the gaps of all pairs of rows, the nearer in score the more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calcli.core.data.arrays import Doubles, batch_sizes
from calcli.core.estimators.calibrationerror import OneDimensional
from calcli.core.estimators.consistency import Null, compare, outcome_sums
from calcli.core.estimators.effort import CLASS
from calcli.core.problems.problem import Problem, segment_sums

WIDTH = 0.4  # of the kernel, as in Kumar et al. 2018
SUMS = 1_000_000  # of outcomes, held at once


@dataclass(frozen=True)
class MaximumMeanError(OneDimensional):
    """The maximum mean calibration error (Kumar, Sarawagi & Jain 2018, section 3).

    It is the root of the mean over all pairs, each row with itself among them, of
    (outcome - score) (outcome' - score') exp(-|score - score'| / 0.4).
    """

    effort: ClassVar[int] = CLASS

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1]."""
        cuts = np.append(0, problem.run_ends)
        weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
        return float(_error(problem, segment_sums(weights * problem.outcome, cuts)))

    def null(self, problem: Problem, draws: int, rng: np.random.Generator) -> Null:
        """Return the error under perfect calibration, its outcomes drawn from the scores."""
        cuts = np.append(0, problem.run_ends)
        errors = [
            _error(problem, outcome_sums(problem, [cuts], size, rng)[0])
            for size in batch_sizes(draws, len(cuts), SUMS)
        ]
        return compare(self.value(problem), np.concatenate(errors))


def _error(problem: Problem, outcome: Doubles) -> Any:
    """Return the errors of (..., runs) sums of outcomes over runs of equal scores."""
    cuts = np.append(0, problem.run_ends)
    score = problem.score[problem.run_ends - 1].astype(np.float64)
    weights = np.ones(len(problem.score)) if problem.weights is None else problem.weights
    gap = outcome - segment_sums(weights, cuts) * score
    rise = np.exp(score / WIDTH)  # at most e^2.5, so that sums of it lose nothing
    before = np.cumsum(gap * rise, axis=-1) - gap * rise
    square = np.square(gap).sum(-1) + 2 * (gap / rise * before).sum(-1)
    return np.sqrt(np.maximum(square, 0)) / problem.total_weight
