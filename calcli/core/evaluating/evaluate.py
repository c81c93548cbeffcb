"""The main job: predictions and metric expressions in, estimates out, from one pass over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.binning import Bins, equal_width_edges
from calcli.core.data.predictions import Predictions, read_through
from calcli.core.data.priors import at_priors
from calcli.core.data.rows import ROW_STATISTICS
from calcli.core.data.streams import Stream, generator
from calcli.core.data.units import Units
from calcli.core.estimators.resampling import bootstrap_sd, resampled_nulls
from calcli.core.evaluating.classrows import class_rows
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Findings
from calcli.core.evaluating.measurements import Measurements, Pass, UnitsOf
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import (
    ClassRow,
    Evaluation,
    InfiniteLogLoss,
    Input,
    ReliabilityBin,
    Summary,
)
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.progress import Watch
from calcli.core.language.settings import Settings

RECALIBRATION_LIMIT = 10_000_000  # elements up to which the default report has calibration losses
FIRST = 5  # how many of the rows of infinite log-loss are named
AUROC_LIMIT = 10_000_000  # elements up to which the default report ranks every class


def default_metrics(
    predictions: Predictions, settings: Settings | None = None
) -> tuple[list[str], list[str]]:
    """Return the expressions of the default report, and a sentence for each metric left out."""
    rows, classes = predictions.scores.shape
    names = ["log_loss", "normalized_log_loss", "brier", "normalized_brier"]
    names += ["accuracy", "normalized_error_rate"]
    for one in settings.costs if settings else ():
        names += [f"bayes_risk:costs={one.name}", f"normalized_bayes_risk:costs={one.name}"]
    if settings and settings.decision_column is not None:
        for called in [one.name for one in settings.costs] or ["zero-one"]:
            names += [f"expected_cost:costs={called}", f"normalized_expected_cost:costs={called}"]
    skipped = []
    if classes > 5:
        names.append("top5_accuracy")
    if classes == 2 or rows * classes <= AUROC_LIMIT:
        names.append("auroc")
    else:
        skipped.append("auroc orders every class in memory and is left out; ask with --metrics auroc")
    names += ["mean_confidence", "mean_gap", "ece", "ece_l2", "mce", "ece:binning=equal-mass", "ks"]
    if rows * classes <= RECALIBRATION_LIMIT:
        names += ["relative_calibration_loss", "relative_calibration_loss:score=brier"]
        if classes == 2:
            names.append("relative_calibration_loss:recalibrator=pav:training=test")
    else:
        skipped.append(
            "relative_calibration_loss fits transforms to all rows and is left out; ask with --metrics "
            "relative_calibration_loss"
        )
    if classes == 2:
        names.append("ece:lens=class-1")
    return [*names, "cw_ece", "cw_ece_l2"], skipped


def evaluate(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    companions: Companions | None = None,
    lenses: Sequence[str] = (),
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
    lenses
        One-dimensional ones whose problems figures look at, beside the top-1 problem.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = settings or Settings()
    return _resampled(assess(measure(predictions, settings, watch, companions, lenses=lenses), settings))


def measure(
    predictions: Predictions,
    settings: Settings,
    watch: Watch | None = None,
    companions: Companions | None = None,
    units_for: UnitsOf | None = None,
    lenses: Sequence[str] = (),
) -> Measurements:
    """Return what one pass finds for the metrics of the settings.

    Parameters as for `evaluate`, and `units_for` as for `Pass`.
    """
    if settings.cluster is not None and (settings.test or settings.resample_predictions):
        option = "--test" if settings.test else "--resample-predictions"
        raise UsageError(
            f"{option} draws the outcomes of all rows one by one, but --cluster {settings.cluster} says that "
            "they depend on each other; leave out one of the two"
        )
    calls = _calls(predictions, settings)
    if settings.priors is not None:
        predictions = at_priors(predictions, settings.priors, shift=settings.shift_to_priors)

    def kept() -> Measurements:
        made = Pass(predictions, settings, companions, units_for, lenses)
        made.keep_rows({"hit": ROW_STATISTICS["hit"]})
        for lens in made.seen:
            made.keep_lens(lens)
        made.keep_bins(settings.bins)
        if settings.test:  # of all classes
            made.keep_probs()
        for call in calls:
            FAMILIES[call.entry.family].needs(call, made)
        return made.run(watch)

    return read_through(kept)


def _calls(predictions: Predictions, settings: Settings) -> list[MetricExpression]:
    names = settings.metrics or default_metrics(predictions, settings)[0]
    return parse_metrics(names, settings.defaults)


def assess(measured: Measurements, settings: Settings) -> Evaluation:
    """Return the evaluation of what `measure` found with these settings, or with more resamples and draws."""
    predictions = measured.predictions
    if settings.cluster is not None:
        settings = replace(settings, draws=0)  # dependent outcomes cannot be drawn from the predictions
    calls = _calls(predictions, settings)
    found = Findings.joined(family.estimates(own, measured, settings) for family, own in by_family(calls))
    problems = {lens: measured.problem(lens) for lens in measured.seen}
    bins = problems["top-1"].bins("equal-width", settings.bins)
    classes = tuple(class_rows(measured, settings))
    summary = Summary(
        _input(measured, classes),
        settings,
        {str(call): found.estimates[str(call)] for call in calls},
        float(bins.outcome.sum() / bins.weight.sum()),
        _infinite(measured),
        classes,
        tuple(_reliability(bins)),
        found.decisions,
        () if settings.metrics else tuple(default_metrics(predictions, settings)[1]),
        found.notes,
        _clipped(measured, settings.clip),
    )
    return Evaluation(predictions, summary, problems, measured.class_bins(settings.bins))


def _resampled(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with what has to compute metrics on resampled rows, if it is asked for."""
    settings, found = evaluation.settings, dict(evaluation.estimates)
    plain = replace(
        settings, resamples=0, draws=0, test=False, resample_predictions=False, sd=False, cluster=None
    )

    def values_of(names: Iterable[str]) -> Callable[[Predictions], dict[str, float]]:
        metrics = tuple(found[name].call.asked for name in names)
        inner = replace(plain, metrics=metrics, priors=None)  # which the rows already have
        return lambda rows: {name: e.value for name, e in evaluate(rows, inner).estimates.items()}

    if settings.resample_predictions:
        errors = {name: e for name, e in found.items() if e.call.entry.family.beside_null}
        tested = {name: e.value for name, e in errors.items() if e.if_calibrated is not None}
        rng = generator(settings.seed, Stream.RESAMPLED_PREDICTIONS)
        nulls = resampled_nulls(evaluation.predictions, values_of(tested), tested, settings.draws, rng)
        for name, null in nulls.items():
            found[name] = replace(found[name], if_calibrated=null)
    repeated = [name for name, e in found.items() if not e.call.entry.family.fits]
    if settings.sd and repeated:
        rows = evaluation.predictions
        units = Units.of(rows.n_rows, rows.column_if(settings.cluster))
        rng = generator(settings.seed, Stream.SPREAD)
        for name, sd in bootstrap_sd(rows, values_of(repeated), rng, units).items():
            found[name] = replace(found[name], sd=sd)
    return replace(evaluation, summary=replace(evaluation.summary, estimates=found))


def _clipped(measured: Measurements, least: float) -> int:
    """Return how many rows count with the least probability instead of their own."""
    if not least or "log_loss" not in measured.rows.columns:
        return 0
    return int(np.count_nonzero(measured.rows["log_loss"] >= -np.log(least)))


def _infinite(measured: Measurements) -> InfiniteLogLoss | None:
    """Return the rows of infinite log-loss and the log-loss of the others, which is nan if there are none."""
    if "log_loss" not in measured.rows.columns:
        return None
    losses, weights = measured.rows["log_loss"], measured.predictions.weights
    if np.isfinite(losses.max()):
        return None
    counted = np.ones(len(losses), np.bool_) if weights is None else weights > 0
    finite = np.isfinite(losses)
    infinite, others = np.flatnonzero(~finite & counted), finite & counted
    if not len(infinite):
        return None
    without = float("nan")
    if others.any():
        kept = None if weights is None else weights[others]
        without = float(np.average(losses[others].astype(np.float64), weights=kept))
    return InfiniteLogLoss(len(infinite), tuple(infinite[:FIRST].tolist()), without)


def _input(measured: Measurements, classes: Sequence[ClassRow]) -> Input:
    predictions, facts = measured.predictions, measured.facts
    origin = predictions.provenance
    return Input(
        path=origin.path,
        rows=predictions.n_rows,
        classes=predictions.n_classes,
        class_names=predictions.classes,
        weighted=predictions.weights is not None,
        kind=predictions.kind,
        kind_reason=predictions.scores.kind_reason,
        dtype=str(predictions.scores.dtype),
        computed_in=str(measured.dtype),
        labels=origin.labels,
        worst_row_sum=facts.worst_row_sum,
        zeros=facts.zeros,
        ones=facts.ones,
        tied_rows=facts.tied_rows,
        absent_classes=tuple(row.name for row in classes if not row.rows),
        notes=origin.notes,
        files=origin.files,
    )


def _reliability(bins: Bins) -> Iterator[ReliabilityBin]:
    edges = equal_width_edges(len(bins.count)).tolist()
    columns = zip(edges, edges[1:], bins.count, bins.weight, bins.score, bins.outcome, strict=False)
    for low, high, count, weight, score, outcome in columns:
        if weight > 0:
            yield ReliabilityBin(low, high, int(count), float(score / weight), float(outcome / weight))
