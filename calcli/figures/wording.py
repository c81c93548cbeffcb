"""The words of figures: names that fit above a panel, labels of axes under each lens, names of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from textwrap import wrap

from calcli.core.language.expressions import WRONG_RIGHT, Measure
from calcli.core.language.text import number

LENGTH = 34  # letters above a panel of a column
HALVES = re.compile("[\ud800-\udfff]")  # of characters, which no font has
WORD_END = re.compile(r".*[\W_]|", re.DOTALL)


def short(name: str, length: int = LENGTH) -> str:
    """Return a name, without its middle if it is too long.

    Dollar signs, between which matplotlib would see a formula, are escaped, halves of characters replaced.
    """
    name = HALVES.sub("\ufffd", name)
    if len(name) > length:
        end = (length - 1) // 2
        name = f"{name[: length - 1 - end]}…{name[len(name) - end :]}"
    return name.replace("$", r"\$")


def titles(names: Iterable[str], length: int = LENGTH) -> dict[str, str]:
    """Return distinct short titles for several names.

    If one is too long, all lose the words that they share at the beginning and the end; a name still too long
    loses its middle; equal results get numbers.
    """
    every = list(dict.fromkeys(names))
    fits = all(len(name) <= length for name in every)
    texts = dict(zip(every, every if fits else _differing(every), strict=True))
    shortened = {name: short(text, length) for name, text in texts.items()}
    if len(set(shortened.values())) < len(shortened):
        number = len(str(len(shortened))) + 2
        shortened = {name: f"{n}: {short(texts[name], length - number)}" for n, name in enumerate(every, 1)}
    return shortened


def _differing(names: list[str]) -> list[str]:
    """Return names without the words that all share at both ends; an ellipsis marks the place."""
    if len(names) < 2:
        return names
    head = _shared(names)
    tails = [name[head:] for name in names]
    tail = _shared([name[::-1] for name in tails])
    return ["…" * (head > 0) + name[: len(name) - tail] + "…" * (tail > 0) for name in tails]


def _shared(names: Sequence[str]) -> int:
    """Return the length of the common start of all names, up to the end of a word."""
    name, *names_after = names
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(name, *names_after, strict=False))
    match = WORD_END.match("".join(letter for letter, *_ in same))
    return match.end() if match else 0


def wrapped(name: str) -> str:
    """Return a name of several words in lines that fit above a panel."""
    lines = wrap(name, LENGTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(short, lines))


def drawn(value: float, *neighbors: float, digits: int | None = None) -> str:
    """Return a number as from `number`, with a typographic minus."""
    return number(value, *neighbors, digits=digits).replace("-", "−")


@dataclass(frozen=True)
class Words:
    """The words for a lens.

    Attributes
    ----------
    score, frequency
        Labels of the axes.
    mean_score, overall
        Names of their means.
    gap
        Label of score minus frequency.
    over, under
        The meaning of a gap above 0, and below 0.
    said, several, observed
        The words in captions for the score, the scores, and the frequency.
    """

    score: str
    frequency: str
    mean_score: str = "mean probability"
    overall: str = "frequency"
    gap: str = "Predicted − observed"
    over: str = "over-predicted"
    under: str = "under-predicted"
    said: str = "score"
    several: str = "scores"
    observed: str = "observed frequency"


def words(lens: str, classes: Sequence[str] = ()) -> Words:
    """Return the words for a one-dimensional lens; class lenses use the class names where given."""
    if tuple(classes) == WRONG_RIGHT:
        return replace(_of_confidence(""), said="confidence", several="confidences", observed="accuracy")
    return replace(_of_classes(lens, classes), said=f"score ({lens})")


def _of_confidence(which: str) -> Words:
    return Words(
        f"Confidence{which}",
        "Accuracy",
        "mean confidence",
        "accuracy",
        f"Confidence{which} − accuracy",
        "over-confident",
        "under-confident",
    )


def _of_classes(lens: str, classes: Sequence[str]) -> Words:
    if lens == "top-1":
        return _of_confidence(" (top-1)")
    if lens == "marginal":
        return Words("Predicted probability of each class", "Observed frequency of that class")
    kind, _, number = lens.rpartition("-")
    if kind == "top":
        return Words(f"Probability of the class ranked {number}", "Observed frequency of that class")
    if kind == "within-top":
        return Words(f"Probability of the {number} first classes", "Frequency of the label among them")
    if kind == "class":
        name = short(classes[int(number)], 20) if classes else number
        return Words(f"Predicted probability of {name}", f"Observed frequency of {name}")
    return Words(f"Predicted probability ({lens})", f"Observed frequency ({lens})")


def probability(classes: Sequence[str] = ()) -> str:
    """Return the name of the probability of the second of two classes; "class 1" without class names."""
    name = short(classes[1], 20) if classes else "1"
    return f"P(class {name})" if name.isdecimal() else f"P({name})"


def metric_name(metric: Measure) -> str:
    """Return the title of a metric, with its unusual arguments below."""
    arguments = str(metric).partition(":")[2].replace(":", ", ")
    return f"{metric.entry.title}\n{arguments}" if arguments else metric.entry.title
