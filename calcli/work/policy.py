"""A first policy from today's values, which a file and others like it pass."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Container, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from calcli.core.comparing.redraws import KEPT, REDRAWS, Slack, slack_of
from calcli.core.estimators.intervals import level_percent
from calcli.core.evaluating.evaluate import evaluate
from calcli.core.evaluating.results import Estimate, Evaluation
from calcli.core.language.errors import InputError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.core.language.settings import IN_ORDER, PairSettings
from calcli.core.language.text import apart, number, percent, plain
from calcli.io.options import ReadOptions
from calcli.io.places.outputs import atomic_path
from calcli.io.read import read
from calcli.io.saved.policies import parse_policy
from calcli.report.estimates import ends, if_calibrated, value
from calcli.work.check import against_baseline, checked_by

FIRST_METRICS = ("log_loss", "brier", "accuracy", "auroc", "ece")
HEAD = """\
# Rules for `calcli check`, from the values of {path} ({rows:,} rows).
# Limits leave room for chance: {kept} of {redraws:,} redraws of as many rows keep all of them. In a redraw
# each row counts as often as chance has it, and so do errors that the probabilities expect and nobody saw.
# A rule names a metric (as in `calcli evaluate --metrics`) and what must hold of it:
#   max, min                      of its value, or with bound = "upper" or "lower" of that end of its interval
#   max_increase, max_decrease    how much worse than the baseline it may be: 0.01, or "5%" of the baseline
# and perhaps slice = "column=value" or "column=*", severity = "warning", min_rows, name.

level = 0.95  # of every interval and proof
min_rows = {min_rows}  # with fewer rows nothing is judged
"""
BASELINE = """\
# Against a baseline: calcli check NEW --baseline OLD; rows are paired by their order, or with --key COLUMN.
# A rule breaks when the data prove the new file worse by more than the margin. Where they prove neither that
# nor the contrary it is undecided, and passes; with undecided = "fail" or "warn" it does not.
"""
RULES_AGAINST = (
    ("log_loss", "max_increase", '"2%"'),
    ("accuracy", "max_decrease", "0.01"),
)


def policy_for(
    file: str, options: ReadOptions, baseline: str | None = None, pairing: PairSettings = IN_ORDER
) -> tuple[str, list[str]]:
    """Return a first policy, which a file passes, and sentences on its limits and what was left out.

    Rules against a baseline that the file breaks are comments. See `first_policy`.

    Raises
    ------
    InputError
        If a file cannot be read, or gives no rule.
    """
    predictions = read(file, options)
    evaluation = evaluate(predictions)
    names = [name for name in FIRST_METRICS if name in evaluation.estimates]
    slacks = slack_of(predictions, names)
    rules = [] if baseline is None else [name for name, *_ in RULES_AGAINST]
    reading, second = options.given, predictions.classes[-1]
    by_name = predictions.classes not in (("0", "1"), (f"not {second}", second), WRONG_RIGHT)
    if predictions.n_classes == 2 and by_name:
        reading = reading | {"positive": second}
    text = first_policy(evaluation, slacks, rules, reading)
    if not tomllib.loads(text).get("rules"):
        raise InputError(
            f"{file} gives no policy a rule: every score is infinite, undefined or too uncertain for a "
            "limit; write a policy by hand, or use other predictions"
        )
    limits = ", ".join(
        f"{rule['metric']} {number(slacks[rule['metric']].slack)}"
        for rule in tomllib.loads(text)["rules"]
        if rule.keys() & {"max", "min"}
    )
    kept = f"limits leave what {percent(KEPT)} of {REDRAWS:,} redraws of as many rows keep: {limits}"
    said = [kept] if limits else []
    if baseline is None:
        return text, said
    against = against_baseline(baseline, options, pairing, lambda path: read(path, options))
    checked = checked_by(predictions, parse_policy(tomllib.loads(text), "the first policy"), against)
    if broken := [one.rule for one in checked.outcomes if one.result == "failed"]:
        titles = ", ".join(rule.title for rule in broken)
        said.append(f"{file} is worse than {baseline}: these rules are left as comments: {titles}")
        lost = {rule.metric.text for rule in broken}
        text = first_policy(evaluation, slacks, [name for name in rules if name not in lost], reading)
    return text, said


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
    """Return a commented policy that today's values pass, and as many new rows of the same kind.

    Calibration errors only warn.

    Parameters
    ----------
    evaluation
        With the default metrics.
    slacks
        What the limit of each of `FIRST_METRICS` leaves to chance.
    against
        The metrics whose rules against a baseline are active; the others are comments.
    reading
        The options that files are read with, by key.
    """
    rows, path = evaluation.predictions.n_rows, plain(evaluation.predictions.provenance.path)
    head = {"rows": rows, "min_rows": max(1, rows // 2), "kept": percent(KEPT), "redraws": REDRAWS}
    parts = [HEAD.format(path=path, **head)]
    if reading:
        parts.append("".join(["[reading]\n", *(f"{key} = {_toml(it)}\n" for key, it in reading.items())]))
    estimates = {name: evaluation.estimates[name] for name in FIRST_METRICS if name in evaluation.estimates}
    parts += [_first_rule(name, estimate, slacks[name]) for name, estimate in estimates.items()]
    compared = []
    for name, key, margin in RULES_AGAINST:
        if name not in estimates or math.isfinite(estimates[name].value):
            rule = f'[[rules]]\nmetric = "{name}"\n{key} = {margin}\n'
            compared.append(rule if name in against else "".join(f"# {one}\n" for one in rule.splitlines()))
    return "\n".join([*parts, BASELINE + "\n".join(compared)])


def _toml(value: bool | int | str | Sequence[str]) -> str:
    """Return a value as TOML writes it, which is how JSON does but for one character."""
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
    up = entry.direction == "lower"
    limit = rounded_outward(estimate.value, slack.slack if up else -slack.slack)
    least, most = map(float, entry.range.split(" to "))
    if not least < float(limit) < most:
        end = f"above {most:g}" if up else f"below {least:g}"
        return f"{today}: no limit for {name}, which is never {end}\n"
    warns = 'severity = "warning"\n' if entry.family.has_null else ""
    return f'[[rules]]\n{today}\nmetric = "{name}"\n{"max" if up else "min"} = {limit}\n{warns}'


def rounded_outward(value: float, slack: float) -> str:
    """Return a value moved by some slack, rounded away from it to two digits of the slack."""
    digits = max(1, 1 - int(f"{slack:e}".partition("e")[2]))
    end = Decimal(value) + Decimal(slack)
    return f"{end.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING if slack > 0 else ROUND_FLOOR):f}"
