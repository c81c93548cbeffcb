"""What figures need of an evaluation: its metrics, and the induced problem of any one-dimensional lens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.blocks import sweep, working_dtype
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.usual import RECALIBRATION_LIMIT
from calcli.core.language.entries import FigureKind
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric
from calcli.core.language.figures import USUAL
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Groups, find_scalar_lens
from calcli.core.problems.marginal import marginal_problem
from calcli.core.problems.problem import Problem, ordered_problem
from calcli.core.problems.vectors import canonical_lens, members_by_name
from calcli.core.state.collectors import RowTable
from calcli.core.state.vectors import VectorTable


def problem_of(evaluation: Evaluation, lens: str, region: str = "all") -> Problem:
    """Return the problem of a lens: one that the evaluation kept, else from another pass over the rows.

    Parameters
    ----------
    evaluation
        Whose rows are looked at.
    lens
        The name of a one-dimensional lens, or "marginal".
    region
        The scores to keep, such as "0.8..1", or "all".

    Raises
    ------
    UsageError
        If there is no such one-dimensional lens for that number of classes, or the region holds no row.
    """
    predictions = evaluation.predictions
    owner = f"--region with {predictions.provenance.path}"
    if lens in evaluation.problems:
        return evaluation.problems[lens].in_region(region, owner)
    problem = _pooled(evaluation) if lens == "marginal" else _induced(evaluation, lens)
    evaluation.problems[lens] = problem  # which other figures look at as well
    return problem.in_region(region, owner)


def _pooled(evaluation: Evaluation) -> Problem:
    predictions, precision = evaluation.predictions, evaluation.settings.precision
    table = VectorTable(
        canonical_lens(predictions.n_classes), predictions, working_dtype(predictions, precision)
    )
    sweep(predictions, [table], precision)
    return marginal_problem(table.problem.probs, table.problem.labels, table.problem.weights)


def _induced(evaluation: Evaluation, lens: str) -> Problem:
    predictions = evaluation.predictions
    groups = members_by_name(evaluation.settings.groups, predictions.classes)
    found = find_scalar_lens(lens, predictions.n_classes, groups)
    rows = RowTable(predictions.n_rows, found.statistics)
    sweep(predictions, [rows], evaluation.settings.precision)
    problem = ordered_problem(*found.look(rows.columns, predictions.weights)[:3])
    if not len(problem.score):
        raise UsageError(f"--lens {lens}: no row of {predictions.provenance.path} is seen through it")
    return problem


def usual_lens(every: Iterable[Predictions]) -> str:
    """Return the lens through which predictions are looked at unasked.

    Of the same two classes it is the probability of the second one, as people expect; else the confidence,
    which for two classes is that of the more probable one, folded at one half.
    """
    first, *others = every
    alike = all(other.classes == first.classes for other in others)
    return "class-1" if alike and first.n_classes == 2 and not first.of_answers else "top-1"


def lenses_of(
    figures: Iterable[FigureKind], predictions: Predictions, lens: str, settings: Settings
) -> tuple[str, ...]:
    """Return the one-dimensional lenses that figures look through, of those that the classes have.

    Parameters
    ----------
    figures
        What is to be drawn.
    predictions
        Of what.
    lens
        The one that is asked for, for figures that look through any.
    settings
        Groups of classes, which may be lenses.
    """
    lens = usual_lens([predictions]) if lens == USUAL else lens
    n_classes, found = predictions.n_classes, dict[str, None]()
    for figure in figures:
        least, most = figure.standard or (0, inf)
        if figure.one_score or (figure.lens and least <= n_classes <= most):
            found[figure.lens or lens] = None
    groups = members_by_name(settings.groups, predictions.classes)
    return tuple(name for name in found if _is_scalar(name, n_classes, groups))


def _is_scalar(lens: str, n_classes: int, groups: Groups) -> bool:
    try:
        find_scalar_lens(lens, n_classes, groups)
    except UsageError:
        return False
    return True


def metrics_of(
    figures: Sequence[FigureKind], predictions: Predictions, settings: Settings
) -> tuple[str, ...]:
    """Return the metrics an evaluation needs for its figures: those asked for, else those of each figure.

    Calibration losses, which need fits, are left out where the default report leaves them out.

    Parameters
    ----------
    figures
        What is to be drawn.
    predictions
        Of what.
    settings
        Metrics asked for, and the costs whose risks are drawn beside other scores.
    """
    if settings.metrics:
        return settings.metrics
    affordable = predictions.n_rows * predictions.n_classes <= RECALIBRATION_LIMIT
    names: list[str] = []
    for name in (name for figure in figures for name in figure.metrics):
        entry = parse_metric(name).entry
        if predictions.of_answers and entry.needs_classes:
            continue
        if "costs" in entry.arguments:
            names += [f"{name}:costs={costs.name}" for costs in settings.costs]
        elif affordable or not entry.family.fits:
            names.append(name)
    return tuple(dict.fromkeys(names)) or ("accuracy",)


def row_weights(problem: Problem) -> NDArray[np.float64]:
    """Return the (n,) weights of a problem's rows: ones where there are none."""
    if problem.weights is None:
        return np.ones(len(problem.score))
    return problem.weights.astype(np.float64, copy=False)
