"""Exceptions; the command line turns each into a sentence and an exit status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CalcliError(Exception):
    """Base of everything calcli raises on purpose; the message is a sentence for the user."""


class InputError(CalcliError):
    """The data are wrong: a file, a column, a row or a value."""


class UsageError(CalcliError):
    """The call is wrong: an unknown metric, an option that does not fit the data."""


class NeedsRows(UsageError):
    """A request that needs single rows, where only sums exist."""


@contextmanager
def naming(called: str) -> Iterator[None]:
    """Begin messages of UsageErrors with `called`, the user's word."""
    try:
        yield
    except UsageError as fault:
        raise UsageError(f"{called}: {fault}") from fault
