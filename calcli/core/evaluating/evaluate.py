"""The main job: predictions and metric expressions in, estimates out, from one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from calcli.core.data.binning import Bins, equal_width_edges
from calcli.core.data.blocks import ROW_STATISTICS
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
from calcli.core.evaluating.folded import is_told_by_cells, keep_odds, of_cells
from calcli.core.evaluating.gathering import SampledRows, measured_sample, needs_rows, of_sample, summed
from calcli.core.evaluating.measurements import NOTHING, Looks, Measurements, Pass, UnitsOf
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
from calcli.core.evaluating.stored import StoredMeasurements
from calcli.core.evaluating.usual import area_of, default_metrics, gap_of, is_sampled, tests_classes
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.questions import looks_at_classes, refuse_classes, refuse_places
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.state.state import Remains


def evaluate(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    companions: Companions | None = None,
    looks: Looks = NOTHING,
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
        What figures look at beside the top-1 problem.
    test_classes
        Whether the table of classes is tested as well, if the settings ask for every test.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = settings or Settings()
    require_clusters(predictions, settings.cluster)
    if companions and companions.calibration and not predictions.has_rows:
        path = predictions.provenance.path
        raise UsageError(
            f"--calibration-data is for rows, and {path} is a state, which keeps sums; leave it out"
        )
    companions = companions and companions.counted(predictions)
    predictions = counted(predictions)
    require_folds(predictions, settings.fold_column)
    alone = companions in (None, Companions())
    sampled = alone and is_sampled(predictions, settings)
    redrawn = settings.test or settings.sd or settings.resample_predictions  # which takes the rows
    if sampled and not redrawn and (sums := summed(predictions, settings, watch, looks.lenses)):
        with suppress(NeedsRows):
            return assess(sums, settings, test_classes)
    measured = measure(predictions, settings, watch, companions, looks=looks, sampled=sampled, folded=alone)
    return _resampled(assess(measured, settings, test_classes), measured)


def values(predictions: Predictions, settings: Settings) -> dict[str, float]:
    """Return the values of the metrics that settings name, from a lean pass.

    Parameters and errors as for `evaluate`; without priors and what draws at random.
    """
    predictions = counted(predictions)
    if isinstance(predictions, Remains) or is_sampled(predictions, settings):
        return {name: one.value for name, one in evaluate(predictions, settings).estimates.items()}
    return values_of(lean_pass(predictions, settings).run())


def lean_pass(predictions: Predictions, settings: Settings) -> Pass:
    """Return a pass that keeps what the metrics need that settings name, and nothing else."""
    made = Pass(predictions, settings)
    for call in _calls(predictions, settings):
        FAMILIES[call.entry.family].needs(call, made)
    return made


def values_of(measured: Measurements) -> dict[str, float]:
    """Return the values of these metrics, by canonical expression."""
    calls = _calls(measured.predictions, measured.settings)
    found = _findings(measured, calls, measured.settings)[0].estimates
    return {name: found[name].value for name in map(str, calls)}


def measure(
    predictions: Predictions,
    settings: Settings,
    watch: Watch | None = None,
    companions: Companions | None = None,
    units_for: UnitsOf | None = None,
    looks: Looks = NOTHING,
    *,
    sampled: bool = False,
    folded: bool = False,
) -> Measurements:
    """Return what one pass finds for the metrics of the settings.

    Parameters as for `evaluate`, and `units_for` as for `Pass`; `sampled` leaves what needs rows to a sample,
    and `folded` what they tell to cells of the log-odds by fold.
    """
    _refuse_draws(settings)
    if isinstance(predictions, Remains):
        return StoredMeasurements(predictions, predictions.state, settings, looks.lenses)
    calls = _calls(predictions, settings)
    predictions = at_priors(predictions, settings)

    made = Pass(predictions, settings, companions, units_for, looks)
    made.keep_rows({"hit": ROW_STATISTICS["hit"]})
    made.keep_looks()
    made.keep_bins(settings.bins)
    of_classes = any(call.is_class_wise or call.is_marginal for call in calls)
    if settings.test or (of_classes and tests_classes(predictions, settings)):
        made.keep_probs()
    told = [call for call in calls if folded and is_told_by_cells(call, predictions, settings)]
    others = [call for call in calls if call not in told]
    later = [call for call in others if sampled and needs_rows(call, predictions, settings)]
    for call in [*others, gap_of(predictions, settings)]:
        if call not in later:
            FAMILIES[call.entry.family].needs(call, made)
    if later or not (made.tells_areas or settings.cluster):  # a sample has no columns
        made.keep("sample", lambda: SampledRows(predictions))
    keep_odds(made, told)
    found = made.run(watch)
    found.deferred = frozenset(map(str, [*told, *later]))
    return found


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
    names = usual or settings.metrics or default_metrics(predictions, settings)[0]
    calls = parse_metrics(names, settings.defaults)
    if predictions.of_answers:
        refuse_classes(calls)
    if predictions.of_options:
        if settings.metrics:
            refuse_places(calls)
        calls = [call for call in calls if not looks_at_classes(call)]
    return calls


def assess(measured: Measurements, settings: Settings, test_classes: bool = True) -> Evaluation:
    """Return the evaluation of what `measure` found with these settings, or with more draws."""
    predictions, settings = measured.predictions, measured.agreed(settings)
    if not settings.draws_outcomes:
        settings = replace(settings, draws=0)
    calls = _calls(predictions, settings, measured.usual)
    found, missing = _findings(measured, calls, settings)
    bins = measured.lens_bins("top-1", settings.bins)
    classes = () if predictions.of_answers else tuple(class_rows(measured, settings, test_classes))
    summary = Summary(
        _input(measured, classes),
        replace(settings, metrics=settings.metrics or measured.usual),
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
    return Evaluation(
        predictions,
        summary,
        LensProblems(measured.seen, measured.problem),
        measured.class_bins(settings.bins),
        measured.posteriors,
        {lens: measured.vector_problem(lens) for lens in measured.looks.vectors},
        {limit: measured.collected(("thinned", limit)) for limit in measured.looks.thinned},
    )


def _gap(found: Findings, measured: Measurements, settings: Settings) -> Estimate | None:
    """Return the estimate that the verdict on the confidence rests on, whatever metrics were asked for."""
    call = gap_of(measured.predictions, settings)
    if str(call) in found.estimates:
        return found.estimates[str(call)]
    with suppress(NeedsRows):
        return FAMILIES[call.entry.family].estimates([call], measured, settings).estimates[str(call)]
    return None


def keep_order(made: Pass) -> None:
    """Keep what tells whether scores rank the wrong way round: of more than two classes a sample."""
    if made.predictions.n_classes == 2:
        made.keep_lens("class-1")
    else:
        made.keep("sample", lambda: SampledRows(made.predictions))


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
    with suppress(NeedsRows):
        many, sample = measured.predictions.n_classes > 2, measured.sample
        if many and sample is not None and not settings.cluster:
            measured = measured_sample(sample, measured, [call])
        elif many and area is None and not measured.keeps_probs:
            return None
        return backwards_area(measured)
    return None


def _findings(
    measured: Measurements, calls: Sequence[MetricExpression], settings: Settings
) -> tuple[Findings, list[str]]:
    """Return what is found out about metrics, and a sentence for each that needs rows that are not there.

    Raises
    ------
    NeedsRows
        If such a metric was asked for by name.
    """
    parts: list[Findings] = []
    left = {str(call): (call, "") for call in calls if str(call) in measured.deferred}
    for family, own in by_family([call for call in calls if str(call) not in left]):
        try:
            parts.append(family.estimates(own, measured, settings))
        except NeedsRows:
            for call in own:
                try:
                    parts.append(family.estimates([call], measured, settings))
                except NeedsRows as fault:
                    left[str(call)] = call, str(fault)
    parts += _from_odds(measured, left, settings)
    if not left:
        return Findings.joined(parts), []
    if measured.sample is not None:
        measured.deferred = frozenset(left)
        parts.append(of_sample(measured.sample, measured, [call for call, _ in left.values()]))
        return Findings.joined(parts), []
    path, missing = measured.predictions.provenance.path, dict[str, list[str]]()
    for call, reason in left.values():
        why = reason.removeprefix(f"{path}: ")
        if settings.metrics:
            raise NeedsRows(f"{path} cannot give {call.asked}: {why}")
        missing.setdefault(why, []).append(call.asked)
    return Findings.joined(parts), [f"left out: {', '.join(asked)}; {why}" for why, asked in missing.items()]


def _from_odds(
    measured: Measurements, left: dict[str, tuple[MetricExpression, str]], settings: Settings
) -> list[Findings]:
    """Return what cells of the log-odds tell of metrics that are left, and leave the others."""
    told = [call for call, _ in left.values() if is_told_by_cells(call, measured.predictions, settings)]
    if measured.odds is None or not told:
        return []
    for call in told:
        del left[str(call)]
    return [of_cells(measured.odds, measured, told)]


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
    predictions, facts, origin = measured.predictions, measured.facts, measured.predictions.provenance
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
        reading=predictions.reading,
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
