"""How work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Watch = Callable[[int], None]  # is called with the number of rows done
Watcher = Callable[[str, int | None], Watch]  # is called with a stage of the work and its rows, if known


def unwatched(what: str, rows: int | None) -> Watch:
    """Watch nothing."""
    return lambda done: None
