"""Merging: the states of parts become the state of the whole, which sums rows once there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from calcli.core.data.binning import Bins
from calcli.core.data.derived import MOST, natural_order
from calcli.core.language.errors import InputError, UsageError
from calcli.core.language.text import counted, some
from calcli.core.state.sample import Rows, are_few
from calcli.core.state.state import Body, Facts, Head, Part, State

Summed = Callable[[State], State]

MUST_AGREE = {  # before parts are merged
    "classes": "classes",
    "called": "kinds of scores (--kind)",
    "computed_in": "precisions",
    "weighted": "use of weights",
    "metrics": "metrics",
    "bins": "numbers of bins",
    "clip": "values of --clip",
    "groups": "class groups",
    "key": "keys",
    "by": "columns of slices",
}


def merged(states: Iterable[State], summed: Summed) -> State:
    """Return the state of the rows of all parts, in any order of the parts.

    A few rows stand in the order of the names of their parts; `summed` sums them.

    Raises
    ------
    InputError
        If states differ in their settings, or hold the same rows, as far as can be told.
    """
    union, heads, reference = _Union(summed), dict[str, Head](), None
    for state in states:
        reference = reference or state
        for field, called in MUST_AGREE.items():
            mine, theirs = getattr(reference.head, field), getattr(state.head, field)
            if mine != theirs:
                raise InputError(
                    f"the states of {state.parts[0].name} and {reference.parts[0].name} have different "
                    f"{called}: {_said(theirs)} and {_said(mine)}; expected states that were made alike"
                )
        heads[state.parts[0].digest] = state.head
        union.add(state)
    if reference is None:
        raise UsageError("there is no state to merge; give one or more")
    union_state = _in_order(union.state, heads)
    by_digest, key, sample = dict[str, Part](), union_state.head.key, union_state.body.sample
    for part in union_state.parts:
        if (twin := by_digest.get(part.digest)) is not None:
            raise InputError(
                f"{part.name} and {twin.name} have the same {part.rows:,} rows; expected states of "
                "different rows"
            )
        by_digest[part.digest] = part
    rows = union_state.rows or (sample and sample.rows)
    if key and rows and (common := len(rows.ids) - len(np.unique(rows.ids))):
        names = some([part.name for part in union_state.parts])
        raise InputError(
            f"{names} have {counted(common, 'value')} of {key} in common; expected different rows"
        )
    return union_state


def as_slice(state: State, name: str) -> State:
    """Return the state of a slice as one data set, few rows in the order of their ids."""
    rows = state.rows and state.rows.by_id
    return replace(state, parts=(Part(name, state.n_rows, ""),), rows=rows)


class _Union:
    """The rows of several states, which are summed once there are many."""

    def __init__(self, summed: Summed) -> None:
        self._summed = summed
        self._few: list[State] = []
        self._whole: State | None = None
        self._slices: dict[str, dict[str, _Union]] = {}

    def add(self, state: State) -> None:
        """Add the rows of a state."""
        if state.rows is None:
            self._add(state)
            return
        self._few.append(state)
        if not are_few(sum(small.n_rows for small in self._few), len(state.head.classes)):
            self._sum_up()

    @property
    def state(self) -> State:
        """The state of all rows."""
        if self._whole is None:
            return _of_rows(self._few)
        self._sum_up()
        slices = {
            column: {
                value: as_slice(unions[value].state, f"{column}={value}") for value in _ascending(unions)
            }
            for column, unions in self._slices.items()
        }
        return replace(self._whole, slices=slices)

    def _sum_up(self) -> None:
        if self._few:
            self._add(self._summed(_of_rows(self._few)))
            self._few = []

    def _add(self, state: State) -> None:
        """Add sums."""
        head = state.head
        empty = Body(head, sampled=state.body.sample is not None)
        union = self._whole or State(head, (), Facts(), {}, empty)
        union.body.merge(state.body)
        bins = {m: _added(union.bins[m], sums) if union.bins else sums for m, sums in state.bins.items()}
        facts, all_parts = union.facts.merged(state.facts), union.parts + state.parts
        self._whole = replace(union, parts=all_parts, facts=facts, bins=bins)
        for column, states in state.slices.items():
            unions = self._slices.setdefault(column, {})
            for value, part in states.items():
                unions.setdefault(value, _Union(self._summed)).add(part)
            if len(unions) > MOST:
                raise InputError(
                    f"{column} has more than {MOST:,} values in all; --by takes a column of at most {MOST:,} "
                    "groups, such as country or device"
                )


def _of_rows(states: Sequence[State]) -> State:
    """Return the state of all rows, which are few."""
    every_part = tuple(part for state in states for part in state.parts)
    return replace(
        states[0], parts=every_part, rows=Rows.joined(state.rows for state in states if state.rows)
    )


def _in_order(state: State, heads: Mapping[str, Head]) -> State:
    """Return a merged state with an order of parts that does not depend on the order of merging."""
    unordered, keyed = state.parts, bool(state.head.key)
    order = sorted(range(len(unordered)), key=lambda n: (unordered[n].name, keyed and unordered[n].digest))
    ordered = tuple(unordered[n] for n in order)
    head = heads[ordered[0].digest]
    slices = {
        column: {
            value: replace(part, head=replace(head, metrics=part.head.metrics, by=()))
            for value, part in states.items()
        }
        for column, states in state.slices.items()
    }
    rows = state.rows
    if rows is not None:
        place = np.repeat(np.argsort(order), [part.rows for part in unordered])
        rows = rows.take(np.argsort(place, kind="stable"))
    return replace(state, head=head, parts=ordered, slices=slices, rows=rows)


def _ascending(values: Iterable[str]) -> list[str]:
    ascending = np.array(sorted(values))
    return [str(ascending[n]) for n in natural_order(ascending)]


def _said(value: object) -> str:
    return (some([*value]) if isinstance(value, tuple | dict) else str(value)) or "none"


def _added(bins: Bins, second: Bins) -> Bins:
    return Bins(*(getattr(bins, field.name) + getattr(second, field.name) for field in fields(Bins)))
