"""Evaluation: predictions and settings in, estimates out, through one pass, its state and a sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from calcli.core.data.derived import Slice, at_priors, counted, select_each, slice_numbers, sliced
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import UNIT_LIMIT, clusters_of, require_clusters, require_folds
from calcli.core.estimators.calibrationerror import enough_draws, holm, with_holm
from calcli.core.estimators.evidence import slice_p_value
from calcli.core.evaluating.measurements import Measurements, measured_sample
from calcli.core.evaluating.metrics.scores import Scored, decisions_of
from calcli.core.evaluating.results import Decision, Estimate, Evaluation, Input, LensProblems, Summary
from calcli.core.evaluating.sections import SECTIONS, Section
from calcli.core.evaluating.usual import default_metrics, is_sampled, operating_points, tests_classes
from calcli.core.language.errors import InputError, NeedsRows, UsageError
from calcli.core.language.expressions import (
    Measure,
    looks_at_classes,
    parse_metrics,
    refuse_classes,
    refuse_places,
    refuse_probabilities,
)
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch
from calcli.core.state.collect import collect
from calcli.core.state.needs import CLIPPED, Mean, Need, Pass, Sampled, Scores, Vectors, all_probs, through
from calcli.core.state.state import StatePredictions, predictions_of, states_by


def needs_rows(metric: Measure, rows: Predictions, settings: Settings, *, summed: bool = False) -> bool:
    """Return whether a metric needs more than states in files hold, or than sums if rows are summed."""
    needs = metric.needs(Pass(rows, settings, summed))
    return any(need.of_rows or (summed and need.each) for need in needs)


def missing_reason(metric: Measure, remains: StatePredictions, settings: Settings) -> str:
    """Return why a state does not provide a metric, as a clause; "" if it does."""
    try:
        return remains.state.missing_reason(metric.needs(Pass(remains, settings)))
    except NeedsRows as fault:  # to know what it needs
        return str(fault)


def needs_of_report(
    rows: Predictions,
    settings: Settings,
    metrics: Iterable[Measure],
    sections: Iterable[Section],
    lenses: Iterable[str] = (),
    *,
    summed: bool = False,
) -> list[Need]:
    """Return the needs of metrics, of sections, of the lenses of figures, and of clipping."""
    needs: list[Need] = [through(name, rows, settings) for name in lenses]
    for section in sections:
        needs += section.needs(rows, settings)
    if settings.clip:
        least = np.log(settings.clip)
        needs.append(Mean(CLIPPED, lambda block: block.log_prob <= least))
    for metric in metrics:
        needs += metric.needs(Pass(rows, settings, summed))
    return needs


def estimates_of(
    measured: Measurements, metrics: Sequence[Measure], settings: Settings
) -> dict[str, Estimate]:
    """Return the estimates of metrics, by canonical expression; estimates from a sample tell its size."""
    rows = None if measured.of_rows is None else measured.predictions.n_rows
    estimates = {str(metric): metric.estimate(measured, settings, metrics) for metric in metrics}
    return estimates if rows is None else {name: replace(e, rows=rows) for name, e in estimates.items()}


def of_state(predictions: Predictions, settings: Settings) -> Settings:
    """Return the settings with the choices made when a state was made, if the predictions are a state.

    Raises
    ------
    UsageError
        If the settings contradict the state, or need rows that it does not keep.
    """
    if not isinstance(predictions, StatePredictions):
        return settings
    head, name = predictions.state.head, predictions.provenance.path
    if not predictions.has_rows:
        require_mergeable(settings)
    for wanted, stored, option in (
        (settings.clip * uses_clip(settings), head.clip, "--clip"),
        (settings.groups, head.groups, "--class-groups"),
    ):
        if wanted and wanted != stored:
            was = f"with {stored}" if stored else "without"
            raise UsageError(f"{option}: {name} was made {was}; make a state with it from the predictions")
    return replace(settings, metrics=settings.metrics or head.metrics, clip=head.clip, groups=head.groups)


def uses_clip(settings: Settings) -> bool:
    """Return whether a requested metric depends on clipping; some of the default metrics do."""
    metrics = parse_metrics(settings.metrics, settings.defaults)
    return not metrics or any(metric.is_clipped for metric in metrics)


def require_mergeable(settings: Settings) -> None:
    """Raise a UsageError if settings ask for what cannot be merged from parts."""
    for value, option, reason in (
        (settings.priors, "--priors", "their weights depend on all rows"),
        (settings.shift_to_priors, "--shift-to-priors", "move the probabilities with calcli apply first"),
        (settings.cluster, "--cluster", "clusters may continue in other parts"),
        (settings.costs, "--costs", "their decisions are not among the sums"),
        (settings.decision_column, "--decision-column", "their costs are not among the sums"),
        (settings.cost_column, "--cost-column", "their costs are not among the sums"),
    ):
        if value:
            raise UsageError(f"{option} does not go into a state: {reason}; leave it out")


def evaluate(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    calibration: Predictions | None = None,
    extra_lenses: Sequence[str] = (),
    sections: Sequence[Section] = SECTIONS,
) -> Evaluation:
    """Evaluate predictions.

    Parameters
    ----------
    predictions
        Scores and labels.
    settings
        Metrics and how to compute them; the default report if None.
    watch
        Called with the number of rows done during the pass.
    calibration
        Rows that recalibrations are fitted to, with training=held-out.
    looks
        Lenses of figures, in addition to top-1.
    sections
        The sections of the report besides metrics.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = settings or Settings()
    settings = replace(settings, cluster=clusters_of(predictions, settings.cluster))
    require_clusters(predictions, settings.cluster)
    predictions = counted(predictions)
    require_folds(predictions, settings.fold_column)
    sampled = calibration is None and is_sampled(predictions, settings)
    measured = measure(
        predictions,
        settings,
        watch,
        calibration,
        extra_lenses=extra_lenses,
        sections=sections,
        sampled=sampled,
        summed=sampled and not settings.test and predictions.n_rows > UNIT_LIMIT,
    )
    return assess(measured, settings, extra_lenses, sections)


def values(predictions: Predictions, settings: Settings) -> dict[str, float]:
    """Return the values of the metrics in the settings, from a minimal pass.

    Parameters and errors as for `evaluate`, without priors and random draws.
    """
    predictions, settings = counted(predictions), of_state(predictions, settings)
    if is_sampled(predictions, settings):
        return {name: e.value for name, e in evaluate(predictions, settings, sections=()).estimates.items()}
    return values_of(Measurements.of(predictions, settings, lean_needs(predictions, settings)))


def lean_needs(predictions: Predictions, settings: Settings) -> list[Need]:
    """Return the needs of the metrics in the settings, and nothing else."""
    return needs_of_report(predictions, settings, _asked_calls(predictions, settings), sections=())


def values_of(measured: Measurements) -> dict[str, float]:
    """Return the values of the metrics in the settings, by canonical expression."""
    metrics = _asked_calls(measured.predictions, measured.settings)
    estimates = _findings(measured, metrics, measured.settings)[0]
    return {name: estimates[name].value for name in map(str, metrics)}


def measure(
    predictions: Predictions,
    settings: Settings,
    watch: Watch | None = None,
    calibration: Predictions | None = None,
    extra_lenses: Sequence[str] = (),
    sections: Sequence[Section] = SECTIONS,
    *,
    sampled: bool = False,
    summed: bool = False,
) -> Measurements:
    """Return the measurements for the metrics in the settings, from a state or one pass over rows.

    Parameters as for `evaluate`. `sampled` uses a sample for what needs rows; `summed` keeps no rows.
    """
    _refuse_draws(settings)
    settings = of_state(predictions, settings)
    metrics = _asked_calls(predictions, settings)
    if isinstance(predictions, StatePredictions) and not predictions.has_rows:
        state, path = predictions.state, predictions.provenance.path
        if calibration is not None:
            raise UsageError(
                f"--calibration-data is for rows, and {path} is a state, which keeps sums; leave it out"
            )
        postponed = {str(m): why for m in metrics if (why := missing_reason(m, predictions, settings))}
        return Measurements(predictions, state, replace(settings, test=False), left=postponed)
    rows = at_priors(predictions, settings)

    later = [metric for metric in metrics if sampled and needs_rows(metric, rows, settings, summed=summed)]
    direct = [metric for metric in metrics if metric not in later]
    needs = needs_of_report(rows, settings, direct, sections, extra_lenses, summed=summed)
    of_classes = any(metric.is_class_wise for metric in metrics)
    if settings.test or (of_classes and tests_classes(rows, settings)):
        needs.append(all_probs(rows))
    if summed:  # figures look up problems of several outcomes later
        needs = [need for need in needs if not need.of_rows]
    spaced = summed and rows.n_classes == 2 and rows.weights is None  # fits use rows rebuilt from cells
    needs += [Sampled()] if any(not (spaced and metric.entry.family.fits) for metric in later) else []
    state = collect(rows, settings, needs, watch, summed=summed)
    postponed = dict.fromkeys(map(str, later), "")
    return Measurements(rows, state, settings, calibration, left=postponed)


def _refuse_draws(settings: Settings) -> None:
    """Raise a UsageError if settings ask to draw outcomes that cannot be drawn."""
    if settings.draws_outcomes or not settings.test:
        return
    reason = "with --priors rows are weighted by their outcomes"
    if settings.cluster is not None:
        reason = f"--cluster {settings.cluster} says that rows depend on each other"
    raise UsageError(f"--test draws independent outcomes, but {reason}; leave out one of the two")


def _asked_calls(predictions: Predictions, settings: Settings) -> list[Measure]:
    metrics = parse_metrics(settings.metrics or default_metrics(predictions, settings)[0], settings.defaults)
    metrics += [metric for point in operating_points(predictions, settings).values() for metric in point]
    refuse_probabilities(metrics, predictions.provenance.outcomes)
    if predictions.of_answers:
        refuse_classes(metrics)
    if predictions.of_options:
        if settings.metrics:
            refuse_places(metrics)
        metrics = [metric for metric in metrics if not looks_at_classes(metric)]
    return metrics


def assess(
    measured: Measurements,
    settings: Settings,
    extra_lenses: Sequence[str] = (),
    sections: Sequence[Section] = SECTIONS,
) -> Evaluation:
    """Return the evaluation of measurements with these settings, or with more draws."""
    predictions, since = measured.predictions, measured.settings
    settings = replace(settings, clip=since.clip, groups=since.groups, test=settings.test and since.test)
    settings = settings if settings.draws_outcomes else replace(settings, draws=0)
    usual = since.metrics
    metrics = _asked_calls(predictions, replace(settings, metrics=settings.metrics or usual))
    estimates, missing, notes = _findings(measured, metrics, settings)
    contents: dict[str, Any] = {}
    for section in sections:
        contents |= section.shown(measured, settings, estimates)
    summary = Summary(
        _input(measured),
        replace(settings, metrics=settings.metrics or usual),
        {str(metric): estimates[str(metric)] for metric in metrics if str(metric) in estimates},
        measured.infinite_log_loss if predictions.has_probabilities else None,
        _decisions(measured, [metric for metric in metrics if str(metric) not in measured.left]),
        () if settings.metrics else (*default_metrics(predictions, settings)[1], *missing),
        notes,
        measured.clipped_rows,
        **contents,
    )
    seen = {
        name: through(name, predictions, settings)
        for name in dict.fromkeys([predictions.resolve_lens(), *extra_lenses])
    }
    needs = {name: need for name, need in seen.items() if measured.state.provides(need)}
    return Evaluation(
        predictions,
        summary,
        LensProblems((name for name, need in needs.items() if isinstance(need, Scores)), measured.problem),
        measured.class_bins(settings.bins) if "per_class" in contents else None,
        {name: measured.vector_problem(name) for name, need in needs.items() if isinstance(need, Vectors)},
    )


def _decisions(measured: Measurements, metrics: Iterable[Measure]) -> dict[str, tuple[Decision, ...]]:
    """Return how often each decision was taken, for each of the costs in use."""
    costs = [metric.of(measured).costs for metric in metrics if isinstance(metric, Scored)]
    return {cost.title: tuple(decisions_of(measured, cost)) for cost in costs if cost is not None}


def _findings(
    measured: Measurements, metrics: Sequence[Measure], settings: Settings
) -> tuple[dict[str, Estimate], list[str], tuple[str, ...]]:
    """Return the estimates, a sentence for each metric that needs missing rows, and notes from fits.

    Raises
    ------
    NeedsRows
        If such a metric was requested by name.
    """
    direct = [metric for metric in metrics if str(metric) not in measured.left]
    later = [metric for metric in metrics if str(metric) in measured.left]
    estimates, fitted = estimates_of(measured, direct, settings), [(measured, direct)]
    spaced = measured.spaced() if any(metric.entry.family.fits for metric in later) else None
    samples = [] if measured.sample is None else [(later, measured.sample.of(measured.predictions))]
    if spaced is not None:
        samples = [([metric for metric in later if metric.entry.family.fits], spaced), *samples]
    for batch, rows in samples:
        if untold := [metric for metric in batch if str(metric) not in estimates]:
            sample = measured_sample(rows, measured, untold)
            estimates |= estimates_of(sample, untold, sample.settings)
            fitted.append((sample, untold))
    later = [metric for metric in later if str(metric) not in estimates]
    fits = [
        run.recalibrations.notes()
        for run, members in fitted
        if any(metric.entry.family.fits for metric in members)
    ]
    path, missing = measured.predictions.provenance.path, dict[str, list[str]]()
    for metric in later:
        why = measured.left[str(metric)].removeprefix(f"{path}: ")
        if settings.metrics:
            raise NeedsRows(f"{path} cannot give {metric.text}: {why}")
        missing.setdefault(why, []).append(metric.text)
    return (
        estimates,
        [f"left out: {', '.join(batch)}; {why}" for why, batch in missing.items()],
        (*chain(*fits),),
    )


def _input(measured: Measurements) -> Input:
    predictions, facts, origin = measured.predictions, measured.state.facts, measured.predictions.provenance
    names = np.array(predictions.classes, object)
    return Input(
        **vars(origin) | ({"left": ()} if origin.label else {}),  # of many labels these would add up
        rows=predictions.n_rows,
        classes=predictions.n_classes,
        class_names=predictions.classes,
        weighted=predictions.weights is not None,
        kind=predictions.scores_as_read.kind,
        kind_reason=predictions.scores_as_read.kind_reason,
        dtype=str(predictions.scores.dtype),
        computed_in=str(measured.dtype),
        worst_row_sum=facts.worst_row_sum,
        zeros=facts.zeros,
        ones=facts.ones,
        tied_rows=facts.tied_rows,
        absent_classes=() if predictions.of_answers else tuple(names[~measured.rows_by_class.astype(bool)]),
        reading=predictions.reading(measured.settings.cluster),
    )


def evaluate_slices(
    predictions: Predictions, column: str, summary: Summary, calibration: Predictions | None = None
) -> Iterator[tuple[Slice, Evaluation]]:
    """Evaluate the rows of every value of a column like the whole.

    Calibration losses, which need fits of their own, are computed only if the settings name them.

    Parameters
    ----------
    predictions
        All rows.
    column
        One of their columns.
    summary
        The summary of all rows. Its settings hold for the slices; many slices take more draws, to
        correct their p-values for their number.
    calibration
        Rows that recalibrations are fitted to, with training=held-out.

    Raises
    ------
    InputError
        If there is no such column, it has too many values, or a slice cannot be evaluated.
    """
    settings = summary.settings
    states, path = states_by(predictions, column), predictions.provenance.path
    if states:
        slices = [Slice(column, value) for value in states]
        predictionses: Iterable[Predictions] = (predictions_of(state, path) for state in states.values())
    else:
        predictions = counted(predictions)
        slices, numbers = slice_numbers(predictions, column)
        predictionses = select_each(predictions, numbers)
        if not settings.metrics:
            metrics = [e.metric for e in summary.estimates.values() if not e.metric.entry.family.fits]
            settings = replace(settings, metrics=tuple(metric.text for metric in metrics))
    if settings.draws:
        settings = replace(settings, draws=max(settings.draws, enough_draws(len(slices))))
    for part, rows in zip(slices, predictionses, strict=True):
        try:
            evaluation = evaluate(sliced(rows, part), settings, calibration=calibration)
        except InputError as fault:
            raise InputError(f"slice {part}: {fault}") from fault
        yield part, evaluation


def slices_of(
    predictions: Predictions, columns: Iterable[str], summary: Summary, calibration: Predictions | None = None
) -> dict[str, tuple[Summary, ...]]:
    """Return the results for every value of columns, by column; see `evaluate_slices`."""
    return {
        column: tuple(
            replace(evaluation.summary, slice=part)
            for part, evaluation in evaluate_slices(predictions, column, summary, calibration)
        )
        for column in columns
    }


def slice_p_values(pairs: Iterable[tuple[Estimate, Estimate, float]]) -> list[float]:
    """Return p-values for slices equal to all rows, corrected for their number (Holm).

    Parameters
    ----------
    pairs
        The estimate of a slice, the estimate of all rows, and the share of the rows in the slice.

    Returns
    -------
    In [0, 1]; nan without intervals, and then not counted. The interval of a calibration
    error is wider than its spread, and is not counted either.
    """
    p_values = np.array(
        [
            math.nan
            if overall.metric.entry.family.has_null
            else slice_p_value(part.value, part.interval, overall.value, overall.interval, share)
            for part, overall, share in pairs
        ]
    )
    tested = ~np.isnan(p_values)
    p_values[tested] = holm(p_values[tested])
    return p_values.tolist()


def with_corrected_p(
    slices: Sequence[Mapping[str, Estimate]], enough: Sequence[bool]
) -> list[dict[str, Estimate]]:
    """Return estimates with the p-values of every metric corrected for the number of tested slices (Holm).

    Parameters
    ----------
    slices
        The estimates of each slice, by metric expression.
    enough
        Whether each slice has enough rows to be compared; the others do not count.
    """
    corrected = [dict(part) for part in slices]
    for name in corrected[0] if corrected else ():
        nulls = with_holm([part[name].if_calibrated for part in corrected], enough)
        for part, null in zip(corrected, nulls, strict=True):
            part[name] = replace(part[name], if_calibrated=null)
    return corrected
