"""The main job: predictions and metric expressions in, estimates out, from one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from calcli.core.data.binning import Bins, equal_width_edges
from calcli.core.data.chance import Stream, generator
from calcli.core.data.predictions import Predictions
from calcli.core.data.priors import at_priors
from calcli.core.data.slices import counted
from calcli.core.data.units import Units, require_clusters, require_folds
from calcli.core.estimators.effort import affordable_resamples
from calcli.core.estimators.resampling import bootstrap_sd, resampled_nulls
from calcli.core.evaluating.classwise import class_rows
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Findings
from calcli.core.evaluating.families.ranking import backwards_area
from calcli.core.evaluating.gathering import (
    lack,
    measured_sample,
    needs_of,
    needs_of_report,
    needs_rows,
    of_sample,
    of_state,
)
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import (
    ClassRow,
    Estimate,
    Evaluation,
    Input,
    LensProblems,
    ReliabilityBin,
    Summary,
)
from calcli.core.evaluating.usual import area_of, default_metrics, gap_of, is_sampled, tests_classes
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.questions import looks_at_classes, refuse_classes, refuse_places
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.state.collect import collect
from calcli.core.state.needs import (
    Need,
    Sampled,
    Scores,
    UnitsOf,
    Vectors,
    all_probs,
    through,
)
from calcli.core.state.state import Remains

MANY_ROWS = 5_000_000  # above which a run keeps sums, not rows


def evaluate(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    companions: Companions | None = None,
    looks: Sequence[str] = (),
    test_classes: bool = True,
) -> Evaluation:
    """Evaluate predictions.

    Parameters
    ----------
    predictions
        Scores and labels.
    settings
        Metrics and how to compute them; the default report if None.
    watch
        Called with the number of rows done as the pass goes on.
    companions
        Predictions that some metrics need beside them.
    looks
        Lenses that figures look through, beside top-1.
    test_classes
        Whether the table of classes is tested as well, if the settings ask for every test.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = settings or Settings()
    require_clusters(predictions, settings.cluster)
    companions = companions and companions.counted(predictions)
    predictions = counted(predictions)
    require_folds(predictions, settings.fold_column)
    alone = companions in (None, Companions())
    sampled = alone and is_sampled(predictions, settings)
    redrawn = settings.test or settings.sd or settings.resample_predictions  # which takes the rows
    measured = measure(
        predictions,
        settings,
        watch,
        companions,
        looks=looks,
        sampled=sampled,
        summed=sampled and not redrawn and predictions.n_rows > MANY_ROWS,
    )
    return _resampled(assess(measured, settings, test_classes, looks), measured)


def values(predictions: Predictions, settings: Settings) -> dict[str, float]:
    """Return the values of the metrics that settings name, from a lean pass.

    Parameters and errors as for `evaluate`; without priors and what draws at random.
    """
    predictions = counted(predictions)
    if is_sampled(predictions, settings):
        return {name: one.value for name, one in evaluate(predictions, settings).estimates.items()}
    return values_of(Measurements.of(predictions, settings, lean_needs(predictions, settings)))


def lean_needs(predictions: Predictions, settings: Settings) -> list[Need]:
    """Return what the metrics need that settings name, and nothing else."""
    calls = _calls(predictions, settings)
    return [need for call in calls for need in needs_of(call, predictions, settings)]


def values_of(measured: Measurements) -> dict[str, float]:
    """Return the values of the metrics that settings name, by canonical expression."""
    calls = _calls(measured.predictions, measured.settings)
    found = _findings(measured, calls, measured.settings)[0].estimates
    return {name: found[name].value for name in map(str, calls)}


def measure(
    predictions: Predictions,
    settings: Settings,
    watch: Watch | None = None,
    companions: Companions | None = None,
    units_for: UnitsOf | None = None,
    looks: Sequence[str] = (),
    *,
    sampled: bool = False,
    summed: bool = False,
) -> Measurements:
    """Return what a state, or one pass over rows, tells of the metrics of the settings.

    Parameters as for `evaluate`. `units_for` tells the units that change sides in a comparison; `sampled`
    leaves what needs rows to a sample; `summed` keeps no row.
    """
    _refuse_draws(settings)
    if isinstance(predictions, Remains):
        if companions and companions.calibration:
            path = predictions.provenance.path
            raise UsageError(
                f"--calibration-data is for rows, and {path} is a state, which keeps sums; leave it out"
            )
        state = predictions.state
        settings = of_state(state, settings, predictions.provenance.path)
        calls = _calls(predictions, settings, state.head.metrics)
        lacks = {str(call): lack(call, state, predictions, settings) for call in calls}
        left = {name: reason for name, reason in lacks.items() if reason}
        return Measurements(predictions, state, settings, left=left)
    calls = _calls(predictions, settings)
    rows = at_priors(predictions, settings)

    later = [call for call in calls if sampled and needs_rows(call, rows, settings, summed=summed)]
    others = [call for call in [*calls, gap_of(rows, settings)] if call not in later]
    needs = needs_of_report(rows, settings, others, looks, units_for)
    of_classes = any(call.is_class_wise or call.is_marginal for call in calls)
    if settings.test or (of_classes and tests_classes(rows, settings)):
        needs.append(all_probs(rows))
    if summed:  # problems of several outcomes are looked up later, by the figures
        needs = [need for need in needs if not need.of_rows]
        sampling = bool(later)
    else:  # a sample, which has no columns, tells whether scores rank the wrong way round
        ordered = rows.n_classes == 2 or all_probs(rows) in needs
        sampling = bool(later) or not (ordered or settings.cluster)
    needs += [Sampled()] if sampling else []
    state = collect(rows, settings, needs, watch, summed=summed)
    left = dict.fromkeys(map(str, later), "")
    return Measurements(rows, state, settings, companions, left=left)


def _refuse_draws(settings: Settings) -> None:
    """Raise a UsageError if outcomes are asked to be drawn that cannot be."""
    if settings.draws_outcomes or not (settings.test or settings.resample_predictions):
        return
    option = "--test" if settings.test else "--resample-predictions"
    reason = "with --priors rows are weighted by their outcomes"
    if settings.cluster is not None:
        reason = f"--cluster {settings.cluster} says that rows depend on each other"
    raise UsageError(f"{option} draws independent outcomes, but {reason}; leave out one of the two")


def _calls(predictions: Predictions, settings: Settings, usual: Sequence[str] = ()) -> list[MetricExpression]:
    names = settings.metrics or usual or default_metrics(predictions, settings)[0]
    calls = parse_metrics(names, settings.defaults)
    if predictions.of_answers:
        refuse_classes(calls)
    if predictions.of_options:
        if settings.metrics:
            refuse_places(calls)
        calls = [call for call in calls if not looks_at_classes(call)]
    return calls


def assess(
    measured: Measurements, settings: Settings, test_classes: bool = True, looks: Sequence[str] = ()
) -> Evaluation:
    """Return the evaluation of what `measure` found with these settings, or with more draws."""
    predictions, settings = measured.predictions, measured.agreed(settings)
    if not settings.draws_outcomes:
        settings = replace(settings, draws=0)
    usual = measured.state.head.metrics
    calls = _calls(predictions, settings, usual)
    found, missing = _findings(measured, calls, settings)
    bins = measured.lens_bins("top-1", settings.bins)
    classes = () if predictions.of_answers else tuple(class_rows(measured, settings, test_classes))
    summary = Summary(
        _input(measured, classes),
        replace(settings, metrics=settings.metrics or usual),
        {str(call): found.estimates[str(call)] for call in calls if str(call) in found.estimates},
        float(bins.outcome.sum() / bins.weight.sum()),
        measured.infinite_log_loss,
        classes,
        tuple(_reliability(bins)),
        found.decisions,
        () if settings.metrics else (*default_metrics(predictions, settings)[1], *missing),
        found.notes,
        measured.clipped_rows,
        gap=_gap(found, measured, settings),
        backwards_area=area_if_backwards(measured, settings, found.estimates),
    )
    seen = {name: through(name, predictions, settings) for name in dict.fromkeys(["top-1", *looks])}
    known = {name: need for name, need in seen.items() if measured.state.tells(need)}
    return Evaluation(
        predictions,
        summary,
        LensProblems((name for name, need in known.items() if isinstance(need, Scores)), measured.problem),
        measured.class_bins(settings.bins),
        measured.posteriors,
        {name: measured.vector_problem(name) for name, need in known.items() if isinstance(need, Vectors)},
    )


def _gap(found: Findings, measured: Measurements, settings: Settings) -> Estimate | None:
    """Return the estimate that the verdict on the confidence rests on, whatever metrics were asked for."""
    call = gap_of(measured.predictions, settings)
    if str(call) in found.estimates:
        return found.estimates[str(call)]
    if not measured.state.tells(*needs_of(call, measured.predictions, settings)):
        return None
    return FAMILIES[call.entry.family].estimates([call], measured, settings).estimates[str(call)]


def needs_of_order(predictions: Predictions, settings: Settings) -> Iterable[Need]:
    """Return what tells whether scores rank the wrong way round: of more than two classes a sample."""
    of_all = predictions.n_classes == 2
    return needs_of(area_of(settings), predictions, settings) if of_all else (Sampled(),)


def area_if_backwards(
    measured: Measurements, settings: Settings, known: Mapping[str, Estimate]
) -> float | None:
    """Return the area under the ROC curve if scores rank the wrong way round beyond chance, else None.

    More than two classes are put in order if their area is asked for; else a sample of the rows tells it.
    """
    call = area_of(settings)
    area = known.get(str(call))
    if area is not None and not area.value < 0.5:
        return None
    sample = measured.sample
    if measured.predictions.n_classes > 2 and sample is not None and not settings.cluster:
        measured = measured_sample(sample, measured, [call])
    told = measured.state.tells(*needs_of(call, measured.predictions, settings))
    return backwards_area(measured) if told else None


def _findings(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings
) -> tuple[Findings, list[str]]:
    """Return what is found out about metrics, and a sentence for each that needs rows that are not there.

    Raises
    ------
    NeedsRows
        If such a metric was asked for by name.
    """
    told = [call for call in calls if str(call) not in measured.left]
    parts = [family.estimates(own, measured, settings) for family, own in by_family(told)]
    left = [call for call in calls if str(call) in measured.left]
    if left and measured.sample is not None:
        parts.append(of_sample(measured.sample, measured, left))
        left = []
    path, missing = measured.predictions.provenance.path, dict[str, list[str]]()
    for call in left:
        why = measured.left[str(call)].removeprefix(f"{path}: ")
        if settings.metrics:
            raise NeedsRows(f"{path} cannot give {call.asked}: {why}")
        missing.setdefault(why, []).append(call.asked)
    return Findings.joined(parts), [f"left out: {', '.join(asked)}; {why}" for why, asked in missing.items()]


def _resampled(evaluation: Evaluation, measured: Measurements) -> Evaluation:
    """Return the evaluation with what has to compute metrics on resampled rows, if it is asked for.

    What comes from a sample of the rows is computed on resamples of these.
    """
    settings, found = evaluation.settings, dict(evaluation.estimates)
    plain = replace(
        settings,
        intervals=False,
        draws=0,
        test=False,
        resample_predictions=False,
        sd=False,
        cluster=None,
        rows="all",
    )

    def values_of(names: Iterable[str]) -> Callable[[Predictions], dict[str, float]]:
        metrics = tuple(found[name].call.asked for name in names)
        inner = replace(plain, metrics=metrics, priors=None)  # which the rows already have
        return lambda rows: values(rows, inner)

    errors = {name: e for name, e in found.items() if _is_redrawn(e)}
    drawing = partial(generator, settings.seed)
    if settings.resample_predictions:
        for rows, names in _rows_behind(
            evaluation, measured, [name for name, e in errors.items() if e.if_calibrated is not None]
        ):
            tested, rng = {n: errors[n].value for n in names}, drawing(Stream.RESAMPLED_PREDICTIONS)
            for name, null in resampled_nulls(rows, values_of(tested), tested, settings.draws, rng).items():
                found[name] = replace(found[name], if_calibrated=null)
    if settings.test and settings.draws and evaluation.posteriors is not None:
        tested = {name: e.value for name, e in errors.items() if not np.isnan(e.value)}
        rows, known, rng = evaluation.predictions, evaluation.posteriors, drawing(Stream.GIVEN_OUTCOMES)
        resample = settings.resample_predictions
        given = resampled_nulls(
            rows, values_of(tested), tested, settings.draws, rng, known, resample=resample
        )
        for name, null in given.items():
            found[name] = replace(found[name], if_given=null)
    if settings.sd:
        repeated = [name for name, e in found.items() if not (e.call.entry.family.fits or e.call.trains_bins)]
        for rows, names in _rows_behind(evaluation, measured, repeated):
            units = Units.of(rows.n_rows, rows.column_if(settings.cluster))
            resamples = {name: _resamples(found[name].call, rows, settings) for name in names}
            for name, sd in bootstrap_sd(rows, values_of, resamples, drawing(Stream.SPREAD), units).items():
                found[name] = replace(found[name], sd=sd)
    return replace(evaluation, summary=replace(evaluation.summary, estimates=found))


def _resamples(call: MetricExpression, rows: Predictions, settings: Settings) -> int:
    """Return how many resamples of rows the standard deviation of a metric is made of."""
    scores = math.prod(rows.scores.shape)
    return affordable_resamples(scores + FAMILIES[call.entry.family].effort(call, rows, settings), scores)


def _rows_behind(
    evaluation: Evaluation, measured: Measurements, names: Sequence[str]
) -> Iterator[tuple[Predictions, list[str]]]:
    """Yield all rows and the estimates that come from them, and a sample and those that come from it."""
    few = [name for name in names if evaluation.estimates[name].rows is not None]
    if own := [name for name in names if name not in few]:
        yield evaluation.predictions, own
    if few and measured.sample is not None:
        yield measured.sample.of(evaluation.predictions), few


def _input(measured: Measurements, classes: Sequence[ClassRow]) -> Input:
    predictions, facts, origin = measured.predictions, measured.state.facts, measured.predictions.provenance
    return Input(
        **vars(origin),
        rows=predictions.n_rows,
        classes=predictions.n_classes,
        class_names=predictions.classes,
        weighted=predictions.weights is not None,
        kind=predictions.kind,
        kind_reason=predictions.scores.kind_reason,
        dtype=str(predictions.scores.dtype),
        computed_in=str(measured.dtype),
        worst_row_sum=facts.worst_row_sum,
        zeros=facts.zeros,
        ones=facts.ones,
        tied_rows=facts.tied_rows,
        absent_classes=tuple(row.name for row in classes if not row.rows),
        reading=predictions.reading(measured.settings.cluster),
    )


def _reliability(bins: Bins) -> Iterator[ReliabilityBin]:
    edges = equal_width_edges(len(bins.count)).tolist()
    columns = zip(edges, edges[1:], bins.count, bins.weight, bins.score, bins.outcome, strict=False)
    for low, high, count, weight, score, outcome in columns:
        if weight > 0:
            yield ReliabilityBin(low, high, int(count), float(score / weight), float(outcome / weight))


def _is_redrawn(estimate: Estimate) -> bool:
    """Tell whether an error is compared with itself on data that are drawn anew."""
    return estimate.call.entry.family.beside_null and not estimate.call.trains_bins
