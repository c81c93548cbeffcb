"""A first policy from today's values, which this file and similar files pass."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Container, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from calcli.core.comparing.redraws import KEPT, REDRAWS, Slack, first_metrics, slack_of
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.settings import IN_ORDER, PairSettings, Settings
from calcli.core.language.text import apart, number, percent, plain
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import atomic_path
from calcli.io.read import read
from calcli.io.saved.policies import parse_policy
from calcli.report.estimates import ends, if_calibrated, value
from calcli.work.check import against_baseline, checked_by

HEAD = """\
# Rules for `calcli check`, from the values of {path} ({rows:,} rows).
# Limits are set so that {kept} of {redraws:,} resamples of this file pass. Resamples may also hold errors
# that the probabilities make likely, but that this file happens to lack.
# A rule names a metric (as in `calcli evaluate --metrics`) and what must hold of it:
#   max, min                      of its value, or with bound = "upper" or "lower" of that end of its interval
#   max_increase, max_decrease    how much worse than the baseline it may be: 0.01, or "5%" of the baseline
# and perhaps slice = "column=value" or "column=*", severity = "warning", min_rows, name.

level = 0.95  # of every interval and proof
min_rows = {min_rows}  # with fewer rows nothing is judged
"""
BASELINE = """\
# Against a baseline: calcli check NEW --baseline OLD; rows are paired by their order, or with --key COLUMN.
# These rules catch far more than limits do, as they compare the same rows: take out the # to switch them on.
# A rule breaks when the data prove the new file worse by more than the margin. Where they prove neither that
# nor the contrary it is undecided, and passes; with undecided = "fail" or "warn" it does not.
"""
AGAINST = {"log_loss": 'max_increase = "2%"'} | dict.fromkeys(
    ("accuracy", "auroc", "average_precision"), "max_decrease = 0.01"
)


def policy_for(
    file: str, options: ReadOptions, baseline: str | None = None, pairing: PairSettings = IN_ORDER
) -> tuple[str, list[str]]:
    """Return a first policy that a file passes, with notes on its limits and on omitted rules.

    Rules against a baseline that the file breaks become comments. See `first_policy`.

    Raises
    ------
    InputError
        If a file cannot be read, or gives no rule.
    """
    predictions = read(file, options)
    evaluation = evaluate(predictions, Settings(first_metrics(predictions)))
    slacks = slack_of(predictions, [estimate.metric.text for estimate in evaluation.estimates.values()])
    reading, second = options.given, predictions.classes[-1]
    by_name = predictions.classes not in (("0", "1"), (f"not {second}", second), WRONG_RIGHT)
    if predictions.n_classes == 2 and by_name:
        reading = reading | {"positive": second}
    text = first_policy(evaluation, slacks, () if baseline is None else AGAINST, reading)
    if not (rules := tomllib.loads(text).get("rules", [])):
        raise InputError(
            f"{file} gives no policy a rule: every score is infinite, undefined or too uncertain for a "
            "limit; write a policy by hand, or use other predictions"
        )
    sides = [(rule, side) for rule in rules for side in ("min", "max") if side in rule]
    limits = ", ".join(f"{rule['metric']} {side} {rule[side]}" for rule, side in sides)
    note = f"limits are set so that {percent(KEPT)} of {REDRAWS:,} resamples of this file pass: {limits}"
    notes = [note] if limits else []
    if baseline is None:
        return text, notes
    against = against_baseline(baseline, options, pairing, lambda path: read(path, options))
    checked = checked_by(predictions, parse_policy(tomllib.loads(text), "the first policy"), against)
    if broken := [outcome.rule for outcome in checked.outcomes if outcome.result == "failed"]:
        titles = ", ".join(rule.title for rule in broken)
        notes.append(f"{file} is worse than {baseline}: these rules are left as comments: {titles}")
        text = first_policy(evaluation, slacks, AGAINST.keys() - {r.metric.text for r in broken}, reading)
    return text, notes


def write_policy(text: str, path: str) -> None:
    """Write a policy.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def first_policy(
    evaluation: Evaluation,
    slacks: Mapping[str, Slack],
    against: Container[str] = (),
    reading: Mapping[str, Any] | None = None,
) -> str:
    """Return a commented policy that today's values pass, as would new rows of the same kind and number.

    A limit that the constant answer satisfies is left out.

    Parameters
    ----------
    evaluation
        An evaluation with the metrics that get a rule.
    slacks
        The slack of each limit for chance.
    against
        The metrics with active rules against a baseline; the others are comments.
    reading
        The options of reading, by key.
    """
    rows, path = evaluation.predictions.n_rows, plain(Path(evaluation.predictions.provenance.path).name)
    head = {"rows": rows, "min_rows": max(1, rows // 2), "kept": percent(KEPT), "redraws": REDRAWS}
    blocks = [HEAD.format(path=path, **head)]
    if reading:
        blocks.append("".join(["[reading]\n", *(f"{key} = {_toml(it)}\n" for key, it in reading.items())]))
    estimates = {estimate.metric.text: estimate for estimate in evaluation.estimates.values()}
    compared = [
        rule if name in against else "".join(f"# {line}\n" for line in rule.splitlines())
        for name, margin in AGAINST.items()
        if name in estimates and math.isfinite(estimates[name].value)
        for rule in [f'[[rules]]\nmetric = "{name}"\n{margin}\n']
    ]
    blocks.append(BASELINE + "\n".join(compared))
    return "\n".join([*blocks, *(_first_rule(name, e, slacks[name]) for name, e in estimates.items())])


def _toml(value: bool | int | str | Sequence[str]) -> str:
    """Return a value in TOML, which equals JSON except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _first_rule(name: str, estimate: Estimate, slack: Slack) -> str:
    entry = estimate.metric.entry
    today = f"# today {value(estimate)}"
    if not math.isfinite(estimate.value):
        return f"{today}: no limit for {name}, nor a rule against a baseline, as it has no finite value\n"
    if estimate.interval is not None:
        today += f", {level_percent(estimate.interval.level)} interval {ends(estimate)}"
    elif estimate.if_calibrated is not None:
        today += f"; calibrated probabilities would show {if_calibrated(estimate)}"
    elif estimate.no_interval:
        today += f", no interval: {estimate.no_interval}"
    if not 0 < slack.slack < math.inf:
        return f"{today}: no limit for {name}, as redraws of these rows set none\n"
    today += f"; sd over redraws {number(slack.sd, digits=apart(slack.sd))}"
    signs = {"lower": {"max": 1}, "higher": {"min": -1}}.get(entry.direction, {"max": 1, "min": -1})
    today_at = dict.fromkeys(signs, estimate.value)
    if (target := entry.target) is not None:  # as far from it as today, on both sides
        today_at = {key: target + sign * abs(estimate.value - target) for key, sign in signs.items()}
    limits = {key: rounded_outward(today_at[key], sign * slack.slack) for key, sign in signs.items()}
    lowest, greatest = map(float, entry.range.partition(",")[0].split(" to "))
    if not all(lowest < float(limit) < greatest for limit in limits.values()):
        return f"{today}: no limit for {name}, which is never beyond {lowest:g} or {greatest:g}\n"
    worst = min(entry.cost(float(limit)) for limit in limits.values())
    if entry.target is None and not entry.family.has_null and entry.cost(slack.constant) <= worst:
        same = number(slack.constant)
        return f"{today}: no limit for {name}, as the same answer for every row, {same}, would pass\n"
    return "\n".join(
        ["[[rules]]", today, f'metric = "{name}"', *(f"{key} = {limit}" for key, limit in limits.items()), ""]
    )


def rounded_outward(value: float, slack: float) -> str:
    """Return a value moved by some slack, rounded away from it to two digits of the slack."""
    digits = max(1, 1 - int(f"{slack:e}".partition("e")[2]))
    end = Decimal(value) + Decimal(slack)
    return f"{end.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING if slack > 0 else ROUND_FLOOR):f}"
