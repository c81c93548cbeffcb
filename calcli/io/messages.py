"""Parts of messages: the position of a row, lists of names, and offered commands, each tried."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from calcli.core.language.declaring import declared
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.io.options import ReadOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STDIN = "standard input"
ALIKE = "parts of one data set must be alike; without --concat files are evaluated one by one"


MOST_COMMANDS = 6  # that a message shows
Offer = Mapping[str, Any]  # options of reading, by keyword
Commands = Callable[[Offer], str]
SentenceWith = Callable[[Sequence[Offer], Commands], str]
FEW_FILES = 3  # that a command names
BLOCK = 1 << 12  # rows


@dataclass(frozen=True)
class Place:
    """The files that make up one data set.

    Attributes
    ----------
    parts
        Name and number of rows of each file, in reading order.
    """

    parts: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Name the data set."""
        file = self.parts[0][0]
        return file if len(self.parts) == 1 else f"{file} and {len(self.parts) - 1} more"

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of the rows, if some were left out; else empty."""
        return ()

    def row(self, index: int) -> str:
        """Name a row: the file it is in, and its number there, counted from 0."""
        for name, rows in self.parts[:-1]:
            if index < rows:
                return f"{name}: row {index}"
            index -= rows
        return f"{self.parts[-1][0]}: row {index}"


def in_first(looked_at: int, rows: int) -> str:
    """Return the start of a sentence on the first rows, if there are more."""
    return "" if looked_at == rows else f"in the first {looked_at:,} rows "


@dataclass(frozen=True)
class KeptPlace(Place):
    """Files with some rows kept."""

    whole: Place
    rows: tuple[int, ...]

    @classmethod
    def of(cls, place: Place, mask: NDArray[np.bool_]) -> KeptPlace:
        """Return the (N,) kept rows of a place."""
        counts, start = [], 0
        for name, rows in place.parts[:-1]:
            counts.append((name, int(mask[start : start + rows].sum())))
            start += rows
        counts.append((place.parts[-1][0], int(mask[start:].sum())))  # streams have no known length
        return cls(tuple(counts), place, tuple(mask.nonzero()[0].tolist()))

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of the remaining rows."""
        before = self.whole.left
        return tuple(before[row] for row in self.rows) if before else self.rows

    def row(self, index: int) -> str:
        """Name a row by its stored position."""
        return self.whole.row(self.rows[index] if self.rows else index)  # a file may have none


def in_command(name: str) -> str:
    """Return a data set for a command; several files are `FILES`."""
    if name == STDIN:
        return "-"
    return "FILES" if re.search(r" and \d+ more$", name) else shlex.quote(name)


def type_in_words(dtype: np.dtype[Any]) -> str:
    """Return the words for values of a type other than numbers."""
    kinds = {"U": "text", "S": "text", "T": "text", "c": "complex numbers", "M": "dates", "m": "durations"}
    kinds["O"] = "lists or the like"
    if (dtype.kind, dtype.itemsize) == ("V", 2):
        return (
            "bfloat16, which .npy has no type for; convert it with (values.view(np.uint16).astype(np.uint32) "
            "<< 16).view(np.float32)"
        )
    return kinds.get(dtype.kind, f"values of type {dtype}")


def listed(names: Sequence[str], limit: int = 8) -> str:
    """Join names for a message, without the middle of a long list; an empty name is `""`."""
    names = [name or '""' for name in names]
    if len(names) <= limit:
        return ", ".join(names) or "none"
    return f"{', '.join(names[: limit - 2])}, ..., {names[-1]} ({len(names)} in all)"


class HasScores(Protocol):
    """An object with scores."""

    @property
    def scores(self) -> Any:
        """The scores, with a method `blocks`."""


T = TypeVar("T", bound=HasScores)


class Question(InputError):
    """Data with several readings, among which options must choose.

    Parameters
    ----------
    offers
        Options that choose a reading, the likeliest first.
    sentence_with
        Returns the sentence, from the remaining offers and the function that shows the command of each.
    """

    def __init__(self, offers: Sequence[Offer], sentence_with: SentenceWith) -> None:
        self.offers, self.sentence_with = offers, sentence_with
        super().__init__(sentence_with((), options_alone))


def answered(read: Callable[[ReadOptions], T], options: ReadOptions, commands: Commands) -> T:
    """Return the result of reading; a question lists only offers that can be read to the end.

    Raises
    ------
    InputError
        If there is a question.
    """
    try:
        return read(options)
    except Question as question:
        sound = (offer for offer in question.offers if _reads(read, replace(options, **offer)))
        raise InputError(question.sentence_with(list(islice(sound, MOST_COMMANDS + 1)), commands)) from None


def _reads(read: Callable[[ReadOptions], HasScores], options: ReadOptions) -> bool:
    try:
        for _ in read(options).scores.blocks(BLOCK):
            pass
    except CalcliError:
        return False
    return True


def refuse_given(options: ReadOptions, names: Sequence[str], why: str) -> None:
    """Raise a UsageError if one of these options is given."""
    for name in names:
        if name in options.given:
            raise UsageError(f"{options_alone({name: options.given[name]})}: {why}")


def shown_in(paths: Sequence[str], options: ReadOptions) -> Commands:
    """Return a function that shows the command of an offer, with the options already given."""
    files = " ".join(map(in_command, paths)) if len(paths) <= FEW_FILES else "FILES"
    facts = {name: value for name, value in options.given.items() if name != "system"}  # its columns are said
    return lambda offer: " ".join([f"calcli evaluate {files}", *_words({**facts, **offer})])


def options_alone(offer: Offer) -> str:
    """Return the options of an offer, as text to add to a command."""
    return " ".join(_words(offer))


def _words(options: Offer) -> Iterator[str]:
    """Yield options with their values, quoted for a shell."""
    for name, value in options.items():
        setting = declared(ReadOptions)[name]
        joined = setting.values.several != "repeated" or not isinstance(value, tuple)
        for v in [",".join(value) if isinstance(value, tuple) else value] if joined else value:
            text = shlex.quote(f"{v:g}" if isinstance(v, float) else str(v))
            yield setting.option if v is True else f"{setting.option}{'=' if text[0] == '-' else ' '}{text}"
