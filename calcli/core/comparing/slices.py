"""Slices of systems, of rows by their columns and of states as they were made, and rules for each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calcli.core.comparing.pairing import states_in, unlike_rows
from calcli.core.comparing.policy import EVERY, Bound, Outcome, Rule
from calcli.core.data.arrays import Array
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import PREDICTED, Slice, select, slice_numbers
from calcli.core.estimators.consistency import holm
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state.state import Remains, State, left_of

Cut = Callable[[Predictions], Predictions]  # takes a slice out of a system, or out of one paired with it


def slices_of(
    systems: Sequence[Predictions], column: str, *, paired: bool
) -> Iterator[tuple[Slice, Sequence[Predictions]]]:
    """Yield the slices that all systems have; paired rows are sliced by the first system's column.

    Raises
    ------
    InputError
        If paired slices of states have different rows.
    UsageError
        If a state was made without them.
    """
    if paired and not states_in(systems):
        for value, cut in _cuts(systems[0], column).items():
            yield Slice(column, value), [cut(system) for system in systems]
        return
    tables = [_cuts(system, column) for system in systems]
    for system, cuts in zip(systems, tables, strict=True):
        if not cuts:
            raise UsageError(
                f"--by {column}: {system.provenance.path} was made without slices by it; make a state with "
                f"--by {column} --save-state from the predictions"
            )
    for value in tables[0]:
        if all(value in cuts for cuts in tables):
            part = Slice(column, value)
            members = [cuts[value](system) for system, cuts in zip(systems, tables, strict=True)]
            if paired:
                _require_same_slice(systems, members, str(part))
            yield part, members


def slice_of(systems: Sequence[Predictions], part: str, *, paired: bool) -> Sequence[Predictions]:
    """Return the slice of systems given as `column=value`; paired rows by the column of the last one.

    Raises
    ------
    InputError
        If there is no such slice, or paired slices of states have different rows.
    """
    if paired and not states_in(systems):
        cut = _cut(systems[-1], part)
        return [cut(system) for system in systems]
    members = [_cut(system, part)(system) for system in systems]
    if paired:
        _require_same_slice(systems, members, part)
    return members


def slices_by(predictions: Predictions, column: str) -> list[Slice]:
    """Return the slices by a column, or by predicted classes; none where there is no such thing."""
    values = _cuts(predictions, column) if may_slice(predictions, column) else ()
    return [Slice(column, value) for value in values]


def may_slice(predictions: Predictions, column: str) -> bool:
    """Tell whether rows have such a column, or predicted classes, to slice by; True for any state."""
    predicted = column == PREDICTED and not predictions.of_answers
    return predicted or column in predictions.columns or isinstance(predictions, Remains)


def _cuts(predictions: Predictions, column: str) -> dict[str, Cut]:
    """Return what takes out each value of a column, by value; nothing if a state has no slices by it."""
    if isinstance(predictions, Remains):
        left = predictions.state.slices.get(column, {})
        return {value: partial(_left_in, own) for value, own in left.items()}
    slices, numbers = slice_numbers(predictions, column)
    return {part.value: partial(_rows_in, numbers, n) for n, part in enumerate(slices)}


def _rows_in(numbers: NDArray[np.intp], number: int, predictions: Predictions) -> Predictions:
    return select(predictions, numbers == number)


def _left_in(state: State, predictions: Predictions) -> Predictions:
    return left_of(state, predictions.provenance.path)


def _cut(system: Predictions, part: str) -> Cut:
    """Return what takes out the slice of a system that is given as `column=value`."""
    column, _, value = part.partition("=")
    path, cuts = system.provenance.path, _cuts(system, column)
    if not cuts:
        raise InputError(
            f"{path} has no slices by {column!r}; expected a column of that name, or a state that was made "
            f"with --by {column} --save-state"
        )
    if value not in cuts:
        raise InputError(f"{path} has no row with {column} = {value!r}")
    return cuts[value]


def _require_same_slice(systems: Sequence[Predictions], members: Sequence[Predictions], part: str) -> None:
    """Raise an InputError if a slice of states, whose rows are the same, has not the same rows of each."""
    states = states_in(members)
    unlike = unlike_rows(states)
    places = [_places(whole, own) for whole, own in zip(states_in(systems), states, strict=True)]
    if not unlike and not all(np.array_equal(own, places[0]) for own in places[1:]):
        unlike = f"its rows in {' and '.join(system.provenance.path for system in systems)} are not the same"
    if unlike:
        raise InputError(f"slice {part}: {unlike}; compare with --unpaired")


def _places(whole: Remains, part: Remains) -> Array:
    """Return where the few rows of a slice stand among all, or in their run; none of rows known otherwise."""
    among, own = whole.state.body, part.state.body
    if own.keyed or own.deals is not None:  # whose keys or digests were compared
        return np.empty(0, np.int64)
    return own.numbers if among.deals is not None else np.searchsorted(among.numbers, own.numbers)


def expanded(predictions: Predictions, rules: Sequence[Rule]) -> tuple[list[Rule], list[list[int]]]:
    """Return rules, those for every value of a column one a value, and which of them each rule became."""
    asked: list[Rule] = []
    groups = []
    for rule in rules:
        own = [rule]
        if rule.every and (parts := slices_by(predictions, rule.every)):
            own = [_of(rule, str(part)) for part in parts]
        groups.append(list(range(len(asked), len(asked) + len(own))))
        asked += own
    return asked, groups


def _of(rule: Rule, part: str) -> Rule:
    """Return the rule for one value, which its name tells."""
    return replace(rule, part=part, name=rule.name and f"{rule.name} [{part}]")


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
