"""Pairing: matching the rows of one system with the rows of another, in files and in states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calcli.core.comparing.policy import EVERY, Bound, Outcome, Rule
from calcli.core.data.arrays import Array, Bools, Positions, missing
from calcli.core.data.derived import (
    PREDICTED,
    ChosenColumns,
    Slice,
    gathered,
    select,
    slice_names,
    slice_numbers,
    sliced,
)
from calcli.core.data.predictions import Predictions
from calcli.core.data.units import clusters_of
from calcli.core.estimators.calibrationerror import holm
from calcli.core.evaluating.evaluate import uses_clip
from calcli.core.evaluating.states import state_of, summed
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import IN_ORDER, PairSettings, Settings
from calcli.core.state.state import State, StatePredictions, predictions_of, states_by

SAME = "expected the same cases, or compare with --unpaired"
QUESTIONS = ("id", "qid", "uid", "question_id", "sample_id", "doc_id", "example_id", "question", "prompt")


@dataclass(frozen=True)
class Paired:
    """Systems after pairing, with the numbers of unpaired rows.

    Attributes
    ----------
    systems
        The baseline first.
    unmatched
        Rows of each system without a counterpart in some other system; they were left out.
    paired
        Whether row i is the same case in all systems.
    unlike
        How the rows of states differ, which are then not paired; "" if they do not differ.
    """

    systems: tuple[Predictions, ...]
    unmatched: tuple[int, ...]
    paired: bool = True
    unlike: str = ""


def pair(systems: Sequence[Predictions], how: PairSettings = IN_ORDER, keep: Sequence[str] = ()) -> Paired:
    """Pair the rows of several systems by their order or by a key, unless they are to be compared unpaired.

    States of different rows stay unpaired unless pairs are requested.

    Parameters
    ----------
    systems
        The baseline first; all states, or no state.
    how
        The column of the key, if any, and whether rows that not all systems have are left out.
    keep
        Columns that the result must keep, in every system that has them; systems must agree in them.

    Raises
    ------
    InputError
        If rows, labels, weights or columns differ, or a key repeats or is missing.
    UsageError
        If the key is not a column.
    """
    as_they_are, states = Paired(tuple(systems), (0,) * len(systems)), states_in(systems)
    unlabelled = [system.unlabelled for system in systems if system.unlabelled is not None]
    if unlabelled and len(unlabelled) == len(systems) and how.paired is not False:
        paired_rows = pair(unlabelled, how, keep).systems
        pairing = pair([replace(system, unlabelled=None) for system in systems], how, keep)
        pairs_of_rows = zip(pairing.systems, paired_rows, strict=True)
        return replace(pairing, systems=tuple(replace(s, unlabelled=rows) for s, rows in pairs_of_rows))
    if how.paired is False:
        return replace(as_they_are, paired=False)
    try:
        if not states:
            return _paired(as_they_are, how.key or _identity(systems), how.allow_unmatched, keep)
        require_same_rows(states)
        if not systems[0].has_rows:
            return as_they_are
        return _paired(as_they_are, states[0].state.head.key or None, how.allow_unmatched, keep)
    except UnlikeRows as fault:
        if how.paired or not states:
            raise
        return replace(as_they_are, paired=False, unlike=str(fault).partition(";")[0])


class UnlikeRows(InputError):
    """Rows of systems are not the same cases."""


def _paired(pairing: Paired, key: str | None, allow_unmatched: bool, keep: Sequence[str]) -> Paired:
    """Return systems with their rows in one order, by a key if necessary."""
    systems, keys = pairing.systems, None
    if key is None:
        for candidate in systems[1:]:
            if candidate.n_rows != systems[0].n_rows:
                raise UnlikeRows(
                    f"{_path(candidate)} has {candidate.n_rows:,} rows and {_path(systems[0])} has "
                    f"{systems[0].n_rows:,}; expected the same cases in the same order; match them with "
                    "--key COLUMN, or compare different test sets with --unpaired"
                )
    else:
        pairing, keys = _matched(systems, key, allow_unmatched)
    for system in pairing.systems[1:]:
        _require_same_cases(pairing.systems[0], system, key)
        _require_same_columns(pairing.systems[0], system, keep, key, None if states_in(systems) else keys)
    return pairing


def _identity(systems: Sequence[Predictions]) -> str | None:
    """Return the column that identifies the questions of all systems; None if there is none."""
    (name, *further) = {"" if clusters_of(system, None) else system.provenance.identity for system in systems}
    return None if further or not name else name


def _require_same_cases(reference: Predictions, system: Predictions, key: str | None) -> None:
    if reference.of_answers and key is None:
        _require_same_questions(reference, system)
    different = np.flatnonzero(reference.labels != system.labels)
    if len(different) and not reference.of_answers:  # one system may be right where the other is wrong
        row = int(different[0])
        where = f"row {reference.stored_row(row)}"
        mend = "" if key else "; if their rows are in different orders, match them with --key COLUMN"
        raise UnlikeRows(
            f"{_path(system)} and {_path(reference)} have different labels in {len(different):,} of "
            f"{reference.n_rows:,} paired rows, the first in {where} ({system.classes[system.labels[row]]} "
            f"and {reference.classes[reference.labels[row]]}); expected the same cases{mend}"
        )
    if (reference.weights is None) != (system.weights is None) or (
        reference.weights is not None and not np.array_equal(reference.weights, system.weights)  # type: ignore[arg-type]
    ):
        raise InputError(f"{_path(system)} and {_path(reference)} have different row weights; {SAME}")


def _require_same_questions(predictions: Predictions, candidate: Predictions) -> None:
    """Raise an InputError if the columns that name the questions differ."""
    for name in predictions.columns:
        if name.casefold() in QUESTIONS and name in candidate.columns:
            different = np.flatnonzero(
                predictions.column(name).astype(str) != candidate.column(name).astype(str)
            )
            if len(different):
                row = predictions.stored_row(int(different[0]))
                raise InputError(
                    f"{_path(candidate)} and {_path(predictions)} differ in {name} in {len(different):,} of "
                    f"{predictions.n_rows:,} paired rows, the first of them row {row}; expected "
                    f"answers to the same questions in the same order; match them with --key {name}"
                )


def _require_same_columns(
    predictions: Predictions, system: Predictions, names: Sequence[str], key: str | None, keys: Array | None
) -> None:
    """Raise an InputError if a column that describes rows differs: the rows differ, or one file is wrong."""
    for name in names:
        if name not in predictions.columns or name not in system.columns:
            continue
        different = np.flatnonzero(_unlike(predictions.column(name), system.column(name)))
        if len(different):
            row = int(different[0])
            values = " and ".join(slice_names(side.column(name)[[row]])[0] for side in (system, predictions))
            which = f"row {predictions.stored_row(row)}" if keys is None else f"{key} {keys[row]}"
            expected = f"one value for each {key}; correct one of the files"
            if key is None:
                expected = "the same cases in the same order; match them with --key COLUMN"
            raise InputError(
                f"{_path(system)} and {_path(predictions)} differ in column {name!r} in {len(different):,} "
                f"of {predictions.n_rows:,} rows, the first of them {which} ({values}); expected {expected}, "
                f"or compare them with --unpaired{'' if key is None else ' in place of --key'}"
            )


def _unlike(values: Array, theirs: Array) -> Bools:
    """Return where two columns put rows into different slices, for values of any type."""
    if values.dtype.kind in "biuf" and theirs.dtype.kind in "biuf":
        different = values != theirs
        different[different] = slice_names(values[different]) != slice_names(theirs[different])
        return different
    return slice_names(values) != slice_names(theirs)


def _matched(systems: Sequence[Predictions], key: str, allow: bool) -> tuple[Paired, Array]:
    """Return the rows that all systems have, in the order of the baseline, and their keys."""
    keys = [_keys(system, key) for system in systems]
    common = keys[0]
    for system_keys in keys[1:]:
        common = common[np.isin(common, system_keys)]  # the order of the baseline
    unmatched = tuple(len(own_keys) - len(common) for own_keys in keys)
    if not len(common):
        raise UnlikeRows(
            f"{_path(systems[1])} and {_path(systems[0])} share no value of {key}, so no rows can be paired"
        )
    if any(unmatched) and not allow:
        counts = ", ".join(
            f"{count:,} of {_path(system)}" for system, count in zip(systems, unmatched, strict=True) if count
        )
        raise UnlikeRows(
            f"rows without a counterpart by {key}: {counts}; leave them out with --allow-unmatched"
        )
    rows_of = [_positions(own_keys, common) for own_keys in keys]
    paired = [
        replace(_take(system, rows), columns=ChosenColumns(system.columns, rows))
        for system, rows in zip(systems, rows_of, strict=True)
    ]
    return Paired(tuple(paired), unmatched), common


def _keys(predictions: Predictions, key: str) -> Array:
    if key not in predictions.columns:
        names = ", ".join(predictions.columns) or "none"
        raise UsageError(f"--key {key}: {_path(predictions)} has no such column; it has {names}")
    column = predictions.columns[key]
    if len(gone := missing(column)):
        row = predictions.stored_row(int(gone[0]))
        raise InputError(
            f"{_path(predictions)}: column {key}: row {row} has none; expected a key in every row"
        )
    keys = column.astype(str)
    values, counts = np.unique(keys, return_counts=True)
    if len(values) < len(keys):
        raise InputError(
            f"{_path(predictions)}: {key} {values[counts.argmax()]} is there {counts.max():,} times; "
            "expected unique keys"
        )
    return keys


def _positions(keys: Array, wanted: Array) -> Positions:
    order = np.argsort(keys)
    return order[np.searchsorted(keys, wanted, sorter=order)]


def _take(predictions: Predictions, rows: Positions) -> Predictions:
    """Return distinct rows in any order; they are held in memory unless in ascending order."""
    if len(rows) == predictions.n_rows and (np.diff(rows) == 1).all():
        return predictions
    chosen = np.zeros(predictions.n_rows, bool)
    chosen[rows] = True
    ascending = select(predictions, chosen)
    if (np.diff(rows) > 0).all():
        return ascending
    scores = gathered(ascending.scores, np.argsort(np.argsort(rows)))
    weights, proxy = (None if of is None else of[rows] for of in (predictions.weights, predictions.proxy))
    ordered = replace(ascending, scores=scores, labels=predictions.labels[rows], columns={})
    return replace(ordered, weights=weights, proxy=proxy)


def _path(predictions: Predictions) -> str:
    return predictions.provenance.path


def states_in(systems: Sequence[Predictions]) -> list[StatePredictions]:
    """Return the systems known only by states."""
    return [system for system in systems if isinstance(system, StatePredictions)]


def as_states(
    systems: Sequence[Predictions],
    settings: Settings,
    key: str | None = None,
    by: Sequence[str] = (),
) -> Sequence[Predictions]:
    """Return systems unchanged, or all as states if one is a state: all with rows, or all with sums.

    Parameters
    ----------
    systems
        Predictions, or states of them.
    settings
        Metrics of the comparison.
    key
        The column that pairs rows; None for the key of the states, if they have one.
    by
        Columns of slices to compare as well.

    Raises
    ------
    UsageError
        If a state was made without the key, or with another clip that matters.
    """
    if not (state_predictionses := states_in(systems)):
        return systems
    require_same_clip(systems, settings)
    for system in state_predictionses:
        if key and system.state.head.key != key:
            how = f"with --key {key_of_state}" if (key_of_state := system.state.head.key) else "without"
            raise UsageError(
                f"--key {key}: {system.provenance.path} was made {how}; make it with --key {key}"
            )
    reference = state_predictionses[0].state
    alike = replace(
        settings,
        groups=reference.head.groups,
        precision="single" if reference.head.computed_in == "float32" else "double",
    )
    return _of_one_form(
        [
            system
            if isinstance(system, StatePredictions)
            else predictions_of(state_of(system, alike, key=reference.head.key or None, by=by), _path(system))
            for system in systems
        ]
    )


def _of_one_form(systems: Sequence[Predictions]) -> Sequence[Predictions]:
    """Return systems unchanged, or all states as sums if one has sums."""
    if all(system.has_rows for system in systems):
        return systems
    return [predictions_of(summed(state.state), _path(state)) for state in states_in(systems)]


def require_same_clip(systems: Sequence[Predictions], settings: Settings) -> None:
    """Raise a UsageError if a metric depends on the clip and a state was made with another clip."""
    if not uses_clip(settings):
        return
    for system in states_in(systems):
        if system.state.head.clip != settings.clip:
            how = f"with {clip:g}" if (clip := system.state.head.clip) else "without"
            wanted = f"{settings.clip:g}" if settings.clip else "none"
            raise UsageError(
                f"--clip: {system.provenance.path} was made {how}, and {wanted} is asked for; use the same "
                "(clip in a policy), or make a new state from the predictions"
            )


def require_same_rows(systems: Sequence[StatePredictions]) -> None:
    """Raise an UnlikeRows if rows of states differ, as far as digests of groups of rows show.

    Raises
    ------
    InputError
        If the same rows have different weights.
    """
    reference, name = systems[0].state, systems[0].provenance.path
    for system in systems[1:]:
        state, path = system.state, system.provenance.path
        if state.head.weighted != reference.head.weighted:
            with_weights, without = (path, name) if state.head.weighted else (name, path)
            raise InputError(
                f"{with_weights} has row weights and {without} has none; make states of both with the same "
                "--weights, or compare with --unpaired"
            )
        if bool(state.head.key) != bool(reference.head.key):
            keyed, numbered = (path, name) if state.head.key else (name, path)
            key = state.head.key or reference.head.key
            raise UnlikeRows(f"{keyed} identifies rows by {key} and {numbered} by their order; {SAME}")
        mine, theirs = reference.body.sums, state.body.sums
        if mine is None or theirs is None:
            continue
        if state.n_rows != reference.n_rows:
            raise UnlikeRows(f"{path} has {state.n_rows:,} rows and {name} has {reference.n_rows:,}; {SAME}")
        of_answers = system.of_answers and not reference.head.key  # of which one system may be right
        if not (of_answers or np.array_equal(mine.digest, theirs.digest)):
            difference = "labels, or the same ones in another order"
            if reference.head.key:
                difference = f"values of {reference.head.key}, or labels of these"
            raise UnlikeRows(f"{path} and {name} have different {difference}; {SAME}")
        if mine.weight is not None and not np.allclose(mine.weight, theirs.weight):  # type: ignore[arg-type]
            raise InputError(f"{path} and {name} have different row weights; {SAME}")


Cut = Callable[[Predictions], Predictions]  # returns a slice of a system, or of a system paired with it


def slices_of(
    systems: Sequence[Predictions], column: str, *, paired: bool
) -> Iterator[tuple[Slice, Sequence[Predictions]]]:
    """Yield the slices that all systems have; paired rows are sliced by a column of one.

    Raises
    ------
    InputError
        If paired slices of states have different rows, or a state was made without slices.
    """
    tables = _tables(systems, column, paired)
    for value in tables[0]:
        if all(value in cuts for cuts in tables):
            part = Slice(column, value)
            yield part, _members(systems, [cuts[value] for cuts in tables], str(part), paired)


def slice_of(systems: Sequence[Predictions], part: str, *, paired: bool) -> Sequence[Predictions]:
    """Return the slice of systems given as `column=value`; see `slices_of`.

    Raises
    ------
    InputError
        If there is no such slice, or paired slices of states have different rows.
    """
    column, _, value = part.partition("=")
    tables = _tables(systems, column, paired)
    for system, cuts in zip(systems, tables, strict=True):
        if value not in cuts:
            raise InputError(f"{_path(system)} has no row with {column} = {value!r}")
    return _members(systems, [cuts[value] for cuts in tables], part, paired)


def _tables(systems: Sequence[Predictions], column: str, paired: bool) -> list[dict[str, Cut]]:
    """Return functions that select each value of a column, for each system; paired rows share them."""
    if paired and systems[0].has_rows:
        owner = next((system for system in systems[::-1] if column in system.columns), systems[0])
        return [_cuts(owner, column)] * len(systems)
    return [_cuts(system, column) for system in systems]


def _members(
    systems: Sequence[Predictions], cuts: Sequence[Cut], part: str, paired: bool
) -> Sequence[Predictions]:
    """Return a slice of systems; paired states must have the same rows in it."""
    members = [cut(system) for cut, system in zip(cuts, systems, strict=True)]
    ids = [] if systems[0].has_rows else [_ids(state.state) for state in states_in(members)]
    if paired and not all(np.array_equal(identity, ids[0]) for identity in ids):
        raise InputError(
            f"slice {part}: its rows in {' and '.join(map(_path, systems))} are not the same; compare with "
            "--unpaired"
        )
    return _of_one_form(members)


def slices_by(predictions: Predictions, column: str) -> list[Slice]:
    """Return the slices by a column, or by predicted classes; none if there is neither."""
    values = _cuts(predictions, column) if may_slice(predictions, column) else ()
    return [Slice(column, value) for value in values]


def may_slice(predictions: Predictions, column: str) -> bool:
    """Return whether rows have this column, or predicted classes, to slice by; True for any state."""
    predicted = column == PREDICTED and not predictions.of_answers
    return predicted or column in predictions.columns or isinstance(predictions, StatePredictions)


def _ids(state: State) -> Array:
    """Return an identifier of the rows of a state."""
    if state.rows is not None:
        return state.rows.ids
    assert state.body.sums is not None
    return state.body.sums.digest


def _cuts(predictions: Predictions, column: str) -> dict[str, Cut]:
    """Return the functions that select each value of a column, by value."""
    if states := states_by(predictions, column):
        return {value: partial(_left_in, state) for value, state in states.items()}
    slices, numbers = slice_numbers(predictions, column)
    return {part.value: partial(_rows_in, numbers == n, part) for n, part in enumerate(slices)}


def _rows_in(chosen: Bools, part: Slice, predictions: Predictions) -> Predictions:
    return sliced(select(predictions, chosen), part)


def _left_in(state: State, predictions: Predictions) -> Predictions:
    return predictions_of(state, predictions.provenance.path)


def expanded(predictions: Predictions, rules: Sequence[Rule]) -> tuple[list[Rule], list[list[int]]]:
    """Return rules, with one per value for a rule on every value of a column, and their positions by rule."""
    every_rule: list[Rule] = []
    groups = []
    for rule in rules:
        rules_of_slice = [rule]
        if rule.every and (slices := slices_by(predictions, rule.every)):
            rules_of_slice = [_of(rule, str(part)) for part in slices]
        groups.append(list(range(len(every_rule), len(every_rule) + len(rules_of_slice))))
        every_rule += rules_of_slice
    return every_rule, groups


def _of(rule: Rule, part: str) -> Rule:
    """Return the rule for one value, with the value in its name."""
    return replace(rule, part=part, name=rule.name and f"{rule.name} [{part}]")


def of_groups(groups: Sequence[Sequence[Outcome]], alpha: float) -> tuple[tuple[Outcome, ...], list[str]]:
    """Return the outcomes that count for each rule, and the number of skipped values.

    For a rule on every value of a column, values with too few rows are skipped unless all have; errors that
    exceed chance are corrected for the number of judged values (Holm).
    """
    outcomes: list[Outcome] = []
    skipped = []
    for group in groups:
        enough = [outcome for outcome in group if not outcome.few]
        if len(group) == 1 or not enough:
            outcomes += group if len(group) == 1 else _all_few(group)
            continue
        outcomes += _beyond_chance_of_so_many(enough, alpha)
        if few := len(group) - len(enough):
            column = group[0].rule.part.partition("=")[0]
            skipped.append(
                f"{few} of {len(group)} values of {column} have too few rows for the rule on "
                f"{group[0].rule.metric.text} and were skipped."
            )
    return tuple(outcomes), skipped


def _all_few(group: Sequence[Outcome]) -> list[Outcome]:
    first_rule = group[0].rule
    column = first_rule.part.partition("=")[0]
    rule = replace(
        first_rule, part=f"{column}={EVERY}", name=first_rule.name.removesuffix(f" [{first_rule.part}]")
    )
    return [replace(group[0], rule=rule, reason=f"no value of {column} has enough rows: {group[0].reason}")]


def _beyond_chance_of_so_many(group: Sequence[Outcome], alpha: float) -> list[Outcome]:
    """Let limits on errors pass if chance alone explains the excess, given the number of slices."""
    tested = [isinstance(member.rule.condition, Bound) and not math.isnan(member.p_value) for member in group]
    p = holm(np.where(tested, [member.p_value for member in group], 1.0).tolist())
    outcomes = []
    for outcome, is_tested, corrected in zip(group, tested, p.tolist(), strict=True):
        if not is_tested:
            outcomes.append(outcome)
            continue
        status, reason = outcome.status, outcome.reason
        if status == "broken" and corrected > alpha:
            status = "passed"
            reason += f", which is chance in one of {len(group)} slices (corrected p {corrected:.3g})"
        elif len(group) > 1:
            reason += f", corrected for {len(group)} slices p {corrected:.3g}"
        outcomes.append(replace(outcome, status=status, reason=reason, p_value=corrected))
    return outcomes
