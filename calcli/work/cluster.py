"""States of parts made by many processes, here or on other machines, and merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from calcli.core.data.predictions import Predictions
from calcli.core.evaluating.evaluate import require_mergeable, state_of
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watch, Watcher, unwatched
from calcli.core.state.merging import merge
from calcli.core.state.state import predictions_of
from calcli.io.dataset import of_system
from calcli.io.options import ReadOptions
from calcli.io.places.paths import kept, parts_of_pattern, recall
from calcli.io.read import Piece, in_pieces, read_concat, read_piece
from calcli.io.saved.states import from_bytes, is_state, to_bytes
from calcli.work.distributed import total

T = TypeVar("T")


@dataclass(frozen=True)
class Engine:
    """What makes states of parts and merges them.

    Attributes
    ----------
    scheduler
        The address of a Dask scheduler; None for processes of this machine.
    watcher
        Starts a progress bar.
    key
        The column that rows are known by; None if it is their number.
    by
        Columns of whose every value there is a state as well.
    """

    scheduler: str | None = None
    watcher: Watcher = field(default=unwatched, repr=False)
    key: str | None = None
    by: tuple[str, ...] = ()

    def read(
        self, paths: Sequence[str], options: ReadOptions, asked: Callable[[Predictions], Settings]
    ) -> Predictions:
        """Return what is left of the files and folders of one data set; of a state itself.

        Parameters
        ----------
        paths, options
            As for `read_concat`.
        asked
            What is to be computed, by the predictions of the first part.

        Raises
        ------
        InputError
            If a part cannot be read, they do not go together, or the scheduler cannot be reached.
        UsageError
            If something is asked for that states cannot hold, or Dask is not installed.
        """
        given = [one for path in paths for one in parts_of_pattern(path)]
        if any(map(is_state, given)):
            return read_concat(given, options)
        parts, options = parts_to_read(given, options)
        settings = asked(read_piece(parts[0], options))
        require_mergeable(settings)
        make = partial(made_of, options=options, settings=settings, hidden=kept(), key=self.key, by=self.by)
        name = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
        found = gather(parts, make, self.watcher(name, len(parts)), self.scheduler)
        return predictions_of(from_bytes(found, name), name)


def parts_to_read(given: Sequence[str], options: ReadOptions) -> tuple[list[Piece], ReadOptions]:
    """Return the files, or pieces of them, that workers are to read, and how.

    Raises
    ------
    UsageError
        If they cannot be read in parts.
    """
    if "-" in given:
        raise UsageError("--engine reads files in other processes; expected files, not - (standard input)")
    files, options = of_system(given, options)
    return in_pieces(files, options), options


def predictions_in(
    paths: Sequence[str],
    options: ReadOptions,
    engine: Engine | None,
    asked: Callable[[Predictions], Settings],
) -> Predictions:
    """Return the files of one data set, or what an engine leaves of them; see `Engine.read`."""
    return read_concat(paths, options) if engine is None else engine.read(paths, options, asked)


def made_of(
    part: Piece,
    *,
    options: ReadOptions,
    settings: Settings,
    hidden: Any,
    key: str | None = None,
    by: tuple[str, ...] = (),
) -> bytes:
    """Return the state of one part, as a file holds it; this runs where the workers are."""
    recall(hidden)
    return to_bytes(state_of(read_piece(part, options), settings, key=key, by=by))


def merged(states: Sequence[bytes]) -> bytes:
    """Return the state of all rows."""
    return to_bytes(merge(map(from_bytes, states)))


def gather(
    parts: Sequence[Piece], make: Callable[[Piece], bytes], watch: Watch, scheduler: str | None = None
) -> bytes:
    """Make the state of each part, and merge them in their order."""
    return total(parts, make, merged, watch, scheduler)
