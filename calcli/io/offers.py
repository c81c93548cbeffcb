"""What a refusal offers: sets of options, of which each is tried before its command is shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol, TypeVar

from calcli.core.language.declaring import declared
from calcli.core.language.errors import CalcliError, InputError
from calcli.io.messages import MOST_COMMANDS, in_command
from calcli.io.options import ReadOptions

Offer = Mapping[str, Any]  # options of reading, by keyword
Commands = Callable[[Offer], str]
Told = Callable[[Sequence[Offer], Commands], str]


class HasScores(Protocol):
    """What has scores to be read."""

    @property
    def scores(self) -> Any:
        """What gives them block by block."""


T = TypeVar("T", bound=HasScores)

FEW_FILES = 3  # that a command names
BLOCK = 1 << 12  # rows


class Question(InputError):
    """Data that options must say more of.

    Parameters
    ----------
    offers
        What they may say, the likeliest first.
    told
        Returns the sentence, from the offers that are left and what shows the command of each.
    """

    def __init__(self, offers: Sequence[Offer], told: Told) -> None:
        self.offers, self.told = offers, told
        super().__init__(told((), options_alone))


def answered(read: Callable[[ReadOptions], T], options: ReadOptions, shown: Commands) -> T:
    """Return what is read so; a question is told with those of its offers that are read to their end.

    Raises
    ------
    InputError
        If there is a question.
    """
    try:
        return read(options)
    except Question as question:
        sound = (one for one in question.offers if _reads(read, replace(options, **one)))
        raise InputError(question.told(list(islice(sound, MOST_COMMANDS + 1)), shown)) from None


def _reads(read: Callable[[ReadOptions], HasScores], options: ReadOptions) -> bool:
    try:
        for _ in read(options).scores.blocks(BLOCK):
            pass
    except CalcliError:
        return False
    return True


def shown_in(paths: Sequence[str], options: ReadOptions) -> Commands:
    """Return what shows the command of an offer, with what the user said already."""
    files = " ".join(map(in_command, paths)) if len(paths) <= FEW_FILES else "FILES"
    given = {name: value for name, value in options.given.items() if name != "system"}  # its columns are said
    return lambda offer: " ".join([f"calcli evaluate {files}", *_words({**given, **offer})])


def options_alone(offer: Offer) -> str:
    """Return the options of an offer, to be added to a command."""
    return " ".join(_words(offer))


def _words(options: Offer) -> Iterator[str]:
    """Yield options with their values, as a shell takes them."""
    for name, value in options.items():
        setting = declared(ReadOptions)[name]
        whole = setting.values.several != "repeated" or not isinstance(value, tuple)
        for one in [",".join(value) if isinstance(value, tuple) else value] if whole else value:
            text = shlex.quote(f"{one:g}" if isinstance(one, float) else str(one))
            yield setting.option if one is True else f"{setting.option}{'=' if text[0] == '-' else ' '}{text}"
