"""The main job: predictions and metric expressions in, estimates out, from one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calcli.core import scoring
from calcli.core.blocks import Precision
from calcli.core.bootstrap import Sums
from calcli.core.consistency import Null, binned_nulls, ks_null
from calcli.core.errors import KindContradicted, UsageError
from calcli.core.estimates import Estimate, Interval
from calcli.core.expressions import MetricCall, parse_metrics
from calcli.core.measure import Measurements, Watch
from calcli.core.miscalibration import BinnedError, KolmogorovSmirnov, binned_error, class_wise_error
from calcli.core.predictions import Predictions
from calcli.core.rows import Bins, InputFacts

AUROC_LIMIT = 10_000_000  # elements up to which the default report ranks every class


@dataclass(frozen=True)
class Settings:
    """What is to be computed, and how.

    Attributes
    ----------
    metrics
        Metric expressions; empty for the default report.
    bins
        Number of bins where an expression does not say.
    level
        Nominal coverage of the intervals.
    resamples
        Bootstrap resamples; 0 for no intervals.
    draws
        Simulated data sets behind each p-value; 0 for no tests.
    seed
        Seed of both.
    precision
        "single", "double", or "auto": double up to 5 million elements.
    """

    metrics: tuple[str, ...] = ()
    bins: int = 15
    level: float = 0.95
    resamples: int = 1000
    draws: int = 999
    seed: int = 0
    precision: Precision = "auto"


@dataclass(frozen=True)
class ClassRow:
    """One class: how often it occurs, what it is given, and how far that is off.

    Attributes
    ----------
    name
        The class.
    rows
        How many rows have it as label.
    frequency, mean_prob
        Weighted share of the labels, and mean probability.
    recall
        Weighted share of its rows that are predicted as it; nan without rows.
    ece
        Equal-width L1 error of its probability.
    """

    name: str
    rows: int
    frequency: float
    mean_prob: float
    recall: float
    ece: float


@dataclass(frozen=True)
class Evaluation:
    """Everything found out about one set of predictions.

    Attributes
    ----------
    predictions
        What was evaluated.
    settings
        How.
    dtype
        The type the pass computed in.
    facts
        What the pass noticed about the scores.
    estimates
        Metric values in the order asked for, by canonical expression.
    per_class
        One entry a class.
    reliability
        Equal-width bins of the confidence.
    infinite_rows
        Rows whose label has probability 0.
    finite_log_loss
        Log-loss of the other rows; nan if there are none.
    skipped
        A sentence for each metric of the default report that was left out.
    """

    predictions: Predictions
    settings: Settings
    dtype: np.dtype[Any]
    facts: InputFacts
    estimates: dict[str, Estimate]
    per_class: list[ClassRow]
    reliability: Bins
    infinite_rows: NDArray[np.intp]
    finite_log_loss: float
    skipped: tuple[str, ...] = ()


def default_metrics(predictions: Predictions) -> tuple[list[str], list[str]]:
    """Return the expressions of the default report, and a sentence for each metric left out."""
    rows, classes = predictions.scores.shape
    names = ["log_loss", "normalized_log_loss", "brier", "normalized_brier", "accuracy"]
    skipped = []
    if classes > 5:
        names.append("top5_accuracy")
    if classes == 2 or rows * classes <= AUROC_LIMIT:
        names.append("auroc")
    else:
        skipped.append("auroc, which orders every class in memory, is left out; ask for it with --metrics auroc")
    names += ["mean_confidence", "mean_gap", "ece", "ece_l2", "mce", "ece:binning=equal-mass", "ks"]
    if classes == 2:
        names.append("ece:lens=class-1")
    return [*names, "cw_ece", "cw_ece_l2"], skipped


def evaluate(predictions: Predictions, settings: Settings | None = None, watch: Watch | None = None) -> Evaluation:
    """Evaluate predictions.

    Parameters
    ----------
    predictions
        Scores and labels.
    settings
        Metrics and how to compute them; the default report if None.
    watch
        Called with the number of rows done as the pass goes on.

    Raises
    ------
    UsageError
        If a metric is unknown or does not fit the data.
    """
    settings = settings or Settings()
    try:
        return _evaluate(predictions, settings, watch)
    except KindContradicted as found:
        # the first block looked like something a later one cannot be: read again as what it is
        return _evaluate(predictions.as_kind(found.kind, found.reason), settings, watch)


def _evaluate(predictions: Predictions, settings: Settings, watch: Watch | None) -> Evaluation:
    names, skipped = default_metrics(predictions)
    calls = parse_metrics(settings.metrics or names, {"bins": settings.bins})
    measured = Measurements(predictions, calls, settings.bins, settings.precision, watch)
    estimates = _scores(measured, calls, settings) | _errors(measured, calls, settings)
    confidence = measured.problem("top-1")
    return Evaluation(
        predictions,
        settings,
        measured.dtype,
        measured.facts,
        {str(call): estimates[str(call)] for call in calls},
        _per_class(measured, settings.bins),
        confidence.binned(BinnedError(bins=settings.bins).cuts(confidence)),
        *_infinite(measured),
        tuple(skipped) if not settings.metrics else (),
    )


def _scores(measured: Measurements, calls: Sequence[MetricCall], settings: Settings) -> dict[str, Estimate]:
    calls = [call for call in calls if call.metric.family == "score"]
    if not calls:
        return {}
    predictions = measured.predictions
    columns = {name: measured.rows[name] for call in calls for name in call.metric.statistics}
    sums = Sums(columns, predictions.labels, predictions.n_classes, predictions.weights)
    means = sums.means()
    resampled = None
    if settings.resamples and predictions.n_rows > 1:
        resampled = sums.resampled(settings.resamples, np.random.default_rng([settings.seed, 1]))
    estimates = {}
    for call in calls:
        function = getattr(scoring, call.metric.name)
        value = float(function(means))
        interval = None
        if resampled is not None and not np.isnan(value):
            interval = _interval(function(resampled), settings.level)
        estimates[str(call)] = Estimate(call, value, _signature(call, measured, settings), interval)
    return estimates


def _interval(draws: NDArray[np.float64], level: float) -> Interval | None:
    """Return the percentile interval, by order statistics so that infinite draws stay infinite."""
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        return None
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(draws, tails, method="inverted_cdf")
    return Interval(float(low), float(high), level)


def _errors(measured: Measurements, calls: Sequence[MetricCall], settings: Settings) -> dict[str, Estimate]:
    calls = [call for call in calls if call.metric.family == "error"]
    values = {str(call): _error(measured, call) for call in calls}
    nulls: dict[str, Null] = {}
    if settings.draws:
        for lens in {str(call.arguments["lens"]) for call in calls} - {"class-wise"}:
            nulls |= _nulls(measured, [c for c in calls if c.arguments["lens"] == lens], settings)
    return {
        str(call): Estimate(
            call,
            values[str(call)],
            _signature(call, measured, settings),
            if_calibrated=nulls.get(str(call)),
        )
        for call in calls
    }


def _error(measured: Measurements, call: MetricCall) -> float:
    lens = str(call.arguments["lens"])
    if lens == "class-wise":
        if call.metric.name == "ks" or call.arguments["binning"] != "equal-width":
            raise UsageError(f"{call}: the class-wise lens is for equal-width bins; name a class, as in lens=class-0")
        return class_wise_error(measured.class_bins(int(call.arguments["bins"])), _estimator(call).norm)
    estimator = KolmogorovSmirnov() if call.metric.name == "ks" else _estimator(call)
    return estimator.value(measured.problem(lens))


def _estimator(call: MetricCall) -> BinnedError:
    return BinnedError(**{key: call.arguments[key] for key in ("binning", "bins", "norm")})  # type: ignore[arg-type]


def _nulls(measured: Measurements, calls: Sequence[MetricCall], settings: Settings) -> dict[str, Null]:
    """Test the errors of one lens, the binned ones on the same simulated outcomes."""
    problem = measured.problem(str(calls[0].arguments["lens"]))
    rng = np.random.default_rng([settings.seed, 2])
    binned = [call for call in calls if call.metric.name != "ks"]
    found = binned_nulls(problem, [_estimator(call) for call in binned], settings.draws, rng) if binned else []
    nulls = {str(call): null for call, null in zip(binned, found, strict=True)}
    return nulls | {str(call): ks_null(problem, settings.draws, rng) for call in calls if call.metric.name == "ks"}


def _signature(call: MetricCall, measured: Measurements, settings: Settings) -> str:
    from calcli import __version__

    parts = [call.metric.name, *(f"{key}:{value}" for key, value in call.arguments.items())]
    parts += [f"n:{measured.predictions.n_rows}", f"k:{measured.predictions.n_classes}", f"dtype:{measured.dtype}"]
    if measured.predictions.weights is not None:
        parts.append("weighted")
    repeats = f"resamples:{settings.resamples}" if call.metric.family == "score" else f"draws:{settings.draws}"
    return "|".join([*parts, repeats, f"seed:{settings.seed}", f"version:{__version__}"])


def _per_class(measured: Measurements, bins: int) -> list[ClassRow]:
    predictions = measured.predictions
    table = measured.class_bins(bins)
    total = table.weight.sum(-1)
    weights, k = predictions.weights, predictions.n_classes
    hit = measured.rows["hit"] if weights is None else measured.rows["hit"] * weights
    weight = np.bincount(predictions.labels, weights, k)
    recall = np.divide(np.bincount(predictions.labels, hit, k), weight, out=np.full(k, np.nan), where=weight > 0)
    columns = zip(
        predictions.classes,
        np.bincount(predictions.labels, minlength=k).tolist(),
        (table.outcome.sum(-1) / total).tolist(),
        (table.score.sum(-1) / total).tolist(),
        recall.tolist(),
        binned_error(table, "1").tolist(),
        strict=True,
    )
    return [ClassRow(*column) for column in columns]


def _infinite(measured: Measurements) -> tuple[NDArray[np.intp], float]:
    """Return the rows of infinite log-loss and the log-loss of the others."""
    if "log_loss" not in measured.rows.columns:
        return np.empty(0, np.intp), float("nan")
    losses = measured.rows["log_loss"]
    infinite = np.isinf(losses)
    weights = measured.predictions.weights
    if weights is not None:
        infinite &= weights > 0
    if infinite.all():
        return np.flatnonzero(infinite), float("nan")
    kept = None if weights is None else weights[~infinite]
    return np.flatnonzero(infinite), float(np.average(losses[~infinite].astype(np.float64), weights=kept))
