"""Checking: judging the rules of a policy on a candidate, alone or against a baseline."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from calcli.core.comparing.comparison import evidence, measured_systems
from calcli.core.comparing.pairing import as_states, expanded, may_slice, of_groups, pair, slice_of
from calcli.core.comparing.policy import (
    Bound,
    Checked,
    NoWorse,
    Outcome,
    Policy,
    Rule,
    Status,
    Undecided,
)
from calcli.core.comparing.segmenting import find_segments
from calcli.core.data.derived import Priors, counted, slice_names
from calcli.core.data.predictions import Predictions, require_classes
from calcli.core.data.units import clusters_of, require_clusters
from calcli.core.estimators.calibrationerror import SHARPNESS, holm
from calcli.core.estimators.evidence import NO_MARGIN, NORMAL, Equal, Evidence, Margin, Normal, Untested
from calcli.core.estimators.intervals import Interval, level_percent
from calcli.core.estimators.power import Power
from calcli.core.estimators.thresholds import Threshold, confidences, independent_rows
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.metrics.base import Pair, System
from calcli.core.evaluating.results import Estimate
from calcli.core.language.declaring import declared
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import Measure, parse_metric
from calcli.core.language.settings import PairSettings, SegmentSettings, Settings
from calcli.core.language.text import json_value, number, numbers, percent, plus_minus, span

NAMED = ("costs", "groups", "threshold_weights")  # of which metrics name those that they use
SEPARATORS = re.compile(r"[:=,;+()\[\]]")  # of a metric expression


@dataclass(frozen=True)
class StoredValue:
    """A metric of a report: its value, and its interval if it has one."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class StoredReport:
    """A report as baseline: values without rows, which cannot be paired.

    Attributes
    ----------
    path
        The file.
    classes
        Names of the classes.
    metrics
        By slice ("" for all rows) and metric expression.
    settings
        Its settings, as JSON values.
    weighted
        Whether its rows had weights; None if unknown.
    """

    path: str
    classes: tuple[str, ...]
    metrics: Mapping[str, Mapping[str, StoredValue]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    weighted: bool | None = None


@dataclass(frozen=True)
class Baseline:
    """The baseline of a candidate.

    Attributes
    ----------
    reference
        Predictions, or a report on them.
    candidate
        The candidate; if paired, its rows that the reference has too, in the order of the reference.
    paired
        Whether row i is the same case in both.
    unlike
        Why states are not paired, although pairing was requested.
    unmatched
        Rows of the reference and of the candidate that the other lacks; they were left out.
    tost
        Whether 1 - level, instead of half of it, is the error of a proof within the margin.
    """

    reference: Predictions | StoredReport
    candidate: Predictions
    paired: bool
    unlike: str = ""
    unmatched: tuple[int, ...] = (0, 0)
    tost: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the comparison, as sentences."""
        if isinstance(self.reference, StoredReport):
            return (
                f"The baseline {self.reference.path} is a report: it holds no rows to pair, so only "
                "large differences can be proven.",
            )
        if not self.paired:
            reason = f", as {self.unlike}:" if self.unlike else ": the baseline holds other cases, so"
            return (f"Unpaired{reason} only large differences can be proven.",)
        paths = (predictions.provenance.path for predictions in (self.reference, self.candidate))
        return tuple(
            f"{path}: rows without a counterpart, left out of comparisons: {count:,}."
            for path, count in zip(paths, self.unmatched, strict=True)
            if count
        )


@dataclass(frozen=True)
class Against:
    """How predictions are compared with a baseline.

    Attributes
    ----------
    reference
        Predictions or a report.
    pairing
        How their rows are paired.
    """

    reference: Predictions | StoredReport
    pairing: PairSettings

    def baseline(self, predictions: Predictions, policy: Policy) -> Baseline:
        """Return the baseline for predictions, with rows paired if possible.

        Raises
        ------
        InputError
            If classes or rows differ although they must not, or a report was made with other settings.
        UsageError
            If the key is not a column.
        """
        reference, how = self.reference, self.pairing
        owner = reference.path if isinstance(reference, StoredReport) else reference.provenance.path
        require_classes(predictions, reference.classes, owner)
        if isinstance(reference, StoredReport):
            if unlike := unlike_setting(reference.settings, reference.classes, policy, reference.path):
                raise InputError(unlike)
            if policy.compares:
                weighted = predictions.weights is not None
                if reference.weighted is not None and reference.weighted != weighted:
                    use, path = ("without weights", "with weights"), predictions.provenance.path
                    raise InputError(
                        f"{reference.path} is a report of rows {use[reference.weighted]}, and {path} was "
                        f"read {use[weighted]}: their results are not comparable; use --weights for "
                        "both or for neither"
                    )
            return Baseline(reference, predictions, paired=False, tost=how.tost)
        systems = reference, predictions
        by = [name for name in policy.columns if all(may_slice(rows, name) for rows in systems)]
        columns = {*policy.columns, *([policy.settings.cluster] if policy.settings.cluster else [])}
        paired = pair(as_states(systems, policy.evaluation_settings, how.key, by), how, keep=sorted(columns))
        then, second = paired.systems
        return Baseline(then, second, paired.paired, paired.unlike, paired.unmatched, how.tost)


def unlike_setting(stored: Mapping[str, Any], classes: tuple[str, ...], policy: Policy, path: str) -> str:
    """Return the setting in which a report differs from a policy, in one sentence; "" if none does.

    Parameters
    ----------
    stored
        Settings of the report, as JSON values; missing settings have their defaults.
    classes
        The classes of the report.
    policy
        Only settings that affect its rules on a baseline are compared.
    path
        The path of the report, for the sentence.
    """
    metrics = [rule.metric for rule in policy.rules if isinstance(rule.condition, NoWorse)]
    if not metrics:
        return ""
    then = json_value(asdict(Settings())) | stored
    try:
        unlike = list(_differences(then, policy.settings, metrics, classes))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"{path} is a damaged report ({type(error).__name__}: {error})"
    if not unlike:
        return ""
    return (
        f"the report {path} was made with another {', '.join(unlike)} than the policy has: their results are "
        "not comparable; evaluate the baseline with the settings of the policy"
    )


def _differences(
    then: Mapping[str, Any], now: Settings, metrics: list[Measure], classes: tuple[str, ...]
) -> Iterator[str]:
    """Yield the options that differ."""
    current, unlike = json_value(asdict(now)), list[str]()
    for name in ("priors", "shift_to_priors", "trained_at"):
        unlike += [name] * (not _same_priors(then[name], current[name], classes))
    for name, matters in (
        ("clip", any(metric.is_clipped for metric in metrics)),
        ("cluster", True),
        ("decision_column", any("expected_cost" in metric.entry.name for metric in metrics)),
    ):
        unlike += [name] * (matters and then[name] != current[name])
    for name in NAMED:
        stored, wanted = _by_name(then[name]), _by_name(current[name])
        texts = [text for metric in metrics for text in (str(metric), *map(str, metric.arguments.values()))]
        names = set(stored) & set(wanted) & {word for text in texts for word in SEPARATORS.split(text)}
        unlike += [name] * any(stored[key] != wanted[key] for key in names)
    settings = declared(Settings)
    yield from (f"--{settings[name].key.replace('_', '-')}" for name in unlike)


def _by_name(defined: Any) -> Mapping[str, Any]:
    """Return definitions by their names; costs are a list."""
    return defined if isinstance(defined, Mapping) else {cost["name"]: cost for cost in defined}


def _same_priors(then: Any, now: Any, classes: tuple[str, ...]) -> bool:
    if then == now or then is None or now is None:
        return bool(then == now)
    try:
        return bool(np.allclose(_priors(then).of(classes), _priors(now).of(classes), rtol=0, atol=1e-9))
    except UsageError:  # one of these is for other classes
        return False


def _priors(stored: Mapping[str, Any]) -> Priors:
    return Priors(tuple(map(float, stored["values"])), tuple(stored["classes"]))


UNUSED = (
    "the baseline was not used, as no rule of the policy compares with it; add rules with max_increase or "
    "max_decrease, as calcli check --init FILE --baseline BASELINE writes them"
)
WORDS = {"passed": "holds", "broken": "is broken", "undecided": "is undecided"}
PROMISED = {  # the rate that a threshold limits, and the name of its errors, by promised measure
    "": ("error rate of answers", "answers are wrong"),
    "precision": ("share of false alerts", "alerts are false"),
    "recall": ("share of the class that is missed", "rows of the class are below the threshold"),
    "alerts": ("share of alerts", "rows are at or above the threshold"),
}
FEWEST_ROWS = 50  # fewest rows of a slice, for a rule on a metric without intervals


def check(
    predictions: Predictions,
    policy: Policy,
    baseline: Baseline | None = None,
    means: Sequence[System] = (),
) -> Checked:
    """Judge every rule of a policy.

    Rules against a baseline are tested together with Holm's correction. A limit of a calibration error is
    broken only if the error is also larger than under perfect calibration, beyond chance.

    Parameters
    ----------
    predictions
        The candidate.
    policy
        The rules.
    baseline
        Needed for rules without a limit.
    means
        For rules on means over labels: the baseline, if any, and the candidate.
    """
    cluster = clusters_of(predictions, policy.settings.cluster)
    policy = replace(policy, settings=replace(policy.settings, cluster=cluster))
    for rows in (predictions, baseline.reference if baseline else None):
        if isinstance(rows, Predictions):
            rows.require_named_class()
        if isinstance(rows, Predictions) and cluster in rows.columns:
            require_clusters(rows, cluster)
    read = len(predictions.provenance.notes)
    predictions, baseline = _counted(predictions, baseline)
    left_out = tuple(f"{note}." for note in predictions.provenance.notes[read:])
    rules_of_segments = [rule for rule in policy.rules if rule.segments]
    rules_asked, groups = expanded(predictions, [rule for rule in policy.rules if not rule.segments])
    settings = _settings(policy, max(map(len, groups), default=0) * policy.labels)
    alpha = _one_sided(settings.level) / policy.labels
    outcomes: dict[int, Outcome] = {}
    tested: dict[int, Outcome] = {}
    for part in dict.fromkeys(rule.part for rule in rules_asked):
        rules = {n: rule for n, rule in enumerate(rules_asked) if rule.part == part}
        for n, outcome in _judged(predictions, part, rules, settings, baseline, means).items():
            open_test = isinstance(outcome.rule.condition, NoWorse) and outcome.status in (
                "passed",
                "undecided",
            )
            if outcome.status == "broken" and outcome.p_value > alpha:
                chance = f"{outcome.reason}, which is chance for one of {policy.labels} labels"
                outcome = replace(outcome, status="passed", reason=chance)
            (tested if open_test else outcomes)[n] = outcome
    outcomes |= _corrected(tested, alpha)
    path = predictions.provenance.path
    ordered, skipped = of_groups([[outcomes[n] for n in group] for group in groups], alpha)
    unused = (UNUSED,) if baseline is not None and not policy.compares else ()
    return Checked(
        path,
        predictions.n_rows,
        (*ordered, *(_of_segments(predictions, rule, policy.settings) for rule in rules_of_segments)),
        notes=(*left_out, *(baseline.notes if baseline else ()), *skipped),
        warnings=unused,
        reading=predictions.reading(policy.settings.cluster),
    )


def _counted(predictions: Predictions, baseline: Baseline | None) -> tuple[Predictions, Baseline | None]:
    """Return the rows with a weight above 0 of predictions and of their baseline."""
    with_weight = counted(predictions)
    if baseline is None:
        return with_weight, None
    reference, candidate = baseline.reference, baseline.candidate
    same = with_weight if candidate is predictions else counted(candidate)
    if candidate.scores is predictions.scores:
        same = replace(same, scores=with_weight.scores)
    if isinstance(reference, Predictions):
        reference = counted(reference)
    return with_weight, replace(baseline, reference=reference, candidate=same)


def _judged(
    predictions: Predictions,
    part: str,
    rules: Mapping[int, Rule],
    settings: Settings,
    baseline: Baseline | None,
    means: Sequence[System],
) -> dict[int, Outcome]:
    """Judge the rules for one slice, together if possible, else one by one."""
    try:
        judge = _Judge(predictions, part, list(rules.values()), settings, baseline, means)
    except CalcliError as fault:
        if len(rules) == 1:
            return {n: Outcome(rule, "not judged", str(fault)) for n, rule in rules.items()}
        outcomes: dict[int, Outcome] = {}
        for n, rule in rules.items():
            outcomes |= _judged(predictions, part, {n: rule}, settings, baseline, means)
        return outcomes
    return {n: judge.outcome(rule) for n, rule in rules.items()}


def _of_segments(predictions: Predictions, rule: Rule, settings: Settings) -> Outcome:
    """Judge the gap of every segment by the nearer end of its interval."""
    assert isinstance(rule.condition, Bound)
    limit, usual = rule.condition.limit, SegmentSettings()
    search_settings = replace(
        usual,
        columns=rule.segments,
        min_rows=rule.min_rows or usual.min_rows,
        level=settings.level,
        seed=settings.seed,
        cluster=settings.cluster,
    )
    try:
        search = find_segments(predictions, search_settings)
    except CalcliError as fault:
        return Outcome(rule, "not judged", str(fault))
    proven, worst = max(((max(s.low, -s.high, 0), s) for s in search.segments), key=lambda pair: pair[0])
    worst = worst if proven else search.segments[0]
    low, high = (percent(end, sign=True) for end in (worst.low, worst.high))
    status: Status = "passed" if proven <= limit else "broken"
    reason = (
        f"the gap of {worst.name} is {percent(worst.value, sign=True)} ({low} to {high}, for all "
        f"{len(search.segments)} segments at once)"
    )
    return Outcome(rule, status, reason, abs(worst.value), limit, limit - proven, p_value=worst.p_value)


def _settings(policy: Policy, tests: int) -> Settings:
    """Return settings with enough draws for the strictest of Holm's levels."""
    settings = policy.settings
    needed = math.ceil(SHARPNESS * tests / _one_sided(settings.level))
    return replace(
        settings,
        draws=max(settings.draws, needed),
        test=settings.draws_outcomes,
    )


def _one_sided(level: float) -> float:
    """Return the p-value needed for a proof: the share that an interval leaves on each side."""
    return (1 - level) / 2


class _Judge:
    """Judges the rules for one slice."""

    def __init__(
        self,
        predictions: Predictions,
        part: str,
        rules: Sequence[Rule],
        settings: Settings,
        baseline: Baseline | None,
        means: Sequence[System] = (),
    ) -> None:
        self._slice, self._baseline = part, baseline
        self._level, self._alpha = settings.level, _one_sided(settings.level)
        self._untested = " for rows weighted to other priors" if settings.priors else ""
        if settings.cluster:
            self._untested = f" for rows that depend on each other by {settings.cluster}"
        settings = replace(settings, metrics=tuple(dict.fromkeys(rule.metric.text for rule in rules)))
        self._settings, self._systems = settings, list(means)
        compares = any(isinstance(rule.condition, NoWorse) for rule in rules) and not means
        if baseline is not None and compares:
            sides = [x for x in (baseline.reference, baseline.candidate) if isinstance(x, Predictions)]
            members = _members(sides, part, paired=baseline.paired)
            self._systems = measured_systems(members, settings, baseline.paired, candidate=len(members) - 1)
        compared = self._systems[-1].evaluation if self._systems else None
        # limits apply to all rows of the candidate, even if not all rows are compared
        fewer = baseline is not None and baseline.candidate.scores is not predictions.scores
        limits = any(isinstance(rule.condition, Bound) for rule in rules) and not means
        if compared is None or (fewer and limits):
            (rows,) = _members([predictions], part)
            alone = evaluate(rows, settings, sections=())
        else:
            alone = compared
        self._alone, self._compared = alone, alone if compared is None else compared

    def outcome(self, rule: Rule) -> Outcome:
        """Judge one rule; a rule against a baseline gets an uncorrected p-value of being worse."""
        evaluation = self._alone if isinstance(rule.condition, Bound) else self._compared
        estimate = evaluation.estimates[str(rule.metric)]
        outcome = self._outcome(rule, estimate, evaluation.predictions.n_rows)
        return replace(outcome, rows=estimate.rows)

    def _outcome(self, rule: Rule, estimate: Estimate, rows: int) -> Outcome:
        if reason := _too_few(rule, estimate, rows):
            return Outcome(rule, "not judged", reason, few=bool(rule.part))
        if math.isnan(estimate.value):
            return Outcome(rule, "not judged", f"{rule.metric.text} is not defined on these rows")
        if isinstance(rule.condition, Bound):
            return self._bound(rule, rule.condition, estimate)
        try:
            return self._no_worse(rule, rule.condition, estimate)
        except InputError as fault:
            return Outcome(rule, "not judged", str(fault), estimate.value, signature=estimate.signature)

    def _bound(self, rule: Rule, condition: Bound, estimate: Estimate) -> Outcome:
        value = best = estimate.value
        if condition.end != "value":
            if estimate.interval is None:
                why = f": {estimate.no_interval}" if estimate.no_interval else ""
                reason = f"{rule.metric.text} has no interval on these rows{why}"
                return Outcome(rule, "not judged", reason, value)
            low, high = estimate.interval.low, estimate.interval.high
            value, best = (high if condition.end == "upper" else low), (low if condition.most else high)
        headroom = condition.limit - value if condition.most else value - condition.limit
        status = condition.judge(value, best)
        outcome = Outcome(rule, status, "", value, condition.limit, headroom, signature=estimate.signature)
        name = rule.metric.text
        quantity = name if condition.end == "value" else f"the {condition.end} end of {name}"
        value_text = number(value, condition.limit)
        if status == "passed":
            return replace(outcome, reason=f"{quantity} is {value_text}, {number(headroom)} within the limit")
        beyond = f"{quantity} is {value_text}, {number(-headroom)} beyond the limit of {condition.limit:g}"
        if condition.end == "value" and condition.most and rule.metric.entry.family.has_null:
            return self._beside_null(outcome, estimate, beyond)
        within = f"; the other end, {number(best, condition.limit)}, is within it"
        return replace(outcome, reason=beyond + within * (status == "undecided"))

    def _beside_null(self, outcome: Outcome, estimate: Estimate, beyond: str) -> Outcome:
        """Break a rule on a calibration error only if it exceeds chance under calibration."""
        null = estimate.if_calibrated
        if null is None:
            return replace(outcome, status="not judged", reason=f"{beyond}, but {self._no_null()}")
        usual = f"calibrated probabilities would show {plus_minus(null.mean, null.sd)} (p {null.p_value:.3g})"
        if null.p_value > self._alpha:
            reason = f"{beyond}, which is chance: {usual}"
            return replace(outcome, status="passed", reason=reason, p_value=null.p_value)
        return replace(outcome, status="broken", reason=f"{beyond}; {usual}", p_value=null.p_value)

    def _no_null(self) -> str:
        return f"this is not tested against chance{self._untested}"

    def _no_worse(self, rule: Rule, condition: NoWorse, estimate: Estimate) -> Outcome:
        reference, value, evidence = self._against(rule.metric)
        sign = 1 if rule.metric.entry.direction == "lower" else -1  # of a change for the worse
        limit = reference + sign * condition.margin.of(reference)
        headroom = limit - value if sign > 0 else value - limit
        apart = _apart(sign * (value - reference))
        now, before = numbers(value, reference)
        change = f"{rule.metric.text} is {now}, {apart} the baseline's {before}"
        outcome = Outcome(
            rule,
            "undecided",
            change,
            value,
            limit,
            headroom,
            reference,
            signature=f"{estimate.signature}|{evidence.method}",
        )
        if math.isinf(value) and math.isinf(reference):
            return replace(outcome, status="not judged", reason=f"{change}: the difference is undefined")
        if math.isinf(value) or math.isinf(reference):
            worse = sign * (value - reference) > 0
            return replace(outcome, status="broken" if worse else "passed", p_value=0.0 if worse else 1.0)
        p = evidence.p_worse(sign, condition.margin)
        if math.isnan(p):
            why = f": {evidence.no_interval}" if evidence.no_interval else ""
            if why and self._baseline and self._baseline.paired:  # too few rows differ to prove anything
                return replace(outcome, reason=change + why, p_value=1.0)
            reason = f"{change}; there is no test of their difference{why}"
            return replace(outcome, status="not judged", reason=reason)
        if isinstance(evidence, Equal):
            return replace(outcome, status="passed", p_value=p)
        outcome = replace(outcome, p_value=p)
        rows = estimate.rows or self._compared.predictions.n_rows
        outcome = replace(outcome, power=Power.of(evidence, rows, self._level, sign))
        good = evidence.p_not_worse(sign, condition.margin)
        proves = self._alpha * (1 + (self._baseline is not None and self._baseline.tost))
        if good > proves or math.isnan(good):
            return outcome
        reason = f"{change}; proven {_within(condition.margin)} (p {good:.3g})"
        return replace(outcome, status="passed", reason=reason, p_value=good)

    def _against(self, metric: Measure) -> tuple[float, float, Evidence]:
        """Return the values of the baseline and the candidate, and the evidence on their difference.

        Raises
        ------
        InputError
            If there is no baseline, or it does not have the metric.
        """
        if self._baseline is None or not self._systems:
            raise InputError("the rule compares with a baseline; give one with --baseline")
        reference, candidate = self._baseline.reference, self._systems[-1]
        value = candidate.value(metric)
        if isinstance(reference, Predictions):
            before = self._systems[0]
            pair = Pair(before, candidate, self._settings, self._baseline.paired)
            return before.value(metric), value, evidence(metric, pair)
        stored = self._stored(reference, metric)
        if stored.interval is None:
            return stored.value, value, Untested()
        variances = _variance(stored.interval), candidate.variance(metric)
        reason = self._compared.estimates[str(metric)].no_interval
        return stored.value, value, Normal(stored.value, value, variances, 0.0, "unpaired-normal", reason)

    def _stored(self, report: StoredReport, metric: Measure) -> StoredValue:
        metrics = report.metrics.get(self._slice)
        if metrics is None:
            raise InputError(f"{report.path} has no results for the slice {self._slice}")
        if str(metric) not in metrics:
            raise InputError(f"{report.path} has no {metric}; evaluate the baseline with --metrics {metric}")
        return metrics[str(metric)]


def _too_few(rule: Rule, estimate: Estimate, rows: int) -> str:
    """Return why there are too few rows to judge a rule; "" if there are enough."""
    if rule.min_rows is not None:
        few = f"{rows:,} rows are fewer than the {rule.min_rows:,} that the rule asks for"
        return few if rows < rule.min_rows else ""
    if not rule.part:
        return ""
    if estimate.no_interval and not rule.metric.entry.family.has_null:
        return f"the slice is too small to judge {rule.metric.text}: {estimate.no_interval}"
    if estimate.interval is None and rows < FEWEST_ROWS:
        return f"{rows:,} rows are fewer than the {FEWEST_ROWS} that a rule on a slice requires"
    return ""


def _members(systems: Sequence[Predictions], part: str, *, paired: bool = False) -> Sequence[Predictions]:
    """Return the systems, or one slice of each; paired rows are sliced by the candidate's column."""
    return slice_of(systems, part, paired=paired) if part else systems


def _apart(worse: float) -> str:
    """Return the distance of two values in words; undefined if both are infinite."""
    if not worse:
        return "equal to"
    if math.isnan(worse):
        return "beside"
    return f"{number(abs(worse))} {'worse' if worse > 0 else 'better'} than"


def _variance(interval: Interval) -> float:
    """Return the variance behind a normal interval."""
    half = (interval.high - interval.low) / 2
    return float((half / NORMAL.inv_cdf((1 + interval.level) / 2)) ** 2)


def _corrected(tested: Mapping[int, Outcome], alpha: float) -> dict[int, Outcome]:
    """Break the rules that stay proven under Holm's correction; say what would decide the others."""
    unproven = {n: outcome for n, outcome in tested.items() if outcome.status == "undecided"}
    good_enough = [1.0] * (len(tested) - len(unproven))  # proven to be good enough
    adjusted = holm([*(outcome.p_value for outcome in unproven.values()), *good_enough]).tolist()
    many = f", corrected for {len(tested)} rules" if len(tested) > 1 else ""
    outcomes = dict(tested)
    for (n, outcome), p in zip(unproven.items(), adjusted, strict=False):
        margin = outcome.rule.condition.margin if isinstance(outcome.rule.condition, NoWorse) else NO_MARGIN
        by = f" by more than {margin}" if margin.of(outcome.baseline) else ""
        worse = f"proven worse{by} (p {p:.3g}{many})"
        decided_by = _decided_by(outcome.power, margin.of(outcome.baseline))
        reason = f"{outcome.reason}; not {worse}, nor {_within(margin)}{decided_by}"
        if p <= alpha:
            outcome, reason = replace(outcome, status="broken"), f"{outcome.reason}; {worse}"
        outcomes[n] = replace(outcome, reason=reason, p_value=p)
    return outcomes


def _within(margin: Margin) -> str:
    return "better" if margin == NO_MARGIN else f"to be within {margin}"


def _decided_by(power: Power | None, margin: float) -> str:
    """Say which difference the rows can detect, and how many rows a margin needs."""
    if power is None:
        return ""
    needed = power.not_worse(margin) if margin else 0
    rows = f"; if both are equally good, {needed:,} rows would prove it" if needed > power.rows else ""
    return f": a difference of {number(power.detectable)} is detectable{rows}"


def promise_of(threshold: Threshold, undecided: Undecided | None = None) -> Policy:
    """Return a policy with a rule for each promise."""
    metric, limit = parse_metric("error_rate"), threshold.max_error
    condition = Bound(limit, most=True, end="upper", undecided=undecided or "fail")
    rules = []
    for promise in threshold.found:
        if promise.threshold is not None:
            part = f"{threshold.by}={promise.value}" if threshold.by else ""
            name = f"{PROMISED[threshold.measure][0]} at most {limit:g}" + (f" [{part}]" if part else "")
            rules.append(Rule(metric, condition, part, name=name))
    return Policy(tuple(rules))


def check_promise(threshold: Threshold, policy: Policy, predictions: Predictions) -> Checked:
    """Judge the promises of a threshold, as rules of `promise_of`, by the exact interval of the error rate.

    Raises
    ------
    InputError
        If predictions do not fit the threshold, or have a slice that it does not know.
    UsageError
        If the predictions have weights, or are a state.
    """
    predictions.require_named_class()
    path = predictions.provenance.path
    threshold.require_same(predictions.kind, predictions.classes, path)
    _, hit = confidences(predictions, threshold.target)
    rows = independent_rows(predictions, threshold.cluster, threshold.seed)
    counted_rows, wrong = threshold.tallied(hit, threshold.answers(predictions))
    rows = rows[counted_rows[rows]]
    slices = slice_names(predictions.column(threshold.by)) if threshold.by else np.full(len(hit), "")
    promised = [promise for promise in threshold.found if promise.threshold is not None]
    outcomes, limit = [], threshold.max_error
    for rule, promise in zip(policy.rules, promised, strict=True):
        of_slice = rows if promise.value is None else rows[slices[rows] == promise.value]
        if not len(of_slice):
            reason = "no row tells, so the promise is undecided"
            outcomes.append(Outcome(rule, "undecided", reason, limit=limit))
            continue
        errors = int(np.count_nonzero(wrong[of_slice]))
        ends, rate = Interval.of_share(errors, len(of_slice), promise.level), errors / len(of_slice)
        assert isinstance(rule.condition, Bound)
        status: Status = rule.condition.judge(ends.high, ends.low)
        reason = (
            f"{errors:,} of {len(of_slice):,} {PROMISED[threshold.measure][1]}, {percent(rate)} "
            f"({level_percent(promise.level)} interval {span(ends.low, ends.high, percent)}): the promise "
            f"{WORDS[status]}"
        )
        outcomes.append(Outcome(rule, status, reason, rate, limit, limit - rate))
    return Checked(path, predictions.n_rows, tuple(outcomes), reading=predictions.reading(threshold.cluster))
