"""What figures need from an evaluation: metrics, problems of lenses, some rows, and slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.data.derived import thinned
from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.results import Evaluation
from calcli.core.evaluating.usual import RECALIBRATION_LIMIT
from calcli.core.language.entries import FigureKind
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import AUTO_LENS, parse_metric, parse_metrics
from calcli.core.language.figures import FIGURES
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import Groups, Lens, VectorLens, VectorProblem, find_lens, members_by_name
from calcli.core.problems.problem import Problem
from calcli.core.state.needs import Scores, Vectors, through
from calcli.core.state.state import rows_left


def problem_of(evaluation: Evaluation, lens: str, region: str = "all") -> Problem:
    """Return the problem of a lens: kept by the evaluation, or from another pass over the rows.

    Parameters
    ----------
    evaluation
        The rows to look at.
    lens
        The name of a one-dimensional lens.
    region
        The scores to keep, such as "0.8..1", or "all".

    Raises
    ------
    UsageError
        If there is no such one-dimensional lens for that number of classes, or the region holds no row.
    """
    path = evaluation.predictions.provenance.path
    if lens not in evaluation.problems:  # where other figures find it, too
        rows, settings = evaluation.predictions, evaluation.settings
        need = through(lens, rows, settings)
        if isinstance(need, Vectors):
            raise UsageError(
                f"the lens {lens} has several outcomes; expected one score, as of top-1, class-0 or two "
                "groups of classes; for three outcomes there is the figure simplex"
            )
        evaluation.problems[lens] = Measurements.of(rows, settings, [need]).problem(lens)
    problem = evaluation.problems[lens]
    if not problem.total_weight:
        raise UsageError(f"--lens {lens}: no row of {path} has such a score")
    return problem.in_region(region, f"region with {path}")


def vectors_of(evaluation: Evaluation, lens: str) -> VectorProblem:
    """Return the problem of a lens of several outcomes: a kept one, or from another pass over the rows.

    Raises
    ------
    UsageError
        If there is no such lens for that number of classes.
    """
    if lens not in evaluation.vectors:
        evaluation.vectors[lens] = _vectors(evaluation, lens)
    return evaluation.vectors[lens].with_weight()


def some_rows(evaluation: Evaluation, figure: FigureKind) -> Predictions:
    """Return the rows for a figure: evenly spaced rows if there are many, or the sample of a state."""
    return thinned(rows_left(evaluation.predictions), figure.rows_of(evaluation.predictions.n_classes))


def _vectors(evaluation: Evaluation, lens: str) -> VectorProblem:
    rows, settings = evaluation.predictions, evaluation.settings
    need = through(lens, rows, settings)
    if isinstance(need, Scores):
        raise UsageError(f"the lens {lens} has one outcome")
    return Measurements.of(rows, settings, [need]).vector_problem(lens)


def usual_lens(every: Iterable[Predictions]) -> str:
    """Return the default lens of predictions; the confidence if their classes differ."""
    lenses = {(system.classes, system.resolve_lens()) for system in every}
    return lenses.pop()[1] if len(lenses) == 1 else "top-1"


def extra_lenses_of(
    figures: Iterable[FigureKind], predictions: Predictions, lens: str, settings: Settings
) -> tuple[str, ...]:
    """Return the lenses of figures, if their problems are small enough to keep.

    Parameters as for `lenses_of`.
    """
    figures = list(figures)
    groups = members_by_name(settings.groups, predictions.classes)
    several = [outcomes_lens(lens, settings) for figure in figures if figure.bins == "vectors"]
    lenses = {name: _known_lens(name, predictions.n_classes, groups) for name in several}
    vectors = [name for name, seen in lenses.items() if isinstance(seen, VectorLens) and seen.size <= 4]
    return (*lenses_of(figures, predictions, lens, settings), *vectors)


def outcomes_lens(lens: str, settings: Settings) -> str:
    """Return the lens of a figure of several outcomes: by default the only groups, or all classes.

    Raises
    ------
    UsageError
        If there are several partitions to choose from.
    """
    if lens != AUTO_LENS:
        return lens
    groups = settings.groups
    if len(groups) > 1:
        raise UsageError(f"a simplex shows one of the class groups; choose with --lens: {', '.join(groups)}")
    return next(iter(groups), "canonical")


def lenses_of(
    figures: Iterable[FigureKind], predictions: Predictions, lens: str, settings: Settings
) -> tuple[str, ...]:
    """Return the one-dimensional lenses of figures that exist for these classes.

    Parameters
    ----------
    figures
        The figures to draw.
    predictions
        Of what.
    lens
        The requested lens, for figures that can use any.
    settings
        Settings with the groups of classes, which may be lenses.
    """
    lens = usual_lens([predictions]) if lens == AUTO_LENS else lens
    n_classes, names = predictions.n_classes, dict[str, None]()
    for figure in figures:
        least, largest = figure.standard or (0, inf)
        if figure.one_score or (figure.lens and least <= n_classes <= largest):
            names[figure.lens or lens] = None
    groups = members_by_name(settings.groups, predictions.classes)
    return tuple(name for name in names if isinstance(_known_lens(name, n_classes, groups), Lens))


def _known_lens(lens: str, n_classes: int, groups: Groups) -> Lens | VectorLens | None:
    """Return a lens, or None if it does not exist; the figure then reports it."""
    try:
        return find_lens(lens, n_classes, groups)
    except UsageError:
        return None


def metrics_of(
    figures: Sequence[FigureKind], predictions: Predictions, settings: Settings
) -> tuple[str, ...]:
    """Return the metrics that figures need: the requested metrics, or the defaults of each figure.

    Calibration losses, which need fits, are left out where the default report leaves them out.

    Parameters
    ----------
    figures
        The figures to draw.
    predictions
        Of what.
    settings
        Requested metrics, and the costs of risks to draw beside other scores.
    """
    if settings.metrics:
        return settings.metrics
    affordable = predictions.n_rows * predictions.n_classes <= RECALIBRATION_LIMIT
    names: list[str] = []
    for name in own_metrics(figures, settings):
        entry = parse_metric(name).entry
        if predictions.of_answers and entry.needs_classes:
            continue
        if affordable or not entry.family.fits:
            names.append(name)
    return tuple(names) or ("accuracy",)


def own_metrics(figures: Iterable[FigureKind], settings: Settings) -> tuple[str, ...]:
    """Return the metrics that figures show by default, for all costs and weights in the settings."""
    tables = {"costs": [cost.name for cost in settings.costs], "weights": [*settings.threshold_weights]}
    names: list[str] = []
    for name in (name for figure in figures for name in figure.metrics):
        arguments = parse_metric(name).entry.arguments
        argument = next((key for key in tables if key in arguments), None)
        names += [f"{name}:{argument}={value}" for value in tables[argument]] if argument else [name]
    return tuple(dict.fromkeys(names))


def shown_metrics(figure: str, evaluation: Evaluation, metrics: Sequence[str] = ()) -> list[str]:
    """Return the metrics of an evaluation that a figure shows: named metrics, or its defaults.

    Raises
    ------
    UsageError
        If none was computed.
    """
    calls = parse_metrics(metrics or FIGURES[figure].metrics, evaluation.settings.defaults)
    requested = [str(metric) for metric in calls]
    names = [name for name in requested if name in evaluation.estimates]
    if not names:
        raise UsageError(f"the figure {figure} needs metrics that were not computed: {', '.join(requested)}")
    return names


def row_weights(problem: Problem) -> Doubles:
    """Return the (n,) weights of a problem's rows: ones without weights."""
    if problem.weights is None:
        return np.ones(len(problem.score))
    return problem.weights.astype(np.float64, copy=False)
