"""What labels make doubtful of the scores beside them: their classes, or whose score one in each row is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.labels import in_order
from calcli.io.labelnumbers import are_places
from calcli.io.labels import Labels
from calcli.io.layouts.beside import HALF
from calcli.io.layouts.names import differ_in_numbers
from calcli.io.messages import in_first, listed
from calcli.io.options import ReadOptions
from calcli.io.scorekinds import Judged
from calcli.io.source import Source

LOOKED_AT = 1 << 13  # scores
MANY, FREQUENT = 50, 0.2  # rows, and the share of each label, beside which few scores are all above one half


def doubts_of_labels(
    found: Source,
    labels: Labels,
    matched: Array,
    classes: Sequence[str],
    judged: Judged,
    options: ReadOptions,
) -> tuple[str, ...]:
    """Return how scores might be meant otherwise, sentences for the user.

    Parameters
    ----------
    found, judged
        The scores, and what they are taken for.
    labels, matched
        Each label as it is stored, and (N,) those of all rows as positions in `classes`.
    classes, options
        As they are understood, and whether the user has named them.
    """
    if options.classes is not None or options.positive is not None:
        return ()
    if found.scores.shape[1] == 1:
        likely = found.classes is None and judged.kind == "probs"
        return _of_confidence(*first_rows(found, matched), judged, len(matched)) if likely else ()
    named = found.classes == classes and not found.by_rank and not differ_in_numbers(classes)
    numbered = labels.names is None and labels.meaning == "numbers"
    order = np.argsort(np.array(classes), kind="stable")
    if not (named and numbered and np.ptp(order - np.arange(len(order)))):
        return ()
    if not are_places(labels.meaning, classes, found.place):
        return ()
    scores, first = first_rows(found, matched)
    said = scores.argmax(axis=1)
    if np.count_nonzero(said == order[first]) <= np.count_nonzero(said == first):
        return ()
    return (
        f"the labels are numbers and count the columns, {listed(tuple(classes))}; if they count the names in "
        f"their order, {listed(tuple(classes[i] for i in order))}, as those of LabelEncoder do, more of the "
        "first rows are right: then save the labels as names, else name them with --classes as they stand",
    )


def first_rows(found: Source, matched: Array) -> tuple[Array, Array]:
    """Return the first scores, as they are stored, and labels."""
    head = found.scores.head(max(1, LOOKED_AT // found.scores.shape[1]))
    rows = min(len(head), len(matched))
    return head[:rows], in_order(matched)(slice(0, rows))


def _of_confidence(scores: Array, labels: Array, judged: Judged, rows: int) -> tuple[str, ...]:
    """Return the doubt that the one score of a row is the largest probability, if it is never below half."""
    share = float(labels.mean())
    never = scores.min() >= HALF * (100 if judged.percent else 1)
    if not never or len(labels) < MANY or not FREQUENT <= share <= 1 - FREQUENT:
        return ()
    return (
        f"{in_first(len(labels), rows)}the score is never below one half, though {1 - share:.0%} of the "
        "labels are of the other class: if it is the probability of whichever class is predicted, save that "
        "class beside it",
    )
