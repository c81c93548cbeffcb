"""The true calibration function as a curve, where the posteriors of the labels are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.binning import equal_mass_cuts
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.truth import known_problem
from calcli.core.problems.problem import segment_sums

CELLS = 400  # runs of nearly equal scores of which each point of the curve is the mean


@dataclass(frozen=True)
class Truth:
    """The true frequency of the outcome as a function of the score.

    Attributes
    ----------
    score, frequency
        (p,) ascending mean scores, and mean true probability of the outcome.
    """

    score: Doubles
    frequency: Doubles


def true_curve(evaluation: Evaluation, lens: str, region: str) -> Truth | None:
    """Return the calibration function of a lens; None without posteriors.

    Vaicenavicius et al. 2019, eq. 4 and the curves of fig. 8, 11 and 14. Rows of equal scores stay together.

    Parameters
    ----------
    evaluation
        Of predictions, with the posteriors of the same rows.
    lens
        A one-dimensional one, or "marginal".
    region
        The part of the scores to look at, in which there are rows.
    """
    if evaluation.posteriors is None:
        return None
    known = known_problem(evaluation.predictions, evaluation.posteriors, lens, evaluation.settings)
    known = known.within(region, "region")
    order = np.argsort(known.scores[:, 0], kind="stable")
    score, expected = known.scores[order, 0], known.expected[order, 0]
    weight = np.ones(len(order)) if known.weights is None else known.weights[order]
    cuts = equal_mass_cuts(score, CELLS, known.weights if known.weights is None else weight)
    mass = segment_sums(weight, cuts)
    filled = mass > 0
    means = (segment_sums(values * weight, cuts)[filled] / mass[filled] for values in (score, expected))
    return Truth(*means)
