"""Merging: the states of parts become that of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.data.derived import MOST, natural_order
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state.state import Body, Head, Part, State

MUST_AGREE = {  # before parts are merged
    "classes": "classes",
    "called": "kinds of scores (--kind)",
    "computed_in": "precisions",
    "weighted": "use of weights",
    "metrics": "metrics",
    "clip": "values of --clip",
    "lenses": "lenses",
    "groups": "class groups",
    "key": "keys",
}


def merge(states: Iterable[State]) -> State:
    """Return the state of the rows of all.

    The order given is no matter for sums; few rows without keys stand in it.

    Raises
    ------
    InputError
        If states are not alike, or hold the same rows, as far as can be told.
    """
    merged: _Merged | None = None
    for state in states:
        if merged is None:
            merged = _Merged(state)
        else:
            merged.add(state)
    if merged is None:
        raise UsageError("there is no state to merge; give one or more")
    return merged.state


class _Merged:
    """A state that others are added to."""

    def __init__(self, first: State) -> None:
        self._whole = _copied(first)
        self._parts: dict[str, Part] = {}
        self._heads: dict[str, Head] = {}
        self._slices: dict[str, dict[str, State]] = {column: {} for column in first.slices}
        self._take_parts(first)
        self._add_slices(first)

    def add(self, state: State) -> None:
        """Add the rows of a state."""
        _require_alike(state, self._whole)
        if state.head.key:
            self._refuse_common_keys(state)
        self._take_parts(state)
        self._whole = _joined(self._whole, state)
        self._add_slices(state)

    @property
    def state(self) -> State:
        """The state of all rows."""
        parts, head = [*self._parts.values()], self._whole.head
        if head.key:  # what is said of the rows depends on no order either
            parts.sort()
            head = self._heads[parts[0].digest]
        slices = {
            column: {value: _of_whole(states[value], head) for value in _in_order([*states])}
            for column, states in self._slices.items()
        }
        return replace(self._whole, head=head, parts=tuple(parts), slices=slices)

    def _take_parts(self, state: State) -> None:
        """Take the parts of a state, none of which may be known."""
        for part in state.parts:
            known = self._parts.get(part.digest)
            if known is not None:
                raise InputError(
                    f"{part.name} and {known.name} have the same {part.rows:,} rows; expected "
                    "states of different rows"
                )
            self._parts[part.digest] = part
        self._heads.setdefault(state.parts[0].digest, state.head)

    def _refuse_common_keys(self, state: State) -> None:
        """Raise an InputError if the lowest hashes show that states have rows in common."""
        whole = self._whole
        common = len(np.intersect1d(state.body.lowest, whole.body.lowest, assume_unique=True))
        if common and self._parts.keys().isdisjoint(part.digest for part in state.parts):
            names = f"{state.parts[0].name} and {whole.parts[0].name}"
            what = "1 value" if common == 1 else f"{common:,} values"
            raise InputError(f"{names} have {what} of {state.head.key} in common; expected different rows")

    def _add_slices(self, state: State) -> None:
        """Add the slices of a state."""
        if [*state.slices] != [*self._slices]:
            mine, others = (", ".join(one) or "none" for one in (state.slices, self._slices))
            raise InputError(
                f"the states of {state.parts[0].name} and {self._whole.parts[0].name} have slices by "
                f"different columns: {mine} and {others}; expected states that were made alike"
            )
        for column, states in state.slices.items():
            known = self._slices[column]
            for value, part in states.items():
                if value in known:
                    _require_alike(part, known[value])
                    known[value] = _joined(known[value], part)
                else:
                    known[value] = _copied(part)
            if len(known) > MOST:
                raise InputError(
                    f"{column} has more than {MOST:,} values in all; --by takes a column of at most {MOST:,} "
                    "groups, such as country or device"
                )


def _copied(state: State) -> State:
    """Return a state that others can be added to."""
    body = Body(state.head, sampled=state.body.sample is not None)
    body.merge(state.body)
    return replace(state, body=body)


def _joined(whole: State, state: State) -> State:
    """Add the rows of a state to the body of another one."""
    whole.body.merge(state.body)
    bins = {m: _added(sums, state.bins[m]) for m, sums in whole.bins.items() if m in state.bins}
    return replace(whole, bins=bins, facts=whole.facts.merged(state.facts))


def _of_whole(part: State, head: Head) -> State:
    """Return a slice as one data set, of which is said what is said of all rows."""
    said = replace(part.head, kind_reason=head.kind_reason, dtype=head.dtype, labels=head.labels)
    return replace(part, head=said, parts=(replace(part.parts[0], rows=part.n_rows),))


def _in_order(values: list[str]) -> list[str]:
    ascending = np.array(sorted(values))
    return [str(ascending[n]) for n in natural_order(ascending)]


def _require_alike(state: State, first: State) -> None:
    for field, called in MUST_AGREE.items():
        mine, others = getattr(first.head, field), getattr(state.head, field)
        if mine != others:
            if field == "lenses":
                mine, others = (f"of {', '.join(names)}" for names in (mine, others))
            raise InputError(
                f"the states of {state.parts[0].name} and {first.parts[0].name} have different {called}: "
                f"{_said(others)} and {_said(mine)}; expected states that were made alike"
            )


def _said(value: object) -> str:
    if value == "":
        return "none"
    if isinstance(value, tuple | dict):
        names = [*map(str, value)]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return str(value)


def _added(first: Bins, second: Bins) -> Bins:
    return Bins(*(getattr(first, one.name) + getattr(second, one.name) for one in fields(Bins)))
