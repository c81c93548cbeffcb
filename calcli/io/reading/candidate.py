"""One way to read some rows, with the evidence for it and the doubts in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Called
from calcli.io.reading.head import Head, ScoreColumns
from calcli.io.reading.weights import DOUBTS, WEIGHTS, Doubt

What = Literal["classes", "class", "answer", "right", "hard"]
CLASS_SAID = {"class in the name", "word of the class", "event in the name", "positive by custom"}
SHOWN = 0.9  # share of the most evidence that a ranking can give


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to read the rows.

    Attributes
    ----------
    head, source
        The rows, and the columns of the scores.
    kind
        The kind of the scores.
    what
        "classes", a score of each class; "class", one score of `positive`; "answer", the confidence that
        `said` equals the label; "right", the confidence that the label says right; or "hard", `said` alone.
    label
        The column of the truth; "" for a reading without labels.
    y
        (n,) number of the true class, -1 where there is none.
    how
        How labels match classes: by name, by custom or by place.
    names
        The labels of the classes, in the order of the scores; empty if the columns name the classes.
    positive, said
        The class of one score, and the column of the answers; see `what`.
    number, rest
        The number of the class of each label, and the number of all other labels; -1 for none.
    parts
        The evidence, by weight.
    doubts
        What the user should know.
    """

    head: Head
    source: ScoreColumns
    kind: Called
    what: What
    label: str
    y: NDArray[np.intp]
    how: str = "names"
    names: tuple[str, ...] = ()
    positive: str = ""
    said: str = ""
    number: Mapping[str, int] = field(default_factory=dict)
    rest: int = -1
    parts: dict[str, float] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    @cached_property
    def p(self) -> Doubles:
        """(n, K) probabilities."""
        values = self.source.values / (100 if self.kind == "percent" else 1)
        with np.errstate(all="ignore"):
            if not self.source.many:
                if self.kind == "logits":
                    values = 1 / (1 + np.exp(-values))
                elif self.kind == "log-probs":
                    values = np.exp(values)
                return np.hstack([1 - values, values])
            if self.kind in ("logits", "log-probs"):
                values = np.exp(values - values.max(axis=1, keepdims=True))
            probs: Doubles = values / values.sum(axis=1, keepdims=True)
            return probs

    @property
    def s(self) -> Doubles:
        """(n,) probability of the last class, the single score of a row."""
        scores: Doubles = self.p[:, -1]
        return scores

    @cached_property
    def q(self) -> Doubles:
        """(n,) probability of the true class, to compare readings by; all probabilities without labels."""
        if self.what == "hard":
            return np.where(self.y < 0, np.nan, self.y == 1)
        if not self.label:
            return self.p.ravel()
        true = np.take_along_axis(self.p, np.maximum(self.y, 0)[:, None], 1)[:, 0]
        return np.where(self.y < 0, np.nan, true)

    @property
    def own(self) -> frozenset[str]:
        """The distinct labels."""
        return self.head.values.get(self.label, frozenset())

    @property
    def total(self) -> float:
        """The sum of the evidence, in log-odds."""
        return sum(self.parts.values())

    @property
    def ranked_by_values(self) -> bool:
        """Whether only the ranking tells which class a single score belongs to."""
        unsaid = not self.parts.keys() & (CLASS_SAID | {"prediction follows"})
        return self.what == "class" and bool(self.label) and unsaid

    @property
    def ranked(self) -> float:
        """The evidence of the ranking as a share of its maximum: 1 if the scores clearly rank the class."""
        return self.parts.get("ranked", 0.0) / WEIGHTS["ranked"].worth

    def rank(self, deviations: float) -> None:
        """Add the evidence of a ranking that lies so many standard errors from chance."""
        self.parts["ranked"] = WEIGHTS["ranked"].worth * float(np.clip(deviations / 5, -1, 1))

    def add(self, weight: str, degree: float = 1.0) -> None:
        """Add a piece of evidence, at some degree."""
        self.parts.update(worth(weight, degree))

    def doubt(
        self, name: str, *, asks: bool | None = None, offers: tuple[dict[str, Any], ...] = (), **details: Any
    ) -> None:
        """Add a doubt from the table of doubts, with its details; `asks` overrides its default."""
        sentence, option, always, _ = DOUBTS[name]
        low, high = self.source.span
        facts = {"scores": ", ".join(self.source.columns[:4]), "label": self.label, "positive": self.positive}
        text = sentence.format(**(facts | {"low": low, "high": high} | details))
        self.doubts.append(Doubt(text, option, always if asks is None else asks, offers))

    def options(self) -> dict[str, Any]:
        """Return the options that choose this reading."""
        scores = ",".join(self.source.columns)
        if self.what == "hard":
            return {"label_column": self.label, "score": self.said}
        if self.what in ("answer", "right"):
            correct = f"{self.said},{self.label}" if self.what == "answer" else self.label
            return {"confidence": scores, **({"correct": correct} if self.label else {}), "kind": self.kind}
        labels = {"label_column": self.label} if self.label else {}
        positive = {"positive": self.positive} if self.positive and self.label else {}
        classes = {"classes": self.names} if self.how == "assigned" else {}
        return {"scores": scores, **labels, **positive, **classes, "kind": self.kind}


def worth(weight: str, degree: float = 1.0) -> dict[str, float]:
    """Return a piece of evidence, at some degree, as log-odds by weight."""
    return {weight: WEIGHTS[weight].worth * degree}
