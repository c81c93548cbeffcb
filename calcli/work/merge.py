"""Merging: states of parts become the state of the whole."""

from __future__ import annotations

from collections.abc import Sequence

from calcli.core.language.errors import UsageError
from calcli.core.state.merging import merge
from calcli.core.state.state import State
from calcli.io.places.paths import parts_of_pattern
from calcli.io.saved.states import is_state, load_state, save_state
from calcli.report.merge import MergeReport


def merge_files(files: Sequence[str], output: str) -> MergeReport:
    """Put the states of files together.

    Raises
    ------
    InputError
        If one is not a state, they are not alike, or hold the same rows.
    """
    given = [one for file in files for one in parts_of_pattern(file)]
    others = [file for file in given if not is_state(file)]
    if others:
        raise UsageError(
            f"{others[0]} is not a state; make one with calcli evaluate {others[0]} --save-state NAME.calcli"
        )
    whole: State = merge(load_state(file) for file in given)
    save_state(whole, output)
    return MergeReport(output, whole)
