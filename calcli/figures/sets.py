"""From evaluations to figures: what each one draws, and which go with a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from matplotlib.figure import Figure
from numpy.typing import NDArray

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.curves.cumulative import Cumulative, cumulative
from calcli.core.curves.curves import Curve, corp_curve, kernel_curve
from calcli.core.curves.forest import forest as forest_of
from calcli.core.curves.maps import CalibrationMap
from calcli.core.curves.maps import calibration_map as map_of
from calcli.core.curves.maps import temperature_curve as temperature_of
from calcli.core.curves.reliability import ClassReliability, Reliability, class_reliability
from calcli.core.curves.reliability import reliability as reliability_of
from calcli.core.curves.risk import RiskCurve, rejection_curve, risk_curve
from calcli.core.curves.series import courses, score_sets
from calcli.core.curves.simplex import SimplexBinning, simplexes
from calcli.core.curves.views import problem_of
from calcli.core.data.predictions import require_classes
from calcli.core.data.streams import Stream, generator
from calcli.core.estimators.errors import find_estimator
from calcli.core.estimators.miscalibration import BinnedError
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import parse_metric, parse_metrics, region_ends
from calcli.core.language.figures import FIGURES, find_figure, refuse_more_systems, standard_names
from calcli.core.problems.problem import Problem
from calcli.core.problems.vectors import group_members
from calcli.figures.classwise import class_wise
from calcli.figures.curves import reliability_curve
from calcli.figures.deviation import deviation
from calcli.figures.forest import forest
from calcli.figures.ks import ks_graphs
from calcli.figures.maps import calibration_map, temperature_curve
from calcli.figures.output import save
from calcli.figures.reliability import reliability
from calcli.figures.risk import rejection_curves, risk_curves
from calcli.figures.simplex import simplex
from calcli.figures.style import zoom
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
        A one-dimensional lens, "class-wise" for the reliability of every class, or for the simplex the name
        of groups in the evaluation's settings.
    binning
        How scores are parted, into as many bins as the evaluation's settings say: "equal-width",
        "equal-mass" or the name of edges in these settings; "recursive" for the simplex.
    draws
        Simulated data sets behind consistency bars.
    region
        The scores to look at, such as "0.8..1", or "all".
    metrics
        Metrics to draw over epochs and slices; empty for the usual ones.
    by
        Columns whose values are slices.
    calibrators
        Calibrators to map, by name.
    """

    lens: str = "top-1"
    binning: str = "equal-width"
    draws: int = 999
    region: str = "all"
    metrics: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    calibrators: Mapping[str, CalibratorRecord] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawing:
    """A figure with the numbers in it.

    Attributes
    ----------
    figure
        What was drawn.
    tables
        Columns of the results drawn, by system, class group or metric; where a panel shows more than one
        table, the others follow as "SYSTEM, observed" and the like.
    """

    figure: Figure
    tables: Mapping[str, Columns] = field(default_factory=dict)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each row of the tables; `name` says which table it is of."""
        for name, columns in self.tables.items():
            for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                yield {"name": name} | dict(zip(columns, row, strict=True))


def draw(name: str, evaluations: Evaluations, view: View | None = None) -> Drawing:
    """Draw one figure of one or several evaluations, side by side on the same scales.

    Parameters
    ----------
    name
        A name in `calcli.core.language.figures.FIGURES`.
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
    kind = find_figure(name)
    if kind.name == "reliability" and view.lens == "class-wise":
        kind = FIGURES["class-wise"]
    refuse_more_systems([kind], len(evaluations))
    if view.region != "all" and not kind.one_score:
        raise UsageError(f"the figure {kind.name} shows all rows; leave out --region {view.region}")
    first, *others = (evaluation.predictions for evaluation in evaluations.values())
    if kind.name == "class-wise" or (kind.one_score and view.lens.startswith("class-")):
        for other in others:
            require_classes(other, first.classes, first.provenance.path)
    results, figure = MAKERS[kind.name](evaluations, view, first.classes)
    if kind.one_score and kind.name != "ks" and view.region != "all":
        zoom(figure, region_ends(view.region), _height(results.values()))
    tables = {key: result.columns() for key, result in results.items()}
    for key, result in results.items():
        if isinstance(result, Reliability | Curve | CalibrationMap):
            tables |= {f"{key}, {what}": table for what, table in result.columns_beside().items()}
    return Drawing(figure, tables)


def standard_set(evaluation: Evaluation, folder: str | Path) -> list[Path]:
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
    for name in standard_names(evaluation.predictions.n_classes):
        paths.append(Path(folder) / f"{name}.png")
        save(draw(name, {title: evaluation}).figure, paths[-1])
    return paths


def _height(results: Iterable[Any]) -> tuple[float, float] | None:
    """Return what curves and the diagonal span; None for bars, which stand on 0."""
    curves = [result for result in results if isinstance(result, Curve)]
    ends = [end for curve in curves for end in (curve.score, curve.frequency)]
    return (min(end.min() for end in ends), max(end.max() for end in ends)) if curves else None


Results = Mapping[str, Any]
Maker = Callable[[Evaluations, View, Sequence[str]], tuple[Results, Figure]]


def _each(compute: Callable[[Evaluation, View], Any], drawn: Callable[..., Figure]) -> Maker:
    """Return a maker of figures with one result a system."""

    def make(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
        results = {system: compute(evaluation, view) for system, evaluation in evaluations.items()}
        return results, drawn(results)

    return make


def _through_lens(compute: Callable[[Evaluation, View, Problem], Any], drawn: Callable[..., Figure]) -> Maker:
    """Return a maker of figures of the problem of a lens, whose axes name the class where it is of one."""

    def make(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
        where = "" if view.region == "all" else f", {view.region}"
        results = {
            system + where: compute(evaluation, view, problem_of(evaluation, view.lens, view.region))
            for system, evaluation in evaluations.items()
        }
        return results, drawn(results, names)

    return make


def _reliability(evaluation: Evaluation, view: View, problem: Problem) -> Reliability:
    settings = evaluation.settings
    estimator = find_estimator(parse_metric(f"ece:binning={view.binning}", settings.defaults), settings.edges)
    return reliability_of(
        problem, view.lens, cast(BinnedError, estimator), evaluation.estimates,
        view.draws, settings.seed, view.region,
    )  # fmt: skip


def _deviation(evaluation: Evaluation, view: View, problem: Problem) -> Reliability:
    if not view.draws:
        raise UsageError(
            "a deviation diagram shows what chance allows, from simulated data: give --draws 999"
        )
    return _reliability(evaluation, view, problem)


def _class_wise(evaluation: Evaluation, view: View) -> ClassReliability:
    return class_reliability(evaluation.class_bins, evaluation.predictions.classes)


def _cumulative(evaluation: Evaluation, view: View, problem: Problem) -> Cumulative:
    return cumulative(problem, view.lens)


def _curve(kind: Callable[..., Curve]) -> Callable[[Evaluation, View, Problem], Curve]:
    def compute(evaluation: Evaluation, view: View, problem: Problem) -> Curve:
        rng = generator(evaluation.settings.seed, Stream.CURVES)
        return kind(problem, view.lens, CURVE_DRAWS, rng)

    return compute


def _risk(evaluation: Evaluation, view: View) -> RiskCurve:
    predictions = evaluation.predictions
    if predictions.n_classes != 2:
        raise UsageError(
            f"risk curves need 2 classes, and {predictions.provenance.path} has {predictions.n_classes};"
            " see the figure rejection"
        )
    return risk_curve(problem_of(evaluation, "class-1"))


def _scores(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    results = score_sets({system: evaluation.estimates for system, evaluation in evaluations.items()})
    return results, score_bars(results)


def _simplexes(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    results = {}
    for system, evaluation in evaluations.items():
        groups = _groups(evaluation, view.lens)
        binning: SimplexBinning = "recursive" if view.binning == "recursive" else "equal-size"
        for face, result in simplexes(evaluation.predictions, groups, binning).items():
            results[f"{system} {face}".strip()] = result
    return results, simplex(results)


def _groups(evaluation: Evaluation, lens: str) -> dict[str, list[int]] | None:
    """Return the class numbers of each group: of the groups that the lens names, or of the only ones."""
    known, classes = evaluation.settings.groups, evaluation.predictions.classes
    if lens not in known and len(known) > 1:
        raise UsageError(f"a simplex shows one of the class groups; choose with --lens: {', '.join(known)}")
    if not known:
        return None
    name = lens if lens in known else next(iter(known))
    members = group_members(name, known[name], classes)
    return {known[name][classes[numbers[0]]]: numbers for numbers in members}


def _epochs(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    results = courses(
        [
            {name: evaluation.estimates[name] for name in _asked("epochs", evaluation, view)}
            for evaluation in evaluations.values()
        ]
    )
    return results, epochs(results, list(evaluations))


def _slices(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    if not view.by:
        raise UsageError("the figure slices needs a column to slice by: --by COLUMN")
    if any(evaluation.settings.shift_to_priors for evaluation in evaluations.values()):
        raise UsageError(
            "the figure slices weights each slice to --priors, but moves no probabilities; leave out "
            "--shift-to-priors"
        )
    results = {
        system: forest_of(evaluation, view.by, _asked("slices", evaluation, view))
        for system, evaluation in evaluations.items()
    }
    return results, forest(results)


def _asked(figure: str, evaluation: Evaluation, view: View) -> list[str]:
    """Return those metrics of an evaluation that a figure is to show."""
    calls = parse_metrics(view.metrics or FIGURES[figure].metrics, evaluation.settings.defaults)
    asked = [str(call) for call in calls]
    found = [name for name in asked if name in evaluation.estimates]
    if not found:
        raise UsageError(f"the figure {figure} needs metrics that were not computed: {', '.join(asked)}")
    return found


def _maps(evaluations: Evaluations, view: View, names: Sequence[str]) -> tuple[Results, Figure]:
    if not view.calibrators:
        raise UsageError("a calibration map needs a calibrator file, made by calcli fit: --calibrator FILE")
    results = {}
    for system, evaluation in evaluations.items():
        for name, record in view.calibrators.items():
            predictions = evaluation.predictions
            require_classes(predictions, record.classes, name)
            record.refuse_kind(predictions.kind, predictions.provenance.path)
            results[f"{name} on {system}"] = map_of(record.calibrator, predictions, raw=record.raw)
    return results, calibration_map(results, names)


MAKERS: dict[str, Maker] = {
    "reliability": _through_lens(_reliability, reliability),
    "deviation": _through_lens(_deviation, deviation),
    "class-wise": _each(_class_wise, class_wise),
    "ks": _through_lens(_cumulative, ks_graphs),
    "corp": _through_lens(_curve(corp_curve), reliability_curve),
    "smooth": _through_lens(_curve(kernel_curve), reliability_curve),
    "simplex": _simplexes,
    "risk": _each(_risk, risk_curves),
    "rejection": _each(lambda evaluation, view: rejection_curve(evaluation.confidence), rejection_curves),
    "scores": _scores,
    "epochs": _epochs,
    "slices": _slices,
    "temperature": _each(lambda evaluation, view: temperature_of(evaluation.predictions), temperature_curve),
    "calibration-map": _maps,
}
