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
from calcli.io.reading.matching import How
from calcli.io.reading.weights import DOUBTS, WEIGHTS, Doubt

What = Literal["classes", "class", "answer", "right", "hard"]
CLASS_SAID = {"class in the name", "word of the class", "event in the name", "positive by custom"}
SHOWN = 0.9  # of the evidence of a ranking that there may be


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to read the rows.

    Attributes
    ----------
    head, source
        The rows, and which columns are the scores.
    kind
        What kind of scores they are.
    what
        "classes", a score of each; "class", one score of `positive`; "answer", the confidence that `said`
        equals the label; "right", that in what the label calls right; or "hard", `said` alone.
    label
        The column of the truth; "" where none is asked for.
    y
        (n,) number of the true class, -1 where it is none.
    how
        By which labels are those of classes: their names, custom, or their places.
    names
        What labels call the classes, in the order of the scores; none where the columns say it.
    positive, said
        See `what`.
    number, rest
        The number of the class of each label, and that of all others; -1 for none.
    parts
        The evidence, by weights.
    doubts
        What the user should know.
    """

    head: Head
    source: ScoreColumns
    kind: Called
    what: What
    label: str
    y: NDArray[np.intp]
    how: How = "names"
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
        """(n,) the one score of a row, as a probability."""
        scores: Doubles = self.p[:, -1]
        return scores

    @cached_property
    def q(self) -> Doubles:
        """(n,) probability of what was true, by which readings are compared; all if that is not asked."""
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
        """The log-odds of all evidence."""
        return sum(self.parts.values())

    @property
    def ranked_by_values(self) -> bool:
        """Whether nothing but the ranking says of which class the one score is."""
        unsaid = not self.parts.keys() & (CLASS_SAID | {"prediction follows"})
        return self.what == "class" and bool(self.label) and unsaid

    @property
    def ranked(self) -> float:
        """The share of the evidence of a ranking that there may be: 1 where the class is clearly shown."""
        return self.parts.get("ranked", 0.0) / WEIGHTS["ranked"].worth

    def rank(self, deviations: float) -> None:
        """Add the evidence of a ranking, in standard errors."""
        self.parts["ranked"] = WEIGHTS["ranked"].worth * float(np.clip(deviations / 5, -1, 1))

    def add(self, weight: str, degree: float = 1.0) -> None:
        """Add a piece of evidence, at some degree."""
        self.parts.update(worth(weight, degree))

    def doubt(
        self, name: str, *, asks: bool | None = None, offers: tuple[dict[str, Any], ...] = (), **seen: Any
    ) -> None:
        """Add a doubt of the table, with what was seen; `asks` where it does not always ask."""
        said, option, always, _ = DOUBTS[name]
        low, high = self.source.span
        facts = {"scores": ", ".join(self.source.columns[:4]), "label": self.label, "positive": self.positive}
        told = said.format(**(facts | {"low": low, "high": high} | seen))
        self.doubts.append(Doubt(told, option, always if asks is None else asks, offers))

    def options(self) -> dict[str, Any]:
        """Return the options that say that this is meant."""
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
    """Return a piece of evidence, at some degree."""
    return {weight: WEIGHTS[weight].worth * degree}
