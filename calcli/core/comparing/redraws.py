"""How much worse metrics may get on new rows of the same kind and number, for limits of a first policy.

In a redraw each row counts a geometric number of times, one on average, with variance two. One part comes
from the new rows, the other from the available rows, which are a draw as well (a Bayesian bootstrap, Rubin
1981, and rows drawn by its weights). Unseen events may happen, too: an error that the probabilities expect
counts as one or more additional rows, some worse than others. The count of a rare event then varies at least
as much as a negative binomial distribution, with quantiles that are exact bounds of one count predicted from
another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calcli.core.comparing.comparison import influences
from calcli.core.data.arrays import Doubles, Floats, Rng, Stream, batch_sizes, draw_labels, generator
from calcli.core.data.binning import equal_width_index
from calcli.core.data.blocks import sweep
from calcli.core.data.derived import counted, gathered, thinned
from calcli.core.data.predictions import ArrayScores, Predictions
from calcli.core.data.units import Units
from calcli.core.evaluating.evaluate import measure, values
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.usual import default_metrics
from calcli.core.language.expressions import Measure, parse_metrics
from calcli.core.language.settings import Settings
from calcli.core.problems.lenses import canonical_lens
from calcli.core.state.needs import VectorTable
from calcli.core.state.state import rows_left

FIRST_METRICS = ("log_loss", "brier", "accuracy", "auroc", "ece")
OF_TWO, OF_RARE = (("log_loss", ranking, "mean_gap", "ece") for ranking in ("auroc", "average_precision"))
RARE = 0.1  # share of the positive class
REDRAWS = 1_999
KEPT = 0.975  # share of the redraws that satisfy all limits together
MOST_ROWS = 20_000  # rows in redraws; more rows would vary less
COUNTS = 4_000_000  # counts of rows in redraws, held in memory at once
ERRORS = 200  # expected errors, drawn to see the effect of one more on a metric
FEWEST_OF_CLASS = 7  # rows: with fewer, more than one redraw in 100 has none of the rarer of two classes


class Slack(NamedTuple):
    """The slack of a limit for chance.

    Attributes
    ----------
    slack
        How much worse a metric may be; infinite if redraws do not bound it.
    sd
        Standard deviation over the redraws.
    constant
        The metric of the constant answer, the frequencies of the classes; nan if the
        metric is not defined for it.
    """

    slack: float
    sd: float
    constant: float


def first_metrics(predictions: Predictions) -> tuple[str, ...]:
    """Return the metrics of a first policy."""
    if not predictions.has_probabilities:
        return tuple(default_metrics(predictions)[0])
    if predictions.n_classes > 2 or predictions.of_answers:
        return FIRST_METRICS
    rows = rows_left(predictions)
    return OF_RARE if np.average(rows.labels == 1, weights=rows.weights) < RARE else OF_TWO


def slack_of(predictions: Predictions, names: Sequence[str], seed: int = 0) -> dict[str, Slack]:
    """Return how much worse metrics may be on new rows; all limits hold in a share `KEPT` of redraws.

    Parameters
    ----------
    predictions
        The rows, or a state with a sample; all weights are positive.
    names
        Scores and rankings that have influences, and ECE; for a score that is best at a value in between, how
        far it may move in either direction.
    seed
        Of the redraws.
    """
    predictions.require_named_class()
    rows, rng = _held(counted(predictions)), generator(seed, Stream.SPREAD)
    settings = Settings(tuple(names), intervals=False, draws=0)
    metrics = parse_metrics(names)
    measured = measure(rows, settings)
    constant = values(_constant(rows), settings) if rows.has_probabilities else {}
    constants = {metric.text: constant.get(str(metric), math.nan) for metric in metrics}
    slack_by_name = {name: Slack(math.inf, math.nan, constant) for name, constant in constants.items()}
    by_name = _deviations(measured, metrics, settings, rng)
    if rows.n_classes == 2 and _rarer(rows) * predictions.n_rows < FEWEST_OF_CLASS * rows.n_rows:
        for metric in metrics:
            if metric.entry.family.class_by_class:
                by_name.pop(metric.text, None)
    if not by_name:
        return slack_by_name
    table = np.stack(list(by_name.values()), axis=1)
    table *= math.sqrt(rows.n_rows / predictions.n_rows)
    place = table.argsort(0).argsort(0).max(1)  # rank of the worst metric of each redraw among all redraws
    last = int(np.quantile(place, KEPT, method="higher"))
    slack, sd = np.maximum(np.sort(table, axis=0)[last], 0), np.where(np.isfinite(table), table, 0).std(0)
    pairs = zip(by_name, slack.tolist(), sd.tolist(), strict=True)
    return slack_by_name | {name: Slack(largest, spread, constants[name]) for name, largest, spread in pairs}


def _held(predictions: Predictions) -> Predictions:
    """Return rows in memory: evenly spaced rows if there are many, or the sample of a state."""
    predictions = rows_left(predictions)
    rows = thinned(predictions, MOST_ROWS)
    return replace(rows, scores=gathered(rows.scores), columns={})


def _constant(rows: Predictions) -> Predictions:
    """Return rows with the frequencies of the classes as their probabilities."""
    counts = np.bincount(rows.labels, rows.weights, rows.n_classes)
    return replace(rows, scores=ArrayScores(np.tile(counts / counts.sum(), (rows.n_rows, 1)), "probs"))


def _rarer(rows: Predictions) -> int:
    return int(np.bincount(rows.labels, minlength=rows.n_classes).min())


def _deviations(
    measured: Measurements, metrics: Sequence[Measure], settings: Settings, rng: Rng
) -> dict[str, Doubles]:
    """Return how much worse each redraw is than the rows themselves, by metric."""
    rows = measured.predictions
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    share = weights / weights.sum()
    influence_values: dict[str, tuple[Measure, Doubles]] = {}
    influence_of = influences(measured, metrics)
    for metric in metrics:
        if (influence := influence_of.get(str(metric))) is not None:
            sign = -1 if metric.entry.direction == "higher" else 1
            influence_values[metric.text] = metric, sign * influence.of_units[:, None]
        elif metric.entry.family.has_null:
            influence_values[metric.text] = metric, _gaps(measured, metric, share)
    perturbation = _perturbation(rows, settings, rng) if influence_values else {}
    deviations: dict[str, list[Doubles]] = {name: [] for name in influence_values}
    errors: list[Doubles] = []
    for size in batch_sizes(REDRAWS, rows.n_rows, COUNTS):
        counts = _counts(size, rows.n_rows, rng)
        total = counts @ share
        total[total == 0] = 1  # with very few rows none may be drawn, which changes nothing
        unseen = (rng.geometric(0.5, size) - 1) * rng.exponential(size=size)
        for name, (metric, table) in influence_values.items():
            deviations[name].append(_worse(metric, counts @ table / total[:, None], table.sum(0)))
        errors.append(unseen)
    unseen, by_name = np.concatenate(errors), {}
    for name, (metric, _) in influence_values.items():
        worse = np.concatenate(deviations[name])
        if metric.entry.family.has_null:
            worse -= max(0.0, float(worse.mean()))  # sizes of gaps grow by the noise that a redraw adds
        addition = np.multiply(unseen, perturbation[str(metric)], out=np.zeros(len(worse)), where=unseen > 0)
        by_name[name] = worse + addition
    return by_name


def _worse(metric: Measure, redrawn: Doubles, seen: Doubles) -> Doubles:
    """Return how much worse redraws are: sums of influences, or the sizes of the gaps of bins."""
    if not metric.entry.family.has_null:
        return redrawn[:, 0] if metric.entry.target is None else np.abs(redrawn[:, 0])
    return np.asarray(np.abs(redrawn).sum(1) - np.abs(seen).sum())


def _gaps(measured: Measurements, metric: Measure, share: Doubles) -> Doubles:
    """Return (n, bins) the gap of each row, in its equal-width bin."""
    score, outcome, *_ = measured.look(metric.lens)
    bins: int = metric.arguments["bins"]
    cells = equal_width_index(score, bins)
    return Units.of(len(score)).table(cells, bins, share * (score - outcome))[:, 0]


def _counts(redraws: int, rows: int, rng: Rng) -> Floats:
    """Return how often each row counts, geometric with mean one: the trailing zeros of a random number."""
    bits = rng.integers(0, len(ENDING), (redraws, rows), dtype=np.uint16)
    return np.asarray(ENDING[bits])


BITS = np.arange(1 << 16)
ENDING = np.log2(np.where(BITS, BITS & -BITS, 1 << 16)).astype(np.float32)


def _perturbation(rows: Predictions, settings: Settings, rng: Rng) -> Mapping[str, float]:
    """Return how much worse one more error, drawn from the probabilities, makes each metric.

    The gap of a bin, and hence an error over bins, changes by at most the share of a row.
    """
    assert isinstance(rows.scores, ArrayScores)
    table = VectorTable(canonical_lens(rows.n_classes), rows, np.dtype(np.float64))
    sweep(rows, [table])
    probs = table.problem.probs
    predicted = np.eye(rows.n_classes)[probs.argmax(1)]
    wrong = probs * (1 - predicted)
    if not wrong.any():  # probabilities of 0 and 1: any error is unexpected
        wrong = 1 - predicted
    expected = wrong.sum(1)
    chosen = rng.choice(rows.n_rows, ERRORS, p=expected / expected.sum())
    labels = draw_labels(wrong[chosen], 1, rng)[:, 0]
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    with_errors = replace(
        rows,
        scores=replace(rows.scores, array=np.concatenate([rows.scores.array, rows.scores.array[chosen]])),
        labels=np.concatenate([rows.labels, labels.astype(rows.labels.dtype)]),
        weights=np.concatenate([weights, np.full(ERRORS, weights.mean() / ERRORS)]),
    )
    before, after = values(rows, settings), values(with_errors, settings)
    perturbation = {}
    for metric in parse_metrics(settings.metrics):
        name, cost = str(metric), metric.entry.cost
        worse = 1 / rows.n_rows if metric.entry.family.has_null else cost(after[name]) - cost(before[name])
        perturbation[name] = max(0.0, worse)
    return perturbation
