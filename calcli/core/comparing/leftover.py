"""Systems of which states are left, beside others: all become states, whose rows are matched by digests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.gathering import state_of
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.state.deals import same_rows
from calcli.core.state.remains import Remains, left_of


def as_states(systems: Sequence[Predictions], settings: Settings) -> Sequence[Predictions]:
    """Return systems as they are, or all of them as states if one is.

    Parameters
    ----------
    systems
        Predictions, or what is left of some.
    settings
        Metrics that they are to be compared by.

    Raises
    ------
    UsageError
        If states were made with different settings.
    """
    left = next((system.state for system in systems if isinstance(system, Remains)), None)
    if left is None:
        return systems
    for system in systems:
        if isinstance(system, Remains) and system.state and system.state.head.clip != left.head.clip:
            raise UsageError(f"{system.provenance.path} and others were made with different values of --clip")
    alike = replace(
        settings,
        clip=left.head.clip,
        groups=left.head.groups,
        precision="single" if left.head.computed_in == "float32" else "double",
    )
    return [
        system if isinstance(system, Remains) else left_of(state_of(system, alike), system.provenance.path)
        for system in systems
    ]


def unlike_rows(systems: Sequence[Predictions]) -> str:
    """Return how the rows of states differ, as far as can be told; "" if they do not.

    Labels are compared row by row, or by digests of deals of rows.
    """
    states = [system.state for system in systems if isinstance(system, Remains) and system.state]
    first, name = states[0], systems[0].provenance.path
    for state, system in zip(states[1:], systems[1:], strict=True):
        other = system.provenance.path
        if state.n_rows != first.n_rows:
            return f"{other} has {state.n_rows:,} rows and {name} has {first.n_rows:,}"
        if first.body.deals is None or state.body.deals is None:
            same = np.array_equal(state.body.labels, first.body.labels)
        else:
            same = same_rows([first.body.deals, state.body.deals])
        if not (same or system.of_answers):
            return f"{other} and {name} have different labels, or the same ones in another order"
    return ""
