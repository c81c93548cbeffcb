"""Rules for every value of a column: one a value, and what counts of them together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from calcli.core.comparing.policy import EVERY, Bound, Outcome, Rule
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import PREDICTED, Slice, slice_rows
from calcli.core.estimators.consistency import holm
from calcli.core.state.state import Remains


def expanded(predictions: Predictions, rules: Sequence[Rule]) -> tuple[list[Rule], list[list[int]]]:
    """Return rules, those for every value of a column one a value, and which of them each rule became."""
    asked: list[Rule] = []
    groups = []
    for rule in rules:
        own = [rule]
        if rule.every and (parts := _parts(predictions, rule.every)):
            own = [_of(rule, str(part)) for part in parts]
        groups.append(list(range(len(asked), len(asked) + len(own))))
        asked += own
    return asked, groups


def _of(rule: Rule, part: str) -> Rule:
    """Return the rule for one value, which its name tells."""
    return replace(rule, part=part, name=rule.name and f"{rule.name} [{part}]")


def _parts(predictions: Predictions, column: str) -> list[Slice]:
    """Return the slices by a column, or by predicted classes; none where there is no such thing."""
    if isinstance(predictions, Remains):
        return [Slice(column, value) for value in predictions.state.slices.get(column, ())]
    predicted = column == PREDICTED and not predictions.of_answers
    if not predicted and column not in predictions.columns:
        return []
    return [part for part, _ in slice_rows(predictions, column)]


def of_groups(groups: Sequence[Sequence[Outcome]], alpha: float) -> tuple[tuple[Outcome, ...], list[str]]:
    """Return what counts of each rule, and how many values were skipped.

    Of a rule for every value of a column, values of too few rows are skipped unless all are; errors that
    exceed chance are corrected for the number of values that were judged (Holm).
    """
    found: list[Outcome] = []
    skipped = []
    for group in groups:
        judged = [outcome for outcome in group if not outcome.few]
        if len(group) == 1 or not judged:
            found += group if len(group) == 1 else _all_few(group)
            continue
        found += _beyond_chance_of_so_many(judged, alpha)
        if few := len(group) - len(judged):
            column = group[0].rule.part.partition("=")[0]
            skipped.append(
                f"{few} of {len(group)} values of {column} have too few rows for the rule on "
                f"{group[0].rule.call.asked} and were skipped."
            )
    return tuple(found), skipped


def _all_few(group: Sequence[Outcome]) -> list[Outcome]:
    first = group[0].rule
    column = first.part.partition("=")[0]
    rule = replace(first, part=f"{column}={EVERY}", name=first.name.removesuffix(f" [{first.part}]"))
    return [replace(group[0], rule=rule, reason=f"no value of {column} has enough rows: {group[0].reason}")]


def _beyond_chance_of_so_many(judged: Sequence[Outcome], alpha: float) -> list[Outcome]:
    """Let limits on errors pass where, of so many slices, chance alone would show as much."""
    tested = [isinstance(one.rule.condition, Bound) and not math.isnan(one.p_value) for one in judged]
    p = holm([one.p_value if own else 1.0 for one, own in zip(judged, tested, strict=True)])
    found = []
    for one, own, corrected in zip(judged, tested, p.tolist(), strict=True):
        if own and one.status == "broken" and corrected > alpha:
            reason = (
                f"{one.reason}, which is chance in one of {len(judged)} slices (corrected p {corrected:.3g})"
            )
            one = replace(one, status="passed", reason=reason)
        elif own and len(judged) > 1:
            reason = f"{one.reason}, corrected for {len(judged)} slices p {corrected:.3g}"
            one = replace(one, reason=reason)
        found.append(replace(one, p_value=corrected) if own else one)
    return found
