"""One class against the rest: predictions of two outcomes made from those of many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calcli.core.data.arrays import Floats
from calcli.core.data.predictions import Kind, Predictions, Scores
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name

REST, OTHERS = "rest", "others"


@dataclass(frozen=True)
class MergedScores:
    """Scores of the rest, put together, and of one class.

    Attributes
    ----------
    source
        The scores of all classes.
    own
        Which of them is the one class.
    """

    source: Scores
    own: int

    @property
    def kind(self) -> Kind:
        """What the scores are: what they were."""
        return self.source.kind

    @property
    def kind_reason(self) -> str:
        """Why the scores of all classes are taken for that."""
        return self.source.kind_reason

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return self.source.shape[0], 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were stored."""
        return self.source.dtype

    def blocks(self, rows: int) -> Iterator[Floats]:
        """Yield blocks of the score of the rest, of summed probability, and that of the class."""
        for block in self.source.blocks(rows):
            rest = np.delete(block, self.own, axis=1)
            merged = rest.sum(axis=1) if self.kind == "probs" else np.logaddexp.reduce(rest, axis=1)
            yield np.stack([merged, block[:, self.own]], axis=1)


def against_rest(predictions: Predictions, name: str) -> Predictions:
    """Return predictions of one class and the rest (Ferrer & Ramos 2024, appendix D).

    Raises
    ------
    UsageError
        If there is no such class, or there are only two.
    """
    classes, path = predictions.classes, predictions.provenance.path
    if name not in classes:
        some = ", ".join(classes[:5]) + (", ..." if len(classes) > 5 else "")
        near = nearest_name(name, classes)
        raise UsageError(f"--against-rest {name}: {path} has no such class{near}; it has {some}")
    if len(classes) == 2:
        raise UsageError(f"--against-rest {name}: {path} has two classes already; leave it out")
    own, origin = classes.index(name), predictions.provenance
    note = f"class {name} against the rest of {len(classes)} classes, as asked"
    return replace(
        predictions,
        scores=MergedScores(predictions.scores, own),
        labels=(predictions.labels == own).astype(np.int64),
        classes=(OTHERS if name == REST else REST, name),
        provenance=replace(origin, notes=(*origin.notes, note)),
    )
