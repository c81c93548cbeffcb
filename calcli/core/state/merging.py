"""Merging: the states of parts become that of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.data.slices import MOST, natural_order
from calcli.core.language.errors import InputError, UsageError
from calcli.core.state.state import Body, Part, State

MUST_AGREE = {  # before parts are merged
    "classes": "classes",
    "kind": "kinds of scores",
    "computed_in": "precisions",
    "weighted": "use of weights",
    "metrics": "metrics",
    "clip": "values of --clip",
    "lenses": "lenses",
    "groups": "class groups",
    "key": "keys",
}


def merge(states: Iterable[State]) -> State:
    """Return the state of the rows of all, numbered on in the order given; of keys their order is no matter.

    Raises
    ------
    InputError
        If states are not alike, or hold the same rows.
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
    """A state that others are added to; those of one slice are known to be of different rows."""

    def __init__(self, first: State, *, of_slice: bool = False) -> None:
        body = Body(first.head, sampled=first.body.sample is not None)
        body.merge(first.body)
        self._whole, self._of_slice = replace(first, body=body), of_slice
        self._parts: dict[str, Part] = {}
        self._slices: dict[str, dict[str, _Merged]] = {column: {} for column in first.slices}
        self._add_parts(first)
        self._add_slices(first)

    def add(self, state: State) -> None:
        """Add the rows of a state."""
        whole = self._whole
        _require_alike(state, whole)
        if not self._of_slice:
            _refuse_common_keys(state, whole)
        whole.body.merge(state.body)
        bins = {m: _added(own, state.bins[m]) for m, own in whole.bins.items()}
        whole = replace(whole, bins=bins, facts=whole.facts.merged(state.facts))
        if state.head.key and state.parts[0] < min(self._parts.values()):
            whole = replace(whole, head=state.head)  # what is said of the rows depends on no order either
        self._whole = replace(whole, parts=(*whole.parts, *state.parts))
        self._add_parts(state)
        self._add_slices(state)

    @property
    def state(self) -> State:
        """The state of all rows."""
        parts = tuple(sorted(self._parts.values()) if self._whole.head.key else self._parts.values())
        slices = {
            column: {value: own[value].state for value in _in_order([*own])}
            for column, own in self._slices.items()
        }
        return replace(self._whole, parts=parts, slices=slices)

    def _add_parts(self, state: State) -> None:
        for part in state.parts:
            known = self._parts.get(part.digest)
            if self._of_slice:
                rows = part.rows + sum(one.rows for one in self._parts.values())
                self._parts = {"": replace(part, rows=rows, digest="")}
                continue
            if known is not None:
                raise InputError(
                    f"{part.name} and {known.name} have the same {part.rows:,} rows; expected "
                    "states of different rows"
                )
            self._parts[part.digest] = part

    def _add_slices(self, state: State) -> None:
        if [*state.slices] != [*self._slices]:
            mine, others = (", ".join(one) or "none" for one in (state.slices, self._slices))
            raise InputError(
                f"the states of {state.parts[0].name} and {self._whole.parts[0].name} have slices by "
                f"different columns: {mine} and {others}; expected states that were made alike"
            )
        for column, own in state.slices.items():
            known = self._slices[column]
            for value, part in own.items():
                if value in known:
                    known[value].add(part)
                else:
                    known[value] = _Merged(part, of_slice=True)
            if len(known) > MOST:
                raise InputError(
                    f"{column} has more than {MOST:,} values in all; --by takes a column of at most {MOST:,} "
                    "groups, such as country or device"
                )


def _in_order(values: list[str]) -> list[str]:
    ascending = np.array(sorted(values))
    return [str(ascending[n]) for n in natural_order(ascending)]


def _refuse_common_keys(state: State, whole: State) -> None:
    """Raise an InputError if the lowest hashes show that states have rows in common."""
    if not state.head.key:
        return
    common = len(np.intersect1d(state.body.lowest, whole.body.lowest, assume_unique=True))
    if common and {part.digest for part in state.parts}.isdisjoint(part.digest for part in whole.parts):
        names = f"{state.parts[0].name} and {whole.parts[0].name}"
        what = "1 value" if common == 1 else f"{common:,} values"
        raise InputError(f"{names} have {what} of {state.head.key} in common; expected different rows")


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
