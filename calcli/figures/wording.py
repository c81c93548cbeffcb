"""What the axes are called under each lens, and what metrics are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calcli.core.language.expressions import WRONG_RIGHT, Measure
from calcli.core.language.text import number
from calcli.figures.naming import short


def drawn(value: float, *beside: float, digits: int | None = None) -> str:
    """Return a number as `number` does, a minus as it is printed."""
    return number(value, *beside, digits=digits).replace("-", "−")


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
        What a gap above 0, and one below, means.
    said, several, observed
        What captions call the score, the scores, and the frequency.
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
    """Return what the probability of the second of two classes is called; "class 1" without their names."""
    name = short(classes[1], 20) if classes else "1"
    return f"P(class {name})" if name.isdecimal() else f"P({name})"


def metric_name(call: Measure) -> str:
    """Return the title of a metric, with those of its arguments that are not the usual ones below."""
    arguments = str(call).partition(":")[2].replace(":", ", ")
    return f"{call.entry.title}\n{arguments}" if arguments else call.entry.title
