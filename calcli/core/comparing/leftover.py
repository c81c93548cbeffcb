"""Systems of which states are left, beside others: all become states, whose rows are matched by digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import Slice
from calcli.core.evaluating.gathering import state_of
from calcli.core.evaluating.stored import uses_clip
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.settings import Settings, StateSettings
from calcli.core.state.deals import same_rows
from calcli.core.state.runs import run_of
from calcli.core.state.state import Body, Remains, left_of


def as_states(
    systems: Sequence[Predictions],
    settings: Settings,
    key: str | None = None,
    by: Sequence[str] = (),
) -> Sequence[Predictions]:
    """Return systems as they are, or all of them as states if one is.

    Parameters
    ----------
    systems
        Predictions, or what is left of some.
    settings
        Metrics that they are to be compared by.
    key
        The column by which rows are paired; None for that of the states, if they have one.
    by
        Columns whose values are compared as well.

    Raises
    ------
    UsageError
        If a state was made without the key, or with another clip than is asked for, which matters.
    """
    left = next((system.state for system in systems if isinstance(system, Remains)), None)
    if left is None:
        return systems
    require_same_clip(systems, settings)
    for system in systems:
        if key and isinstance(system, Remains) and system.state.head.key != key:
            made = f"with --key {own}" if (own := system.state.head.key) else "without"
            raise UsageError(
                f"--key {key}: {system.provenance.path} was made {made}; make it with --key {key}"
            )
    alike = replace(
        settings,
        groups=left.head.groups,
        precision="single" if left.head.computed_in == "float32" else "double",
    )
    run = run_of(left.parts) or None
    known = StateSettings(left.head.key or None, run, left.parts[0].first if run else 0)
    return [
        system
        if not system.has_rows
        else left_of(state_of(system, alike, known=known, by=by), system.provenance.path)
        for system in systems
    ]


def require_same_clip(systems: Sequence[Predictions], settings: Settings) -> None:
    """Raise a UsageError if a metric depends on the clip and a state was made with another one than asked."""
    if not uses_clip(settings):
        return
    for system in systems:
        if isinstance(system, Remains) and system.state.head.clip != settings.clip:
            made = f"with {clip:g}" if (clip := system.state.head.clip) else "without"
            asked = f"{settings.clip:g}" if settings.clip else "none"
            raise UsageError(
                f"--clip: {system.provenance.path} was made {made}, and {asked} is asked for; use the same "
                "(clip in a policy), or make a new state from the predictions"
            )


def unlike_rows(systems: Sequence[Predictions]) -> str:
    """Return how the rows of states differ, as far as can be told; "" if they do not.

    Keys and labels are compared row by row, or by digests of deals of rows.

    Raises
    ------
    InputError
        If the same rows have different weights.
    """
    states = [system.state for system in systems if isinstance(system, Remains)]
    first, name = states[0], systems[0].provenance.path
    for state, system in zip(states[1:], systems[1:], strict=True):
        other = system.provenance.path
        if state.head.weighted != first.head.weighted:
            with_weights, without = (other, name) if state.head.weighted else (name, other)
            raise InputError(
                f"{with_weights} has row weights and {without} has none; make states of both with the same "
                "--weights, or compare with --unpaired"
            )
        if bool(state.head.key) != bool(first.head.key):
            known, numbered = (other, name) if state.head.key else (name, other)
            key = state.head.key or first.head.key
            return f"{known} identifies rows by {key} and {numbered} by their order"
        if state.n_rows != first.n_rows:
            return f"{other} has {state.n_rows:,} rows and {name} has {first.n_rows:,}"
        if state.body.deals is not None and state.parts[0].first != first.parts[0].first:
            starts = f"{state.parts[0].first:,} and {first.parts[0].first:,}"
            return f"the rows of {other} and {name} are numbered from {starts}"
        if not _same_rows(first.body, state.body, answers=system.of_answers):
            if first.head.key:
                return f"{other} and {name} have different values of {first.head.key}, or labels of these"
            return f"{other} and {name} have different labels, or the same ones in another order"
        if not _same_weights(first.body, state.body):
            how = "expected the same, or compare with --unpaired"
            raise InputError(f"{other} and {name} have different row weights; {how}")
    return ""


def parts_left(
    systems: Sequence[Predictions], column: str, paired: bool
) -> Iterator[tuple[Slice, Sequence[Predictions]]]:
    """Yield the slices that all states have.

    Raises
    ------
    InputError
        If paired slices have different rows.
    UsageError
        If a state was made without them.
    """
    tables = []
    for system in systems:
        state, path = system.state if isinstance(system, Remains) else None, system.provenance.path
        if state is None or column not in state.slices:
            raise UsageError(
                f"--by {column}: {path} was made without slices by it; make a state with --by {column} "
                "--save-state from the predictions"
            )
        tables.append({value: left_of(own, path) for value, own in state.slices[column].items()})
    for value in tables[0]:
        if all(value in table for table in tables):
            members = [table[value] for table in tables]
            if paired:
                require_same_slice(systems, members, f"{column}={value}")
            yield Slice(column, value), members


def require_same_slice(systems: Sequence[Predictions], members: Sequence[Predictions], part: str) -> None:
    """Raise an InputError if a slice of states, whose rows are the same, has not the same rows of each."""
    unlike = unlike_rows(members)
    places = [
        _places(system, member)
        for system, member in zip(systems, members, strict=True)
        if isinstance(system, Remains) and isinstance(member, Remains)
    ]
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


def part_left(system: Remains, part: str) -> Predictions:
    """Return what is left of a slice given as `column=value`.

    Raises
    ------
    InputError
        If there is no state of it.
    """
    column, _, value = part.partition("=")
    path, slices = system.provenance.path, system.state.slices
    if column not in slices:
        raise InputError(
            f"{path} has no slices by {column!r}; expected a column of that name, or a state that was made "
            f"with --by {column} --save-state"
        )
    if value not in slices[column]:
        raise InputError(f"{path} has no row with {column} = {value!r}")
    return left_of(slices[column][value], path)


def _same_rows(first: Body, second: Body, *, answers: bool) -> bool:
    """Tell whether rows are the same; of answers the labels may differ, as one system may be right."""
    if answers and not first.keyed:
        return True
    if first.deals is not None and second.deals is not None:
        return same_rows([first.deals, second.deals])
    same = first.hashes is None or np.array_equal(first.hashes, second.hashes)  # type: ignore[arg-type]
    return same and (answers or np.array_equal(first.labels, second.labels))


def _same_weights(first: Body, second: Body) -> bool:
    """Tell whether the same rows have the same weights; their sums may differ by rounding."""
    if first.deals is None or second.deals is None:
        return first.weights is None or np.array_equal(first.weights, second.weights)  # type: ignore[arg-type]
    mine, others = ((own.weight, own.squares) for own in (first.deals, second.deals))
    return all(a is None or b is None or np.allclose(a, b) for a, b in zip(mine, others, strict=True))
