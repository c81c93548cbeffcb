"""The one family of exceptions; the command line turns each into a sentence and an exit status."""

from __future__ import annotations

from typing import Literal


class CalcliError(Exception):
    """Base of everything calcli raises on purpose; the message is a sentence for the user."""


class InputError(CalcliError):
    """The data are wrong: a file, a column, a row or a value."""


class UsageError(CalcliError):
    """The call is wrong: an unknown metric, an option that does not fit the data."""


class KindContradicted(InputError):
    """A later block shows that the scores are of another kind than the first block suggested.

    Attributes
    ----------
    kind
        What they are.
    reason
        What showed it, as a clause.
    """

    def __init__(self, kind: Literal["logits", "log-probs", "probs"], reason: str) -> None:
        super().__init__(f"the scores turn out to be {kind}: {reason}; say so with --kind {kind}")
        self.kind: Literal["logits", "log-probs", "probs"] = kind
        self.reason = reason
