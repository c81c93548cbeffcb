"""States in Python: summaries of predictions, to send, keep, merge and evaluate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from calcli.core.evaluating.states import merge, state_of
from calcli.core.language.declaring import TEXT, documented
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.state import state as states
from calcli.core.state.state import StatePredictions, predictions_of
from calcli.io.options import ReadOptions
from calcli.io.places.paths import parts_of_pattern
from calcli.io.saved.settings import settings_of
from calcli.io.saved.states import from_bytes, is_state, load_state, save_state, to_bytes
from calcli.report.merge import MergeReport
from calcli.work.read import OF_TABLES, columns_of, is_file_or_table, split_reading


@dataclass(frozen=True, repr=False, eq=False)
class State(StatePredictions):
    """The result of one pass over predictions; `evaluate`, `compare` and `check` take it in their place."""

    @classmethod
    @documented(Settings)
    @documented(ReadOptions, *(name for name in OF_TABLES if name != "key"))
    def of(
        cls,
        data: Any = None,
        labels: Any = None,
        *,
        key: str | None = None,
        by: str | Sequence[str] | None = (),
        **settings: Any,
    ) -> Self:
        """Return the state of predictions.

        Parameters
        ----------
        data, labels
            Predictions, as `evaluate` takes them.
        by : str or sequence of str
            Columns with a small state for every value as well.
        key : str, optional
            Column of unique values that identify rows; by default their order does.
        {ReadOptions}
        {Settings}

        Raises
        ------
        InputError
            If these cannot be predictions, have no such column, or share a key.
        UsageError
            If a setting is unknown, or asks for something that a state cannot hold.
        """
        key = None if key is None else TEXT.checked("key", key)
        settings |= {"key": key} if is_file_or_table(data) else {}
        columns = columns_of(by)
        predictions, settings = split_reading(data, labels, settings)
        if isinstance(predictions, StatePredictions):
            raise UsageError("this is a state already; merge() puts states together")
        state = state_of(predictions, settings_of(settings), key=key, by=columns)
        return cls._around(state, predictions.provenance.path)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "state") -> Self:
        """Return the state from `to_bytes`, or from a file of the command line.

        Raises
        ------
        InputError
            If it is damaged, or of another version.
        """
        return cls._around(from_bytes(data, name), name)

    def to_bytes(self) -> bytes:
        """Return the state as the bytes of a file."""
        return to_bytes(self.state)

    def merge(self, *states: StatePredictions) -> Self:
        """Return the state of these rows and of others.

        Up to 20,000 rows are kept, in the order of the names of their parts, then in this order.

        Raises
        ------
        InputError
            If states differ in their settings, or hold the same rows.
        UsageError
            If something else is given.
        """
        for s in states:
            if not isinstance(s, StatePredictions):
                raise UsageError(f"merge takes states, not {type(s).__name__}")
        return self._around(merge([self.state, *(state.state for state in states)]), "merged states")

    @classmethod
    def _around(cls, state: states.State, name: str) -> Self:
        return cls(**vars(predictions_of(state, name)))

    def __repr__(self) -> str:
        return f"<State of {self.n_rows:,} rows of {self.n_classes:,} classes>"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[bytes, str]]:
        return type(self).from_bytes, (self.to_bytes(), self.provenance.path)


def merge_files(files: Sequence[str], output: str) -> MergeReport:
    """Merge the states in files.

    Raises
    ------
    InputError
        If a file is no state, or states differ in their settings or hold the same rows.
    """
    paths = [path for file in files for path in parts_of_pattern(file)]
    strangers = [file for file in paths if not is_state(file)]
    if strangers:
        raise UsageError(
            f"{strangers[0]} is not a state; make one with calcli evaluate {strangers[0]} --save-state "
            "NAME.calcli"
        )
    union: states.State = merge(load_state(file) for file in paths)
    save_state(union, output)
    return MergeReport(output, union)
