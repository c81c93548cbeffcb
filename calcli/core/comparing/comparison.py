"""Comparison of systems: differences of all metrics with what the data say about them, and rankings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from calcli.core.comparing.pairing import states_in
from calcli.core.comparing.selection import relative_change
from calcli.core.comparing.slices import slices_of
from calcli.core.comparing.systems import evidence, measured_systems
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import Slice, counted
from calcli.core.data.units import require_clusters, require_folds
from calcli.core.estimators.consistency import SHARPNESS, holm
from calcli.core.estimators.evidence import NO_MARGIN, Evidence, Margin, Untested
from calcli.core.estimators.influences import BIASED
from calcli.core.estimators.intervals import Interval
from calcli.core.estimators.power import Power
from calcli.core.evaluating.families.base import Pair, System
from calcli.core.evaluating.results import Summary
from calcli.core.language.entries import Metric
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import MetricExpression, parse_metric, parse_metrics
from calcli.core.language.settings import Costs, Settings
from calcli.core.language.text import Watch
from calcli.core.language.version import __version__

Verdict = Literal["better", "worse", "different", "equivalent", "undecided", "no evidence", "untested"]


@dataclass(frozen=True, repr=False)
class Difference:
    """How a metric differs between a baseline and a candidate.

    Attributes
    ----------
    call
        The metric.
    baseline, candidate
        Their values.
    interval
        Of candidate - baseline; None for calibration errors, which are biased upward near zero.
    no_interval
        Why there is none, of metrics that may have one.
    p_value
        Two-sided, of no difference; nan without a test.
    corrected_p
        The same corrected for the number of slices (Holm).
    margin
        The largest difference that does not matter; 0 if none was given.
    verdict
        At the level of the interval.
    signature
        Everything the difference depends on, in one line.
    rows
        How many rows of each system the values come from, where these are samples.
    power
        What differences so many rows tell; None without an interval.
    """

    call: MetricExpression
    baseline: float
    candidate: float
    interval: Interval | None
    p_value: float
    corrected_p: float
    margin: float
    verdict: Verdict
    signature: str
    no_interval: str = ""
    rows: tuple[int, ...] = ()
    power: Power | None = None

    def __repr__(self) -> str:
        return f"<{self.call}: {self.baseline:.4g} to {self.candidate:.4g}, {self.verdict}>"

    @property
    def value(self) -> float:
        """Candidate minus baseline; nan if both are infinite."""
        return self.candidate - self.baseline

    @property
    def relative(self) -> float:
        """The difference as a share of the baseline; nan where there is none."""
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
        Whether it is the best, or cannot be told from it; never where the metric is undefined.
    """

    system: int
    to_best: Difference | None
    among_best: bool


@dataclass(frozen=True)
class Comparison:
    """Several systems on the same rows, or on those of one slice.

    Attributes
    ----------
    part
        The slice; None for all rows.
    summaries
        One a system, the baseline first.
    differences
        Of each candidate to the baseline, by metric expression.
    ranking
        All systems, the best first.
    ranked_by
        The metric of the ranking.
    accuracy_cost
        Accuracy of the best system minus that of the most accurate one; None where accuracy was not computed.
    most_accurate
        The number of that system.
    apart
        Whether samples of paired systems are of different rows, and what they tell is compared unpaired.
    """

    part: Slice | None
    summaries: tuple[Summary, ...] = field(repr=False)
    differences: tuple[Mapping[str, Difference], ...]
    ranking: tuple[Ranked, ...] = field(repr=False)
    ranked_by: MetricExpression
    accuracy_cost: Difference | None = field(repr=False)
    most_accurate: int
    apart: bool = False


@dataclass(frozen=True)
class Plan:
    """How systems are compared.

    Attributes
    ----------
    paired
        Whether row i is the same case in all of them.
    margins
        Differences that do not matter, by metric expression.
    ranked_by
        Metric expression of the ranking.
    by
        Column whose values are compared one by one as well.
    """

    paired: bool = True
    margins: Mapping[str, Margin] | None = None
    ranked_by: str = "log_loss"
    by: str | None = None


def compare(
    systems: Sequence[Predictions], settings: Settings, plan: Plan, watch: Watch | None = None
) -> list[Comparison]:
    """Compare candidates with a baseline, on all rows and on each slice.

    Parameters
    ----------
    systems
        The baseline first; paired ones have the same cases in the same order.
    settings
        Metrics, level, permutations (`draws`) and seed; the default metrics if it names none.
    plan
        How to compare.
    watch
        Called with the number of rows measured, of one system after the other.

    Raises
    ------
    UsageError
        If a metric is unknown, or the ranking's has no direction.
    """
    if (ranked_by := parse_metric(plan.ranked_by, settings.defaults)).entry.direction == "none":
        raise UsageError(f"no value of {ranked_by} is better than another; rank by log_loss")
    settings = replace(settings, metrics=compared_metrics(systems[0], settings, plan))
    for system in systems:
        system.require_told_class()
    for system in systems[:1] if plan.paired else systems:
        require_clusters(system, settings.cluster)
    systems = [counted(system) for system in systems]
    for system in systems:
        require_folds(system, settings.fold_column)
    parts: list[tuple[Slice | None, Sequence[Predictions]]] = [(None, systems)]
    if plan.by is not None:
        parts += slices_of(systems, plan.by, paired=plan.paired)
    found = []
    for part, members in parts:
        number = 1 if part is None else len(parts) - 1  # of slices that are tested with it
        own = _sharpened(settings, max(len(systems) - 1, number))
        counting = watch if part is None else None
        measured = measured_systems(members, own, plan.paired, counting)
        found.append(_compared(measured, part, own, plan, number))
    return [found[0], *_corrected(found[1:], settings.level)]


def _sharpened(settings: Settings, tests: int) -> Settings:
    """Return settings whose least p-values, corrected for a number of tests, can be significant."""
    needed = min(math.ceil(SHARPNESS * 2 * tests / (1 - settings.level)), MOST_DRAWS)
    return replace(
        settings,
        draws=settings.draws and max(settings.draws, needed),
    )


def parse_margins(texts: Sequence[str]) -> dict[str, Margin]:
    """Return margins by metric expression, from texts such as `log_loss=0.01` or `log_loss=1%,brier=1%`.

    Raises
    ------
    UsageError
        If a metric is unknown, or a margin is neither a number nor a percentage above 0.
    """
    margins = {}
    for text in (one for given in texts for one in given.split(",")):
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
        parse_metric(metric)  # refuses what is unknown
        margins[metric] = margin
    return margins


def compared_metrics(baseline: Predictions, settings: Settings, plan: Plan) -> tuple[str, ...]:
    """Return the metrics of a comparison: those named or the default ones, and what else the plan names."""
    metrics = settings.metrics or usually_compared(baseline, settings.costs)
    return tuple(dict.fromkeys([*metrics, *(plan.margins or {}), plan.ranked_by]))


def usually_compared(predictions: Predictions, costs: Sequence[Costs] = ()) -> list[str]:
    """Return the metrics that are compared if none are named; of a state, those that it was made for."""
    states = states_in([predictions])
    if made_for := [name for one in states for name in one.state.head.metrics]:
        return [name for name in made_for if not parse_metric(name).entry.family.fits]
    names = ["log_loss", "brier", "accuracy", *(f"bayes_risk:costs={one.name}" for one in costs)]
    rows, classes = predictions.scores.shape
    if classes == 2 or (rows * classes <= RANKED_LIMIT and not states):
        names.append("auroc")
    class_wise = classes <= MOST_CLASSES and not predictions.of_answers
    return [*names, "mean_gap", "ece", "ks", *["cw_ece"] * class_wise]


MOST_DRAWS = 10_000
RANKED_LIMIT = 10_000_000  # scores up to which every class is put in order for the AUROC
MOST_CLASSES = 20  # of which class-wise errors are compared unasked


def _difference(call: MetricExpression, pair: Pair, limit: Margin) -> Difference:
    """Return a difference with its interval, p-value and verdict, and what so many rows tell."""
    both, settings, level = (pair.baseline, pair.candidate), pair.settings, pair.settings.level
    baseline, candidate = (one.value(call) for one in both)
    every, rows = (one.predictions.n_rows for one in both), tuple(one.rows(call) for one in both)
    sampled = () if rows == tuple(every) else rows
    told: Evidence = Untested()
    if not math.isnan(candidate - baseline):  # as where both are infinite
        told = evidence(call, pair)
    interval, p_value, reason = told.interval(level), told.p_value(), told.no_interval
    if interval is not None and not interval.contains(candidate - baseline):
        interval, reason = None, BIASED
    of = f"|rows:{'+'.join(map(str, dict.fromkeys(sampled)))}" if sampled else ""
    clip = f"|clip:{settings.clip:g}" if settings.clip and call.is_clipped else ""
    found = Difference(
        call,
        baseline,
        candidate,
        interval,
        p_value,
        p_value,
        limit.of(baseline),
        "untested",
        f"{call}|difference{of}{clip}|{told.method}|seed:{settings.seed}|version:{__version__}",
        reason,
        sampled,
        Power.of(told, rows[1], level, _sign(call)) if interval else None,
    )
    return replace(found, verdict=_verdict(found, level))


def _sign(call: MetricExpression) -> int:
    return -1 if call.entry.direction == "higher" else 1


def _verdict(found: Difference, level: float) -> Verdict:
    entry = found.call.entry
    worse = entry.cost(found.candidate) - entry.cost(found.baseline)
    if math.isinf(found.value) and entry.target is None:  # one infinite loss proves an infinite mean
        return _told(entry, worse)
    ends, margin = found.interval, found.margin
    if ends is not None and -margin <= ends.low and ends.high <= margin:
        return "equivalent"
    if math.isnan(found.corrected_p):
        return "untested"
    if found.corrected_p > 1 - level + 1e-12:
        return "no evidence" if ends is None else "undecided"
    return _told(entry, worse)


def _told(entry: Metric, worse: float) -> Verdict:
    """Return what a proven difference is, by how much greater the cost is."""
    if entry.direction == "none":
        return "different"
    return "worse" if worse > 0 else "better"


def _compared(
    systems: Sequence[System],
    part: Slice | None,
    settings: Settings,
    plan: Plan,
    slices: int,
) -> Comparison:
    """Return the comparison of measured systems on all rows, or on one of so many slices."""
    calls, rivals = parse_metrics(settings.metrics, settings.defaults), len(systems) - 1
    ranked_by = parse_metric(plan.ranked_by, settings.defaults)
    margins = {str(parse_metric(name, settings.defaults)): x for name, x in (plan.margins or {}).items()}

    def between(call: MetricExpression, first: int, second: int, margin: Margin = NO_MARGIN) -> Difference:
        tests = slices * (2 * rivals - 1 if call == ranked_by else rivals)
        return _difference(call, Pair(systems[first], systems[second], settings, plan.paired, tests), margin)

    differences = tuple(
        {call.asked: between(call, 0, n, margins.get(str(call), NO_MARGIN)) for call in calls}
        for n in range(1, len(systems))
    )
    values = [one.value(ranked_by) for one in systems]
    ranking = _ranked(ranked_by, values, partial(between, ranked_by), settings.level)
    best, top, cost = ranking[0].system, ranking[0].system, None
    accuracy = next((call for call in calls if str(call) == "accuracy"), None)
    if accuracy is not None:
        values = [one.value(accuracy) for one in systems]
        top = int(np.argmax(values)) if values[best] < max(values) else best
        cost = between(accuracy, top, best)
    pairs = [Pair(systems[0], one, settings, plan.paired) for one in systems[1:]]
    apart = plan.paired and not all(pair.telling(call).paired for pair in pairs for call in calls)
    summaries = tuple(one.evaluation.summary for one in systems)
    return Comparison(part, summaries, differences, tuple(ranking), ranked_by, cost, top, apart)


def _ranked(
    call: MetricExpression, values: Sequence[float], between: Callable[[int, int], Difference], level: float
) -> list[Ranked]:
    """Rank systems by the values of a metric, with the set that cannot be told from the best.

    The best is the one with the best value, undefined values come last. Its differences `between` it and the
    others are tested with Holm's correction.
    """
    costs = np.array([call.entry.cost(value) for value in values])
    order = np.argsort(costs, kind="stable").tolist()
    best = order[0]
    corrected = _with_holm([between(best, other) for other in order[1:]], level)
    defined = ~np.isnan(costs)
    return [Ranked(best, None, bool(defined[best]))] + [
        Ranked(system, to_best, bool(defined[system]) and to_best.verdict != "worse")
        for system, to_best in zip(order[1:], corrected, strict=True)
    ]


def _corrected(parts: Sequence[Comparison], level: float) -> list[Comparison]:
    """Correct each metric of each candidate for the number of slices it was tested on."""
    tables: list[list[dict[str, Difference]]] = [
        [dict(found) for found in part.differences] for part in parts
    ]
    for candidate in range(len(tables[0]) if tables else 0):
        for metric in tables[0][candidate]:
            across = [table[candidate][metric] for table in tables]
            for table, found in zip(tables, _with_holm(across, level), strict=True):
                table[candidate][metric] = found
    return [replace(part, differences=tuple(table)) for part, table in zip(parts, tables, strict=True)]


def _with_holm(differences: Sequence[Difference], level: float) -> list[Difference]:
    """Correct p-values for their number, and judge again; those without a test stay as they are."""
    tested = [n for n, found in enumerate(differences) if not math.isnan(found.p_value)]
    corrected = dict(zip(tested, holm([differences[n].p_value for n in tested]).tolist(), strict=True))
    found = [replace(one, corrected_p=corrected.get(n, one.p_value)) for n, one in enumerate(differences)]
    return [replace(one, verdict=_verdict(one, level)) for one in found]
