"""Sections of a report besides metrics: what each needs from a pass, and what it returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calcli.core.data.arrays import Positions, Stream, generator
from calcli.core.data.binning import equal_width_edges
from calcli.core.data.predictions import Predictions
from calcli.core.estimators.calibrationerror import Null, compare, enough_draws, with_holm
from calcli.core.estimators.decomposition import class_losses
from calcli.core.estimators.rules import decomposable_rule
from calcli.core.evaluating.measurements import Measurements, measured_sample
from calcli.core.evaluating.metrics.base import HITS
from calcli.core.evaluating.metrics.errors import simulated_class_errors
from calcli.core.evaluating.metrics.miscalibration import ECE, binned_error
from calcli.core.evaluating.metrics.ranking import backwards_area, is_not_backwards
from calcli.core.evaluating.metrics.scores import Attempts
from calcli.core.evaluating.results import ClassRow, Estimate, ReliabilityBin
from calcli.core.evaluating.usual import area_of, gap_of
from calcli.core.language.expressions import AUTO_LENS
from calcli.core.language.settings import Settings
from calcli.core.state.needs import Need, Pass, Sampled, class_sums, through

BLOCK = 1 << 14  # rows
ENOUGH_OF_CLASS = 30  # fewest rows, by label or by probability, for a judgement on a class
MOST_DRAWN = 50_000_000  # labels, or errors of classes, up to which many classes get enough draws


Estimates = Mapping[str, Estimate]


class Section(NamedTuple):
    """A part of a report that is shown for any choice of metrics.

    Attributes
    ----------
    needs
        Returns its needs.
    shown
        Returns its results, by attribute of `Summary`.
    """

    needs: Callable[[Predictions, Settings], Iterable[Need]]
    shown: Callable[[Measurements, Settings, Estimates], Mapping[str, Any]]


def _confidence(measured: Measurements, settings: Settings, _: Estimates) -> Mapping[str, Any]:
    """Return the accuracy, and the reliability through the default lens."""
    bins = measured.lens_bins(AUTO_LENS, settings.bins)
    edges = equal_width_edges(len(bins.count)).tolist()
    columns = zip(edges, edges[1:], bins.count, bins.weight, bins.score, bins.outcome, strict=False)
    reliability = [
        ReliabilityBin(low, high, int(count), float(score / weight), float(outcome / weight))
        for low, high, count, weight, score, outcome in columns
        if weight > 0
    ]
    return {"accuracy": float(measured.unit_table().means()["hit"]), "reliability": tuple(reliability)}


def _gap(measured: Measurements, settings: Settings, estimates: Estimates) -> Mapping[str, Any]:
    """Return the mean score minus the observed frequency, on which the verdict rests."""
    rows, metric = measured.predictions, gap_of(settings)
    if str(metric) in estimates:
        return {"gap": estimates[str(metric)]}
    available = rows.has_probabilities and measured.state.provides(*metric.needs(Pass(rows, settings)))
    return {"gap": metric.estimate(measured, settings) if available else None}


def needs_of_order(rows: Predictions, settings: Settings) -> Iterable[Need]:
    """Return the needs for a check of the ranking: for more than two classes sums over bins."""
    if rows.n_classes == 2:
        return area_of(settings).needs(Pass(rows, settings))
    return class_sums(settings.bins, rows, settings)


def area_if_backwards(measured: Measurements, settings: Settings, estimates: Estimates) -> float | None:
    """Return the area under the ROC curve if scores rank the wrong way round beyond chance, else None.

    More than two classes are sorted if their area is requested; else sums over bins can show that the ranking
    is right; otherwise a sample of the rows decides.
    """
    metric, rows = area_of(settings), measured.predictions
    area = estimates.get(str(metric))
    if not rows.has_probabilities or (area is not None and not area.value < 0.5):
        return None
    available = measured.state.provides(*metric.needs(Pass(rows, settings)))
    if rows.n_classes > 2 and not settings.cluster:
        bins = measured.class_bins(settings.bins)
        if is_not_backwards(bins.outcome, bins.weight - bins.outcome):
            return None
        if measured.sample is None and not available and rows.has_rows:
            measured = Measurements.of(rows, measured.settings, [Sampled()])
        if measured.sample is not None:
            measured, available = measured_sample(measured.sample.of(rows), measured, [metric]), True
    return backwards_area(measured) if available else None


def _questions(measured: Measurements, *_: Any) -> Mapping[str, Any]:
    """Return the repeated questions with right and wrong epochs."""
    rows, origin = measured.predictions, measured.predictions.provenance
    if not origin.questions or not rows.of_answers or not rows.has_rows or origin.outcomes == "grades":
        return {}
    right, times, _rows = Attempts.of(rows)
    names = rows.column(origin.identity)[(right > 0) & (right < times)].astype(str)
    return {"mixed": tuple(dict.fromkeys(names.tolist()))}


def _classes(measured: Measurements, settings: Settings, _: Estimates) -> Mapping[str, Any]:
    """Return one entry per class, in the order of the columns; tested if the settings ask for every test."""
    predictions = measured.predictions
    if predictions.of_answers:
        return {}
    table = measured.class_bins(settings.bins)
    total = table.weight.sum(-1)
    k = predictions.n_classes
    weight = table.outcome.sum(-1)
    rows, hits = measured.rows_by_class, measured.hits_by_class
    errors = binned_error(table, "1")
    mean_prob = table.score.sum(-1) / total
    enough = np.maximum(rows, mean_prob * predictions.n_rows) >= ENOUGH_OF_CLASS
    columns = zip(
        predictions.classes,
        rows.tolist(),
        (weight / total).tolist(),
        mean_prob.tolist(),
        np.divide(hits, weight, out=np.full(k, np.nan), where=weight > 0).tolist(),
        errors.tolist(),
        *(column.tolist() for column in class_losses(table, decomposable_rule("brier", 3))),
        _nulls(measured, settings, errors, enough.tolist()) if predictions.has_probabilities else [None] * k,
        [()] * k if predictions.has_probabilities else map(tuple, _confusion(predictions).tolist()),
        strict=True,
    )
    return {"per_class": tuple(ClassRow(*column) for column in columns)}


def _confusion(predictions: Predictions) -> Positions:
    """Return (K, K) numbers of rows of each class, by predicted class."""
    k, at = predictions.n_classes, 0
    counts = np.zeros(k * k, np.intp)
    for block in predictions.scores.blocks(BLOCK):
        labels = predictions.labels[at : at + len(block)].astype(np.intp)
        counts += np.bincount(labels * k + block.argmax(1), minlength=k * k)
        at += len(block)
    return counts.reshape(k, k)


def _nulls(
    measured: Measurements, settings: Settings, errors: Sequence[float], enough: Sequence[bool]
) -> list[Null | None]:
    if not (settings.test and settings.draws):
        return [None] * len(errors)
    rng = generator(settings.seed, Stream.CLASS_OUTCOMES)
    affordable = min(enough_draws(sum(enough)), MOST_DRAWN // max(measured.predictions.n_rows, len(errors)))
    draws = max(settings.draws, affordable)
    simulated = simulated_class_errors(measured, ECE(bins=settings.bins), draws, rng)
    return with_holm([compare(*pair) for pair in zip(errors, simulated.T, strict=True)], enough)


def rows_needed(rows: Sequence[ClassRow]) -> int:
    """Return how many rows in all, with these class frequencies, are enough to judge every class.

    Classes that neither occur nor get any probability never have enough rows, and do not count.
    """
    shares = [max(row.frequency, row.mean_prob) for row in rows]
    return max((math.ceil(ENOUGH_OF_CLASS / share) for share in shares if share > 0), default=0)


ORDER = Section(needs_of_order, lambda *measured: {"backwards_area": area_if_backwards(*measured)})
SECTIONS = (
    Section(lambda rows, settings: [HITS, through(AUTO_LENS, rows, settings)], _confidence),
    Section(lambda rows, settings: class_sums(settings.bins, rows, settings), _classes),
    Section(lambda rows, settings: (), _questions),
    Section(lambda rows, settings: gap_of(settings).needs(Pass(rows, settings)), _gap),
    ORDER,
)
