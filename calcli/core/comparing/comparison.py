"""Comparison: differences of systems on the same rows, and choosing one of a series by a criterion."""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from calcli.core.comparing.pairing import slices_of, states_in
from calcli.core.data.arrays import Doubles
from calcli.core.data.derived import Slice, counted
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import clusters_of, require_clusters, require_folds
from calcli.core.estimators.calibrationerror import holm
from calcli.core.estimators.evidence import (
    NO_MARGIN,
    ByProxy,
    DistanceEvidence,
    Equal,
    Evidence,
    Margin,
    Simultaneous,
    Studentized,
    Untested,
    joint_covariance,
    sum_of_errors,
)
from calcli.core.estimators.intervals import BIASED, Influences, Interval
from calcli.core.estimators.power import Power
from calcli.core.evaluating.evaluate import assess, measure
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.metrics.base import Pair, System
from calcli.core.evaluating.results import Estimate, Summary
from calcli.core.evaluating.sections import ORDER
from calcli.core.evaluating.usual import OPERATING, default_metrics, is_sampled, operating_points
from calcli.core.language.entries import Metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import Measure, parse_metric, parse_metrics
from calcli.core.language.settings import Costs, Settings
from calcli.core.language.text import Watch
from calcli.core.language.version import __version__


@dataclass(frozen=True)
class Choice:
    """The choice by one criterion.

    Attributes
    ----------
    criterion
        The metric that chooses.
    number
        The number of the chosen file.
    chosen, reported
        Estimates on the set of the choice and on the other set, by canonical expression.
    """

    criterion: Measure
    number: int
    chosen: Mapping[str, Estimate]
    reported: Mapping[str, Estimate]


def best_of(value: Sequence[float] | Doubles, metric: Measure) -> int:
    """Return the index of the best of some values of a metric, the first of equal ones.

    Raises
    ------
    UsageError
        If no value of the metric is better than another, or none is finite.
    """
    ordered = metric.entry.direction != "none"
    if not (ordered and np.isfinite(value).any()):
        why = "has no finite value" if ordered else "has no better direction"
        raise UsageError(f"{metric.text} {why}; choose by another metric, such as log_loss")
    return int(np.nanargmin([metric.entry.cost(number) for number in value]))


def why_none_is_best(values: Sequence[float], metric: Measure) -> str:
    """Return why no system is the best: no value of the metric is finite; "" if there is a best."""
    if np.isfinite(values).any():
        return ""
    faults = {"undefined": np.isnan(values).any(), "infinite": np.isinf(values).any()}
    fault = " or ".join(word for word, there in faults.items() if there)
    return f"{metric.text} is {fault} for all of them"


def relative_change(before: float, second: float) -> float:
    """Return the difference of two values as a share of the first; nan if it has none."""
    return (second - before) / abs(before) if before and math.isfinite(before) else math.nan


def paired_by_number(files: Sequence[str], files_after: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return pairs of files with the same number in their names, in the order of the numbers.

    Raises
    ------
    UsageError
        If a name has no number, or a number has no counterpart.
    """
    before, second = (_numbered(paths) for paths in (files, files_after))
    for own_files, there in ((before, second), (second, before)):
        alone = sorted(set(own_files) - set(there))
        if alone:
            raise UsageError(
                f"{own_files[alone[0]]} has no counterpart with the number {alone[0]} in its name among "
                f"{', '.join(list(there.values())[:3])}{', ...' * (len(there) > 3)}"
            )
    return [(number, before[number], second[number]) for number in sorted(before)]


def _numbered(paths: Sequence[str]) -> dict[int, str]:
    numbers = numbers_in_names(paths)
    if numbers is None:
        raise UsageError(
            f"files are paired by the number in their names, as in epoch_7.npy; {paths[0]} and the others do "
            "not all have one"
        )
    return dict(zip(numbers, paths, strict=True))


def numbers_in_names(paths: Sequence[str]) -> list[int] | None:
    """Return the number of each file in a series, such as its epoch; None if a name has no number.

    If a name has several numbers, the last number that differs between files counts.

    Raises
    ------
    UsageError
        If two files have the same number.
    """
    digits = [re.findall("[0-9]+", os.path.basename(path).partition(".")[0]) for path in paths]
    if not all(digits):
        return None
    place = -1
    if len({len(numbers) for numbers in digits}) == 1:
        differing = [n for n, column in enumerate(zip(*digits, strict=True)) if len(set(column)) > 1]
        place = differing[-1] if differing else -1
    numbers = [int(row[place]) for row in digits]
    for path, number in zip(paths, numbers, strict=True):
        twin = paths[numbers.index(number)]
        if twin != path:
            raise UsageError(
                f"{twin} and {path} have the same number {number}; expected another one in the name of each "
                "file of a folder, as in epoch_1.npy and epoch_2.npy"
            )
    return numbers


def by_folder(paths: Sequence[str]) -> dict[str, list[int]]:
    """Return the files of each folder, by what distinguishes the folders."""
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    shared = os.path.commonpath([os.path.dirname(folder) for folder in folders])
    systems: dict[str, list[int]] = {}
    for n, folder in enumerate(folders):
        systems.setdefault(os.path.relpath(folder, shared), []).append(n)
    return systems


def measured_systems(
    predictions: Sequence[Predictions],
    settings: Settings,
    paired: bool = True,
    watch: Watch | None = None,
    candidate: int | None = None,
) -> list[System]:
    """Measure systems, ready to compare any two on any metric.

    Parameters
    ----------
    predictions
        Predictions of each system; paired systems have the same cases in the same order.
    settings
        Metrics, draws of outcomes, seed, and the column of dependent rows (`cluster`), for paired systems the
        column of the baseline.
    paired
        Whether row i is the same case in all systems.
    watch
        Called with the number of rows measured, of one system after the other.
    candidate
        Number of the system that gets intervals and tests, while the others get values alone; None
        for tests of all systems, and no intervals.
    """
    metrics = parse_metrics(settings.metrics, settings.defaults)
    predictions = [
        counted(system) for system in _with_clusters(predictions, settings.cluster if paired else None)
    ]
    sampled = any(is_sampled(prediction, settings) for prediction in predictions)
    systems, read = list[System](), 0
    for number, rows in enumerate(predictions):
        of_system = settings if candidate in (None, number) else replace(settings, draws=0)
        counting = _counting_on(watch, read)
        measured = measure(rows, of_system, counting, sections=[ORDER], sampled=sampled)
        wanted = of_system if number == candidate else replace(of_system, intervals=False)
        evaluation = assess(measured, wanted, sections=[ORDER])
        influence_values = influences(measured, metrics) if settings.intervals else {}
        systems.append(System(measured, evaluation, influence_values))
        read += rows.n_rows
    return _with_samples(systems, settings, metrics)


def evidence(metric: Measure, pair: Pair) -> Evidence:
    """Return the evidence on the difference of two systems in a metric.

    It rests on the influences of units on both values. Without influences, as for calibration errors, which
    are biased upward near zero, or where too few units carry the difference, nothing is tested.
    """
    pair, target = pair.telling(metric), metric.entry.target
    before, second = (system.influences.get(str(metric)) for system in (pair.baseline, pair.candidate))
    if before is None or second is None:
        return Untested()
    studentized = Studentized(before, second, pair.paired)
    difference = studentized.difference
    of_few = None if pair.candidate.is_mean else metric.of_few(pair, difference)
    if of_few is None and pair.paired and _is_noise(difference, before, second):
        return Equal()
    if of_few is None and not difference.spread.enough:
        unit = "row" if pair.settings.cluster is None else "cluster"
        return Untested(no_interval=difference.spread.too_few(unit))
    if target is None:
        return of_few or studentized
    return DistanceEvidence(of_few or studentized, sum_of_errors(before, second, target, pair.paired))


def _is_noise(difference: Influences, before: Influences, second: Influences) -> bool:
    """Return whether the influences of all units differ by rounding errors alone."""
    size = max(abs(values.value) + float(np.abs(values.of_units).sum()) for values in (before, second))
    return abs(difference.value) + float(np.abs(difference.of_units).sum()) <= NOISE * size


def influences(measured: Measurements, metrics: Sequence[Measure]) -> Mapping[str, Influences]:
    """Return the influences of units on the metrics with intervals, if their rows were kept."""
    every = {
        str(metric): metric.influences(measured) for metric in metrics if str(metric) not in measured.left
    }
    return {name: influence for name, influence in every.items() if influence is not None}


def _with_samples(systems: Sequence[System], settings: Settings, metrics: Sequence[Measure]) -> list[System]:
    """Return systems with samples of their rows, if some metrics come from samples."""
    names = tuple(c.text for c in metrics if any(str(c) in system.measured.left for system in systems))
    samples = [system.measured.sample if names else None for system in systems]
    rows = [
        sample.of(s.predictions) for s, sample in zip(systems, samples, strict=True) if sample is not None
    ]
    if not rows:
        return [*systems]
    sampled = iter(measured_systems(rows, replace(settings, metrics=names, precision="auto")))
    return [
        system if sample is None else replace(system, sample=replace(next(sampled), hashes=sample.rows.ids))
        for system, sample in zip(systems, samples, strict=True)
    ]


def _with_clusters(systems: Sequence[Predictions], name: str | None) -> Sequence[Predictions]:
    """Give all systems the baseline's column of clusters, since their rows are the same cases."""
    if name is None:
        return systems
    column = systems[0].column(name)
    return [replace(system, columns={**system.columns, name: column}) for system in systems]


def _counting_on(watch: Watch | None, read: int) -> Watch | None:
    return None if watch is None else lambda rows: watch(read + rows)


NOISE = 1e-11  # relative to the values: smaller differences count as 0
Verdict = Literal["better", "worse", "different", "equal", "equivalent", "undecided", "untested"]


@dataclass(frozen=True, repr=False)
class Difference:
    """The difference of a metric between a baseline and a candidate.

    Attributes
    ----------
    metric
        The metric.
    baseline, candidate
        Their values.
    interval
        For candidate - baseline, simultaneous with the intervals of the other systems; None for calibration
        errors, which are biased upward near zero.
    no_interval
        Why there is none, for metrics that may have one.
    p_value
        Two-sided, of no difference; nan without a test.
    corrected_p
        The same corrected for the number of systems (max-T), and of slices (Holm).
    p_over_metrics
        The same corrected for all systems and all shown metrics, on all rows.
    margin
        The largest difference that does not matter; 0 if none was given.
    within_margin
        Whether the data prove the difference to be within the margin.
    verdict
        At the level of the interval.
    signature
        Everything the difference depends on, in one line.
    rows
        Number of rows of each system behind the values, if these are samples.
    power
        Which differences the rows can detect; None without an interval.
    change
        The difference from few labels and a proxy, estimated row by row; else None.
    """

    metric: Measure
    baseline: float
    candidate: float
    interval: Interval | None
    p_value: float
    corrected_p: float
    margin: float
    within_margin: bool
    verdict: Verdict
    signature: str
    no_interval: str = ""
    rows: tuple[int, ...] = ()
    power: Power | None = None
    p_over_metrics: float = math.nan
    change: float | None = None

    def __repr__(self) -> str:
        return f"<{self.metric}: {self.baseline:.4g} to {self.candidate:.4g}, {self.verdict}>"

    @property
    def value(self) -> float:
        """Candidate minus baseline; nan if both are infinite."""
        return self.candidate - self.baseline if self.change is None else self.change

    @property
    def relative(self) -> float:
        """The difference as a share of the baseline; nan if undefined."""
        return relative_change(self.baseline, self.candidate)


@dataclass(frozen=True)
class Ranked:
    """A system in a ranking.

    Attributes
    ----------
    system
        Its number, 0 for the baseline.
    to_best
        Its difference to the best system, corrected for the number of systems; None for the best.
    among_best
        Whether it is the best, or not significantly worse; False if the metric is undefined.
    """

    system: int
    to_best: Difference | None
    among_best: bool


@dataclass(frozen=True)
class Flips:
    """Questions that one system of a pair gets right, or right more often, than the other.

    Attributes
    ----------
    worse, better
        Names of the rows: values of the identifying column, or numbers.
    same
        Number of all other questions.
    columns, values
        Columns to show, and their values of each row that differs, by its name.
    """

    worse: tuple[str, ...] = field(repr=False)
    better: tuple[str, ...] = field(repr=False)
    same: int
    columns: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Comparison:
    """Several systems on the same rows, or on the rows of one slice.

    Attributes
    ----------
    part
        The slice; None for all rows.
    summaries
        One per system, the baseline first.
    differences
        Of each candidate to the baseline, by metric expression.
    ranking
        All systems, the best first.
    ranked_by
        The metric of the ranking.
    accuracy_cost
        Accuracy of the best system minus the highest accuracy; None if accuracy was not
        computed.
    most_accurate
        The number of that system.
    flips
        For each candidate against the baseline, if they are paired and rows are right or wrong; else none.
    """

    part: Slice | None
    summaries: tuple[Summary, ...] = field(repr=False)
    differences: tuple[Mapping[str, Difference], ...]
    ranking: tuple[Ranked, ...] = field(repr=False)
    ranked_by: Measure
    accuracy_cost: Difference | None = field(repr=False)
    most_accurate: int
    flips: tuple[Flips, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How to compare systems.

    Attributes
    ----------
    paired
        Whether row i is the same case in all systems.
    margins
        Differences that do not matter, by metric expression.
    ranked_by
        Metric expression of the ranking.
    by
        Column; systems are also compared on the rows of each value.
    tost
        Whether 1 - level, instead of half of it, is the error of a proof on each side of the margin.
    show
        Columns to show for questions that flipped.
    """

    paired: bool = True
    margins: Mapping[str, Margin] | None = None
    ranked_by: str = "log_loss"
    by: str | None = None
    tost: bool = False
    show: tuple[str, ...] = ()


def compare(
    systems: Sequence[Predictions], settings: Settings, plan: Plan, watch: Watch | None = None
) -> list[Comparison]:
    """Compare candidates with a baseline, on all rows and on each slice.

    Parameters
    ----------
    systems
        The baseline first; paired ones have the same cases in the same order.
    settings
        Metrics, level, draws of outcomes and seed; without metrics the default ones.
    plan
        How to compare.
    watch
        Called with the number of rows measured, of one system after the other.

    Raises
    ------
    UsageError
        If a metric is unknown, or the metric of the ranking has no direction.
    """
    settings = replace(settings, cluster=clusters_of(systems[0], settings.cluster))
    if settings.cost_column is not None:
        raise UsageError("cost_column: no interval of a difference sees the few large amounts; leave it out")
    if not systems[0].has_probabilities and plan.ranked_by == Plan.ranked_by:
        plan = replace(plan, ranked_by=usually_compared(systems[0])[0])
    if (ranked_by := parse_metric(plan.ranked_by, settings.defaults)).entry.direction == "none":
        raise UsageError(f"no value of {ranked_by} is better than another; rank by log_loss")
    settings = replace(settings, metrics=compared_metrics(systems[0], settings, plan), thresholds=())
    for system in systems:
        system.require_named_class()
    for system in systems[:1] if plan.paired else systems:
        require_clusters(system, settings.cluster)
    systems = [counted(system) for system in systems]
    for system in systems:
        require_folds(system, settings.fold_column)
    many = any(is_sampled(system, settings) for system in systems)  # drawing labels for all rows takes hours
    settings = replace(settings, test=settings.draws_outcomes and not many)
    slices: list[tuple[Slice | None, Sequence[Predictions]]] = [(None, systems)]
    if plan.by is not None:
        slices += slices_of(systems, plan.by, paired=plan.paired)
    comparisons = []
    for part, members in slices:
        measured = measured_systems(members, settings, plan.paired, watch if part is None else None)
        comparisons.append(compared(measured, part, settings, plan))
    return [comparisons[0], *corrected(comparisons[1:], settings.level)]


def parse_margins(texts: Sequence[str]) -> dict[str, Margin]:
    """Return margins by metric expression, from texts such as `log_loss=0.01` or `log_loss=1%,brier=1%`.

    Raises
    ------
    UsageError
        If a metric is unknown, or a margin is neither a number nor a percentage above 0.
    """
    margins = {}
    for text in ",".join(texts).split(",") if texts else ():
        metric, equals, value = text.rpartition("=")
        try:
            margin = Margin.read(value)
        except ValueError:
            margin = Margin()
        if not equals or margin == Margin():
            raise UsageError(
                f"{text!r} is not a margin; expected a metric and a number or a percentage above 0, as in "
                "'log_loss=0.01' or 'log_loss=1%'"
            )
        parse_metric(metric)  # raises an error for unknown metrics
        margins[metric] = margin
    return margins


def compared_metrics(baseline: Predictions, settings: Settings, plan: Plan) -> tuple[str, ...]:
    """Return the metrics of a comparison: the named or default ones, and others that the plan names.

    At each threshold of the settings it is the net benefit, and the cost if decisions have one.
    """
    metrics = settings.metrics or usually_compared(baseline, settings.costs)
    points = operating_points(baseline, settings).values()
    worth = [call.text for point in points for call in point[OPERATING.index("net_benefit") :]]
    return tuple(dict.fromkeys([*metrics, *worth, *(plan.margins or {}), plan.ranked_by]))


def usually_compared(predictions: Predictions, costs: Sequence[Costs] = ()) -> list[str]:
    """Return the metrics compared by default; for a state, the metrics it was made for."""
    states = states_in([predictions])
    if made_for := [name for state in states for name in state.state.head.metrics]:
        return [name for name in made_for if not parse_metric(name).entry.family.fits]
    if not predictions.has_probabilities:
        return default_metrics(predictions)[0]
    names = ["log_loss", "brier", "accuracy", *(f"bayes_risk:costs={cost.name}" for cost in costs)]
    rows, classes = predictions.scores.shape
    if classes == 2 or (rows * classes <= RANKED_LIMIT and predictions.has_rows):
        names.append("auroc")
    class_wise = classes <= MOST_CLASSES and not predictions.of_answers
    return [*names, "mean_gap", "ece", "ks", *["cw_ece"] * class_wise]


RANKED_LIMIT = 10_000_000  # scores up to which every class is sorted for the AUROC
MOST_CLASSES = 20  # classes up to which class-wise errors are compared by default


def _difference(
    metric: Measure, pair: Pair, limit: Margin, correction: Simultaneous, tost: bool
) -> Difference:
    """Return a difference with its interval, p-value, verdict and power."""
    sides, settings = (pair.baseline, pair.candidate), pair.settings
    baseline, candidate = (side.value(metric) for side in sides)
    every, rows = (side.predictions.n_rows for side in sides), tuple(side.rows(metric) for side in sides)
    sampled = () if rows == tuple(every) else rows
    found_evidence: Evidence = Untested()
    if not math.isnan(candidate - baseline):  # for example both are infinite
        found_evidence = evidence(metric, pair)
    pointwise = correction.pointwise(settings.level)
    interval = found_evidence.interval(pointwise)
    change = found_evidence.spread.value if isinstance(found_evidence, ByProxy) else None
    if interval is not None and not interval.contains(candidate - baseline if change is None else change):
        found_evidence, interval = Untested(no_interval=BIASED), None
    of = f"|rows:{'+'.join(map(str, dict.fromkeys(sampled)))}" if sampled else ""
    clip = f"|clip:{settings.clip:g}" if settings.clip and metric.is_clipped else ""
    margin, inner = limit.of(baseline), interval
    if tost and interval is not None:
        inner = found_evidence.interval(2 * pointwise - 1)
    difference = Difference(
        metric,
        baseline,
        candidate,
        interval and replace(interval, level=settings.level),
        found_evidence.p_value(),
        correction.corrected(found_evidence.p_value()),
        margin,
        inner is not None and -margin <= inner.low and inner.high <= margin,
        "equal" if isinstance(found_evidence, Equal) else "untested",
        f"{metric}|difference{of}{clip}|{found_evidence.method}|seed:{settings.seed}|version:{__version__}",
        found_evidence.no_interval,
        sampled,
        Power.of(found_evidence, rows[1], pointwise, _sign(metric)) if interval else None,
        change=change,
    )
    return replace(difference, verdict=_verdict(difference, settings.level))


def _sign(metric: Measure) -> int:
    return -1 if metric.entry.direction == "higher" else 1


def _verdict(difference: Difference, level: float) -> Verdict:
    entry = difference.metric.entry
    worse = entry.cost(difference.candidate) - entry.cost(difference.baseline)
    worse = worse if difference.change is None else difference.change * _sign(difference.metric)
    if math.isinf(difference.value) and entry.target is None:  # one infinite loss proves an infinite mean
        return _told(entry, worse)
    if difference.within_margin:
        return "equivalent"
    if math.isnan(difference.corrected_p):
        return difference.verdict
    return "undecided" if difference.corrected_p > 1 - level + 1e-12 else _told(entry, worse)


def _told(entry: Metric, worse: float) -> Verdict:
    """Return the verdict of a proven difference, by the increase of the cost."""
    if entry.direction == "none":
        return "different"
    return "worse" if worse > 0 else "better"


def compared(systems: Sequence[System], part: Slice | None, settings: Settings, plan: Plan) -> Comparison:
    """Return the comparison of measured systems on all rows, or on a slice."""
    metrics = parse_metrics(settings.metrics, settings.defaults)
    ranked_by = parse_metric(plan.ranked_by, settings.defaults)
    margins = {str(parse_metric(name, settings.defaults)): x for name, x in (plan.margins or {}).items()}
    every = [*combinations(range(len(systems)), 2)]
    against_first = every[: len(systems) - 1]

    def between(
        metric: Measure, correction: Simultaneous, baseline: int, second: int, margin: Margin = NO_MARGIN
    ) -> Difference:
        pair = Pair(systems[baseline], systems[second], settings, plan.paired)
        return _difference(metric, pair, margin, correction, plan.tost)

    def corrected(metric: Measure, pairs: Sequence[tuple[int, int]]) -> Simultaneous:
        return _simultaneous(systems, [(metric, *pair) for pair in pairs], plan.paired, settings.seed)

    # any system may be the best, hence every pair is tested
    of_ranking = corrected(ranked_by, every)
    tables: list[dict[str, Difference]] = [{} for _ in against_first]
    for metric in metrics:
        correction = of_ranking if metric == ranked_by else corrected(metric, against_first)
        for table, pair in zip(tables, against_first, strict=True):
            margin = margins.get(str(metric), NO_MARGIN)
            table[metric.text] = between(metric, correction, *pair, margin)
    if part is None:
        tests = [(metric, *pair) for metric in metrics for pair in against_first]
        joint = _simultaneous(systems, tests, plan.paired, settings.seed)
        tables = [
            {name: replace(d, p_over_metrics=joint.corrected(d.p_value)) for name, d in table.items()}
            for table in tables
        ]
    values = [system.value(ranked_by) for system in systems]
    ranking = _ranked(ranked_by, values, partial(between, ranked_by, of_ranking))
    best, top, cost = ranking[0].system, ranking[0].system, None
    accuracy = next((metric for metric in metrics if str(metric) == "accuracy"), None)
    if accuracy is not None:
        values = [system.value(accuracy) for system in systems]
        top = int(np.argmax(values)) if values[best] < max(values) else best
        cost = between(accuracy, corrected(accuracy, every), top, best)
    summaries = tuple(system.evaluation.summary for system in systems)
    flips = [_flips(systems[0], system, plan.show) for system in systems[1:]] if plan.paired else []
    answered = tuple(flip for flip in flips if flip is not None)
    return Comparison(part, summaries, tuple(tables), tuple(ranking), ranked_by, cost, top, answered)


def _simultaneous(
    systems: Sequence[System], tests: Sequence[tuple[Measure, int, int]], paired: bool, seed: int
) -> Simultaneous:
    """Return the correction of tests, each of a metric of two systems, from the influences of units."""
    influence_values: dict[tuple[str, int], Influences] = {}
    for metric, *pair in tests:
        for number in pair:
            values = systems[number].telling(metric).influences.get(str(metric))
            if values is not None:
                influence_values[str(metric), number] = values
    places = {key: place for place, key in enumerate(influence_values)}
    contrasts = []
    for metric, *pair in tests:
        keys = [(str(metric), number) for number in pair]
        if all(key in places for key in keys):
            contrasts.append(np.zeros(len(places)))
            contrasts[-1][[places[key] for key in keys]] = -1, 1
    if len(contrasts) < 2:
        return Simultaneous(len(contrasts), np.empty(0))
    covariance = joint_covariance([*influence_values.values()], paired=paired)
    return Simultaneous.of(covariance, np.stack(contrasts), seed)


def _flips(baseline: System, candidate: System, show: tuple[str, ...]) -> Flips | None:
    """Return which questions differ between two systems; None for probabilities of classes."""
    sides, rows = (baseline, candidate), baseline.predictions
    of_classes = rows.has_probabilities and not rows.of_answers
    if of_classes or not all("hit" in side.measured.columns for side in sides):
        return None
    column = rows.columns.get(rows.provenance.identity)
    column = np.arange(rows.n_rows) if column is None else column.astype(str)
    names, start, question = np.unique(column, return_index=True, return_inverse=True)
    before, second = (np.bincount(question, side.measured.columns["hit"]) for side in sides)
    order = np.argsort(start)
    ways = [order[way[order]] for way in (second < before, second > before)]
    worse, better = (tuple(names[way].astype(str).tolist()) for way in ways)
    values = {
        str(names[n]): tuple(str(rows.column(name)[start[n]]) for name in show)
        for n in np.concatenate(ways).tolist() * bool(show)
    }
    return Flips(worse, better, len(names) - len(worse) - len(better), show, values)


def _ranked(
    metric: Measure, values: Sequence[float], between: Callable[[int, int], Difference]
) -> list[Ranked]:
    """Rank systems by a metric, with the set of systems not significantly worse than the best.

    The best system has the best value; undefined values come last.
    """
    costs = np.array([metric.entry.cost(value) for value in values])
    best, *behind = np.argsort(costs, kind="stable").tolist()
    to_best = [between(best, place) for place in behind]
    return [Ranked(best, None, not math.isnan(costs[best]))] + [
        Ranked(system, difference, difference.verdict in ("undecided", "equivalent", "equal"))
        for system, difference in zip(behind, to_best, strict=True)
    ]


def corrected(comparisons: Sequence[Comparison], level: float) -> list[Comparison]:
    """Correct each metric of each candidate for the number of tested slices."""
    tables: list[list[dict[str, Difference]]] = [
        [dict(difference) for difference in part.differences] for part in comparisons
    ]
    for candidate in range(len(tables[0]) if tables else 0):
        for metric in tables[0][candidate]:
            across = [table[candidate][metric] for table in tables]
            for table, difference in zip(tables, _with_holm(across, level), strict=True):
                table[candidate][metric] = difference
    return [replace(part, differences=tuple(table)) for part, table in zip(comparisons, tables, strict=True)]


def _with_holm(differences: Sequence[Difference], level: float) -> list[Difference]:
    """Correct p-values for their number, and judge again; untested differences stay the same."""
    tested = [n for n, difference in enumerate(differences) if not math.isnan(difference.corrected_p)]
    corrected = dict(zip(tested, holm([differences[n].corrected_p for n in tested]).tolist(), strict=True))
    adjusted = [replace(d, corrected_p=corrected.get(n, d.p_value)) for n, d in enumerate(differences)]
    return [replace(difference, verdict=_verdict(difference, level)) for difference in adjusted]
