"""The one family of exceptions; the command line turns each into a sentence and an exit status."""

from __future__ import annotations


class CalcliError(Exception):
    """Base of everything calcli raises on purpose; the message is a sentence for the user."""


class InputError(CalcliError):
    """The data are wrong: a file, a column, a row or a value."""


class UsageError(CalcliError):
    """The call is wrong: an unknown metric, an option that does not fit the data."""


class ReadAgain(InputError):
    """Later rows show that the scores are of another kind than the first ones seemed to be."""
