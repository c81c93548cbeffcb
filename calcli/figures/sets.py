"""From evaluations to figures: what each one draws, and which go with a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from calcli.core.cumulative import Cumulative, cumulative
from calcli.core.curves import Curve, corp_curve, kernel_curve
from calcli.core.errors import UsageError
from calcli.core.figures import find_figure
from calcli.core.maps import temperature_curve as temperature_of
from calcli.core.miscalibration import BinnedError
from calcli.core.reliability import ClassReliability, Reliability, class_reliability
from calcli.core.reliability import reliability as reliability_of
from calcli.core.results import Evaluation
from calcli.core.risk import RiskCurve, rejection_curve, risk_curve
from calcli.core.series import ScoreSet, courses, score_set
from calcli.core.simplex import SimplexBinning, simplexes
from calcli.core.views import problem_of
from calcli.figures.classwise import class_wise
from calcli.figures.curves import reliability_curve
from calcli.figures.deviation import deviation
from calcli.figures.ks import ks_graphs
from calcli.figures.maps import temperature_curve
from calcli.figures.output import save
from calcli.figures.reliability import reliability
from calcli.figures.risk import rejection_curves, risk_curves
from calcli.figures.simplex import simplex
from calcli.figures.systems import epochs, score_bars

Evaluations = Mapping[str, Evaluation]
Columns = Mapping[str, NDArray[Any]]

CURVE_DRAWS = 199  # simulated curves behind a band


@dataclass(frozen=True)
class View:
    """How evaluations are looked at.

    Attributes
    ----------
    lens
        A one-dimensional lens, or "class-wise" for the reliability of every class.
    binning
        How its scores are parted, into as many bins as the evaluation's settings say.
    draws
        Simulated data sets behind consistency bars.
    groups
        Class numbers of three groups by name, for the simplex of more classes.
    simplex_binning
        "equal-size" or "recursive".
    """

    lens: str = "top-1"
    binning: Literal["equal-width", "equal-mass"] = "equal-width"
    draws: int = 999
    groups: Mapping[str, Sequence[int]] | None = None
    simplex_binning: SimplexBinning = "equal-size"


@dataclass(frozen=True)
class Drawing:
    """A figure with the numbers in it.

    Attributes
    ----------
    figure
        What was drawn.
    tables
        Columns of the results drawn, by system, class group or metric.
    """

    figure: Figure
    tables: Mapping[str, Columns] = field(default_factory=dict)


def draw(name: str, evaluations: Evaluations, view: View | None = None) -> Drawing:
    """Draw one figure of one or several evaluations, side by side on the same scales.

    Parameters
    ----------
    name
        A name in `calcli.core.figures.FIGURES`.
    evaluations
        By system name.
    view
        Lens and binning.

    Raises
    ------
    UsageError
        If the figure or the lens is unknown or does not fit the data.
    """
    view = view or View()
    kind = find_figure(name).name
    if kind == "reliability" and view.lens == "class-wise":
        kind = "class-wise"
    classes = next(iter(evaluations.values())).predictions.classes
    results, figure = MAKERS[kind](evaluations, view, classes)
    return Drawing(figure, {key: result.columns() for key, result in results.items()})


def standard_names(evaluation: Evaluation) -> list[str]:
    """Return the names of the figures that fit an evaluation, in the order in which a report shows them."""
    names = ["reliability", "deviation", "ks", "class-wise"]
    if evaluation.predictions.n_classes == 2:
        names[-1] = "risk"
    if evaluation.predictions.n_classes == 3:
        names.append("simplex")
    return names


def standard_set(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write the figures that fit an evaluation as PNG.

    Parameters
    ----------
    evaluation
        What to draw.
    folder
        An existing folder.

    Returns
    -------
    The files written, in the order in which a report shows them.
    """
    title = Path(evaluation.predictions.provenance.path).name
    paths = []
    for name in standard_names(evaluation):
        paths.append(folder / f"{name}.png")
        save(draw(name, {title: evaluation}).figure, paths[-1])
    return paths


Results = Mapping[str, Any]
Maker = Callable[[Evaluations, View, Sequence[str]], tuple[Results, Figure]]


def _each(
    compute: Callable[[Evaluation, View], Any], drawn: Callable[..., Figure], classes: bool = False
) -> Maker:
    """Return a maker of figures with one result a system; some drawings want the class names as well."""

    def make(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
        results = {system: compute(evaluation, view) for system, evaluation in evaluations.items()}
        return results, drawn(results, names) if classes else drawn(results)

    return make


def _reliability(evaluation: Evaluation, view: View) -> Reliability:
    return reliability_of(
        problem_of(evaluation, view.lens),
        view.lens,
        BinnedError(view.binning, evaluation.settings.bins),
        evaluation.estimates,
        view.draws,
        evaluation.settings.seed,
    )


def _class_wise(evaluation: Evaluation, view: View) -> ClassReliability:
    return class_reliability(evaluation.class_bins, evaluation.predictions.classes)


def _cumulative(evaluation: Evaluation, view: View) -> Cumulative:
    return cumulative(problem_of(evaluation, view.lens), view.lens)


def _corp(evaluation: Evaluation, view: View) -> Curve:
    rng = np.random.default_rng([evaluation.settings.seed, 4])
    return corp_curve(problem_of(evaluation, view.lens), view.lens, CURVE_DRAWS, rng)


def _smooth(evaluation: Evaluation, view: View) -> Curve:
    rng = np.random.default_rng([evaluation.settings.seed, 4])
    return kernel_curve(problem_of(evaluation, view.lens), view.lens, CURVE_DRAWS, rng)


def _risk(evaluation: Evaluation, view: View) -> RiskCurve:
    predictions = evaluation.predictions
    if predictions.n_classes != 2:
        raise UsageError(
            f"risk curves need 2 classes, and {predictions.provenance.path} has {predictions.n_classes};"
            " see the figure rejection"
        )
    return risk_curve(problem_of(evaluation, "class-1"))


def _scores(evaluation: Evaluation, view: View) -> ScoreSet:
    return score_set(evaluation.estimates)


def _simplexes(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    results = {}
    for system, evaluation in evaluations.items():
        for face, result in simplexes(evaluation.predictions, view.groups, view.simplex_binning).items():
            results[f"{system} {face}".strip()] = result
    return results, simplex(results)


def _epochs(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    results = courses([evaluation.estimates for evaluation in evaluations.values()])
    return results, epochs(results, list(evaluations))


MAKERS: dict[str, Maker] = {
    "reliability": _each(_reliability, reliability, classes=True),
    "deviation": _each(_reliability, deviation, classes=True),
    "class-wise": _each(_class_wise, class_wise),
    "ks": _each(_cumulative, ks_graphs, classes=True),
    "corp": _each(_corp, reliability_curve, classes=True),
    "smooth": _each(_smooth, reliability_curve, classes=True),
    "simplex": _simplexes,
    "risk": _each(_risk, risk_curves),
    "rejection": _each(lambda evaluation, view: rejection_curve(evaluation.confidence), rejection_curves),
    "scores": _each(_scores, score_bars),
    "epochs": _epochs,
    "temperature": _each(lambda evaluation, view: temperature_of(evaluation.predictions), temperature_curve),
}
