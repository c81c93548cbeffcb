"""Whether what a threshold promises is true of other rows: it holds, is broken, or is undecided."""

from __future__ import annotations

import numpy as np

from calcli.core.comparing.policy import Bound, Checked, Outcome, Policy, Rule, Status, Undecided
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import slice_names
from calcli.core.estimators.intervals import Interval, level_percent
from calcli.core.estimators.thresholds import Found, Threshold, confidences, independent_rows
from calcli.core.language.expressions import parse_metric
from calcli.core.language.numbers import percent, span

WORDS = {"passed": "holds", "broken": "is broken", "undecided": "is undecided"}


def promise_of(threshold: Threshold, undecided: Undecided | None = None) -> Policy:
    """Return a policy with a rule for each promise."""
    call, limit = parse_metric("error_rate"), threshold.max_error
    condition = Bound(limit, most=True, end="upper", undecided=undecided or "fail")
    rules = []
    for one in threshold.found:
        if one.threshold is not None:
            part = f"{threshold.by}={one.value}" if threshold.by else ""
            name = f"error rate of answers at most {limit:g}" + (f" [{part}]" if part else "")
            rules.append(Rule(call, condition, part, name=name))
    return Policy(tuple(rules))


def check_promise(threshold: Threshold, policy: Policy, predictions: Predictions) -> Checked:
    """Judge the promises of a threshold, rules of `promise_of`, by the exact interval of the error rate.

    Raises
    ------
    InputError
        If predictions are not such as it was made of, or have a slice that it does not know.
    UsageError
        If they have weights, or are a state.
    """
    path = predictions.provenance.path
    threshold.require_same(predictions.kind, predictions.classes, path)
    _, hit, looked_at = confidences(predictions, threshold.target)
    rows = independent_rows(predictions, looked_at, threshold.cluster, threshold.seed)
    rows = rows[threshold.answers(predictions)[rows]]
    slices = slice_names(predictions.column(threshold.by)) if threshold.by else np.full(len(hit), "")
    promised = [one for one in threshold.found if one.threshold is not None]
    outcomes = []
    for rule, one in zip(policy.rules, promised, strict=True):
        own = rows if one.value is None else rows[slices[rows] == one.value]
        outcomes.append(_judged(rule, one, int(np.count_nonzero(~hit[own])), len(own)))
    return Checked(path, predictions.n_rows, tuple(outcomes), reading=predictions.reading)


def _judged(rule: Rule, found: Found, errors: int, rows: int) -> Outcome:
    """Return what so many errors among answers say of a promise."""
    assert isinstance(rule.condition, Bound)
    limit = rule.condition.limit
    if not rows:
        return Outcome(rule, "undecided", "no row is answered, so the promise is undecided", limit=limit)
    ends, rate = Interval.of_share(errors, rows, found.level), errors / rows
    status: Status = rule.condition.judge(ends.high, ends.low)
    reason = (
        f"{errors:,} of {rows:,} answers are wrong, {percent(rate)} ({level_percent(found.level)} interval "
        f"{span(ends.low, ends.high, percent)}): the promise {WORDS[status]}"
    )
    return Outcome(rule, status, reason, rate, limit, limit - rate)
