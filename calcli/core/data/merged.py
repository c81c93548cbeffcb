"""One class against the rest: predictions of two outcomes made from those of many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import DerivedScores, Kind, Predictions
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name

REST, OTHERS = "rest", "others"


@dataclass(frozen=True)
class MergedScores(DerivedScores):
    """Scores of the rest, put together, and of the class number `own`."""

    own: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return self.source.shape[0], 2

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield blocks of the score of the rest, of summed probability, and that of the class."""
        for block in self.source.blocks(rows):
            yield merged(block, self.own, self.kind)


def merged(scores: Floats, own: int, kind: Kind) -> Floats:
    """Return (n, 2) scores of the rest, of summed probability, and of one class, from (n, K) scores."""
    rest = np.delete(scores, own, axis=1)
    together = rest.sum(axis=1) if kind == "probs" else np.logaddexp.reduce(rest, axis=1)
    return np.stack([together, scores[:, own]], axis=1)


def rest_of(name: str) -> str:
    """Return what all classes but one of that name are called."""
    return OTHERS if name == REST else REST


def own_class(classes: Sequence[str], name: str, path: str) -> int:
    """Return which of the classes has that name.

    Raises
    ------
    UsageError
        If none has, or there are only two.
    """
    if name not in classes:
        some = ", ".join(classes[:5]) + (", ..." if len(classes) > 5 else "")
        near = nearest_name(name, classes)
        raise UsageError(f"--against-rest {name}: {path} has no such class{near}; it has {some}")
    if len(classes) == 2:
        raise UsageError(f"--against-rest {name}: {path} has two classes already; leave it out")
    return classes.index(name)


def against_rest(predictions: Predictions, name: str) -> Predictions:
    """Return predictions of one class and the rest (Ferrer & Ramos 2024, appendix D).

    Raises
    ------
    UsageError
        If there is no such class, or there are only two.
    """
    classes, path = predictions.classes, predictions.provenance.path
    if set(classes) == {name, rest_of(name)}:
        return predictions  # as calcli apply writes them
    own, origin = own_class(classes, name, path), predictions.provenance
    note = f"class {name} against the rest of {len(classes)} classes, as asked"
    return replace(
        predictions,
        scores=MergedScores(predictions.scores, own),
        labels=(predictions.labels == own).astype(np.int64),
        classes=(rest_of(name), name),
        provenance=replace(origin, notes=(*origin.notes, note)),
    )
