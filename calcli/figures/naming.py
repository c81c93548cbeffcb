"""Names that fit above a panel: long ones lose what all of them share, or their middle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from textwrap import wrap

LENGTH = 34  # letters above a panel of a column
HALVES = re.compile("[\ud800-\udfff]")  # of characters, which no font has
WORD_END = re.compile(r".*[\W_]|", re.DOTALL)


def short(name: str, length: int = LENGTH) -> str:
    """Return a name without its middle if it is longer.

    Dollar signs, between which matplotlib would see a formula, are escaped, halves of characters replaced.
    """
    name = HALVES.sub("\ufffd", name)
    if len(name) > length:
        end = (length - 1) // 2
        name = f"{name[: length - 1 - end]}…{name[len(name) - end :]}"
    return name.replace("$", r"\$")


def titles(names: Iterable[str], length: int = LENGTH) -> dict[str, str]:
    """Return what to call each of several names, no two alike.

    If one is too long, all lose the words that they begin and end with; what is still too long loses its
    middle; what is then alike is numbered.
    """
    every = list(dict.fromkeys(names))
    fits = all(len(name) <= length for name in every)
    shown = dict(zip(every, every if fits else _differing(every), strict=True))
    shortened = {name: short(text, length) for name, text in shown.items()}
    if len(set(shortened.values())) < len(shortened):
        number = len(str(len(shortened))) + 2
        shortened = {name: f"{n}: {short(shown[name], length - number)}" for n, name in enumerate(every, 1)}
    return shortened


def _differing(names: list[str]) -> list[str]:
    """Return names without the words that all begin and end with, of which an ellipsis is left."""
    if len(names) < 2:
        return names
    head = _shared(names)
    rest = [name[head:] for name in names]
    tail = _shared([name[::-1] for name in rest])
    return ["…" * (head > 0) + name[: len(name) - tail] + "…" * (tail > 0) for name in rest]


def _shared(names: Sequence[str]) -> int:
    """Return with how many letters all names begin, up to the end of a word."""
    first, *others = names
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(first, *others, strict=False))
    end = WORD_END.match("".join(letter for letter, *_ in same))
    return end.end() if end else 0


def wrapped(name: str) -> str:
    """Return a name of several words in lines that fit above a panel."""
    lines = wrap(name, LENGTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(short, lines))
