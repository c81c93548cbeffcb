"""The induced problem of any one-dimensional lens, for what is looked at after an evaluation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calcli.core.blocks import sweep
from calcli.core.errors import UsageError
from calcli.core.lenses import Lens, Problem, find_scalar_lens, ordered_problem
from calcli.core.results import Evaluation
from calcli.core.rows import RowTable


def problem_of(evaluation: Evaluation, lens: str) -> Problem:
    """Return the problem of a lens: the one at hand for top-1, else from another pass over the rows.

    Raises
    ------
    UsageError
        If there is no such one-dimensional lens for that number of classes.
    """
    if lens == "top-1":
        return evaluation.confidence
    predictions = evaluation.predictions
    found = find_scalar_lens(lens, predictions.n_classes)
    if not isinstance(found, Lens):
        raise UsageError(
            f"the lens {lens} has several outcomes; a figure of one curve needs one, such as top-1"
        )
    rows = RowTable(predictions.n_rows, found.statistics)
    sweep(predictions, [rows], evaluation.settings.precision)
    return ordered_problem(rows[found.score], rows[found.outcome], predictions.weights)


def row_weights(problem: Problem) -> NDArray[np.float64]:
    """Return the (n,) weights of a problem's rows: ones where there are none."""
    if problem.weights is None:
        return np.ones(len(problem.score))
    return problem.weights.astype(np.float64, copy=False)
